package cmd

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// exitTimeout is how long an ended program may take to leave before it is made
	// to: a terminal, a pipe or a plugin that nobody serves can block it for ever. A
	// finalize that was interrupted needs two seconds to find out what it has sent;
	// what it cannot find out by then, the audit log reports the next time.
	exitTimeout = 3500 * time.Millisecond
	// minSignalGap is how much later another signal has to come to mean "at once":
	// what ends a session sends several together.
	minSignalGap = time.Second
)

// signals ends the program when it is told to.
type signals struct {
	screen *screen
	stderr io.Writer
	cancel context.CancelCauseFunc
	coming chan os.Signal
	// stacks are those of all goroutines when SIGQUIT or SIGABRT came.
	stacks atomic.Pointer[[]byte]
}

// notify makes signals end the context. SIGQUIT and SIGABRT also ask for the
// stacks, which come last. A broken pipe is an error of writing and ends
// nothing by itself: what was sent to the cluster still has to be said. It is so
// until the process is gone: a signal that comes late must not change its exit
// code.
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
		stacks := allStacks()
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

// dump writes the stacks, if they were asked for.
func (n *signals) dump() {
	if stacks := n.stacks.Swap(nil); stacks != nil {
		_, _ = n.stderr.Write(*stacks)
	}
}

func allStacks() []byte {
	buffer := make([]byte, 1<<20)
	return buffer[:runtime.Stack(buffer, true)]
}
