//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// The ioctls that get and set a terminal's modes; the last one also discards unread input.
const (
	getTermios      = unix.TIOCGETA
	setTermios      = unix.TIOCSETA
	setTermiosFlush = unix.TIOCSETAF
)

const disabledControlChar = 0xff

func discardTerminalOutput(terminal *os.File) {
	const written = 2 // FWRITE of sys/fcntl.h
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, written)
}
