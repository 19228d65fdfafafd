package action

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

func gaveUpOn(phase string, after time.Duration) change {
	return func(e *Evidence) {
		e.LogChecked = true
		e.ServerLog = velero.JobLog{
			GaveUp:    velero.LogLine{At: began.Add(after), Text: "Error updating restore's status", Error: "refused"},
			LostPhase: phase,
		}
	}
}

func loggedAgo(ago time.Duration) change {
	return func(e *Evidence) {
		e.LogChecked, e.ServerLog.Last = true, velero.LogLine{At: e.Now.Add(-ago), Text: "Restored 8 items"}
	}
}

func another(e *Evidence) {
	e.Server.Pods = append(e.Server.Pods, velero.ServerPod{Name: "velero-2", StartedAt: began.Add(-time.Minute)})
}

// The job of these tests was last written after ten minutes.
func TestServersLogDecides(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []change
		want    string
		refusal string
	}{
		{"soon after its end", []change{alive, stored, lookedAt(13 * time.Minute)}, "", "retries its last status patch"},
		{"the log says that it gave up", []change{alive, stored, lookedAt(13 * time.Minute), gaveUpOn("Finalizing", 12*time.Minute)}, "Finalizing", ""},
		{"without naming the phase", []change{alive, stored, lookedAt(13 * time.Minute), gaveUpOn("", 12*time.Minute)}, "Finalizing", ""},
		{"it contradicts what is stored", []change{alive, stored, gaveUpOn("FinalizingPartiallyFailed", 12*time.Minute)}, "", "the lost status was FinalizingPartiallyFailed"},
		{"it was to be Failed", []change{alive, stored, gaveUpOn("Failed", 12*time.Minute)}, "", "the lost status was Failed"},
		{"without proof", []change{alive, notStored, gaveUpOn("Finalizing", 12*time.Minute)}, "", "is not stored"},
		{"the job was written after that", []change{alive, stored, lookedAt(13 * time.Minute), gaveUpOn("Finalizing", 5*time.Minute)}, "", "retries its last status patch"},
		{"a file was stored after that", []change{alive, stored, lookedAt(13 * time.Minute), gaveUpOn("Finalizing", 6*time.Minute)}, "", "retries its last status patch"},
		{"in a time to come", []change{alive, stored, lookedAt(13 * time.Minute), gaveUpOn("Finalizing", 30*time.Minute)}, "", "retries its last status patch"},
		{"another server runs beside it", []change{alive, another, stored, lookedAt(13 * time.Minute), gaveUpOn("Finalizing", 12*time.Minute)}, "", "retries its last status patch"},
		{"volumes move", []change{alive, stored, gaveUpOn("Finalizing", 12*time.Minute), volume(velero.PodVolumeRestore, "InProgress")}, "", "not ended"},
		{"the log moves", []change{alive, stored, loggedAgo(time.Minute)}, "", "it last changed 1m ago"},
		{"the log moves, and no server was recognised", []change{down, stored, loggedAgo(time.Minute)}, "", "the server logged about it 1m ago"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := draft(evidence(t, job.Restore, "InProgress", c.changes...), Request{})
			if p.ToPhase != c.want || !strings.Contains(p.Refusal, c.refusal) {
				t.Errorf("it would write %q (%s), want %q (%s)", p.ToPhase, p.Refusal, c.want, c.refusal)
			}
			checkPlan(t, &p)
		})
	}
}

// logOf answers requests for a pod's log; the test's API server has no kubelet
// that could.
func (in *installation) logOf(answer func(*http.Request) string) {
	in.requests.set(func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			return nil, nil
		}
		return &http.Response{
			StatusCode: http.StatusOK,
			Proto:      "HTTP/1.1",
			Header:     http.Header{"Content-Type": {"text/plain"}},
			Body:       io.NopCloser(strings.NewReader(answer(r))),
			Request:    r,
		}, nil
	})
}

