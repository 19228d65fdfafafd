package action

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/retry"
)

// The two recorded cases of a lost final patch on a live server. What follows
// the nudge, Velero's own finalizer, is the only part that is played.
func TestLostFinalPatchIsNudged(t *testing.T) {
	for _, c := range []struct {
		file, name, to, end string
		kind                job.Kind
		counts              job.StoredCounts
	}{
		{"s14/stuck", "s14-nudge", "FinalizingPartiallyFailed", "PartiallyFailed", job.Restore, job.StoredCounts{Errors: 27}},
		{"s15/stuck", "s15-nudge", "FinalizingPartiallyFailed", "PartiallyFailed", job.Backup, job.StoredCounts{Errors: 3, Warnings: 2}},
		{"s14/stuck", "s14-nudge", "Finalizing", "Completed", job.Restore, job.StoredCounts{Warnings: 1}},
	} {
		t.Run(c.name+" "+c.to, func(t *testing.T) {
			in := install(t)
			in.server(time.Now().Add(-time.Hour))
			before := in.recorded(c.file)
			f := in.finalizer(func(o *Options) { s := holding(c.counts); o.Prober, o.CountReader = s, s })
			p := in.plan(f, c.kind, c.name, Request{})
			if p.Effect() != EffectNudge || p.ToPhase != c.to {
				t.Fatalf("%s to %q, %s", p.Action, p.ToPhase, p.Refusal)
			}
			finished := false
			out, err := f.ApplyPlan(t.Context(), p, false, func(now Progress) {
				if now.Step == StepObserve && now.Phase == c.to && !finished {
					finished = true
					in.veleroWrites(c.kind, c.name, c.end)
				}
			})
			if err != nil || out.State != StateSettled || out.Phase != c.end || out.Sent != Landed || len(out.Warnings) > 0 {
				t.Fatalf("%v, %+v", err, out)
			}
			after := in.read(c.kind, c.name)
			status := func(field string) int64 { n, _, _ := unstructured.NestedInt64(after.Object, "status", field); return n }
			if status("errors") != int64(c.counts.Errors) || status("warnings") != int64(c.counts.Warnings) {
				t.Errorf("errors %d, warnings %d; want %+v", status("errors"), status("warnings"), c.counts)
			}
			if _, there, _ := unstructured.NestedString(after.Object, "status", "failureReason"); there {
				t.Error("a nudge wrote a failure reason")
			}
			if !reflect.DeepEqual(after.Object["spec"], before.Object["spec"]) ||
				!reflect.DeepEqual(after.GetFinalizers(), before.GetFinalizers()) {
				t.Error("spec or finalizers were changed")
			}
			checkRecords(t, in, &p, &out, before, after)
		})
	}
}

// checkRecords looks at what is left behind of who did what.
func checkRecords(t *testing.T, in *installation, p *Plan, out *Outcome, before, after *unstructured.Unstructured) {
	t.Helper()
	notes := after.GetAnnotations()
	if notes["veltui.io/finalized-by"] == "" || notes["veltui.io/finalized-from"] != p.FromPhase ||
		notes["veltui.io/finalized-to"] != p.ToPhase ||
		notes["veltui.io/finalized-reason"] != p.Reason {
		t.Errorf("annotations %v", notes)
	}
	if _, err := time.Parse(time.RFC3339, notes["veltui.io/finalized-at"]); err != nil {
		t.Error(err)
	}
	var events corev1.EventList
	if err := in.List(t.Context(), &events, client.InNamespace(in.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 1 || events.Items[0].InvolvedObject.UID != after.GetUID() ||
		!strings.Contains(events.Items[0].Message, p.ToPhase) {
		t.Errorf("events %+v", events.Items)
	}
	var got []string
	for _, e := range entries(t, out.AuditLogPath) {
		got = append(got, e.Event)
		if e.UID != string(after.GetUID()) || e.By != notes["veltui.io/finalized-by"] || e.To != p.ToPhase ||
			e.Context != "prod-east" ||
			e.Attempt+" ." != notes["veltui.io/finalized-attempt"] {
			t.Errorf("log entry %+v", e)
		}
	}
	if strings.Join(got, " ") != "begin check send landed end" {
		t.Errorf("log has %v", got)
	}
	for _, path := range []string{out.AuditLogPath, out.CopyPath} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, mode %v", path, err, info.Mode())
		}
	}
	data, err := os.ReadFile(out.CopyPath)
	if err != nil {
		t.Fatal(err)
	}
	var copied map[string]any
	if err := yaml.Unmarshal(data, &copied); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(
		(&unstructured.Unstructured{Object: copied}).GetResourceVersion(),
		before.GetResourceVersion(),
	) {
		t.Error("the copy is not of the object before")
	}
}

