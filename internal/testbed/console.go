package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// ConsoleOptions describe a terminal.
type ConsoleOptions struct {
	// Width and Height are in cells.
	Width, Height int
	// Background is the color that the terminal reports; nil leaves the emulator's.
	Background color.Color
	// DropReplies drops the terminal's answers to queries, as a terminal without any does.
	DropReplies bool
	// BytesPerSecond is how many bytes a second the connection carries, 0 for no limit. Such a
	// terminal answers only the question whether it works (DSR 5).
	BytesPerSecond int
}

// Console is a pseudo-terminal with an emulator that draws what a program writes.
// All methods may be called from several goroutines.
type Console struct {
	// Cmd is the program, nil for one that runs in this process.
	Cmd     *exec.Cmd
	options ConsoleOptions
	tty     *os.File
	changed chan struct{}
	done    chan struct{}

	mu         sync.Mutex
	emulator   *vt.Emulator
	output     strings.Builder
	lastOutput time.Time
	// heldBytes are the bytes of a grapheme cluster that more bytes may extend: the
	// emulator closes a cluster where a Write ends.
	heldBytes []byte
}

// StartConsole starts a program on a terminal, in a session of its own.
func StartConsole(cmd *exec.Cmd, o ConsoleOptions) (*Console, error) {
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(o.Width), Rows: uint16(o.Height)})
	if err != nil {
		return nil, fmt.Errorf("starting %s on a pseudo-terminal: %w", cmd.Path, err)
	}
	c, err := newConsole(tty, o)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, err
	}
	c.Cmd = cmd
	return c, nil
}

// OpenConsole returns a terminal and its other end, for a program in this process.
func OpenConsole(o ConsoleOptions) (*Console, *os.File, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("opening a pseudo-terminal: %w", err)
	}
	c, err := newConsole(master, o)
	if err == nil {
		err = c.Resize(o.Width, o.Height)
	}
	if err != nil {
		_ = tty.Close()
		return nil, nil, err
	}
	return c, tty, nil
}

// newConsole takes over the terminal's end of a pseudo-terminal.
func newConsole(master *os.File, o ConsoleOptions) (*Console, error) {
	defer master.Close()
	// A file that the runtime polls can be closed while another goroutine reads it,
	// and reads from it can time out; the one that package pty opens has neither.
	fd, err := syscall.Dup(int(master.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the pseudo-terminal: %w", err)
	}
	c := &Console{
		options: o,
		tty:     os.NewFile(uintptr(fd), "pseudo-terminal"),
		changed: make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	c.ReplaceScreen(o.Width, o.Height)
	go c.readOutput()
	return c, nil
}

// statusQuery asks a terminal whether it works (DSR 5).
const statusQuery = "\x1b[5n"

// graphemePause is how long a cluster at the end of all output waits for its rest.
const graphemePause = 250 * time.Millisecond

func (c *Console) readOutput() {
	defer close(c.done)
	buffer := make([]byte, 32<<10)
	if c.options.BytesPerSecond > 0 {
		buffer = buffer[:max(1, c.options.BytesPerSecond/10)]
	}
	for {
		var limit time.Time
		if c.hasHeldBytes() {
			limit = time.Now().Add(graphemePause)
		}
		_ = c.tty.SetReadDeadline(limit)
		n, err := c.tty.Read(buffer)
		if c.options.BytesPerSecond > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(c.options.BytesPerSecond))
		}
		c.drawOutput(buffer[:n], err != nil)
		select {
		case c.changed <- struct{}{}:
		default:
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// hasHeldBytes reports whether something is held that no more output may follow.
func (c *Console) hasHeldBytes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.heldBytes) > 0
}

// drawOutput draws output, and what was held as well where all is to be drawn.
func (c *Console) drawOutput(output []byte, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(output) > 0 {
		c.output.Write(output)
		c.lastOutput = time.Now()
	}
	if c.options.BytesPerSecond > 0 {
		before := max(0, c.output.Len()-len(output)-len(statusQuery)+1)
		asked := strings.Count(c.output.String()[before:], statusQuery)
		_, _ = c.tty.WriteString(strings.Repeat("\x1b[0n", asked))
	}
	text := slices.Concat(c.heldBytes, output)
	end := len(text)
	if !all {
		end = graphemeStart(text)
	}
	_, _ = c.emulator.Write(text[:end])
	c.heldBytes = text[end:]
}

// graphemeStart returns where the clusters begin that more text may extend: the text
// from the last ASCII character on, its length if that is a control character.
func graphemeStart(text []byte) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < utf8.RuneSelf {
			if text[i] < ' ' || text[i] == 0x7f || endsInSequence(text[:i]) {
				i++
			}
			return i
		}
	}
	return 0
}

// endsInSequence reports whether a text ends within a control sequence.
func endsInSequence(text []byte) bool {
	start := bytes.LastIndexByte(text, '\x1b')
	if start < 0 {
		return false
	}
	rest := text[start+1:]
	if len(rest) == 0 || rest[0] != '[' {
		return len(rest) < 2
	}
	return !slices.ContainsFunc(rest[1:], func(b byte) bool { return b >= '@' && b <= '~' })
}