func TestLogIsRead(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	r := in.restore("r9")
	ref, at := in.namespace+"/r9", time.Now().Add(time.Second).UTC().Format(time.RFC3339)
	line := func(fields string) string { return fmt.Sprintf("time=%q level=info %s\n", at, fields) }
	gaveUp := line(
		`msg="Error updating restore's status from InProgress to Finalizing" error="bad \x1b[2J\u202e thing" Restore=` + ref,
	)
	others := strings.Repeat(line(`msg="Restored 1 items" restore=`+ref+`9`), logTailLines)
	asked := 0
	in.logOf(func(q *http.Request) string {
		asked++
		if v := q.URL.Query(); v.Get("container") != "velero" || v.Get("limitBytes") == "" || v.Get("sinceTime") == "" {
			t.Errorf("it asks for %s", q.URL.RawQuery)
		}
		if q.URL.Query().Get("tailLines") != "" {
			return others
		}
		return line(`msg="`+strings.Repeat("x", 100_000)+`" restore=`+ref) + gaveUp + others
	})
	f := in.finalizer()
	e, err := f.GatherEvidence(t.Context(), job.Restore, r.Name)
	if err != nil {
		t.Fatal(err)
	}
	if !e.LogChecked || e.ServerLog.LostPhase != "Finalizing" || len(e.ServerLog.Last.Text) > 5000 ||
		strings.ContainsAny(e.ServerLog.GaveUp.Error, "\x1b\u202e") {
		t.Errorf("the log tells %v %q, %.80q, %q", e.LogChecked, e.ServerLog.LostPhase, e.ServerLog.Last.Text, e.ServerLog.GaveUp.Error)
	}
	if seen := e.VerdictEvidence(); !seen.LogChecked || seen.ServerLog.LostPhase != "Finalizing" {
		t.Errorf("a verdict sees %+v", seen)
	}
	if _, err := f.GatherEvidence(t.Context(), job.Restore, r.Name); err != nil || asked != 2 {
		t.Errorf("a second look asked again: %d requests, %v", asked, err)
	}
}

// One request tells what the server's log says about all silent jobs.
func TestServerLogsOfManyJobs(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	asked := 0
	in.logOf(func(*http.Request) string {
		asked++
		at := time.Now().Add(time.Second).UTC().Format(time.RFC3339) // after the start of all jobs
		return fmt.Sprintf("time=%q level=info msg=%q restore=%s/r1\n", at, "Restored 1 items", in.namespace) +
			fmt.Sprintf("time=%q level=info msg=%q error=refused Restore=%s/r2\n", at,
				"Error updating restore's status from InProgress to Finalizing", in.namespace)
	})
	f := in.finalizer()
	var jobs []*job.Job
	var server velero.Server
	for _, name := range []string{"r1", "r2", "r3"} {
		e, err := f.GatherEvidence(t.Context(), job.Restore, in.restore(name).Name)
		if err != nil {
			t.Fatal(err)
		}
		jobs, server = append(jobs, e.Job), e.Server
	}
	asked = 0
	logs, err := f.ReadServerLogs(t.Context(), server, jobs)
	if err != nil || asked != 1 || len(logs) != 3 {
		t.Fatalf("%d requests, %d logs, %v", asked, len(logs), err)
	}
	if l := logs[jobs[0].UID]; l.Last.Text != "Restored 1 items" || !l.GaveUp.At.IsZero() {
		t.Errorf("the first: %+v", l)
	}
	if l := logs[jobs[1].UID]; l.LostPhase != velero.PhaseFinalizing {
		t.Errorf("the second: %+v", l)
	}
	if l := logs[jobs[2].UID]; l != (velero.JobLog{}) {
		t.Errorf("the third: %+v", l)
	}
	if _, err := f.ReadServerLogs(t.Context(), velero.Server{}, jobs); err == nil || asked != 1 {
		t.Errorf("without a server: %d requests, %v", asked, err)
	}
}

