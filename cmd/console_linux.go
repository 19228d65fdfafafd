package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// The requests that read a terminal's modes, and set them, also with all input
// thrown away that was not read.
const (
	getTermios      = unix.TCGETS
	setTermios      = unix.TCSETS
	setTermiosFlush = unix.TCSETSF
)

// disabledKey stands for a special key that a terminal does not have.
const disabledKey = 0

// discardOutput throws away what the system holds for a terminal.
func discardOutput(terminal *os.File) {
	_ = unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCOFLUSH)
}
