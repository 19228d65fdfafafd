package action

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/veltui/veltui/internal/job"
)

// The attacks that once made the engine say, or do, what was not so. Each was
// reproduced before it was mended.
func TestAttacks(t *testing.T) {
	for _, c := range []struct {
		name   string
		tamper func(b *sendBench) func(string, *http.Request, func() *http.Response) (*http.Response, error)
		sent   SentState
		state  OutcomeState
		says   string
		never  string
		landed int // by the end of the day
	}{
		{name: "landed, the answer lost, and another finalizes before the look", sent: Landed, state: StateSettled, never: "nothing was written", landed: 1,
			tamper: onFirstWrite("answer lost", func(b *sendBench) { b.other(true) })},
		{name: "the same, with an older veltui", sent: Doubtful, state: StateChanged, never: "nothing was written", landed: 1,
			tamper: onFirstWrite("answer lost", func(b *sendBench) { b.other(false) })},
		{name: "on its way, then ctrl+c", sent: Doubtful, state: StateUnfinished, says: "unknown whether it was applied", landed: 1,
			tamper: onFirstWrite("late", func(b *sendBench) { b.cancel(errInterrupt) })},
		{name: "200, and nothing changed", sent: Doubtful, state: StateAltered, says: "leave the object as it is",
			tamper: onFirstWrite("200 without effect", nil)},
		{name: "a real write that a webhook changes", sent: Doubtful, state: StateAltered, says: "status/phase", never: "somebody", landed: 1,
			tamper: onFirstWrite("mutated but for the mark", nil)},
		{name: "on its way, then refused", sent: Landed, state: StateSettled, landed: 1,
			tamper: onWrites("late", "403")},
		{name: "on its way for minutes, then interrupted", sent: Doubtful, state: StateUnfinished, never: "nothing was written", landed: 1,
			tamper: onFirstWrite("very late", func(b *sendBench) { b.cancel(errInterrupt) })},
		{name: "landed, and a proxy answers 403", sent: Landed, state: StateSettled, landed: 1,
			tamper: onFirstWrite("403 after it", nil)},
		{name: "landed, and a proxy answers 404", sent: Landed, state: StateSettled, landed: 1,
			tamper: onFirstWrite("404 after it", nil)},
		{name: "not authorized any more, and then somebody else", sent: NotSent, state: StateChanged, says: "the credentials are those of joe now, no longer of jane",
			tamper: onFirstWrite("401", func(b *sendBench) { b.api.user = "joe" })},
		{name: "not authorized any more, and the kubeconfig leads elsewhere", sent: NotSent, state: StateChanged, says: "leads to another cluster now: its server was https://a.example.test:443 and is https://b.example.test:443",
			tamper: onFirstWrite("401", func(b *sendBench) { b.host = "b.example.test" })},
		{name: "another cluster at the same address", sent: NotSent, state: StateChanged, says: "the uid of its namespace kube-system was kube-system-a and is another",
			tamper: onFirstWrite("refused to dial", func(b *sendBench) { b.api.uid = "another" })},
		{name: "the server that began it comes back while the patch fails", sent: NotSent, state: StateChanged, says: "the evidence has changed",
			tamper: func(b *sendBench) func(string, *http.Request, func() *http.Response) (*http.Response, error) {
				until := time.Now().Add(time.Minute)
				return func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
					if step == "write" && time.Now().Before(until) {
						b.server(b.start.Add(-time.Hour))
						return nil, syscall.ECONNREFUSED
					}
					connected(r)
					return serve(), nil
				}
			}},
		{name: "redirected", sent: Doubtful, state: StateUnfinished, says: "follows no redirect", tamper: onFirstWrite("307", nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, out := applyUnder(t, c.tamper)
				if out.Sent != c.sent || out.State != c.state || !strings.Contains(out.Message, c.says) ||
					c.never != "" && strings.Contains(out.Message, c.never) {
					t.Errorf("%s, %s: %s", out.State, out.Sent, out.Message)
				}
				if landed := len(b.api.landings(b.path)); landed != c.landed || b.api.foreign != 0 {
					t.Errorf("landed %d times, %d elsewhere", landed, b.api.foreign)
				}
			})
		})
	}
}

// onFirstWrite answers the first write so, then lets something happen.
func onFirstWrite(
	answer string,
	then func(*sendBench),
) func(*sendBench) func(string, *http.Request, func() *http.Response) (*http.Response, error) {
	return func(b *sendBench) func(string, *http.Request, func() *http.Response) (*http.Response, error) {
		first := true
		return func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			if step != "write" || !first {
				connected(r)
				return serve(), nil
			}
			first = false
			response, err := answers[answer](b.api, r, serve)
			if then != nil {
				then(b)
			}
			return response, err
		}
	}
}

// onWrites answers the writes so, one after the other.
func onWrites(
	each ...string,
) func(*sendBench) func(string, *http.Request, func() *http.Response) (*http.Response, error) {
	return func(b *sendBench) func(string, *http.Request, func() *http.Response) (*http.Response, error) {
		left := each
		return func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			if step != "write" || len(left) == 0 {
				connected(r)
				return serve(), nil
			}
			answer := left[0]
			left = left[1:]
			return answers[answer](b.api, r, serve)
		}
	}
}

// applyUnder plans to set a restore to Failed, and applies the plan while the API
// server, or what is before it, behaves so.
func applyUnder(
	t *testing.T,
	tamper func(*sendBench) func(string, *http.Request, func() *http.Response) (*http.Response, error),
) (*sendBench, Outcome) {
	t.Helper()
	b := newSendBench(finalizeSend)
	engine, err := New(b.options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.GatherEvidence(t.Context(), job.Restore, "r")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := PlanFor(Finalize, e, Request{Phase: "Failed", Reason: "it hangs"})
	ctx, cancel := context.WithCancelCause(t.Context())
	b.cancel, b.api.tamper = cancel, tamper(b)
	out, _ := engine.ApplyPlan(ctx, p, false, nil)
	time.Sleep(30 * time.Minute)
	synctest.Wait()
	return b, out
}

// A clock that is minutes off makes no job look older than it is.
func TestClocksApart(t *testing.T) {
	for name, date := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute, "a little ahead": 90 * time.Second, "right": 0} {
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(finalizeSend)
			b.api.date = func() time.Time { return time.Now().Add(date) }
			engine, err := New(b.options(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			e, err := engine.GatherEvidence(t.Context(), job.Restore, "r")
			if err != nil {
				t.Fatal(err)
			}
			p, _ := PlanFor(Finalize, e, Request{Phase: "Failed", Reason: "it hangs"})
			if apart := date.Abs() > maxClockSkew; p.IsPossible() == apart ||
				apart && !strings.Contains(p.Refusal, "differ by") {
				t.Errorf("%s: possible %v: %s", name, p.IsPossible(), p.Refusal)
			}
			if e.Now.After(time.Now()) {
				t.Errorf("%s: the evidence is of the future", name)
			}
		})
	}
	// The API server that would write has another clock than the one that answered.
	synctest.Test(t, func(t *testing.T) {
		_, out := applyUnder(
			t,
			func(b *sendBench) func(string, *http.Request, func() *http.Response) (*http.Response, error) {
				b.api.wrote = func() time.Time { return time.Now().Add(-8 * time.Minute) }
				return func(_ string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
					connected(r)
					return serve(), nil
				}
			},
		)
		if out.State != StateRefused || out.Sent != NotSent || !strings.Contains(out.Message, "differ by 8m") {
			t.Errorf("%s, %s: %s", out.State, out.Sent, out.Message)
		}
	})
}
