package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

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
