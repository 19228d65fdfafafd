package testbed

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unicode"

	"github.com/creack/pty"
)

// OnTerminal starts a program on a pseudo-terminal of that many cells, in a
// session of its own, and returns the terminal's other end. The program gets a
// SIGHUP when that is closed.
func OnTerminal(cmd *exec.Cmd, width, height uint16) (*os.File, error) {
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: width, Rows: height})
	if err != nil {
		return nil, fmt.Errorf("starting %s on a pseudo-terminal: %w", cmd.Path, err)
	}
	defer tty.Close()
	// A file that the runtime polls can be closed while another goroutine
	// reads it; the one that package pty opens cannot.
	fd, err := syscall.Dup(int(tty.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("opening the pseudo-terminal: %w", err)
	}
	return os.NewFile(uintptr(fd), "pseudo-terminal"), nil
}

// keyPause is longer than veltui takes for the pause of a paste before its last line ends.
const keyPause = 30 * time.Millisecond

// TypeKeys types text as a person does: each key once the program has echoed the one
// before, and enter after a pause. written returns how many bytes the program has written
// to the terminal.
func TypeKeys(ctx context.Context, tty io.Writer, written func() int, text string) error {
	for _, key := range text {
		if unicode.IsControl(key) {
			time.Sleep(keyPause) // a person's finger, not a wait
		}
		before := written()
		if _, err := io.WriteString(tty, string(key)); err != nil {
			return fmt.Errorf("typing %q: %w", text, err)
		}
		for !unicode.IsControl(key) && written() == before {
			select {
			case <-ctx.Done():
				return fmt.Errorf("typing %q: %q is not echoed: %w", text, key, context.Cause(ctx))
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}