func TestOrphanIsFailed(t *testing.T) {
	in := install(t)
	in.restore("orphan")
	in.server(time.Now().Add(10 * time.Minute))
	f := in.finalizer()
	p := in.plan(f, job.Restore, "orphan", Request{Reason: "the node died"})
	if p.ToPhase != "Failed" {
		t.Fatalf("to %q, %s", p.ToPhase, p.Refusal)
	}
	dry, err := f.ApplyPlan(t.Context(), p, true, nil)
	if err != nil || dry.State != StateChecked || dry.Sent != NotSent || in.requests.patches() != 0 {
		t.Fatalf("dry run: %v, %+v", err, dry)
	}
	out, err := f.ApplyPlan(t.Context(), p, false, nil)
	if err != nil || out.State != StateSettled || out.Phase != "Failed" {
		t.Fatalf("%v, %+v", err, out)
	}
	var r veleroapi.Restore
	if err := in.Get(t.Context(), client.ObjectKey{Namespace: in.namespace, Name: "orphan"}, &r); err != nil {
		t.Fatal(err)
	}
	if r.Status.CompletionTimestamp == nil || !strings.Contains(r.Status.FailureReason, "the node died") ||
		!strings.Contains(r.Status.FailureReason, "veltui") {
		t.Errorf("status %+v", r.Status)
	}
	if r.Status.Progress.ItemsRestored != 7 || r.Status.StartTimestamp == nil {
		t.Errorf("progress or start were changed: %+v", r.Status)
	}
	// It has ended now: once more is refused, and the old plan is of no use.
	if again := in.plan(f, job.Restore, "orphan", Request{}); again.Effect() != EffectRefuse {
		t.Error("an ended restore can be finalized again")
	}
	if out, err := f.ApplyPlan(t.Context(), p, false, nil); err != nil || out.State != StateChanged {
		t.Errorf("the old plan: %v, %+v", err, out)
	}
}

// A resource without any status, as kubectl makes it.
func TestJobWithoutStatusIsGivenUp(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	o := newObject(jobGVK(job.Backup), in.namespace, "fresh")
	o.Object["spec"] = map[string]any{}
	in.create(o)
	f := in.finalizer()
	out, err := f.ApplyPlan(t.Context(), in.plan(f, job.Backup, "fresh", Request{Phase: "Failed"}), false, nil)
	if err != nil || out.State != StateSettled || phaseOf(in.read(job.Backup, "fresh")) != "Failed" {
		t.Errorf("%v, %+v", err, out)
	}
}

func TestReadOnlySendsNothing(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	f := in.finalizer(func(o *Options) { o.ReadOnly = true })
	p := in.plan(f, job.Restore, "r", Request{})
	for _, dryRun := range []bool{false, true} {
		out, err := f.ApplyPlan(t.Context(), p, dryRun, nil)
		if !errors.Is(err, ErrReadOnly) || out.State != StateRefused || out.Sent != NotSent {
			t.Errorf("%v, %+v", err, out)
		}
	}
	if len(in.requests.writes) != 0 {
		t.Errorf("sent %v", in.requests.writes)
	}
}

func TestRights(t *testing.T) {
	in := install(t)
	before := in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	as := func(cfg *rest.Config) *Engine { return in.finalizer(func(o *Options) { o.Session = in.session(cfg) }) }

	f := as(in.user("viewer-"+in.namespace, viewer...))
	p := in.plan(f, job.Restore, "r", Request{})
	if p.Effect() != EffectRefuse || !strings.Contains(p.Refusal, "you may not patch restores.velero.io") {
		t.Errorf("viewer: %s, %q", p.Action, p.Refusal)
	}
	// Even with somebody else's plan nothing is sent.
	out, err := f.ApplyPlan(t.Context(), in.plan(in.finalizer(), job.Restore, "r", Request{}), false, nil)
	if err != nil || out.State != StateChanged || in.requests.patches() != 0 ||
		!strings.Contains(out.Message, "and the plan was shown to admin") {
		t.Errorf("viewer with a plan: %v, %+v", err, out)
	}

	f = as(in.user("blind-"+in.namespace, operator[0], viewer[0]))
	if p := in.plan(f, job.Restore, "r", Request{}); p.Effect() != EffectRefuse || !strings.Contains(p.Refusal, "pods") {
		t.Errorf("without pods: %s, %q", p.Action, p.Refusal)
	}

	// An operator may do it without seeing the CRD.
	name := "operator-" + in.namespace
	f = as(in.user(name, operator...))
	p = in.plan(f, job.Restore, "r", Request{})
	if p.evidence.AllowedPhases != nil || p.evidence.Username != name {
		t.Errorf("phases %v, by %q", p.evidence.AllowedPhases, p.evidence.Username)
	}
	if now := in.read(job.Restore, "r"); now.GetResourceVersion() != before.ResourceVersion {
		t.Error("somebody without the right changed it")
	}
	if out, err := f.ApplyPlan(t.Context(), p, false, nil); err != nil || out.State != StateSettled || len(out.Warnings) > 0 {
		t.Errorf("operator: %v, %+v", err, out)
	}
}

