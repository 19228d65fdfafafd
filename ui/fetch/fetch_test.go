package fetch

import (
	"context"
	"errors"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// asker is one with a clock that the test moves. It counts what was answered.
type asker struct {
	Requester
	now      time.Time
	answered int
}

func newAsker() *asker {
	a := &asker{now: time.Date(2026, 11, 25, 1, 0, 0, 0, time.UTC)}
	a.Requester = Requester{
		Start: func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			return func() tea.Msg { return work(ctx) }, cancel
		},
		Clock:    func() time.Time { return a.now },
		OnAnswer: func() tea.Cmd { a.answered++; return nil },
	}
	return a
}

func reads(value int, err error) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return value, err }
}

func deliver(t *testing.T, cmd tea.Cmd) (next tea.Cmd, changed bool) {
	t.Helper()
	if cmd == nil {
		t.Fatal("nothing was asked")
	}
	m, ok := cmd().(Message)
	if !ok {
		t.Fatal("no message")
	}
	return m.Deliver()
}

func TestAnAnswerStands(t *testing.T) {
	by, a := newAsker(), &Answer[int]{}
	cmd := a.FetchIfDue(by.Requester, time.Minute, reads(1, nil))
	if !a.IsPending() || a.FetchIfDue(by.Requester, time.Minute, reads(2, nil)) != nil {
		t.Error("asked twice at a time")
	}
	if _, changed := deliver(
		t,
		cmd,
	); !changed || a.Value != 1 || !a.HasValue || a.IsPending() || by.answered != 1 ||
		!a.ReadAt.Equal(by.now) {
		t.Errorf("%+v", a)
	}
	by.now = by.now.Add(time.Minute - 1)
	if a.FetchIfDue(by.Requester, time.Minute, reads(2, nil)) != nil {
		t.Error("asked though it stands")
	}
	by.now = by.now.Add(1)
	if a.FetchIfDue(by.Requester, 0, reads(2, nil)) != nil {
		t.Error("asked though it stands for ever")
	}
	deliver(t, a.FetchIfDue(by.Requester, time.Minute, reads(0, errors.New("no"))))
	if a.Value != 1 || a.Err == nil || !a.HasValue {
		t.Errorf("after an error: %+v", a)
	}
	by.now = by.now.Add(ErrorMaxAge - 1)
	if a.FetchIfDue(by.Requester, time.Second, reads(2, nil)) != nil {
		t.Error("asked again soon after an error")
	}
	a.ClearError()
	deliver(t, a.FetchIfDue(by.Requester, time.Hour, reads(3, nil)))
	if a.Value != 3 || a.Err != nil {
		t.Errorf("%+v", a)
	}
}

func TestALateAnswerIsDropped(t *testing.T) {
	by, a := newAsker(), &Answer[int]{}
	a.ResetForKey("one")
	late := a.FetchIfDue(by.Requester, 0, reads(1, nil))
	if a.ResetForKey("one") || !a.ResetForKey("two") || a.IsPending() {
		t.Errorf("%+v", a)
	}
	if _, changed := deliver(t, late); changed || a.HasValue {
		t.Errorf("taken: %+v", a)
	}
	late = a.FetchIfDue(by.Requester, 0, reads(1, nil))
	a.Close()
	cmd := a.FetchIfDue(by.Requester, 0, reads(2, nil))
	if _, changed := deliver(t, late); changed || !a.IsPending() {
		t.Errorf("taken: %+v", a)
	}
	if deliver(t, cmd); a.Value != 2 || by.answered != 1 {
		t.Errorf("%+v", a)
	}
}

func TestRefetchKeepsTheOldValue(t *testing.T) {
	by, a := newAsker(), &Answer[int]{}
	deliver(t, a.Refetch(by.Requester, "a", reads(1, nil)))
	if !a.IsFor("a") || a.IsFor("b") || a.PendingKey() != nil {
		t.Errorf("%+v", a)
	}
	late := a.Refetch(by.Requester, "b", reads(2, nil))
	if !a.IsFor("a") || a.Value != 1 || a.PendingKey() != "b" {
		t.Errorf("while another one is read: %+v", a)
	}
	cmd := a.Refetch(by.Requester, "c", reads(3, nil))
	if _, changed := deliver(t, late); changed || a.PendingKey() != "c" {
		t.Errorf("the answer to a question of the past counts: %+v", a)
	}
	if deliver(t, cmd); !a.IsFor("c") || a.Value != 3 {
		t.Errorf("%+v", a)
	}
	deliver(t, a.Refetch(by.Requester, "d", reads(0, errors.New("no"))))
	if a.Err == nil || !a.IsFor("c") || a.Value != 3 {
		t.Errorf("after an error: %+v", a)
	}
}

func TestWithdrawingEndsTheRead(t *testing.T) {
	by, a := newAsker(), &Answer[int]{}
	cmd := a.FetchIfDue(by.Requester, 0, func(ctx context.Context) (int, error) { return 0, ctx.Err() })
	a.Close()
	if m := cmd().(answerMessage[int]); !errors.Is(m.err, context.Canceled) {
		t.Errorf("%+v", m)
	}
}

func TestAStoredAnswerIsReadAgainOnce(t *testing.T) {
	by, a := newAsker(), &StoredAnswer[int]{}
	deliver(t, a.FetchIfDue(by.Requester, false, time.Hour, reads(1, nil)))
	if a.FetchIfDue(by.Requester, false, time.Hour, reads(2, nil)) != nil {
		t.Error("asked though it stands")
	}
	deliver(t, a.FetchIfDue(by.Requester, true, time.Hour, reads(2, nil)))
	by.now = by.now.Add(24 * time.Hour)
	if a.FetchIfDue(by.Requester, true, time.Hour, reads(3, nil)) != nil || a.Value != 2 {
		t.Errorf("%+v", a)
	}
}

func TestProgressIsFollowed(t *testing.T) {
	by, p, shown := newAsker(), NewProgress[int](), true
	last := 0
	cmd := p.FollowReports(by.Requester, time.Millisecond, func(at int) bool { last = at; return shown })
	for i := range 1000 {
		p.ReportProgress(i)
	}
	next, changed := deliver(t, cmd)
	if !changed || last != 999 || *p.LastReport() != 999 || len(p.reported) != 0 {
		t.Errorf("changed %v, at %v", changed, last)
	}
	p.ReportProgress(1000)
	shown = false
	if next, changed = deliver(t, next); changed || next == nil {
		t.Error("a hidden one is drawn, or is not followed any more")
	}
	p.Close()
	if msg := next(); msg != nil {
		t.Errorf("%T after the end", msg)
	}
	if next, changed := (progressMessage[int]{progress: p}).Deliver(); next != nil || changed {
		t.Error("followed after the end")
	}
}

func TestOnlyTheLastPauseCounts(t *testing.T) {
	var p Debouncer
	called := 0
	then := func() tea.Cmd { called++; return nil }
	first, second := p.ScheduleCall(time.Millisecond, then), p.ScheduleCall(time.Millisecond, then)
	if _, changed := deliver(t, first); changed || called != 0 || p.IsIdle() {
		t.Error("the first one counts")
	}
	if _, changed := deliver(t, second); !changed || called != 1 || !p.IsIdle() {
		t.Error("the second one does not count")
	}
	last := p.ScheduleCall(time.Millisecond, then)
	p.Close()
	if deliver(t, last); called != 1 {
		t.Error("called after Close")
	}
}
