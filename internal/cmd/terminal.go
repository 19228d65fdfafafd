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
	process *processEnv
	// streams sanitize all that is written to them; the files are for drawing.
	streams               genericiooptions.IOStreams
	stdin, stdout, stderr *os.File
	screen                *terminalScreen
}

func newStdio(p *processEnv, stdin, stdout, stderr *os.File) *stdio {
	return &stdio{
		process: p,
		stdin:   stdin,
		stdout:  stdout,
		stderr:  stderr,
		screen:  newScreen(stdin, stdout, os.Getenv("TERM")),
		streams: genericiooptions.IOStreams{
			In:     stdin,
			Out:    outputStream{sanitize.NewWriter(stdout)},
			ErrOut: outputStream{sanitize.NewWriter(stderr)},
		},
	}
}

// withoutMessages returns a stdio that discards what is printed to standard error. The rest is shared.
func (c *stdio) withoutMessages() *stdio {
	streams := c.streams
	streams.ErrOut = io.Discard
	return &stdio{
		process: c.process,
		streams: streams,
		stdin:   c.stdin,
		stdout:  c.stdout,
		stderr:  c.stderr,
		screen:  c.screen,
	}
}

// outputStream marks its errors as printing errors.
type outputStream struct{ io.Writer }

func (s outputStream) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		err = outputError{err}
	}
	return n, err
}

type terminalTraits struct {
	name      string // TERM
	remote    bool   // over ssh
	utf8      bool
	color     bool
	hasWindow bool // has a title, a progress indicator and a clipboard
	dumb      bool // cannot be drawn on
}

func (c *stdio) detectTerminal() terminalTraits {
	t := terminalTraits{
		name:   c.process.getenv("TERM"),
		remote: c.process.getenv("SSH_TTY")+c.process.getenv("SSH_CONNECTION") != "",
	}
	kind := uiterminal.DetectKind(t.name)
	t.dumb, t.hasWindow = kind == uiterminal.Dumb, kind.HasWindow()
	t.color = c.process.getenv("NO_COLOR") == "" && kind.HasColors()
	locale := strings.ToLower(cmp.Or(c.process.getenv("LC_ALL"), c.process.getenv("LC_CTYPE"), c.process.getenv("LANG")))
	t.utf8 = (strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")) && kind.HasUTF8()
	return t
}

func isTerminal(f *os.File) bool { return printers.IsTerminal(f) }

const stderrTimeout = 300 * time.Millisecond // for the last output

// sanitizeStderr sanitizes what credential plugins and libraries write to [os.Stderr], like our own messages. A plugin
// can still ask questions, because only its standard input must be the terminal.
func (c *stdio) sanitizeStderr() (undo func()) {
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
		case <-time.After(stderrTimeout): // a grandchild process may still hold the pipe
		}
	}
}

// terminalScreen is the terminal of the dashboard. Once it is closed, nothing is drawn.
type terminalScreen struct {
	*os.File   // standard output
	in         *os.File
	name       string // TERM
	savedState *term.State

	hasDrawn      atomic.Bool // something was drawn
	closed        atomic.Bool
	abandoned     atomic.Bool // the dashboard could not leave the screen, because the terminal takes no bytes
	writeMutex    sync.Mutex
	extendedKeys  bool // extended keys were last turned on
	restoreStderr atomic.Pointer[func()]
}

func newScreen(in, out *os.File, name string) *terminalScreen {
	s := &terminalScreen{File: out, in: in, name: name}
	if state, err := term.GetState(int(in.Fd())); err == nil {
		s.savedState = state
	}
	return s
}

func (s *terminalScreen) Write(p []byte) (int, error) {
	s.writeMutex.Lock()
	defer s.writeMutex.Unlock()
	if s.closed.Load() {
		return 0, os.ErrClosed
	}
	s.hasDrawn.Store(true)
	asked := bytes.LastIndex(p, []byte(ansi.SetModifyOtherKeys2))
	if given := bytes.LastIndex(p, []byte(ansi.ResetModifyOtherKeys)); asked != given {
		s.extendedKeys = asked > given
	}
	return s.File.Write(p)
}

func (s *terminalScreen) Abandoned() { s.abandoned.Store(true) }

// releaseScreen resets a screen that Bubble Tea has left. Bubble Tea does not reset the keyboard if its end follows a
// stop.
func (s *terminalScreen) releaseScreen() {
	if s.abandoned.Load() {
		return // restoreTerminal leaves it
	}
	s.writeMutex.Lock()
	defer s.writeMutex.Unlock()
	if s.extendedKeys && !s.closed.Load() {
		_, _ = io.WriteString(s.File, ansi.ResetModifyOtherKeys+ansi.PopKittyKeyboard(1))
	}
	s.hasDrawn.Store(false)
}

// blockedTerminalTimeout is how long to wait for a blocked terminal; at 1 kB per second the time is long enough.
const blockedTerminalTimeout = 1500 * time.Millisecond

func (s *terminalScreen) restoreTerminal() {
	s.closed.Store(true)
	if s.hasDrawn.Load() {
		s.disableRendererModes()
	}
	if s.savedState != nil {
		_ = term.Restore(int(s.in.Fd()), s.savedState)
	}
	if restoreStderr := s.restoreStderr.Swap(nil); restoreStderr != nil {
		(*restoreStderr)()
	}
}

// disableRendererModes turns off everything that Bubble Tea's renderer may have turned on.
func (s *terminalScreen) disableRendererModes() {
	left := make(chan struct{})
	go func() {
		defer close(left)
		s.writeMutex.Lock() // do not cut another write
		defer s.writeMutex.Unlock()
		sequence := ansi.ResetModeSynchronizedOutput + ansi.ResetModifyOtherKeys + ansi.PopKittyKeyboard(1) +
			ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
			ansi.ResetModeFocusEvent + ansi.ResetModeBracketedPaste + ansi.ResetModeUnicodeCore + ansi.ResetStyle +
			ansi.ResetModeAltScreenSaveCursor + ansi.ShowCursor
		if s.abandoned.Load() {
			discardTerminalOutput(s.File)
			sequence = "\x18" + sequence // ends a sequence that was cut
		}
		sequence += ansi.SetWindowTitle("") + ansi.ResetProgressBar
		sequence = string(uiterminal.DetectKind(s.name).FilterSequences([]byte(sequence)))
		_, _ = io.WriteString(s.File, sequence)
	}()
	select {
	case <-left:
	case <-time.After(blockedTerminalTimeout):
	}
}
