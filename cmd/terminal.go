package cmd

import (
	"io"
	"log"
	"os"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/veltui/veltui/internal/sanitize"
	uiterminal "github.com/veltui/veltui/ui/terminal"
)

type stdio struct {
	*process
	// streams clean all that is written to them; the files are for what draws.
	streams               genericiooptions.IOStreams
	stdin, stdout, stderr *os.File
	screen                *screen
}

func newStdio(p *process, stdin, stdout, stderr *os.File) stdio {
	return stdio{
		process: p, stdin: stdin, stdout: stdout, stderr: stderr, screen: newScreen(stdin, stdout, os.Getenv("TERM")),
		streams: genericiooptions.IOStreams{In: stdin, Out: stream{sanitize.NewWriter(stdout)}, ErrOut: stream{sanitize.NewWriter(stderr)}},
	}
}

// stream marks its errors as those of printing.
type stream struct{ io.Writer }

func (s stream) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		err = printError{err}
	}
	return n, err
}

// terminal is what the environment says about the user's terminal.
type terminal struct {
	name   string // TERM
	remote bool   // over ssh
	utf8   bool
	color  bool
	window bool // it has a title, a progress indicator and a clipboard
	dumb   bool // it cannot be drawn on
}

func (c *stdio) terminal() terminal {
	t := terminal{
		name:   c.env("TERM"),
		remote: c.env("SSH_TTY") != "" || c.env("SSH_CONNECTION") != "",
	}
	kind := uiterminal.KindOf(t.name)
	t.dumb, t.window = kind == uiterminal.Dumb, kind.Window()
	t.color = c.env("NO_COLOR") == "" && kind.Colors()
	locale := c.env("LC_ALL")
	if locale == "" {
		locale = c.env("LC_CTYPE")
	}
	if locale == "" {
		locale = c.env("LANG")
	}
	locale = strings.ToLower(locale)
	t.utf8 = (strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")) && kind.UTF8()
	return t
}

func isTerminal(f *os.File) bool { return printers.IsTerminal(f) }

// stderrTimeout is how long the end waits for what was written last.
const stderrTimeout = 300 * time.Millisecond

// filterStderr cleans what credential plugins and libraries write to [os.Stderr], as our own
// messages are. A plugin can still ask: only standard input is the terminal for it.
func (c *stdio) filterStderr() (undo func()) {
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	before := os.Stderr
	os.Stderr = w
	log.SetOutput(w)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(sanitize.NewWriter(c.stderr), r)
	}()
	return func() {
		os.Stderr = before
		_ = w.Close()
		select {
		case <-copied:
		case <-time.After(stderrTimeout): // a child of a child may live on
		}
	}
}
