package action

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

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
	for _, c := range []struct {
		name  string
		after func(in *installation, f *Engine) func(r *http.Request) *http.Response
	}{
		{"gone", func(in *installation, _ *Engine) func(*http.Request) *http.Response {
			if err := in.Delete(in.t.Context(), newObject(jobGVK(job.Restore), in.namespace, "r"), &client.DeleteOptions{}); err != nil {
				in.t.Error(err)
			}
			return nil
		}},
		{"another one has its name", func(in *installation, _ *Engine) func(*http.Request) *http.Response {
			if err := in.Delete(in.t.Context(), newObject(jobGVK(job.Restore), in.namespace, "r")); err != nil {
				in.t.Error(err)
			}
			in.restore("r")
			return nil
		}},
		{"refused", func(*installation, *Engine) func(*http.Request) *http.Response { return forbidden }},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := install(t)
			in.restore("r")
			in.server(time.Now().Add(10 * time.Minute))
			f := in.finalizer(func(o *Options) { o.TotalTimeout = 3 * time.Second })
			p := in.plan(f, job.Restore, "r", Request{})
			var answer func(*http.Request) *http.Response
			sent := false
			in.requests.set(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				if isPatch(r) && !sent {
					sent = true
					response, err := next.RoundTrip(r)
					if err != nil {
						return nil, err
					}
					_ = response.Body.Close()
					answer = c.after(in, f)
					return nil, io.ErrUnexpectedEOF
				}
				if sent && answer != nil {
					return answer(r), nil
				}
				return nil, nil
			})
			out, _ := f.ApplyPlan(t.Context(), p, false, nil)
			if out.Sent != Doubtful || strings.Contains(out.Message, "nothing") ||
				!strings.Contains(out.Message, "unknown whether it was applied") {
				t.Errorf("%s, %s: %s", out.State, out.Sent, out.Message)
			}
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

// A look is a dozen requests. Where each takes its time, all together may take
// longer than one attempt.
func TestGatherOnASlowLine(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	const attempt = 2 * time.Second
	f := in.finalizer(func(o *Options) { o.AttemptTimeout = attempt })
	in.requests.set(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(attempt / 8):
			return nil, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	})
	began := time.Now()
	if _, err := f.GatherEvidence(t.Context(), job.Restore, "r"); err != nil {
		var over *retry.DeadlineError
		t.Fatalf("after %s (gave up: %v): %v", time.Since(began), errors.As(err, &over), err)
	}
	t.Log(fmt.Sprint("a look took ", time.Since(began).Round(time.Millisecond)))
}
