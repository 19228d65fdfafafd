package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/veltui/veltui/ui"
)

// The exit codes of every command.
const (
	ExitOK              = 0
	ExitError           = 1
	ExitUsage           = 2
	ExitPartiallyFailed = 3
	ExitFailed          = 4 // Failed or FailedValidation
	ExitTimeout         = 5
	ExitRefused         = 6 // stuck, or refused
	ExitInterrupted     = 130
)

func usagef(format string, args ...any) error { return exitError{ExitUsage, fmt.Errorf(format, args...)} }

// exitError asks for an exit code of its own. Without an error inside, all has
// been said.
type exitError struct {
	code int
	error
}

func (e exitError) Unwrap() error { return e.error }

func (e exitError) Error() string {
	if e.error == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.error.Error()
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return e.signal.String() }

// exitCode tells the user what went wrong, if anything did, and turns it into
// the exit code: 128 and the signal's number for what a signal ended.
func exitCode(err error, stderr io.Writer) int {
	var signal signalError
	var coded exitError
	var printing printError
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ui.ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, &signal):
		if number, ok := signal.signal.(syscall.Signal); ok {
			return 128 + int(number)
		}
		return ExitInterrupted
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &coded):
		switch {
		case coded.code == ExitUsage:
			fmt.Fprintln(stderr, "error:", err)
		case coded.error != nil:
			printErrorLines(stderr, err)
		}
		return coded.code
	case errors.As(err, &printing) && errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // as for others that feed head
	default:
		printErrorLines(stderr, err)
		return ExitError
	}
}

// maxErrorLines is how many lines an error may have.
const maxErrorLines = 40

// printErrorLines prints an error that may hold words of others. Each line is cleaned
// and bounded, and those after the first are indented, so that none looks like
// ours.
func printErrorLines(stderr io.Writer, err error) {
	l := lines{w: stderr}
	for i, line := range strings.Split(err.Error(), "\n") {
		switch i {
		case 0:
			l.add("error: %s", line)
		case maxErrorLines:
			l.add("  ...")
			return
		default:
			l.add("  %s", line)
		}
	}
}

// printError says that what a command found out could not be written.
type printError struct{ error }

func (e printError) Error() string { return "printing: " + e.error.Error() }

func (e printError) Unwrap() error { return e.error }