// ReplaceScreen puts an empty screen of another size into the terminal, without telling
// the program. The emulator's own Resize loses lines where it shrinks.
func (c *Console) ReplaceScreen(width, height int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangUp()
	c.heldBytes = nil
	c.emulator = vt.NewEmulator(width, height)
	if c.options.Background != nil {
		c.emulator.SetDefaultBackgroundColor(c.options.Background)
	}
	answers := io.Writer(c.tty)
	if c.options.DropReplies || c.options.BytesPerSecond > 0 {
		answers = io.Discard
	}
	go func(e *vt.Emulator) { _, _ = io.Copy(answers, e) }(c.emulator)
}

// hangUp ends the answers of the emulator, whose own Close races with its Read.
func (c *Console) hangUp() {
	if c.emulator != nil {
		_ = c.emulator.InputPipe().(io.Closer).Close()
	}
}

// Resize changes the size that the program is told.
func (c *Console) Resize(width, height int) error {
	if err := pty.Setsize(c.tty, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		return fmt.Errorf("resizing the terminal: %w", err)
	}
	return nil
}

// TTY is the terminal's end of the pseudo-terminal.
func (c *Console) TTY() *os.File { return c.tty }

// ScreenText is what a person sees, a line a row, with the blanks at its end.
func (c *Console) ScreenText() string {
	var screen strings.Builder
	c.WithEmulator(func(e *vt.Emulator) {
		for y := range e.Height() {
			for x := range e.Width() {
				switch cell := e.CellAt(x, y); {
				case cell == nil || cell.Content == "" && cell.Width > 0:
					screen.WriteByte(' ')
				default: // the second half of a wide character is empty
					screen.WriteString(cell.Content)
				}
			}
			screen.WriteByte('\n')
		}
	})
	return screen.String()
}

// WithEmulator gives the emulator to f; nothing is drawn meanwhile.
func (c *Console) WithEmulator(f func(*vt.Emulator)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.emulator)
}

// OutputText is all that the program has written.
func (c *Console) OutputText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.output.String()
}

// OutputSize is the number of bytes that the program has written, and when the last came.
func (c *Console) OutputSize() (bytes int, last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.output.Len(), c.lastOutput
}

// SendKeys sends keys, all at once.
func (c *Console) SendKeys(keys string) error {
	if _, err := c.tty.WriteString(keys); err != nil {
		return fmt.Errorf("typing %q: %w", keys, err)
	}
	return nil
}

// keyPause is longer than veltui takes for the pause of a paste before its last line ends.
const keyPause = 30 * time.Millisecond

// TypeKeys types text as a person does: each key once the program has echoed the one
// before, and enter after a pause.
func (c *Console) TypeKeys(ctx context.Context, text string) error {
	for _, key := range text {
		if unicode.IsControl(key) {
			time.Sleep(keyPause) // a person's finger, not a wait
		}
		before, _ := c.OutputSize()
		if err := c.SendKeys(string(key)); err != nil {
			return err
		}
		if unicode.IsControl(key) {
			continue
		}
		echoed := func() bool { n, _ := c.OutputSize(); return n > before }
		if err := c.WaitUntil(ctx, fmt.Sprintf("the echo of %q in %q", key, text), echoed); err != nil {
			return err
		}
	}
	return nil
}

// WaitUntil waits until something holds, and looks whenever the program has written. The
// error says what did not, and shows the screen.
func (c *Console) WaitUntil(ctx context.Context, what string, holds func() bool) error {
	for !holds() {
		select {
		case <-c.changed:
		case <-time.After(20 * time.Millisecond): // what does not show on the screen
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; the screen:\n%s", what, context.Cause(ctx), c.ScreenText())
		}
	}
	return nil
}

// WaitForText waits until the screen shows all of some words.
func (c *Console) WaitForText(ctx context.Context, words ...string) error {
	return c.WaitUntil(ctx, fmt.Sprintf("%q", words), func() bool {
		screen := c.ScreenText()
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(screen, w) })
	})
}

// Done is closed once nobody can write to the terminal any more and all is drawn.
func (c *Console) Done() <-chan struct{} { return c.done }

// WaitExit waits for the program's end and its last output, and returns its exit code.
func (c *Console) WaitExit(ctx context.Context) (int, error) {
	ended := make(chan struct{})
	go func() { _ = c.Cmd.Wait(); close(ended) }()
	for what, done := range map[string]<-chan struct{}{"the program's end": ended, "the end of its output": c.done} {
		select {
		case <-done:
		case <-ctx.Done():
			return -1, fmt.Errorf("waiting for %s: %w; the screen:\n%s", what, context.Cause(ctx), c.ScreenText())
		}
	}
	return c.Cmd.ProcessState.ExitCode(), nil
}

// Close kills the program, if it still runs, and closes the terminal.
func (c *Console) Close() {
	if c.Cmd != nil {
		_ = c.Cmd.Process.Kill()
	}
	_ = c.tty.Close()
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangUp()
}
