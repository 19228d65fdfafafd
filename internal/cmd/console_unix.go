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
	typingPause    = 500 * time.Millisecond // without typing, before a question is asked
	typingLimit    = 10 * time.Second       // of continuous typing, before the question is given up
	pastePause     = 200 * time.Millisecond // until the next line of a paste arrives
	keyReadTimeout = 100 * time.Millisecond // of one read of a terminal
)

func discardTypedAhead(ctx context.Context, terminal *os.File) error {
	_, err := drainInput(ctx, terminal, setTermiosFlush, typingPause)
	return err
}

// discardTrailingInput reports whether more input follows right after a line, and discards it: a shell would run it.
func discardTrailingInput(terminal *os.File) bool {
	more, err := drainInput(context.Background(), terminal, setTermios, pastePause)
	return more || err != nil
}

func drainInput(ctx context.Context, terminal *os.File, set uint, pause time.Duration) (more bool, err error) {
	input, err := openCharacterInput(terminal, set)
	if err != nil {
		return false, err
	}
	defer input.restoreModes()
	until := time.Now().Add(typingLimit)
	for last := time.Now(); time.Since(last) < pause; {
		keys, err := input.readKeys()
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

// readAnswer prints the question and reads a typed line, until ctx ends; it returns errPasted if the line was not
// typed. Whenever the program is stopped, the shell gets its terminal back in its former modes, and fg asks again.
func (q confirmPrompt) readAnswer(ctx context.Context) (string, error) {
	input, err := openCharacterInput(q.terminal, setTermiosFlush)
	if err != nil {
		return "", err
	}
	line, answered := typedLine{}, false
	begin := func() {
		line = typedLine{echo: q.screen}
		_, _ = io.WriteString(q.screen, q.bracketedPasteOn)
		q.printQuestion()
	}
	end := func() {
		_, _ = io.WriteString(q.screen, q.bracketedPasteOff)
		input.restoreModes()
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
			return // after SIGSTOP: isTerminalTaken notices it
		}
		if !answered && input.retakeTerminal() == nil {
			begin()
		}
		turn.Unlock()
	})
	begin()
	for !answered {
		turn.Lock()
		keys, err := input.readKeys()
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case err == nil && input.isTerminalTaken(): // by a shell, after a stop
			err = input.retakeTerminal()
			begin()
		case err == nil:
			line.acceptInput(keys, time.Now())
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

// characterInput reads a terminal character by character, without echo. ctrl+c and ctrl+\ still send signals.
type characterInput struct {
	fd                   int
	savedModes, rawModes unix.Termios
	buffer               []byte
}

func openCharacterInput(terminal *os.File, set uint) (*characterInput, error) {
	in := &characterInput{fd: int(terminal.Fd()), buffer: make([]byte, 4096)}
	before, err := unix.IoctlGetTermios(in.fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("reading the terminal's modes: %w", err)
	}
	in.savedModes, in.rawModes = *before, *before
	in.rawModes.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN
	in.rawModes.Cc[unix.VMIN], in.rawModes.Cc[unix.VTIME] = 0, uint8(keyReadTimeout/(100*time.Millisecond))
	in.rawModes.Cc[unix.VSUSP] = disabledControlChar
	return in, in.setModes(set, &in.rawModes)
}

func (in *characterInput) setModes(request uint, modes *unix.Termios) error {
	if err := unix.IoctlSetTermios(in.fd, request, modes); err != nil {
		return fmt.Errorf("setting the terminal's modes: %w", err)
	}
	return nil
}

func (in *characterInput) restoreModes() { _ = in.setModes(setTermiosFlush, &in.savedModes) }

func (in *characterInput) readKeys() ([]byte, error) {
	began := time.Now()
	n, err := unix.Read(in.fd, in.buffer)
	if n > 0 {
		return in.buffer[:n], nil
	}
	if _, gone := unix.IoctlGetTermios(in.fd, getTermios); gone != nil {
		return nil, fmt.Errorf("reading the terminal: %w", gone)
	}
	if err != nil {
		time.Sleep(keyReadTimeout - min(time.Since(began), keyReadTimeout)) // so that the caller does not spin
	}
	return nil, nil
}

// isTerminalTaken reports whether another program has changed the terminal's modes.
func (in *characterInput) isTerminalTaken() bool {
	modes, err := unix.IoctlGetTermios(in.fd, getTermios)
	return err == nil && modes.Lflag&unix.ICANON != 0
}

func (in *characterInput) retakeTerminal() error { return in.setModes(setTermiosFlush, &in.rawModes) }

// redirectStderr sends file descriptor 2 to the log while the dashboard owns the screen, because credential plugins
// and the Go runtime write to it directly.
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