// A newer server may try again what older ones give up.
func TestLogOfANewerServer(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	pod := &corev1.Pod{}
	if err := in.Get(t.Context(), client.ObjectKey{Namespace: in.namespace, Name: "velero-0"}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Spec.Containers[0].Image = "velero/velero:v1.19.0"
	if err := in.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	r := in.restore("r9")
	in.logOf(func(*http.Request) string {
		return fmt.Sprintf(
			"time=%q level=info msg=%q Restore=%s/r9\n",
			time.Now().Add(time.Second).UTC().Format(time.RFC3339),
			"Error updating restore's status from InProgress to Finalizing",
			in.namespace,
		)
	})
	e, err := in.finalizer().GatherEvidence(t.Context(), job.Restore, r.Name)
	if err != nil || !e.LogChecked || !e.ServerLog.GaveUp.At.IsZero() {
		t.Errorf("the log of a 1.19 says that it gave up: %+v, %v", e.ServerLog, err)
	}
}

// endless is a log without end, which stalls after some bytes if it is to.
type endless struct {
	read, stall int
	until       <-chan struct{}
}

func (e *endless) Read(p []byte) (int, error) {
	if e.stall > 0 && e.read >= e.stall {
		<-e.until
		return 0, context.DeadlineExceeded
	}
	n := copy(p, strings.Repeat("restore=r9 \x1b]0;x\x07\n", 1+len(p)/20))
	e.read += n
	return n, nil
}

func (e *endless) Close() error { return nil }

func TestLogWithoutEnd(t *testing.T) {
	for name, stall := range map[string]int{"that never ends": 0, "that stalls": 1000} {
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(finalizeSend)
			f, err := New(b.options(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			var body *endless
			asked := 0
			b.api.tamper = func(_ string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
				connected(r)
				if !strings.HasSuffix(r.URL.Path, "/log") {
					return serve(), nil
				}
				asked++
				body = &endless{stall: stall, until: r.Context().Done()}
				response := answerText(r, http.StatusOK, "text/plain", "")
				response.Body, response.ContentLength = body, -1
				return response, nil
			}
			start := time.Now()
			e, err := f.GatherEvidence(t.Context(), job.Restore, "r")
			if err != nil || e.LogChecked || !strings.Contains(e.LogUnchecked, "velero-0") ||
				strings.Contains(e.LogUnchecked, "\x1b") {
				t.Errorf("a log %s: %v %q, %v", name, e.LogChecked, e.LogUnchecked, err)
			}
			if took := time.Since(start); asked == 0 || asked > 2 || body.read > 2*maxLogBytes || took > 2*logTimeout {
				t.Errorf("a log %s: %d requests, %d bytes, %v", name, asked, body.read, took)
			}
		})
	}
}

// Whatever keeps us from reading the log is named, and nothing fails.
func TestLogThatCannotBeRead(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	r := in.restore("r9")
	mayNot := in.user("no-logs", operator...)
	for name, c := range map[string]struct {
		options func(*Options)
		code    int
		why     string
	}{
		"without the right":           {func(o *Options) { o.Session = in.session(mayNot) }, 0, "pods/log"},
		"the kubelet does not answer": {func(*Options) {}, http.StatusInternalServerError, "reading the log of pod velero-0"},
		"a proxy that asks to wait":   {func(*Options) {}, http.StatusTooManyRequests, "reading the log of pod velero-0"},
	} {
		in.requests.set(func(_ http.RoundTripper, q *http.Request) (*http.Response, error) {
			if c.code == 0 || !strings.HasSuffix(q.URL.Path, "/log") {
				return nil, nil
			}
			return &http.Response{StatusCode: c.code, Proto: "HTTP/1.1", Header: http.Header{"Retry-After": {"1000"}},
				Body: io.NopCloser(strings.NewReader("<html>")), Request: q}, nil
		})
		e, err := in.finalizer(c.options).GatherEvidence(t.Context(), job.Restore, r.Name)
		if err != nil || e.LogChecked || !strings.Contains(e.LogUnchecked, c.why) {
			t.Errorf("%s: %v %q, %v", name, e.LogChecked, e.LogUnchecked, err)
		}
	}
}
