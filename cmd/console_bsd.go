//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// The requests that read a terminal's modes, and set them, also with all input
// thrown away that was not read.
const (
	getTermios      = unix.TIOCGETA
	setTermios      = unix.TIOCSETA
	setTermiosFlush = unix.TIOCSETAF
)

// disabledKey stands for a special key that a terminal does not have.
const disabledKey = 0xff

// discardOutput throws away what the system holds for a terminal.
func discardOutput(terminal *os.File) {
	const written = 2 // FWRITE of sys/fcntl.h
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, written)
}