// A change of Velero's at any point is never overwritten, and is told.
func TestConcurrentChange(t *testing.T) {
	for _, c := range []struct {
		at   Step
		want OutcomeState
	}{{StepGather, StateChanged}, {StepDryRun, StateChanged}, {StepSend, StateChanged}, {StepObserve, StateReverted}} {
		for _, deleted := range []bool{false, true} {
			in := install(t)
			in.restore("r")
			in.server(time.Now().Add(10 * time.Minute))
			f := in.finalizer()
			p := in.plan(f, job.Restore, "r", Request{})
			out, err := f.ApplyPlan(t.Context(), p, false, func(now Progress) {
				if now.Step != c.at || now.Attempt != nil || now.Phase != "" {
					return
				}
				if !deleted {
					in.veleroWrites(job.Restore, "r", "Completed")
				} else if err := in.Delete(t.Context(), newObject(jobGVK(job.Restore), in.namespace, "r")); err != nil {
					t.Error(err)
				}
			})
			want := c.want
			if deleted && c.at == StepObserve {
				want = StateDeleted
			}
			if err != nil || out.State != want {
				t.Errorf("at %s, deleted %v: %v, %+v", c.at, deleted, err, out)
			}
			if deleted {
				continue
			}
			if phase := phaseOf(in.read(job.Restore, "r")); phase != "Completed" {
				t.Errorf("at %s: Velero's Completed was overwritten with %s", c.at, phase)
			}
			if c.want == StateChanged &&
				(out.Sent != NotSent || !strings.Contains(out.Message, "from InProgress to Completed")) {
				t.Errorf("at %s: %s, %q", c.at, out.Sent, out.Message)
			}
		}
	}
}

// A change that leaves the phase as it is counts as well: a restore that still
// makes progress is not one that nobody works on.
func TestConcurrentProgress(t *testing.T) {
	for step, want := range map[Step]OutcomeState{StepGather: StateChanged, StepDryRun: StateChanged, StepSend: StateChanged, StepObserve: StateSettled} {
		in := install(t)
		in.restore("r")
		in.server(time.Now().Add(10 * time.Minute))
		f := in.finalizer()
		out, err := f.ApplyPlan(t.Context(), in.plan(f, job.Restore, "r", Request{}), false, func(now Progress) {
			if now.Step != step || now.Attempt != nil || now.Phase != "" {
				return
			}
			progress := client.RawPatch(
				"application/merge-patch+json",
				[]byte(`{"status":{"progress":{"itemsRestored":8}}}`),
			)
			if err := in.Patch(
				t.Context(),
				newObject(jobGVK(job.Restore), in.namespace, "r"),
				progress,
				client.FieldOwner("velero-server"),
			); err != nil {
				t.Error(err)
			}
		})
		if err != nil || out.State != want || (want == StateChanged) != (out.Sent == NotSent) {
			t.Errorf("at %s: %v, %+v", step, err, out)
		}
		if phase := phaseOf(in.read(job.Restore, "r")); (phase == "InProgress") != (want == StateChanged) {
			t.Errorf("at %s: phase %s", step, phase)
		}
	}
}

