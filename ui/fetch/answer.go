package fetch

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
)

// ErrorAge is how long an answer that is an error stands.
const ErrorAge = time.Minute

// Start makes a command of work. The context of work ends with the program, or once
// cancel is called.
type Start func(work func(context.Context) tea.Msg) (cmd tea.Cmd, cancel context.CancelFunc)

// Message is what a command of this package brings. Deliver is called by the root model,
// in Update. What it returns is what is to be done next; changed is false if the message
// was late, and nothing that is shown is another.
type Message interface {
	Deliver() (next tea.Cmd, changed bool)
}

// Asker is a screen that asks.
type Asker struct {
	Start Start
	// Clock is our own clock.
	Clock func() time.Time
	// Answered is called in Update once an answer is in place, nil for nothing to do.
	Answered func() tea.Cmd
}

// Answer is what was asked for: nothing yet, still to come, a value, or why there is
// none. After an error, or when it is asked for anew, the last value stays.
type Answer[T any] struct {
	Value T
	// Known is true once there is a value, and Read is when it came.
	Known bool
	Read  time.Time
	Err   error

	key any
	// at is when the value or the error came.
	at time.Time
	// request is the one that is under way, nil for none.
	request *request
}

// request is one reading.
type request struct {
	began  time.Time
	cancel context.CancelFunc
}

// answered brings an answer.
type answered[T any] struct {
	to    *Answer[T]
	by    Asker
	of    *request
	value T
	err   error
	at    time.Time
}

// About makes a the answer to another question: what is known of the last key is dropped,
// and what is still to come is withdrawn. It reports whether the key was another one.
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

// Ask makes the command that reads, nil if there is nothing to ask: it is on its way, was
// answered within the last age (0 for any time ago), or failed less than a minute ago.
func (a *Answer[T]) Ask(by Asker, age time.Duration, read func(context.Context) (T, error)) tea.Cmd {
	now := by.Clock()
	switch {
	case a.Pending(),
		a.Err != nil && now.Sub(a.at).Abs() < ErrorAge,
		a.Err == nil && a.Known && !a.at.IsZero() && (age == 0 || now.Sub(a.at).Abs() < age):
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

// At returns when the last answer or error came; zero if it is to be asked for anew.
func (a *Answer[T]) At() time.Time { return a.at }

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

// StoredAnswer is an answer about what is complete only once a job has ended, such as
// what Velero stores: it is asked for anew once then.
type StoredAnswer[T any] struct {
	Answer[T]
	// early is true if it was asked for while the job had not ended.
	early bool
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
