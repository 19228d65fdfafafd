//go:build unix

package terminal

import (
	"bytes"
	"context"
	"sync/atomic"
	"syscall"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// A program that is stopped and continued between taking the terminal and hearing of that takes it once more: the shell
// had it in the meantime.
func TestAStopBehindTheTakingAsksForAnother(t *testing.T) {
	s := newJobControl()
	resumed := make(chan struct{}, 2)
	var program *tea.Program
	goesOn := func() { s.handleSignal(syscall.SIGCONT, nil, func() { s.reacquireTerminal(program.Send) }) }
	first := true
	filter := func(_ tea.Model, msg tea.Msg) tea.Msg {
		if _, taken := msg.(tea.ResumeMsg); taken {
			if first {
				first = false
				goesOn()
			}
			resumed <- struct{}{}
		}
		return s.filterMessage(msg)
	}
	ctx, cancel := context.WithCancel(t.Context())
	program = tea.NewProgram(counter{heard: &atomic.Int64{}}, tea.WithContext(ctx), tea.WithInput(nil),
		tea.WithOutput(&bytes.Buffer{}), tea.WithoutSignalHandler(), tea.WithFilter(filter))
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = program.Run() }()
	defer func() { cancel(); <-ended }()
	goesOn()
	for range 2 {
		<-resumed
	}
}
