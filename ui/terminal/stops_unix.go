//go:build unix

package terminal

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	tea "charm.land/bubbletea/v2"
)

// stops gives the terminal back while somebody else stops the program
// (SIGTSTP), and takes it again after a stop that could not be foreseen
// (SIGSTOP). Bubble Tea itself knows only its own stops, by ctrl+z.
type stops struct {
	coming chan os.Signal

	mu sync.Mutex
	// ours is true from when we are about to stop until we go on.
	ours bool
}

// watch begins to listen until ctx ends.
func (s *stops) watch(ctx context.Context, send func(tea.Msg)) {
	s.coming = make(chan os.Signal, 4)
	signal.Notify(s.coming, syscall.SIGTSTP, syscall.SIGCONT)
	go func() {
		defer signal.Stop(s.coming)
		for {
			select {
			case <-ctx.Done():
				return
			case got := <-s.coming:
				s.answer(got, send)
			}
		}
	}()
}

func (s *stops) answer(got os.Signal, send func(tea.Msg)) {
	s.mu.Lock()
	ours := s.ours
	s.mu.Unlock()
	switch {
	case ours: // Bubble Tea waits for this one
	case got == syscall.SIGTSTP:
		send(tea.Suspend())
	default:
		// The shell may have made the terminal its own. A program that does
		// nothing is run in our place, so that it is taken anew.
		send(tea.Exec(nothing{}, func(error) tea.Msg { return tea.ClearScreen() })())
	}
}

// filter sees what Bubble Tea is about to do: its own stop must find SIGTSTP as
// the system made it.
func (s *stops) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg.(type) {
	case tea.SuspendMsg:
		s.set(true)
		signal.Reset(syscall.SIGTSTP)
	case tea.ResumeMsg:
		signal.Notify(s.coming, syscall.SIGTSTP)
		s.set(false)
	}
	return msg
}

func (s *stops) set(ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ours = ours
}

// nothing is a program that ends at once.
type nothing struct{}

func (nothing) Run() error          { return nil }
func (nothing) SetStdin(io.Reader)  {}
func (nothing) SetStdout(io.Writer) {}
func (nothing) SetStderr(io.Writer) {}
