package action

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/retry"
)

// forbidden is the answer of an API server that allows nothing.
func forbidden(r *http.Request) *http.Response {
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"is forbidden","reason":"Forbidden","code":403}`
	return &http.Response{
		StatusCode: http.StatusForbidden,
		Status:     "403 Forbidden",
		Request:    r,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(body)),
	}
}

// An API server that has just come back refuses everything until it has read
// the roles. That is no answer; the same refusal out of the blue is one.
func TestRefusalsOfAnAPIServerThatHasJustComeBack(t *testing.T) {
	for _, outage := range []bool{true, false} {
		in := install(t)
		in.restore("r")
		in.server(time.Now().Add(10 * time.Minute))
		f := in.finalizer(func(o *Options) { o.Session = in.session(in.user("operator", operator...)) })
		p := in.plan(f, job.Restore, "r", Request{})
		tries := 0
		in.requests.set(func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
			if !isPatch(r) {
				return nil, nil
			}
			switch tries++; {
			case tries == 1 && outage:
				return nil, syscall.ECONNREFUSED
			case tries < 5:
				return forbidden(r), nil
			}
			return nil, nil
		})
		out, err := f.ApplyPlan(t.Context(), p, false, nil)
		if outage && (err != nil || out.State != StateSettled || out.Sent != Landed || tries != 5) {
			t.Errorf("after an outage: %v, %+v, %d tries", err, out, tries)
		}
		if !outage && (out.State != StateRefused || out.Sent != NotSent || tries != 1) {
			t.Errorf("without an outage: %v, %+v, %d tries", err, out, tries)
		}
	}
}

// The real thing: an operator without the rights of an administrator, and
// attempts at every moment of the API server's start.
func TestOperatorSurvivesTheAPIServersStart(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	refused := 0
	f := in.finalizer(func(o *Options) {
		o.Session = in.session(in.user("operator", operator...))
		o.Backoff = retry.Backoff{First: time.Millisecond, Cap: 2 * time.Millisecond}
	})
	p := in.plan(f, job.Restore, "r", Request{})
	failed := 0
	out, err := f.ApplyPlan(t.Context(), p, false, func(now Progress) {
		switch {
		case now.Step != StepSend:
		case now.Attempt == nil:
			if err := in.KillAPIServer(); err != nil {
				t.Error(err)
			}
		case now.Attempt.Err != nil:
			if failed++; failed == 3 {
				go func() {
					if err := in.StartAPIServer(t.Context()); err != nil {
						t.Error(err)
					}
				}()
			}
			if strings.Contains(now.Attempt.Err.Error(), "forbidden") {
				refused++
			}
		}
	})
	if err != nil || out.State != StateSettled || out.Sent != Landed {
		t.Fatalf("%v, %+v", err, out)
	}
	t.Logf("%d attempts failed, %d of them with a refusal of a starting API server", failed, refused)
}

// A patch whose answer got lost, and a job that is gone or refused after it:
// nobody may be told that nothing was written.
func TestDoubtIsNotReportedAsNothing(t *testing.T) {
	for name, after := range map[string]func(b *sendBench) func(r *http.Request) *http.Response{
		"gone": func(b *sendBench) func(*http.Request) *http.Response {
			b.api.delete(b.path)
			return nil
		},
		"another one has its name": func(b *sendBench) func(*http.Request) *http.Response {
			b.api.delete(b.path)
			b.api.put(b.path, func(o map[string]any) { b.fill(o, b.made(), "uid-2") })
			return nil
		},
		"refused": func(*sendBench) func(*http.Request) *http.Response { return forbidden },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newSendBench(finalizeSend)
				f, p := b.planned(t, t.TempDir())
				var answer func(*http.Request) *http.Response
				sent := false
				b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
					connected(r)
					switch {
					case step == "write" && !sent:
						sent = true
						serve()
						answer = after(b)
						return nil, io.ErrUnexpectedEOF
					case sent && answer != nil:
						return answer(r), nil
					}
					return serve(), nil
				}
				out, _ := f.ApplyPlan(t.Context(), p, false, nil)
				if out.Sent != Doubtful || strings.Contains(out.Message, "nothing") ||
					!strings.Contains(out.Message, "unknown whether it was applied") {
					t.Errorf("%s, %s: %s", out.State, out.Sent, out.Message)
				}
			})
		})
	}
}

// What was stored when the plan was shown is asked for again when that is long
// ago, though nothing has changed the job since.
func TestStoredFilesAreLookedAtAgain(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.recorded("s14/stuck")
	s := holding(job.StoredCounts{})
	var ahead atomic.Int64
	f := in.finalizer(func(o *Options) {
		o.Prober, o.CountReader, o.Now = s, s, func() time.Time { return later().Add(time.Duration(ahead.Load())) }
	})
	p := in.plan(f, job.Restore, "s14-nudge", Request{})
	if p.Effect() != EffectNudge {
		t.Fatalf("%s: %s", p.Action, p.Refusal)
	}
	s.presence = job.Presence{State: job.Absent}
	ahead.Store(int64(maxStoredAge))
	out, err := f.ApplyPlan(t.Context(), p, false, nil)
	if err != nil || out.State != StateChanged || out.Sent != NotSent || in.requests.patches() != 0 {
		t.Errorf("%v, %s, %s: %s", err, out.State, out.Sent, out.Message)
	}
}

// The evidence is a dozen requests. Where each takes its time, all together may take
// longer than one attempt.
func TestGatherOnASlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(finalizeSend)
		f, err := New(b.options(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		attempt, asked := attemptTimeout(f.options), 0
		b.api.tamper = func(_ string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			asked++
			select {
			case <-time.After(attempt / 8):
				connected(r)
				return serve(), nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		began := time.Now()
		if _, err := f.GatherEvidence(t.Context(), job.Restore, "r"); err != nil {
			t.Fatalf("after %s and %d requests: %v", time.Since(began), asked, err)
		}
		if took := time.Since(began); took <= attempt {
			t.Errorf("%d requests took %s, which one attempt allows", asked, took)
		}
	})
}
