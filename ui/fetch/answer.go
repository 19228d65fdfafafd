package fetch

import (
	"context"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
)

// ErrorMaxAge is how long an error is kept as the answer.
const ErrorMaxAge = time.Minute

// StartFunc returns a command that does work. The work's context ends with the program, or with cancel.
type StartFunc func(work func(context.Context) tea.Msg) (cmd tea.Cmd, cancel context.CancelFunc)

// Message is the message from a command of this package. The root model calls Deliver in Update, and runs the command
// that it returns; changed is false for a late message.
type Message interface {
	Deliver() (next tea.Cmd, changed bool)
}

// Requester starts requests for a screen.
type Requester struct {
	Start    StartFunc
	Clock    func() time.Time // the local clock
	OnAnswer func() tea.Cmd   // called in Update once an answer is stored; may be nil
}

// Answer is the answer to a request, or the error. After an error the last value stays.
type Answer[T any] struct {
	Value T
	// HasValue is true once there is a value, and ReadAt is when it came.
	HasValue bool
	ReadAt   time.Time
	Err      error

	key       any       // the question that the value answers
	updatedAt time.Time // when the value or the error came
	request   *request  // the outstanding request, nil for none
}

type request struct {
	key       any
	startedAt time.Time
	cancel    context.CancelFunc
}

type answerMessage[T any] struct {
	answer     *Answer[T]
	requester  Requester
	request    *request
	value      T
	err        error
	receivedAt time.Time
}

// ResetForKey drops the answer if key differs from its present key, and reports whether it did.
func (a *Answer[T]) ResetForKey(key any) (changed bool) {
	if a.key == key {
		return false
	}
	a.Close()
	*a = Answer[T]{key: key}
	return true
}

// Key returns the key of the question that the value answers.
func (a *Answer[T]) Key() any { return a.key }

// IsFor reports whether there is a value, and it answers the question of the key.
func (a *Answer[T]) IsFor(key any) bool { return a.HasValue && a.key == key }

// PendingKey returns the key of the outstanding request's question, nil if there is no request.
func (a *Answer[T]) PendingKey() any {
	if a.request == nil {
		return nil
	}
	return a.request.key
}

// FetchIfDue returns the command that reads the answer. It returns nil if a request is outstanding, or if the answer
// is younger than age (0 for any age) or failed less than ErrorMaxAge ago.
func (a *Answer[T]) FetchIfDue(by Requester, age time.Duration, read func(context.Context) (T, error)) tea.Cmd {
	if !a.IsDue(by.Clock(), age) {
		return nil
	}
	return a.sendRequest(by, a.key, read)
}

// Refetch returns the command that reads the answer to the question of a key, in place of an outstanding request. The
// old value stays until the new one comes, and IsFor tells which question it answers.
func (a *Answer[T]) Refetch(by Requester, key any, read func(context.Context) (T, error)) tea.Cmd {
	a.Close()
	a.Invalidate()
	return a.sendRequest(by, key, read)
}

func (a *Answer[T]) sendRequest(by Requester, key any, read func(context.Context) (T, error)) tea.Cmd {
	r := &request{key: key, startedAt: by.Clock()}
	a.request = r
	var cmd tea.Cmd
	cmd, r.cancel = by.Start(func(ctx context.Context) tea.Msg {
		value, err := read(ctx)
		return answerMessage[T]{a, by, r, value, err, by.Clock()}
	})
	return cmd
}

// IsDue reports whether FetchIfDue would read.
func (a *Answer[T]) IsDue(now time.Time, age time.Duration) bool {
	switch passed := now.Sub(a.updatedAt).Abs(); {
	case a.IsPending():
		return false
	case a.Err != nil:
		return passed >= ErrorMaxAge
	default:
		return !a.HasValue || a.updatedAt.IsZero() || age > 0 && passed >= age
	}
}

// Deliver stores the answer, unless the request was cancelled.
func (m answerMessage[T]) Deliver() (next tea.Cmd, changed bool) {
	a := m.answer
	if a.request != m.request {
		return nil, false
	}
	a.Close()
	if a.Err, a.updatedAt = m.err, m.receivedAt; m.err == nil {
		a.Value, a.HasValue, a.ReadAt, a.key = m.value, true, m.receivedAt, m.request.key
	}
	if m.requester.OnAnswer == nil {
		return nil, true
	}
	return m.requester.OnAnswer(), true
}

// IsPending reports whether a request is outstanding.
func (a *Answer[T]) IsPending() bool { return a.request != nil }

