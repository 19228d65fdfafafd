package cmd

import "golang.org/x/sys/unix"

// The requests that read a terminal's modes, and set them, also with all input
// thrown away that was not read.
const (
	getTermios      = unix.TCGETS
	setTermios      = unix.TCSETS
	setTermiosFlush = unix.TCSETSF
)