func TestTwoOperators(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	ready := make(chan struct{}, 2)
	start := make(chan struct{})
	outs, errs := make([]Outcome, 2), make([]error, 2)
	var both sync.WaitGroup
	names := []string{"jane-" + in.namespace, "joe-" + in.namespace}
	for i, name := range names {
		f := in.finalizer(func(o *Options) { o.Session = in.session(in.user(name, operator...)) })
		p := in.plan(f, job.Restore, "r", Request{})
		both.Go(func() {
			outs[i], errs[i] = f.ApplyPlan(t.Context(), p, false, func(now Progress) {
				if now.Step == StepSend && now.Attempt == nil {
					ready <- struct{}{}
					<-start
				}
			})
		})
	}
	<-ready
	<-ready
	close(start)
	both.Wait()
	if errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	winner := 0
	if outs[1].State == StateSettled {
		winner = 1
	}
	loser := outs[1-winner]
	if outs[winner].State != StateSettled || loser.State != StateChanged || loser.Sent != NotSent ||
		!strings.Contains(loser.Message, names[winner]+" set it to Failed") {
		t.Errorf("%+v\n%+v", outs[0], outs[1])
	}
}

// The answer gets lost, but the patch has landed: it must not be sent again.
func TestAnswerLost(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	f := in.finalizer()
	p := in.plan(f, job.Restore, "r", Request{})
	in.requests.set(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if !isPatch(r) {
			return nil, nil
		}
		response, err := next.RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		return nil, io.ErrUnexpectedEOF
	})
	out, err := f.ApplyPlan(t.Context(), p, false, nil)
	if err != nil || out.State != StateSettled || out.Sent != Landed || in.requests.patches() != 1 {
		t.Errorf("%v, %+v, %d patches", err, out, in.requests.patches())
	}
}

// The patch got lost, on its way or before it, and Velero wrote before the next
// attempt.
func TestPatchLostAndChanged(t *testing.T) {
	for _, lost := range []error{io.ErrUnexpectedEOF, &lostConnection{}} {
		in := install(t)
		in.restore("r")
		in.server(time.Now().Add(10 * time.Minute))
		f := in.finalizer()
		p := in.plan(f, job.Restore, "r", Request{})
		var once sync.Once
		in.requests.set(func(_ http.RoundTripper, r *http.Request) (_ *http.Response, err error) {
			if isPatch(r) {
				once.Do(func() {
					in.veleroWrites(job.Restore, "r", "Finalizing")
					err = lost
				})
			}
			return nil, err
		})
		out, err := f.ApplyPlan(t.Context(), p, false, nil)
		if err != nil || out.State != StateChanged || out.Sent != NotSent || in.requests.landed != 0 {
			t.Errorf("%v: %v, %+v, %d patches landed", lost, err, out, in.requests.landed)
		}
		if phase := phaseOf(in.read(job.Restore, "r")); phase != "Finalizing" {
			t.Errorf("%v: phase %s", lost, phase)
		}
	}
}

// Cancelled in the middle: what was sent is told, also when it is not known.
func TestCancelledInMidRetry(t *testing.T) {
	stop := errors.New("ctrl-c")
	for _, c := range []struct {
		name string
		// whether the patch reaches the server, and whether reads still do.
		reaches, readable bool
		sent              SentState
	}{
		{"never sent", false, true, NotSent},
		{"landed unseen", true, true, Landed},
		{"in doubt", true, false, Doubtful},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := install(t)
			in.restore("r")
			in.server(time.Now().Add(10 * time.Minute))
			f := in.finalizer()
			p := in.plan(f, job.Restore, "r", Request{})
			ctx, cancel := context.WithCancelCause(t.Context())
			patching := false
			in.requests.set(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				switch {
				case isPatch(r) && c.reaches:
					patching = true
					response, err := next.RoundTrip(r)
					if err == nil {
						_ = response.Body.Close()
					}
					cancel(stop)
					return nil, io.ErrUnexpectedEOF
				case isPatch(r):
					return nil, &lostConnection{}
				case patching && !c.readable:
					return nil, io.ErrUnexpectedEOF
				}
				return nil, nil
			})
			out, err := f.ApplyPlan(ctx, p, false, func(now Progress) {
				if now.Step == StepSend && now.Attempt != nil && now.Attempt.Number == 3 {
					cancel(stop)
				}
			})
			if !errors.Is(err, stop) || out.State != StateUnfinished || out.Sent != c.sent ||
				!strings.Contains(out.Message, sentTexts[c.sent]) {
				t.Errorf("%v, %+v", err, out)
			}
			landed := phaseOf(in.read(job.Restore, "r")) == "Failed"
			if landed != c.reaches {
				t.Errorf("landed %v, want %v", landed, c.reaches)
			}
			log := entries(t, out.AuditLogPath)
			if last := log[len(log)-1]; last.Event != "end" || last.Sent != c.sent || last.Error == "" {
				t.Errorf("log ends with %+v", last)
			}
		})
	}
}

