package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/veltui/veltui/ui"
)

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

type printError struct{ error }

func (e printError) Error() string { return "printing: " + e.error.Error() }

func (e printError) Unwrap() error { return e.error }

const (
	// exitTimeout is how long the end may take: a terminal, a pipe or a plugin can block it for
	// ever. An interrupted finalize needs two seconds to find out what it has sent.
	exitTimeout = 3500 * time.Millisecond
	// minSignalGap separates a second signal from those that the end of a session sends together.
	minSignalGap = time.Second
)

type signals struct {
	screen *screen
	stderr io.Writer
	cancel context.CancelCauseFunc
	coming chan os.Signal
	stacks atomic.Pointer[[]byte] // of all goroutines at SIGQUIT or SIGABRT
}

// notify has signals end the context; SIGQUIT and SIGABRT also dump the stacks at the end. A
// broken pipe ends nothing: what was sent must still be said. All signals stay handled until the
// process is gone, so that a late one does not change the exit code.
func notify(s *screen, stderr io.Writer, cancel context.CancelCauseFunc) *signals {
	n := &signals{screen: s, stderr: stderr, cancel: cancel, coming: make(chan os.Signal, 8)}
	signal.Notify(n.coming, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go n.wait()
	return n
}

func (n *signals) wait() {
	first := <-n.coming
	if first == syscall.SIGQUIT || first == syscall.SIGABRT {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		n.stacks.Store(&stacks)
	}
	n.cancel(signalError{first})
	began := time.Now()
	for over := time.After(exitTimeout); ; {
		select {
		case <-n.coming:
			if time.Since(began) < minSignalGap {
				continue
			}
		case <-over:
		}
		n.screen.restore()
		dumped := make(chan struct{})
		go func() { defer close(dumped); n.dump() }()
		select {
		case <-dumped:
		case <-time.After(drawTimeout): // nobody reads standard error
		}
		os.Exit(exitCode(signalError{first}, n.stderr))
	}
}

func (n *signals) dump() {
	if stacks := n.stacks.Swap(nil); stacks != nil {
		_, _ = n.stderr.Write(*stacks)
	}
}
