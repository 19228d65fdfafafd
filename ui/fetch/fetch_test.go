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
	Asker
	now      time.Time
	answered int
}

func newAsker() *asker {
	a := &asker{now: time.Date(2026, 11, 25, 1, 0, 0, 0, time.UTC)}
	a.Asker = Asker{
		Start: func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			return func() tea.Msg { return work(ctx) }, cancel
		},
		Clock:    func() time.Time { return a.now },
		Answered: func() tea.Cmd { a.answered++; return nil },
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
	cmd := a.Ask(by.Asker, time.Minute, reads(1, nil))
	if !a.Pending() || a.Ask(by.Asker, time.Minute, reads(2, nil)) != nil {
		t.Error("asked twice at a time")
	}
	if _, changed := deliver(
		t,
		cmd,
	); !changed || a.Value != 1 || !a.Known || a.Pending() || by.answered != 1 ||
		!a.Read.Equal(by.now) {
		t.Errorf("%+v", a)
	}
	by.now = by.now.Add(time.Minute - 1)
	if a.Ask(by.Asker, time.Minute, reads(2, nil)) != nil {
		t.Error("asked though it stands")
	}
	by.now = by.now.Add(1)
	if a.Ask(by.Asker, 0, reads(2, nil)) != nil {
		t.Error("asked though it stands for ever")
	}
	deliver(t, a.Ask(by.Asker, time.Minute, reads(0, errors.New("no"))))
	if a.Value != 1 || a.Err == nil || !a.Known {
		t.Errorf("after an error: %+v", a)
	}
	by.now = by.now.Add(ErrorAge - 1)
	if a.Ask(by.Asker, time.Second, reads(2, nil)) != nil {
		t.Error("asked again soon after an error")
	}
	a.Forget()
	deliver(t, a.Ask(by.Asker, time.Hour, reads(3, nil)))
	if a.Value != 3 || a.Err != nil {
		t.Errorf("%+v", a)
	}
}

func TestALateAnswerIsDropped(t *testing.T) {
	by, a := newAsker(), &Answer[int]{}
	a.About("one")
	late := a.Ask(by.Asker, 0, reads(1, nil))
	if a.About("one") || !a.About("two") || a.Pending() {
		t.Errorf("%+v", a)
	}
	if _, changed := deliver(t, late); changed || a.Known {
		t.Errorf("taken: %+v", a)
	}
	late = a.Ask(by.Asker, 0, reads(1, nil))
	a.Close()
	cmd := a.Ask(by.Asker, 0, reads(2, nil))
	if _, changed := deliver(t, late); changed || !a.Pending() {
		t.Errorf("taken: %+v", a)
	}
	if deliver(t, cmd); a.Value != 2 || by.answered != 1 {
		t.Errorf("%+v", a)
	}
}

func TestWithdrawingEndsTheRead(t *testing.T) {
	by, a := newAsker(), &Answer[int]{}
	cmd := a.Ask(by.Asker, 0, func(ctx context.Context) (int, error) { return 0, ctx.Err() })
	a.Close()
	if m := cmd().(answered[int]); !errors.Is(m.err, context.Canceled) {
		t.Errorf("%+v", m)
	}
}

func TestAStoredAnswerIsReadAgainOnce(t *testing.T) {
	by, a := newAsker(), &StoredAnswer[int]{}
	deliver(t, a.Ask(by.Asker, false, time.Hour, reads(1, nil)))
	if a.Ask(by.Asker, false, time.Hour, reads(2, nil)) != nil {
		t.Error("asked though it stands")
	}
	deliver(t, a.Ask(by.Asker, true, time.Hour, reads(2, nil)))
	by.now = by.now.Add(24 * time.Hour)
	if a.Ask(by.Asker, true, time.Hour, reads(3, nil)) != nil || a.Value != 2 {
		t.Errorf("%+v", a)
	}
}

func TestProgressIsFollowed(t *testing.T) {
	by, p, shown := newAsker(), NewProgress[int](), true
	last := 0
	cmd := p.Follow(by.Asker, time.Millisecond, func(at int) bool { last = at; return shown })
	for i := range 1000 {
		p.Report(i)
	}
	next, changed := deliver(t, cmd)
	if !changed || last != 999 || *p.Last() != 999 || len(p.moved) != 0 {
		t.Errorf("changed %v, at %v", changed, last)
	}
	p.Report(1000)
	shown = false
	if next, changed = deliver(t, next); changed || next == nil {
		t.Error("a hidden one is drawn, or is not followed any more")
	}
	p.Close()
	if msg := next(); msg != nil {
		t.Errorf("%T after the end", msg)
	}
	if next, changed := (moved[int]{of: p}).Deliver(); next != nil || changed {
		t.Error("followed after the end")
	}
}

func TestOnlyTheLastPauseCounts(t *testing.T) {
	var p Pause
	called := 0
	then := func() tea.Cmd { called++; return nil }
	first, second := p.Begin(time.Millisecond, then), p.Begin(time.Millisecond, then)
	if _, changed := deliver(t, first); changed || called != 0 || p.Resting() {
		t.Error("the first one counts")
	}
	if _, changed := deliver(t, second); !changed || called != 1 || !p.Resting() {
		t.Error("the second one does not count")
	}
	last := p.Begin(time.Millisecond, then)
	p.Close()
	if deliver(t, last); called != 1 {
		t.Error("called after Close")
	}
}
