package fetch

import (
	"context"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Progress is how far a read is. Follow has the screen drawn anew for it.
type Progress[P any] struct {
	last  atomic.Pointer[P]
	moved chan struct{}
	stop  context.CancelFunc
}

// moved tells that a read is further than it was.
type moved[P any] struct {
	of   *Progress[P]
	by   Asker
	pace time.Duration
	show func(P) bool
}

// NewProgress makes one of a read that has not begun.
func NewProgress[P any]() *Progress[P] { return &Progress[P]{moved: make(chan struct{}, 1)} }

// Report says how far the read is. Any goroutine may call it, and it does not block.
func (p *Progress[P]) Report(at P) {
	p.last.Store(&at)
	select {
	case p.moved <- struct{}{}:
	default: // the screen has not seen the last one yet
	}
}

// Last is what was reported last, nil for nothing yet.
func (p *Progress[P]) Last() *P { return p.last.Load() }

// Follow makes the command that waits for reports, at least pace apart. show is called in Update
// with the last one, and reports whether that is on the screen.
func (p *Progress[P]) Follow(by Asker, pace time.Duration, show func(P) bool) tea.Cmd {
	return p.follow(moved[P]{p, by, pace, show}, 0)
}

func (p *Progress[P]) follow(m moved[P], pause time.Duration) tea.Cmd {
	cmd, cancel := m.by.Start(func(ctx context.Context) tea.Msg {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-p.moved:
			return m
		case <-ctx.Done():
			return nil
		}
	})
	p.stop = cancel
	return cmd
}

// Deliver shows what was reported, and waits for more.
func (m moved[P]) Deliver() (next tea.Cmd, changed bool) {
	if m.of.stop == nil {
		return nil, false
	}
	m.of.stop()
	return m.of.follow(m, m.pace), m.show(*m.of.Last())
}

// Close stops following.
func (p *Progress[P]) Close() {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

// Pause waits until nothing happens for a while, such as that nothing is typed.
type Pause struct{ last *ended }

// ended tells that a pause is over.
type ended struct {
	of   *Pause
	then func() tea.Cmd
}

// Begin makes the command that calls then, in Update, after a time without another Begin.
func (p *Pause) Begin(length time.Duration, then func() tea.Cmd) tea.Cmd {
	m := &ended{p, then}
	p.last = m
	return tea.Tick(length, func(time.Time) tea.Msg { return m })
}

// Resting reports whether the last pause is over.
func (p *Pause) Resting() bool { return p.last == nil }

// Close withdraws the pause that has begun.
func (p *Pause) Close() { p.last = nil }

// Deliver calls what was waiting for the pause.
func (m *ended) Deliver() (next tea.Cmd, changed bool) {
	if m.of.last != m {
		return nil, false
	}
	m.of.last = nil
	return m.then(), true
}
