package retry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// scriptedPatch is a patch whose steps take their answers from a script, one after the other; the last one stays.
type scriptedPatch struct {
	sends, confirms, readBacks []error // errLanded: a read-back finds the patch landed
	settled                    error   // what Settle returns
	unsettled                  bool
	calls                      []string
}

var errLanded = errors.New("landed")

func (p *scriptedPatch) next(call string, script *[]error) error {
	p.calls = append(p.calls, call)
	if len(*script) == 0 {
		return nil
	}
	err := (*script)[0]
	if len(*script) > 1 {
		*script = (*script)[1:]
	}
	return err
}

func (p *scriptedPatch) Unsettled() bool { return p.unsettled }

func (p *scriptedPatch) ReadBack(context.Context) (bool, error) {
	err := p.next("read", &p.readBacks)
	if errors.Is(err, errLanded) {
		return true, nil
	}
	return false, err
}

func (p *scriptedPatch) CheckBeforeSend(context.Context) error { return p.next("confirm", &p.confirms) }

func (p *scriptedPatch) Send(context.Context) error {
	err := p.next("send", &p.sends)
	if err != nil && !ProvesRejected(err) && !IsUnsent(err) {
		p.unsettled = true
	}
	return err
}

func (p *scriptedPatch) Settle(_ context.Context, err error) error {
	p.calls = append(p.calls, "settle")
	if p.settled == errLanded {
		return nil
	}
	return err
}

func isRetriable(err error) bool { return Classify(err) == Retriable }

// A request is sent only after what became of an unsettled one was read, and nothing is sent once that landed.
func TestPatchIsReadBackBeforeItIsSentAgain(t *testing.T) {
	lost, refused := error(syscall.ECONNRESET), error(syscall.ECONNREFUSED)
	for _, c := range []struct {
		name  string
		patch scriptedPatch
		calls string
		want  error
	}{
		{"first answer", scriptedPatch{}, "confirm send", nil},
		{"not sent", scriptedPatch{sends: []error{refused, nil}}, "confirm send confirm send", nil},
		{"lost, not landed", scriptedPatch{sends: []error{lost, nil}}, "confirm send read confirm send", nil},
		{"lost, landed", scriptedPatch{sends: []error{lost}, readBacks: []error{errLanded}}, "confirm send read", nil},
		{
			"read only later",
			scriptedPatch{sends: []error{lost}, readBacks: []error{refused, refused, errLanded}},
			"confirm send read read read", nil,
		},
		{
			"lost, no longer possible",
			scriptedPatch{sends: []error{lost}, readBacks: []error{ErrChanged}},
			"confirm send read settle", ErrChanged,
		},
		{
			"changed by the lost request",
			scriptedPatch{
				sends: []error{lost}, confirms: []error{nil, ErrChanged}, readBacks: []error{nil, errLanded},
			},
			"confirm send read confirm read", nil,
		},
		{
			"changed by somebody else",
			scriptedPatch{sends: []error{lost}, confirms: []error{nil, ErrChanged}},
			"confirm send read confirm read settle", ErrChanged,
		},
		{"changed before", scriptedPatch{confirms: []error{ErrChanged}}, "confirm settle", ErrChanged},
		{"refused for good", scriptedPatch{sends: []error{errLanded}}, "confirm send settle", errLanded},
		{"landed after all", scriptedPatch{sends: []error{errLanded}, settled: errLanded}, "confirm send settle", nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			err := PatchResourceWithRetries(t.Context(), Options{}, &c.patch, isRetriable)
			if calls := strings.Join(c.patch.calls, " "); calls != c.calls || !errors.Is(err, c.want) {
				t.Errorf("%s: %s, error %v; want %s, error %v", c.name, calls, err, c.calls, c.want)
			}
		})
	}
}

// A patch lands after every outage that is shorter than the deadline, within one step of the cap; one that does not
// end is settled once, at the deadline.
func TestPatchLastsUntilTheDeadline(t *testing.T) {
	for _, c := range []struct{ outage, deadline time.Duration }{
		{45 * time.Second, DefaultDeadline},
		{4 * time.Minute, DefaultDeadline},
		{DefaultDeadline - time.Second, DefaultDeadline},
		{time.Hour, DefaultDeadline},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			p := &outagePatch{server: outage{back: began.Add(c.outage), err: syscall.ECONNRESET}}
			o := Options{Backoff: CapBackoff(2 * time.Second), Deadline: c.deadline}
			err := PatchResourceWithRetries(t.Context(), o, p, isRetriable)
			switch late := time.Since(p.server.back); {
			case c.outage < c.deadline && (err != nil || late < 0 || late > 2*time.Second):
				t.Errorf("outage of %s: landed %s after it, error %v", c.outage, late, err)
			case c.outage > c.deadline && (err == nil || time.Since(began) != c.deadline):
				t.Errorf("outage of %s: error %v after %s", c.outage, err, time.Since(began))
			}
			if settled := slices.Index(p.calls, "settle"); settled >= 0 != (err != nil) ||
				settled >= 0 && settled != len(p.calls)-1 {
				t.Errorf("outage of %s: settled at call %d of %d, error %v", c.outage, settled, len(p.calls), err)
			}
		})
	}
}

// outagePatch is a patch to an API server that is away for a time.
type outagePatch struct {
	scriptedPatch
	server outage
}

func (p *outagePatch) Send(ctx context.Context) error { return p.server.request(ctx) }

// A patch that is interrupted sends nothing more, and is settled.
func TestInterruptedPatchIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := &scriptedPatch{sends: []error{syscall.ECONNREFUSED}}
		err := PatchResourceWithRetries(ctx, Options{}, p, isRetriable)
		if last := p.calls[len(p.calls)-1]; last != "settle" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %s, error %v", last, err)
		}
	})
}

func TestCapBackoff(t *testing.T) {
	for _, c := range []struct{ limit, first, want time.Duration }{
		{0, DefaultFirst, DefaultCap},
		{-1, DefaultFirst, DefaultCap},
		{time.Minute, DefaultFirst, time.Minute},
		{time.Millisecond, time.Millisecond, time.Millisecond},
	} {
		b := CapBackoff(c.limit)
		want := Backoff{First: c.first, Factor: DefaultFactor, Cap: c.want, Jitter: DefaultJitter}
		if b != want || b.withDefaults() != want {
			t.Errorf("CapBackoff(%s) is %+v, completed %+v; want %+v", c.limit, b, b.withDefaults(), want)
		}
	}
}
