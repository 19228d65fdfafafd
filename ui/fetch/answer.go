package fetch

import (
	"context"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
)

// ErrorAge is how long an answer that is an error stands.
const ErrorAge = time.Minute

// Start makes a command of work, whose context ends with the program or by cancel.
type Start func(work func(context.Context) tea.Msg) (cmd tea.Cmd, cancel context.CancelFunc)

// Message is what a command here brings. The root model calls Deliver in Update, and does what it
// returns; changed is false for a late message.
type Message interface {
	Deliver() (next tea.Cmd, changed bool)
}

// Asker is a screen that asks.
type Asker struct {
	Start    Start
	Clock    func() time.Time // our own clock
	Answered func() tea.Cmd   // called in Update once an answer is in place, nil for nothing to do
}

// Answer is what was asked for, or why there is none. After an error the last value stays.
type Answer[T any] struct {
	Value T
	// Known is true once there is a value, and Read is when it came.
	Known bool
	Read  time.Time
	Err   error

	key     any
	at      time.Time // when the value or the error came
	request *request  // the one that is under way, nil for none
}

type request struct {
	began  time.Time
	cancel context.CancelFunc
}

type answered[T any] struct {
	to    *Answer[T]
	by    Asker
	of    *request
	value T
	err   error
	at    time.Time
}

// About makes a the answer to another question, and reports whether the key is another one.
func (a *Answer[T]) About(key any) (changed bool) {
	if a.key == key {
		return false
	}
	a.Close()
	*a = Answer[T]{key: key}
	return true
}

// Key is what the answer is about.
func (a *Answer[T]) Key() any { return a.key }

// Ask makes the command that reads, nil if the answer is on its way, is younger than age (0 for
// any), or failed less than a minute ago.
func (a *Answer[T]) Ask(by Asker, age time.Duration, read func(context.Context) (T, error)) tea.Cmd {
	now := by.Clock()
	if !a.Due(now, age) {
		return nil
	}
	r := &request{began: now}
	a.request = r
	var cmd tea.Cmd
	cmd, r.cancel = by.Start(func(ctx context.Context) tea.Msg {
		value, err := read(ctx)
		return answered[T]{a, by, r, value, err, by.Clock()}
	})
	return cmd
}

// Due reports whether Ask would ask.
func (a *Answer[T]) Due(now time.Time, age time.Duration) bool {
	switch passed := now.Sub(a.at).Abs(); {
	case a.Pending():
		return false
	case a.Err != nil:
		return passed >= ErrorAge
	default:
		return !a.Known || a.at.IsZero() || age > 0 && passed >= age
	}
}

// Deliver puts the answer in place, unless the question was withdrawn.
func (m answered[T]) Deliver() (next tea.Cmd, changed bool) {
	a := m.to
	if a.request != m.of {
		return nil, false
	}
	a.Close()
	if a.Err, a.at = m.err, m.at; m.err == nil {
		a.Value, a.Known, a.Read = m.value, true, m.at
	}
	if m.by.Answered == nil {
		return nil, true
	}
	return m.by.Answered(), true
}

// Pending reports whether the answer is still to come.
func (a *Answer[T]) Pending() bool { return a.request != nil }

// Since returns when what is still to come was asked for, zero for nothing.
func (a *Answer[T]) Since() time.Time {
	if a.request == nil {
		return time.Time{}
	}
	return a.request.began
}

// Outdate makes Ask ask anew at once. What is known stays.
func (a *Answer[T]) Outdate() { a.Err, a.at = nil, time.Time{} }

// Forget makes what could not be answered be asked anew at once.
func (a *Answer[T]) Forget() {
	if a.Err != nil {
		a.Outdate()
	}
}

// Close withdraws the question.
func (a *Answer[T]) Close() {
	if a.request != nil {
		a.request.cancel()
		a.request = nil
	}
}

// StoredAnswer is about what is complete only once a job has ended: it is asked for again then.
type StoredAnswer[T any] struct {
	Answer[T]
	early bool // true if it was asked for while the job had not ended
}

// Ask is that of an answer. A job that has ended is asked about once.
func (a *StoredAnswer[T]) Ask(by Asker, ended bool, age time.Duration, read func(context.Context) (T, error)) tea.Cmd {
	if ended && a.early && !a.Pending() {
		a.early = false
		a.Outdate()
	}
	if ended {
		age = 0
	}
	cmd := a.Answer.Ask(by, age, read)
	if cmd != nil {
		a.early = !ended
	}
	return cmd
}

// Progress is how far a read is. Follow has the screen drawn anew for it.
type Progress[P any] struct {
	last  atomic.Pointer[P]
	moved chan struct{}
	stop  context.CancelFunc
}

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
