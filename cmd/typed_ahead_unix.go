//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// typingPause is how long nothing must be typed before a question is asked.
	typingPause = 500 * time.Millisecond
	// typingLimit is how long typing may go on before the question is given up.
	typingLimit = 10 * time.Second
	// pastePause is how long the next line of a paste may take to come.
	pastePause = 200 * time.Millisecond
	// readPause is how long one read of a terminal waits.
	readPause = 100 * time.Millisecond
)

// discardTypedAhead throws away what was typed, until nothing is typed any more.
func discardTypedAhead(ctx context.Context, terminal *os.File) error {
	until := time.Now().Add(typingLimit)
	return withCharacterInput(terminal, setTermiosFlush, func(read func() bool) error {
		for last := time.Now(); time.Since(last) < typingPause; {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case time.Now().After(until):
				return errors.New("the terminal keeps sending input, so veltui did not ask and changed nothing")
			case read():
				last = time.Now()
			}
		}
		return nil
	})
}

// hasTypedAhead reports whether more comes in right behind a line, and throws it
// away: a shell would take it for commands.
func hasTypedAhead(terminal *os.File) bool {
	more := false
	err := withCharacterInput(terminal, setTermios, func(read func() bool) error {
		for last := time.Now(); time.Since(last) < pastePause; {
			if read() {
				more, last = true, time.Now()
			}
		}
		return nil
	})
	return more || err != nil
}

// withCharacterInput lets do read what comes in without waiting for whole lines, and
// without an echo. ctrl+c and its kin stay signals.
func withCharacterInput(terminal *os.File, set uint, do func(read func() bool) error) error {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return fmt.Errorf("reading the terminal's modes: %w", err)
	}
	now := *before
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 0, uint8(readPause/(100*time.Millisecond))
	if err := unix.IoctlSetTermios(fd, set, &now); err != nil {
		return fmt.Errorf("setting the terminal's modes: %w", err)
	}
	defer func() { _ = unix.IoctlSetTermios(fd, setTermiosFlush, before) }()
	buffer := make([]byte, 4096)
	return do(func() bool {
		began := time.Now()
		n, err := unix.Read(fd, buffer)
		if n <= 0 && err != nil {
			time.Sleep(readPause - min(time.Since(began), readPause)) // the caller does not spin
		}
		return n > 0
	})
}
