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

// WatchStops calls leave before SIGTSTP (ctrl+z) stops the program, and enter when the program continues, also after
// SIGSTOP, until ctx ends; from then on SIGTSTP is ignored.
func WatchStops(ctx context.Context, leave, enter func()) {
	s := newJobControl()
	s.watchSignals(ctx, func() {
		leave()
		s.stopProcess()
		enter()
	}, func() {
		enter()
		s.reacquiring.Store(false)
	})
}

// jobControl stops the process as its terminal would, and notices when the process continues.
type jobControl struct {
	signals     chan os.Signal
	continued   chan struct{} // capacity 1: a stop of ours has ended
	stopping    atomic.Bool   // from SIGTSTP, or the user's key, until the process goes on
	reacquiring atomic.Bool   // the terminal is yet to be taken anew
	suspending  atomic.Bool   // from the message that stops the program until the program goes on
}

func newJobControl() *jobControl {
	return &jobControl{signals: make(chan os.Signal, 4), continued: make(chan struct{}, 1)}
}

// watchSignals calls stopped after SIGTSTP, and continued after a SIGCONT that ends none of our own stops, until ctx
// ends. stopped must call stopProcess, and continued must reset reacquiring.
func (s *jobControl) watchSignals(ctx context.Context, stopped, continued func()) {
	signal.Notify(s.signals, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGHUP)
	go func() {
		defer signal.Stop(s.signals)
		for {
			select {
			case <-ctx.Done():
				return
			case received := <-s.signals:
				s.handleSignal(received, stopped, continued)
			}
		}
	}()
}

func (s *jobControl) handleSignal(received os.Signal, stopped, continued func()) {
	switch {
	case received == syscall.SIGHUP:
		// The program ends. A shell that exits continues its stopped jobs in the background. Giving the terminal back there
		// would stop the program once more, and nobody is left to continue it.
		signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
	case received == syscall.SIGTSTP && s.stopping.CompareAndSwap(false, true):
		go stopped()
	case received == syscall.SIGCONT && s.stopping.Load():
		select {
		case s.continued <- struct{}{}:
		default:
		}
	case received == syscall.SIGCONT && s.reacquiring.CompareAndSwap(false, true):
		go func() {
			time.Sleep(hangupGrace)
			continued()
		}()
	}
}

const (
	// stopGrace is how long it may take until a stop happens.
	stopGrace = 150 * time.Millisecond
	// hangupGrace is how long a continued process waits for SIGHUP before it touches the terminal. SIGHUP comes with
	// SIGCONT if the process's shell exits.
	hangupGrace = 50 * time.Millisecond
)

// stopProcess stops the process group, as ctrl+z does, and returns when it continues. If nobody would continue it
// (POSIX calls such a group orphaned), the system ignores the signal, and stopProcess returns after twice stopGrace.
func (s *jobControl) stopProcess() {
	s.stopping.Store(true)
	select {
	case <-s.continued: // left over from an earlier stop
	default:
	}
	number, restore := stopSignal()
	_ = syscall.Kill(0, number)
	// The first timer may expire during the stop, before SIGCONT has come.
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

// attachProgram gives the terminal back while a Bubble Tea program is stopped, until ctx ends.
func (s *jobControl) attachProgram(ctx context.Context, send func(tea.Msg)) {
	s.watchSignals(ctx, func() { send(tea.Suspend()) }, func() { s.reacquireTerminal(send) })
}

// reacquireTerminal takes the terminal again, because the shell may have changed its modes. A stop that comes after
// this has begun may follow it, and then reacquires the terminal again.
func (s *jobControl) reacquireTerminal(send func(tea.Msg)) {
	send(runWithTerminalReleased(func() { s.reacquiring.Store(false) }))
}

// filterMessage replaces Bubble Tea's own stop, which waits forever for SIGCONT if the system ignores SIGTSTP or a
// handler is installed for it.
func (s *jobControl) filterMessage(msg tea.Msg) tea.Msg {
	switch msg.(type) {
	case tea.SuspendMsg:
		if !s.suspending.CompareAndSwap(false, true) {
			return nil // it was queued before the stop, and would stop the program once more when it goes on
		}
		s.stopping.Store(true)
		return runWithTerminalReleased(s.stopProcess)
	case tea.ResumeMsg:
		s.suspending.Store(false)
		s.reacquiring.Store(false)
	}
	return msg
}

func runWithTerminalReleased(do execFunc) tea.Msg {
	return tea.Exec(do, func(error) tea.Msg { return tea.ResumeMsg{} })()
}

type execFunc func()

// rendererGrace lets the renderer's goroutine end. It stops the ticker that the next renderer resets (Bubble Tea's
// stopRenderer and startRenderer, tea.go): in the wrong order nothing is ever drawn again.
const rendererGrace = 100 * time.Millisecond

func (i execFunc) Run() error {
	time.Sleep(rendererGrace)
	i()
	return nil
}

func (execFunc) SetStdin(io.Reader)  {}
func (execFunc) SetStdout(io.Writer) {}
func (execFunc) SetStderr(io.Writer) {}
