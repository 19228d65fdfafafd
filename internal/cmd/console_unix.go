//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	uiterminal "github.com/veltui/veltui/ui/terminal"
)

const (
	typingPause = 500 * time.Millisecond // without typing before a question is asked
	typingLimit = 10 * time.Second       // of typing, before the question is given up
	pastePause  = 200 * time.Millisecond // until the next line of a paste comes
	readPause   = 100 * time.Millisecond // of one read of a terminal
)

func discardTypedAhead(ctx context.Context, terminal *os.File) error {
	_, err := typedAhead(ctx, terminal, setTermiosFlush, typingPause)
	return err
}

// hasTypedAhead reports whether more arrives right behind a line, and discards it: a shell would run it.
func hasTypedAhead(terminal *os.File) bool {
	more, err := typedAhead(context.Background(), terminal, setTermios, pastePause)
	return more || err != nil
}

func typedAhead(ctx context.Context, terminal *os.File, set uint, pause time.Duration) (more bool, err error) {
	input, err := openCharacterInput(terminal, set)
	if err != nil {
		return false, err
	}
	defer input.close()
	until := time.Now().Add(typingLimit)
	for last := time.Now(); time.Since(last) < pause; {
		keys, err := input.read()
		switch {
		case ctx.Err() != nil:
			return more, context.Cause(ctx)
		case err != nil:
			return more, err
		case time.Now().After(until):
			return more, errors.New("the terminal keeps sending input, so veltui did not ask and changed nothing")
		case len(keys) > 0:
			more, last = true, time.Now()
		}
	}
	return more, nil
}

// ask prints the question and reads a typed line, until ctx ends; errPasted if it was not typed.
// However the program is stopped, the shell gets its terminal back as it was, and fg asks again.
func (q question) ask(ctx context.Context) (string, error) {
	input, err := openCharacterInput(q.terminal, setTermiosFlush)
	if err != nil {
		return "", err
	}
	line, answered := typedLine{}, false
	begin := func() {
		line = typedLine{echo: q.screen}
		_, _ = io.WriteString(q.screen, q.marksPaste)
		q.print()
	}
	end := func() {
		_, _ = io.WriteString(q.screen, q.endsMarks)
		input.close()
	}
	var turn sync.Mutex // held while keys are read, and during a stop
	var stopped atomic.Bool
	uiterminal.WatchStops(ctx, func() {
		turn.Lock()
		stopped.Store(true)
		if !answered {
			_, _ = io.WriteString(q.screen, "\n")
			end()
		}
	}, func() {
		if !stopped.CompareAndSwap(true, false) {
			return // after SIGSTOP: isTaken finds it
		}
		if !answered && input.retake() == nil {
			begin()
		}
		turn.Unlock()
	})
	begin()
	for !answered {
		turn.Lock()
		keys, err := input.read()
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case err == nil && input.isTaken(): // by a shell, after a stop
			err = input.retake()
			begin()
		case err == nil:
			line.read(keys, time.Now())
		}
		if line.suspended {
			line.suspended = false
			_ = unix.Kill(0, unix.SIGTSTP)
		}
		if answered = err != nil || line.ended; answered {
			end()
		}
		turn.Unlock()
		if err != nil {
			return "", err
		}
	}
	switch {
	case line.pasted:
		return "", errPasted
	case line.endOfFile:
		return "", io.EOF
	}
	return string(line.text), nil
}

// characterInput reads a terminal without lines and echo. ctrl+c and ctrl+\ stay signals.
type characterInput struct {
	fd          int
	before, now unix.Termios
	buffer      []byte
}

func openCharacterInput(terminal *os.File, set uint) (*characterInput, error) {
	in := &characterInput{fd: int(terminal.Fd()), buffer: make([]byte, 4096)}
	before, err := unix.IoctlGetTermios(in.fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("reading the terminal's modes: %w", err)
	}
	in.before, in.now = *before, *before
	in.now.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN
	in.now.Cc[unix.VMIN], in.now.Cc[unix.VTIME] = 0, uint8(readPause/(100*time.Millisecond))
	in.now.Cc[unix.VSUSP] = disabledKey
	return in, in.set(set, &in.now)
}

func (in *characterInput) set(request uint, modes *unix.Termios) error {
	if err := unix.IoctlSetTermios(in.fd, request, modes); err != nil {
		return fmt.Errorf("setting the terminal's modes: %w", err)
	}
	return nil
}

func (in *characterInput) close() { _ = in.set(setTermiosFlush, &in.before) }

func (in *characterInput) read() ([]byte, error) {
	began := time.Now()
	n, err := unix.Read(in.fd, in.buffer)
	if n > 0 {
		return in.buffer[:n], nil
	}
	if _, gone := unix.IoctlGetTermios(in.fd, getTermios); gone != nil {
		return nil, fmt.Errorf("reading the terminal: %w", gone)
	}
	if err != nil {
		time.Sleep(readPause - min(time.Since(began), readPause)) // the caller does not spin
	}
	return nil, nil
}

// isTaken reports whether another program has set the terminal's modes.
func (in *characterInput) isTaken() bool {
	modes, err := unix.IoctlGetTermios(in.fd, getTermios)
	return err == nil && modes.Lflag&unix.ICANON != 0
}

func (in *characterInput) retake() error { return in.set(setTermiosFlush, &in.now) }

// redirectStderr sends file descriptor 2 to the log while the dashboard has the screen:
// credential plugins and the Go runtime write there directly.
func redirectStderr(log io.Writer) (restore func(), err error) {
	to, ok := log.(*boundedLog)
	if !ok {
		return func() {}, nil
	}
	saved, err := unix.Dup(unix.Stderr)
	if err != nil {
		return nil, fmt.Errorf("duplicating standard error: %w", err)
	}
	unix.CloseOnExec(saved)
	if err := unix.Dup2(int(to.file.Fd()), unix.Stderr); err != nil {
		return nil, fmt.Errorf("redirecting standard error: %w", err)
	}
	return func() {
		_ = unix.Dup2(saved, unix.Stderr)
		_ = unix.Close(saved)
	}, nil
}
