package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// The ioctls that get and set a terminal's modes; the last one also discards unread input.
const (
	getTermios      = unix.TCGETS
	setTermios      = unix.TCSETS
	setTermiosFlush = unix.TCSETSF
)

const disabledControlChar = 0

func discardTerminalOutput(terminal *os.File) {
	_ = unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCOFLUSH)
}