// lostConnection is a refused connection as net reports it.
type lostConnection struct{}

func (*lostConnection) Error() string { return "dial tcp: connection refused" }
func (*lostConnection) Unwrap() error { return errRefused }

func TestDeadlineIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(finalizeSend)
		f, p := b.planned(t, t.TempDir())
		b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			if step == "write" {
				return nil, &lostConnection{}
			}
			connected(r)
			return serve(), nil
		}
		out, err := f.ApplyPlan(t.Context(), p, false, nil)
		var over *retry.DeadlineError
		if !errors.As(err, &over) || out.State != StateUnfinished || out.Sent != NotSent {
			t.Errorf("%v, %+v", err, out)
		}
	})
}

// Who says how long to watch waits no longer.
func TestObserveBoundsTheWatch(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: DefaultObservePeriod + extraVeleroWait, 3 * time.Second: 3 * time.Second} {
		f, err := New(
			Options{Session: (&installation{t: t, requests: &requests{}}).session(&rest.Config{}), ObserveFor: given},
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []applicable{finalizeAction{}, cancelVolumesAction{}} {
			if x := (&execution{engine: f, action: a}); x.observeTimeout() != want {
				t.Errorf("%s with %s: watched for %s, want %s", a.actionKind(), given, x.observeTimeout(), want)
			}
		}
	}
}

func TestNothingIsSentWithoutAnAuditLog(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", filepath.Join(file, "under")} {
		f := in.finalizer(func(o *Options) { o.AuditDir = dir })
		out, err := f.ApplyPlan(t.Context(), in.plan(f, job.Restore, "r", Request{}), false, nil)
		if err == nil && out.State != StateRefused || out.Sent != NotSent || in.requests.patches() != 0 {
			t.Errorf("%q: %v, %+v", dir, err, out)
		}
	}
}

// Credentials that ran out are read again once.
func TestExpiredCredentialsAreRenewed(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	p := in.plan(in.finalizer(), job.Restore, "r", Request{})
	expired := rest.AnonymousClientConfig(in.RESTConfig())
	expired.BearerToken = "expired"
	f := in.finalizer(func(o *Options) { o.Session = in.session(expired, in.RESTConfig()) })
	out, err := f.ApplyPlan(t.Context(), p, false, nil)
	if err != nil || out.State != StateSettled {
		t.Errorf("%v, %+v", err, out)
	}
}

// What one may not see is named, in the cluster's own words, and the rest is
// seen.
func TestEvidenceWithoutRights(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	b := in.backup("b", veleroapi.BackupPhaseInProgress)
	in.uploads(b, "du")
	in.uploadMoves("du", `{"phase":"New"}`)
	in.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: "agents"},
		Data: map[string]string{"config.json": `{"loadConcurrency":{"globalConfig":3}}`}})
	agent := &corev1.Pod{}
	if err := in.Get(t.Context(), client.ObjectKey{Namespace: in.namespace, Name: "node-agent-1"}, agent); err != nil {
		t.Fatal(err)
	}
	if err := in.Delete(t.Context(), agent, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	again := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: "node-agent-2", Labels: agent.Labels},
		Spec:       agent.Spec,
	}
	again.Spec.Containers[0].Args = []string{"node-agent", "server", "--node-agent-configmap=agents"}
	in.create(again)
	again.Status = agent.Status
	if err := in.Status().Update(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	gather := func(cfg *rest.Config) Evidence {
		t.Helper()
		e, err := in.finalizer(func(o *Options) { o.Session = in.session(cfg) }).GatherEvidence(t.Context(), job.Backup, "b")
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	all := gather(in.RESTConfig())
	if all.Slots.Unchecked != "" || !strings.Contains(all.Slots.Source, "agents") {
		t.Errorf("with all rights: %+v", all.Slots)
	}
	some := gather(in.user("viewer-"+in.namespace, viewer...))
	for what, why := range map[string]string{"configmaps": some.Slots.Unchecked, "volumesnapshots": some.SnapshotsUnchecked, "pods/log": some.LogUnchecked} {
		if !strings.Contains(why, what) {
			t.Errorf("without %s it says %q", what, why)
		}
	}
	if some.VolumesListed != Yes || !some.Server.Visible {
		t.Errorf("what may be seen is not: %+v", some)
	}
}
