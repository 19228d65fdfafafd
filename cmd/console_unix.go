//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
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
func (q question) ask(ctx context.Context) (string, error) {
	input, err := openCharacterInput(q.terminal, setTermiosFlush)
	if err != nil {
		return "", err
	}
	defer input.close()
	defer func() { _, _ = io.WriteString(q.screen, q.endsMarks) }()
	var line typedLine
	begin := func() {
		line = typedLine{echo: q.screen}
		_, _ = io.WriteString(q.screen, q.marksPaste)
		q.print()
	}
	begin()
	for !line.ended {
		keys, err := input.read()
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil:
			return "", err
		case input.isTaken(): // by a shell, after a stop
			if err := input.retake(); err != nil {
				return "", err
			}
			begin()
			continue
		}
		line.read(keys, time.Now())
		if line.suspended {
			_, _ = io.WriteString(q.screen, q.endsMarks+"\n")
			if err := input.suspend(); err != nil {
				return "", err
			}
			begin()
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

// suspend stops the process group as ctrl+z does, and returns when it goes on.
func (in *characterInput) suspend() error {
	if err := in.set(setTermiosFlush, &in.before); err != nil {
		return err
	}
	_ = unix.Kill(0, unix.SIGTSTP)
	time.Sleep(readPause) // another thread may be the one that is stopped first
	return in.retake()
}

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