// RequestedAt returns when the outstanding request was made, zero if there is none.
func (a *Answer[T]) RequestedAt() time.Time {
	if a.request == nil {
		return time.Time{}
	}
	return a.request.startedAt
}

// Invalidate makes FetchIfDue read again at once. The value stays.
func (a *Answer[T]) Invalidate() { a.Err, a.updatedAt = nil, time.Time{} }

// ClearError makes FetchIfDue read again at once after an error.
func (a *Answer[T]) ClearError() {
	if a.Err != nil {
		a.Invalidate()
	}
}

// Close cancels the outstanding request.
func (a *Answer[T]) Close() {
	if a.request != nil {
		a.request.cancel()
		a.request = nil
	}
}

// StoredAnswer is an answer that is complete only once a job has ended: it is then read again.
type StoredAnswer[T any] struct {
	Answer[T]
	fetchedEarly bool // true if it was last read before the job had ended
}

// FetchIfDue is like [Answer.FetchIfDue]. After the job has ended, the answer is read only once.
func (a *StoredAnswer[T]) FetchIfDue(
	by Requester,
	ended bool,
	age time.Duration,
	read func(context.Context) (T, error),
) tea.Cmd {
	if ended && a.fetchedEarly && !a.IsPending() {
		a.fetchedEarly = false
		a.Invalidate()
	}
	if ended {
		age = 0
	}
	cmd := a.Answer.FetchIfDue(by, age, read)
	if cmd != nil {
		a.fetchedEarly = !ended
	}
	return cmd
}

// Progress is the progress of a read. FollowReports redraws the screen as it advances.
type Progress[P any] struct {
	lastReport   atomic.Pointer[P]
	reported     chan struct{}
	cancelFollow context.CancelFunc
}

type progressMessage[P any] struct {
	progress   *Progress[P]
	requester  Requester
	interval   time.Duration
	showReport func(P) bool
}

// NewProgress returns the progress of a read that has not begun.
func NewProgress[P any]() *Progress[P] { return &Progress[P]{reported: make(chan struct{}, 1)} }

// ReportProgress records how far the read is. Any goroutine may call it, and it does not block.
func (p *Progress[P]) ReportProgress(at P) {
	p.lastReport.Store(&at)
	select {
	case p.reported <- struct{}{}:
	default: // the screen has not seen the previous report yet
	}
}

// LastReport returns the last report, nil if there is none yet.
func (p *Progress[P]) LastReport() *P { return p.lastReport.Load() }

// FollowReports returns the command that waits for reports, at least pace apart. show is called in Update with the
// last report, and returns whether the report is on the screen.
func (p *Progress[P]) FollowReports(by Requester, pace time.Duration, show func(P) bool) tea.Cmd {
	return p.awaitReport(progressMessage[P]{p, by, pace, show}, 0)
}

func (p *Progress[P]) awaitReport(m progressMessage[P], pause time.Duration) tea.Cmd {
	cmd, cancel := m.requester.Start(func(ctx context.Context) tea.Msg {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-p.reported:
			return m
		case <-ctx.Done():
			return nil
		}
	})
	p.cancelFollow = cancel
	return cmd
}

// Deliver shows the last report, and waits for the next.
func (m progressMessage[P]) Deliver() (next tea.Cmd, changed bool) {
	if m.progress.cancelFollow == nil {
		return nil, false
	}
	m.progress.cancelFollow()
	return m.progress.awaitReport(m, m.interval), m.showReport(*m.progress.LastReport())
}

// Close stops following the reports.
func (p *Progress[P]) Close() {
	if p.cancelFollow != nil {
		p.cancelFollow()
		p.cancelFollow = nil
	}
}

// Debouncer delays a call until nothing has happened for a while, such as no typing.
type Debouncer struct{ pending *debounceMessage }

type debounceMessage struct {
	debounce *Debouncer
	callback func() tea.Cmd
}

// ScheduleCall returns the command that calls then in Update, after a time without another ScheduleCall.
func (p *Debouncer) ScheduleCall(length time.Duration, then func() tea.Cmd) tea.Cmd {
	m := &debounceMessage{p, then}
	p.pending = m
	return tea.Tick(length, func(time.Time) tea.Msg { return m })
}

// IsIdle reports whether no call is scheduled.
func (p *Debouncer) IsIdle() bool { return p.pending == nil }

// Close cancels the scheduled call.
func (p *Debouncer) Close() { p.pending = nil }

// Deliver makes the scheduled call.
func (m *debounceMessage) Deliver() (next tea.Cmd, changed bool) {
	if m.debounce.pending != m {
		return nil, false
	}
	m.debounce.pending = nil
	return m.callback(), true
}
