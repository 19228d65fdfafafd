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

func usagef(format string, args ...any) error {
	return exitError{ExitUsage, fmt.Errorf(format, args...)}
}

// exitError asks for an exit code. Without an error inside, everything was printed.
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

type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return e.signal.String() }

// exitCode prints an error and returns its exit code: 128 and the signal's number after a signal.
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

const maxErrorLines = 40

// printErrorLines prints an error that may hold words of others: cleaned, bounded, and with all
// lines but the first indented, so that none looks like ours.
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
