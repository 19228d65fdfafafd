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
	// stacks are those of all goroutines when SIGQUIT or SIGABRT came.
	stacks atomic.Pointer[[]byte]
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
