//go:build unix

package terminal

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// WatchStops calls leave before SIGTSTP (ctrl+z) stops the program, and enter when it goes on, also
// after SIGSTOP, until ctx ends; SIGTSTP is ignored from then on.
func WatchStops(ctx context.Context, leave, enter func()) {
	s := newStops()
	s.watch(ctx, func() {
		leave()
		s.stop()
		enter()
	}, func() {
		enter()
		s.retaking.Store(false)
	})
}

// stops stops the process as its terminal would, and learns when it goes on.
type stops struct {
	signals   chan os.Signal
	continued chan struct{} // capacity 1: a stop of ours has ended
	stopping  atomic.Bool   // from SIGTSTP, or the user's key, until the process goes on
	retaking  atomic.Bool   // while the terminal is taken anew
}

func newStops() *stops {
	return &stops{signals: make(chan os.Signal, 4), continued: make(chan struct{}, 1)}
}

// watch calls stopped after SIGTSTP, and continued after a SIGCONT that ends no stop of ours, until
// ctx ends. stopped must call stop, and continued end retaking.
func (s *stops) watch(ctx context.Context, stopped, continued func()) {
	signal.Notify(s.signals, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGHUP)
	go func() {
		defer signal.Stop(s.signals)
		for {
			select {
			case <-ctx.Done():
				return
			case received := <-s.signals:
				s.handle(received, stopped, continued)
			}
		}
	}()
}

func (s *stops) handle(received os.Signal, stopped, continued func()) {
	switch {
	case received == syscall.SIGHUP:
		// The program ends. A shell that exits continues its stopped jobs in the background, where
		// to give the terminal back would stop them once more, and nobody is left to continue them.
		signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
	case received == syscall.SIGTSTP && s.stopping.CompareAndSwap(false, true):
		go stopped()
	case received == syscall.SIGCONT && s.stopping.Load():
		select {
		case s.continued <- struct{}{}:
		default:
		}
	case received == syscall.SIGCONT && s.retaking.CompareAndSwap(false, true):
		go func() {
			time.Sleep(hangupGrace)
			continued()
		}()
	}
}

const (
	// stopGrace is how long a stop may take to happen.
	stopGrace = 150 * time.Millisecond
	// hangupGrace is how long a process that goes on waits for SIGHUP, which comes with SIGCONT where
	// its shell exits, before it touches the terminal.
	hangupGrace = 50 * time.Millisecond
)

// stop stops the process group, as ctrl+z does, and returns when it goes on. Where nobody would continue it
// (POSIX calls the group orphaned) the system ignores the signal, and stop returns after twice stopGrace.
func (s *stops) stop() {
	s.stopping.Store(true)
	select {
	case <-s.continued: // of an earlier stop
	default:
	}
	number, restore := stopSignal()
	_ = syscall.Kill(0, number)
	// The first timer may expire during the stop, when SIGCONT is yet to come.
	for waiting, n := true, 0; waiting && n < 2; n++ {
		select {
		case <-s.continued:
			waiting = false
		case <-time.After(stopGrace):
		}
	}
	restore()
	time.Sleep(hangupGrace)
	s.stopping.Store(false)
}

// attach gives the terminal back while a Bubble Tea program is stopped.
func (s *stops) attach(ctx context.Context, send func(tea.Msg)) {
	s.watch(ctx, func() { send(tea.Suspend()) }, func() {
		// The shell may have changed the terminal's modes: take it anew.
		send(released(func() {}))
	})
}

// filter replaces Bubble Tea's own stop, which waits for SIGCONT for ever where the system ignores
// SIGTSTP, or where a handler is installed for it.
func (s *stops) filter(msg tea.Msg) tea.Msg {
	switch msg.(type) {
	case tea.SuspendMsg:
		s.stopping.Store(true)
		return released(s.stop)
	case tea.ResumeMsg:
		s.retaking.Store(false)
	}
	return msg
}

func released(do interlude) tea.Msg {
	return tea.Exec(do, func(error) tea.Msg { return tea.ResumeMsg{} })()
}

type interlude func()

// rendererGrace lets the renderer's goroutine end. It stops the ticker that the next one resets (Bubble
// Tea's stopRenderer and startRenderer, tea.go): in the wrong order nothing is ever drawn again.
const rendererGrace = 100 * time.Millisecond

func (i interlude) Run() error {
	time.Sleep(rendererGrace)
	i()
	return nil
}

func (interlude) SetStdin(io.Reader)  {}
func (interlude) SetStdout(io.Writer) {}
func (interlude) SetStderr(io.Writer) {}
