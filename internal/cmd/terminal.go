package cmd

import (
	"bytes"
	"cmp"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
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
		process: p,
		stdin:   stdin,
		stdout:  stdout,
		stderr:  stderr,
		screen:  newScreen(stdin, stdout, os.Getenv("TERM")),
		streams: genericiooptions.IOStreams{
			In:     stdin,
			Out:    stream{sanitize.NewWriter(stdout)},
			ErrOut: stream{sanitize.NewWriter(stderr)},
		},
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

type terminal struct {
	name   string // TERM
	remote bool   // over ssh
	utf8   bool
	color  bool
	window bool // it has a title, a progress indicator and a clipboard
	dumb   bool // it cannot be drawn on
}

func (c *stdio) terminal() terminal {
	t := terminal{name: c.env("TERM"), remote: c.env("SSH_TTY")+c.env("SSH_CONNECTION") != ""}
	kind := uiterminal.KindOf(t.name)
	t.dumb, t.window = kind == uiterminal.Dumb, kind.Window()
	t.color = c.env("NO_COLOR") == "" && kind.Colors()
	locale := strings.ToLower(cmp.Or(c.env("LC_ALL"), c.env("LC_CTYPE"), c.env("LANG")))
	t.utf8 = (strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")) && kind.UTF8()
	return t
}

func isTerminal(f *os.File) bool { return printers.IsTerminal(f) }

const stderrTimeout = 300 * time.Millisecond // for what was written last

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

// screen is the terminal of the dashboard. Once it is taken away, nothing is drawn.
type screen struct {
	*os.File // standard output
	in       *os.File
	name     string // TERM
	before   *term.State

	drawn         atomic.Bool // something was drawn
	closed        atomic.Bool
	abandoned     atomic.Bool // the dashboard could not leave the screen: the terminal takes no bytes
	writing       sync.Mutex
	keyboard      bool // keys were last asked for in more detail
	restoreStderr atomic.Pointer[func()]
}

func newScreen(in, out *os.File, name string) *screen {
	s := &screen{File: out, in: in, name: name}
	if state, err := term.GetState(int(in.Fd())); err == nil {
		s.before = state
	}
	return s
}

func (s *screen) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed.Load() {
		return 0, os.ErrClosed
	}
	s.drawn.Store(true)
	asked := bytes.LastIndex(p, []byte(ansi.SetModifyOtherKeys2))
	if given := bytes.LastIndex(p, []byte(ansi.ResetModifyOtherKeys)); asked != given {
		s.keyboard = asked > given
	}
	return s.File.Write(p)
}

func (s *screen) Abandoned() { s.abandoned.Store(true) }

// release ends a screen that was left. Bubble Tea forgets the keyboard where its end follows a stop.
func (s *screen) release() {
	if s.abandoned.Load() {
		return // restore leaves it
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.keyboard && !s.closed.Load() {
		_, _ = io.WriteString(s.File, ansi.ResetModifyOtherKeys+ansi.PopKittyKeyboard(1))
	}
	s.drawn.Store(false)
}

// drawTimeout is the patience with a blocked terminal; one of 1 kB a second gets what it needs.
const drawTimeout = 1500 * time.Millisecond

func (s *screen) restore() {
	s.closed.Store(true)
	if s.drawn.Load() {
		s.leave()
	}
	if s.before != nil {
		_ = term.Restore(int(s.in.Fd()), s.before)
	}
	if restoreStderr := s.restoreStderr.Swap(nil); restoreStderr != nil {
		(*restoreStderr)()
	}
}

// leave undoes what Bubble Tea's renderer may have turned on.
func (s *screen) leave() {
	left := make(chan struct{})
	go func() {
		defer close(left)
		s.writing.Lock() // nothing is cut in two
		defer s.writing.Unlock()
		sequence := ansi.ResetModeSynchronizedOutput + ansi.ResetModifyOtherKeys + ansi.PopKittyKeyboard(1) +
			ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
			ansi.ResetModeFocusEvent + ansi.ResetModeBracketedPaste + ansi.ResetModeUnicodeCore + ansi.ResetStyle +
			ansi.ResetModeAltScreenSaveCursor + ansi.ShowCursor
		if s.abandoned.Load() {
			discardOutput(s.File)
			sequence = "\x18" + sequence // ends one that was cut in two
		}
		sequence += ansi.SetWindowTitle("") + ansi.ResetProgressBar
		sequence = string(uiterminal.KindOf(s.name).Translate([]byte(sequence)))
		_, _ = io.WriteString(s.File, sequence)
	}()
	select {
	case <-left:
	case <-time.After(drawTimeout):
	}
}
