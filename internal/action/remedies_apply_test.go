package action

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/retry"
)

// backup makes a backup in that phase.
func (in *installation) backup(name string, phase veleroapi.BackupPhase) *veleroapi.Backup {
	in.t.Helper()
	start := metav1.NewTime(time.Now().Truncate(time.Second))
	b := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name},
		Status:     veleroapi.BackupStatus{Phase: phase, StartTimestamp: &start},
	}
	if err := in.Create(in.t.Context(), b, client.FieldOwner("velero-server")); err != nil {
		in.t.Fatal(err)
	}
	return b
}

// uploads makes data uploads of a backup, in progress, and a node-agent.
func (in *installation) uploads(of *veleroapi.Backup, names ...string) {
	in.t.Helper()
	for _, name := range names {
		in.create(&veleroapi.DataUpload{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: in.namespace,
				Name:      name,
				Labels:    map[string]string{veleroapi.BackupUIDLabel: string(of.UID)},
			},
			Spec:   veleroapi.DataUploadSpec{SourceNamespace: "shop", SourcePVC: name},
			Status: veleroapi.DataUploadStatus{Phase: veleroapi.DataUploadPhaseInProgress},
		})
	}
	agent := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.namespace,
			Name:      "node-agent-1",
			Labels:    map[string]string{"name": "node-agent", "role": "node-agent"},
		},
		Spec: corev1.PodSpec{
			NodeName:   "n1",
			Containers: []corev1.Container{{Name: "node-agent", Image: "velero/velero:v1.18.3"}},
		},
	}
	in.create(agent)
	agent.Status = corev1.PodStatus{
		Phase:             corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{{Name: "node-agent", Ready: true}},
	}
	if err := in.Status().Update(in.t.Context(), agent); err != nil {
		in.t.Fatal(err)
	}
}

// uploadMoves is what a node-agent writes.
func (in *installation) uploadMoves(name, status string) {
	in.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":%s}`, status))
	if err := in.Patch(
		in.t.Context(),
		newObject(velero.DataUpload.GroupVersionKind(), in.namespace, name),
		patch,
		client.FieldOwner("node-agent-server"),
	); err != nil {
		in.t.Errorf("the node-agent's own write: %v", err)
	}
}

func (in *installation) upload(name string) *unstructured.Unstructured {
	in.t.Helper()
	o := newObject(velero.DataUpload.GroupVersionKind(), in.namespace, name)
	if err := in.Get(in.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		in.t.Fatal(err)
	}
	return o
}

func cancelAsked(o *unstructured.Unstructured) bool {
	asked, _, _ := unstructured.NestedBool(o.Object, "spec", "cancel")
	return asked
}

// remedy is the plan of that action about a backup.
func (in *installation) remedy(f *Engine, name string, action Kind) Plan {
	in.t.Helper()
	e, err := f.GatherEvidence(in.t.Context(), job.Backup, name)
	if err != nil {
		in.t.Fatal(err)
	}
	w := planOf(action, remedies(e, Request{}))
	if w.Action != action {
		in.t.Fatalf("no plan to %s: %+v", action, remedies(e, Request{}))
	}
	return w
}

// at calls do when a step begins.
func at(step Step, do func()) func(Progress) {
	return func(now Progress) {
		if now.Step == step && now.Attempt == nil && now.Phase == "" {
			do()
		}
	}
}

func TestWake(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	before := in.backup("b", veleroapi.BackupPhaseReadyToStart)
	f := in.finalizer()
	w := in.remedy(f, "b", Wake)

	dry, err := f.ApplyPlan(t.Context(), w, true, nil)
	if err != nil || dry.State != StateChecked || dry.Sent != NotSent || in.requests.patches() != 0 {
		t.Fatalf("dry run: %v, %+v", err, dry)
	}
	woken := in.read(job.Backup, "b")
	out, err := f.ApplyPlan(t.Context(), w, false, at(StepObserve, func() {
		woken = in.read(job.Backup, "b")
		in.veleroWrites(job.Backup, "b", "InProgress")
	}))
	if err != nil || out.State != StateSettled || out.Sent != Landed || out.Phase != "InProgress" || len(out.Warnings) > 0 ||
		in.requests.patches() != 1 {
		t.Fatalf("%v, %+v", err, out)
	}
	notes := woken.GetAnnotations()
	if phaseOf(woken) != "ReadyToStart" || woken.GetUID() != before.UID || notes["veltui.io/woken-by"] == "" ||
		notes["veltui.io/woken-attempt"] == "" ||
		notes["veltui.io/finalized-by"] != "" {
		t.Errorf("phase %s, annotations %v", phaseOf(woken), notes)
	}
	checkApplied(t, in, &out, "wake", "Woken", 1)
}

// checkApplied looks at what is left behind of who did what.
func checkApplied(t *testing.T, in *installation, out *Outcome, action, reason string, patches int) {
	t.Helper()
	var events corev1.EventList
	if err := in.List(t.Context(), &events, client.InNamespace(in.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 1 || events.Items[0].Reason != reason || events.Items[0].InvolvedObject.Name != "b" {
		t.Errorf("events %+v", events.Items)
	}
	var got []string
	for _, e := range entries(t, out.AuditLogPath) {
		got = append(got, e.Event)
		if e.Action != action || e.Name != "b" || e.By == "" || e.From != e.To {
			t.Errorf("log entry %+v", e)
		}
	}
	want := "begin" + strings.Repeat(" check", patches) + strings.Repeat(" send landed", patches) + " end"
	if log := strings.Join(
		got,
		" ",
	); strings.TrimPrefix(
		log,
		"begin"+strings.Repeat(" check", patches)+" end ",
	) != want {
		t.Errorf("log has %s, want %s, perhaps after a dry run", log, want)
	}
	if data, err := os.ReadFile(out.CopyPath); err != nil || strings.Count(string(data), "resourceVersion:") != patches {
		t.Errorf("%v; the copy is\n%s", err, data)
	}
}

func TestWakeWithoutEffect(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.backup("b", veleroapi.BackupPhaseFinalizing)
	f := in.finalizer()
	out, err := f.ApplyPlan(t.Context(), in.remedy(f, "b", Wake), false, nil)
	if err != nil || out.State != StateNoEffect || out.Sent != Landed || out.Phase != "Finalizing" {
		t.Errorf("%v, %+v", err, out)
	}
}

// Whatever happens to the job in between, nothing is written over it.
func TestWakeConcurrentChange(t *testing.T) {
	for _, step := range []Step{StepGather, StepDryRun, StepSend} {
		for _, change := range []string{"phase", "annotation", "deleted"} {
			in := install(t)
			in.server(time.Now().Add(-time.Hour))
			in.backup("b", veleroapi.BackupPhaseReadyToStart)
			f := in.finalizer()
			out, err := f.ApplyPlan(t.Context(), in.remedy(f, "b", Wake), false, at(step, func() {
				o := newObject(jobGVK(job.Backup), in.namespace, "b")
				switch change {
				case "phase":
					in.veleroWrites(job.Backup, "b", "InProgress")
				case "annotation":
					if err := in.Patch(
						t.Context(),
						o,
						client.RawPatch(
							"application/merge-patch+json",
							[]byte(`{"metadata":{"annotations":{"a":"b"}}}`),
						),
					); err != nil {
						t.Error(err)
					}
				case "deleted":
					if err := in.Delete(t.Context(), o); err != nil {
						t.Error(err)
					}
				}
			}))
			if err != nil || out.State != StateChanged || out.Sent != NotSent ||
				!strings.Contains(out.Message, "nothing was written") {
				t.Errorf("%s at %s: %v, %+v", change, step, err, out)
			}
			if change != "deleted" && in.read(job.Backup, "b").GetAnnotations()["veltui.io/woken-by"] != "" {
				t.Errorf("%s at %s: written over", change, step)
			}
		}
	}
}

// Of two operators who agree to the same at once, one carries it out, and the other is told who.
func TestTwoOperatorsOfOtherActions(t *testing.T) {
	for name, c := range map[string]struct {
		plan func(in *installation, f *Engine) (Plan, error)
		won  OutcomeState
		lost string
	}{
		"wake": {func(in *installation, f *Engine) (Plan, error) {
			in.backup("b", veleroapi.BackupPhaseReadyToStart)
			return in.remedy(f, "b", Wake), nil
		}, StateNoEffect, "woke it at"},
		"create": {func(in *installation, f *Engine) (Plan, error) {
			in.backup("b", veleroapi.BackupPhaseCompleted)
			o := newObject(jobGVK(job.Restore), "", "r")
			o.Object["spec"] = map[string]any{"backupName": "b"}
			return f.ProposePlan(in.t.Context(), Create, o, Request{})
		}, StateNoEffect, "created one of that name at"},
		"back up now": {func(in *installation, f *Engine) (Plan, error) {
			in.schedule("nightly", false)
			return f.ProposePlan(in.t.Context(), Create, NewScheduledBackup("nightly", "now"), Request{})
		}, StateNoEffect, "created one of that name at"},
		"pause": {func(in *installation, f *Engine) (Plan, error) {
			in.schedule("nightly", false)
			return f.ProposePlan(in.t.Context(), Pause, NewNamedObject("Schedule", "nightly"), Request{})
		}, StateSettled, "did the same or the opposite (pause) at"},
		"unpause": {func(in *installation, f *Engine) (Plan, error) {
			in.schedule("nightly", true)
			return f.ProposePlan(in.t.Context(), Unpause, NewNamedObject("Schedule", "nightly"), Request{})
		}, StateSettled, "did the same or the opposite (unpause) at"},
	} {
		t.Run(name, func(t *testing.T) {
			in := install(t)
			in.server(time.Now().Add(-time.Hour))
			f := in.finalizer()
			plan, err := c.plan(in, f)
			if err != nil || !plan.IsPossible() {
				t.Fatalf("%q %v", plan.Refusal, err)
			}
			ready, start := make(chan struct{}, 2), make(chan struct{})
			var outs [2]Outcome
			var both sync.WaitGroup
			for i := range outs {
				both.Go(func() {
					var err error
					if outs[i], err = f.ApplyPlan(
						t.Context(),
						plan,
						false,
						at(StepSend, func() { ready <- struct{}{}; <-start }),
					); err != nil {
						t.Error(err)
					}
				})
			}
			<-ready
			<-ready
			close(start)
			both.Wait()
			winner, loser := outs[0], outs[1]
			if loser.Sent == Landed {
				winner, loser = loser, winner
			}
			if winner.State != c.won || winner.Sent != Landed || loser.State != StateChanged || loser.Sent != NotSent ||
				!strings.Contains(loser.Message, c.lost) {
				t.Errorf("%+v\n%+v", winner, loser)
			}
			ends := map[SentState]int{}
			for _, e := range entries(t, winner.AuditLogPath) {
				if e.Event == "end" {
					ends[e.Sent]++
				}
			}
			if ends[Landed] != 1 || ends[NotSent] != 1 {
				t.Errorf("the log says %v", ends)
			}
		})
	}
}

// schedule makes one.
func (in *installation) schedule(name string, paused bool) *veleroapi.Schedule {
	in.t.Helper()
	s := &veleroapi.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name},
		Spec: veleroapi.ScheduleSpec{
			Schedule: "0 1 * * *",
			Paused:   paused,
			Template: veleroapi.BackupSpec{IncludedNamespaces: []string{"shop"}},
		},
	}
	in.create(s)
	return s
}

// A schedule that somebody deletes and makes again is another one: nothing is written.
func TestRecreatedAfterThePlan(t *testing.T) {
	for _, name := range []Kind{Pause, Unpause} {
		for _, step := range []Step{StepGather, StepDryRun, StepSend} {
			in := install(t)
			in.server(time.Now().Add(-time.Hour))
			s := in.schedule("nightly", name == Unpause)
			f := in.finalizer()
			p, err := f.ProposePlan(t.Context(), name, NewNamedObject("Schedule", "nightly"), Request{})
			if err != nil || !p.IsPossible() {
				t.Fatalf("%q %v", p.Refusal, err)
			}
			out, err := f.ApplyPlan(t.Context(), p, false, at(step, func() {
				if err := in.Delete(t.Context(), s); err != nil {
					t.Error(err)
				}
				in.schedule("nightly", name == Unpause)
			}))
			var now veleroapi.Schedule
			if err := in.Get(
				t.Context(),
				client.ObjectKey{Namespace: in.namespace, Name: "nightly"},
				&now,
			); err != nil {
				t.Fatal(err)
			}
			sent := map[Step]SentState{StepGather: NotSent, StepDryRun: NotSent, StepSend: Doubtful}[step] // the one that it was sent to is gone
			if err != nil || out.State != StateChanged || out.Sent != sent || now.Spec.Paused != (name == Unpause) ||
				len(now.Annotations) > 0 ||
				now.UID == s.UID {
				t.Errorf("%s at %s: %v, %+v; paused %v, %v", name, step, err, out, now.Spec.Paused, now.Annotations)
			}
			if out.AuditLogPath == "" {
				continue
			}
			if log := entries(t, out.AuditLogPath); log[len(log)-1].Sent != sent || log[len(log)-1].State != StateChanged {
				t.Errorf("the log ends with %+v", log[len(log)-1])
			}
		}
	}
}

// Of three volumes the one that was named is cancelled, also if all have stalled.
func TestCancelOneVolume(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.uploads(in.backup("b", veleroapi.BackupPhaseWaitingForPluginOperations), "du-1", "du-2", "du-3")
	f := in.finalizer()
	e, err := f.GatherEvidence(t.Context(), job.Backup, "b")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := PlanFor(CancelVolumes, e, Request{Volume: "dataupload/du-2"})
	out, err := f.ApplyPlan(
		t.Context(),
		w,
		false,
		at(StepObserve, func() { in.uploadMoves("du-2", `{"phase":"Canceled"}`) }),
	)
	if err != nil || out.State != StateSettled || out.Sent != Landed || in.requests.patches() != 1 {
		t.Fatalf("%v, %+v", err, out)
	}
	for name, want := range map[string]bool{"du-1": false, "du-2": true, "du-3": false} {
		if got := cancelAsked(in.upload(name)); got != want {
			t.Errorf("%s asked %v", name, got)
		}
	}
	checkApplied(t, in, &out, "cancel-volumes", "VolumesCancelled", 1)
}

func TestCancelVolumes(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.uploads(in.backup("b", veleroapi.BackupPhaseWaitingForPluginOperations), "du-1", "du-2")
	f := in.finalizer()
	w := in.remedy(f, "b", CancelVolumes)
	if len(w.Volumes) != 2 {
		t.Fatalf("%+v", w.Volumes)
	}
	out, err := f.ApplyPlan(t.Context(), w, false, at(StepObserve, func() {
		for _, name := range []string{"du-1", "du-2"} {
			if o := in.upload(name); !cancelAsked(o) || o.GetAnnotations()["veltui.io/cancelled-by"] == "" {
				t.Errorf("%s was not asked: %v", name, o.Object["spec"])
			}
			in.uploadMoves(name, `{"phase":"Canceled"}`)
		}
	}))
	if err != nil || out.State != StateSettled || out.Sent != Landed || len(out.Warnings) > 0 || in.requests.patches() != 2 {
		t.Fatalf("%v, %+v", err, out)
	}
	if phase := phaseOf(in.read(job.Backup, "b")); phase != "WaitingForPluginOperations" {
		t.Errorf("the backup was changed to %s", phase)
	}
	checkApplied(t, in, &out, "cancel-volumes", "VolumesCancelled", 2)
}

// A volume that moves again is left alone, and it is told how far it came.
func TestCancelVolumesThatMoveAgain(t *testing.T) {
	for _, c := range []struct {
		at    Step
		moves string
		sent  SentState
		asked []bool
	}{
		{StepGather, "du-2", NotSent, []bool{false, false}},
		{StepDryRun, "du-2", NotSent, []bool{false, false}},
		{StepSend, "du-1", NotSent, []bool{false, false}},
		{StepSend, "du-2", PartlyLanded, []bool{true, false}},
	} {
		in := install(t)
		in.server(time.Now().Add(-time.Hour))
		in.uploads(in.backup("b", veleroapi.BackupPhaseWaitingForPluginOperations), "du-1", "du-2")
		f := in.finalizer()
		out, err := f.ApplyPlan(t.Context(), in.remedy(f, "b", CancelVolumes), false, at(c.at, func() {
			in.uploadMoves(c.moves, `{"progress":{"bytesDone":5}}`)
		}))
		if err != nil || out.State != StateChanged || out.Sent != c.sent {
			t.Errorf("%s moves at %s: %v, %+v", c.moves, c.at, err, out)
		}
		for i, name := range []string{"du-1", "du-2"} {
			if got := cancelAsked(in.upload(name)); got != c.asked[i] {
				t.Errorf("%s moves at %s: %s asked %v", c.moves, c.at, name, got)
			}
		}
		if c.sent == PartlyLanded && !strings.Contains(out.Message, "nothing more was written") {
			t.Errorf("says %q", out.Message)
		}
	}
}

func TestRemediesAndRights(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.uploads(in.backup("b", veleroapi.BackupPhaseWaitingForPluginOperations), "du")
	in.backup("r", veleroapi.BackupPhaseReadyToStart)
	as := func(cfg *rest.Config) *Engine { return in.finalizer(func(o *Options) { o.Session = in.session(cfg) }) }
	f := as(in.user("operator-"+in.namespace, operator...))
	if w := in.remedy(
		f,
		"b",
		CancelVolumes,
	); w.IsPossible() || !strings.Contains(w.Refusal, "may not patch datauploads") ||
		len(w.Commands) != 1 {
		t.Errorf("%+v", w)
	}
	// Even with somebody else's plan nothing is sent.
	for name, action := range map[string]Kind{"b": CancelVolumes, "r": Wake} {
		out, err := as(
			in.user("viewer-"+name+in.namespace, viewer...),
		).ApplyPlan(t.Context(), in.remedy(in.finalizer(), name, action), false, nil)
		if err != nil || out.State != StateChanged || out.Sent != NotSent ||
			!strings.Contains(out.Message, "and the plan was shown to admin") {
			t.Errorf("viewer, %s: %v, %+v", action, err, out)
		}
	}
	if in.requests.patches() != 0 {
		t.Errorf("sent %v", in.requests.writes)
	}
	if out, err := f.ApplyPlan(t.Context(), in.remedy(f, "r", Wake), false, nil); err != nil || out.Sent != Landed {
		t.Errorf("operator wakes: %v, %+v", err, out)
	}
	canceller := append(
		[]rbacv1.PolicyRule{
			{APIGroups: []string{"velero.io"}, Resources: []string{"datauploads"}, Verbs: []string{"patch"}},
		},
		viewer...)
	f = as(in.user("canceller-"+in.namespace, canceller...))
	out, err := f.ApplyPlan(
		t.Context(),
		in.remedy(f, "b", CancelVolumes),
		false,
		at(StepObserve, func() { in.uploadMoves("du", `{"phase":"Canceled"}`) }),
	)
	if err != nil || out.State != StateSettled || len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "Event") {
		t.Errorf("canceller, who may write no events: %v, %+v", err, out)
	}
}

func TestReadOnlyAppliesNoRemedy(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.backup("b", veleroapi.BackupPhaseReadyToStart)
	f := in.finalizer(func(o *Options) { o.ReadOnly = true })
	for _, dryRun := range []bool{false, true} {
		out, err := f.ApplyPlan(t.Context(), in.remedy(f, "b", Wake), dryRun, nil)
		if !errors.Is(err, ErrReadOnly) || out.State != StateRefused || out.Sent != NotSent {
			t.Errorf("%v, %+v", err, out)
		}
	}
	if len(in.requests.writes) != 0 {
		t.Errorf("sent %v", in.requests.writes)
	}
}

// What veltui does not do itself is not sent either.
func TestRestartIsNeverApplied(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.backup("b", veleroapi.BackupPhaseReadyToStart)
	f := in.finalizer()
	out, err := f.ApplyPlan(t.Context(), in.remedy(f, "b", Restart), false, nil)
	if err != nil || out.State != StateRefused || out.Message != "restarting is up to you: veltui only shows the command" ||
		len(in.requests.writes) != 0 {
		t.Errorf("%v, %+v, sent %v", err, out, in.requests.writes)
	}
}

// A plan that no evidence led to is refused, whatever it says of itself.
func TestMadeUpPlanIsRefused(t *testing.T) {
	in := install(t)
	in.backup("b", veleroapi.BackupPhaseReadyToStart)
	f := in.finalizer()
	for _, w := range []Plan{{}, {Action: Wake, Kind: job.Backup, Namespace: in.namespace, Name: "b"}} {
		if out, err := f.ApplyPlan(
			t.Context(),
			w,
			false,
			nil,
		); err != nil || out.State != StateRefused || out.Sent != NotSent ||
			len(in.requests.writes) != 0 {
			t.Errorf("%v, %+v", err, out)
		}
	}
}

// The answer to the first of two patches gets lost, but it has landed.
func TestCancelAnswerLost(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.uploads(in.backup("b", veleroapi.BackupPhaseWaitingForPluginOperations), "du-1", "du-2")
	f := in.finalizer()
	w := in.remedy(f, "b", CancelVolumes)
	in.requests.set(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if !isPatch(r) || !strings.HasSuffix(r.URL.Path, "du-1") {
			return nil, nil
		}
		response, err := next.RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		return nil, io.ErrUnexpectedEOF
	})
	out, err := f.ApplyPlan(t.Context(), w, false, at(StepObserve, func() {
		in.requests.set(nil)
		in.uploadMoves("du-1", `{"phase":"Canceled"}`)
		in.uploadMoves("du-2", `{"phase":"Completed"}`)
	}))
	if err != nil || out.State != StateSettled || out.Sent != Landed || in.requests.patches() != 2 {
		t.Errorf("%v, %+v, %d patches", err, out, in.requests.patches())
	}
}

// The API server is away for good after the first patch.
func TestCancelDeadlineIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(sendAction{path: fakeNamespace + "backups/b", given: true, fill: fillWaitingBackup})
		const uploads = "/apis/velero.io/v2alpha1/namespaces/velero/datauploads/"
		for _, name := range []string{"du-1", "du-2"} {
			b.api.put(uploads+name, func(o map[string]any) {
				o["apiVersion"], o["kind"] = "velero.io/v2alpha1", "DataUpload"
				o["metadata"] = map[string]any{"name": name, "namespace": "velero", "uid": name,
					"labels": map[string]any{veleroapi.BackupUIDLabel: "uid-1"}}
				o["spec"] = map[string]any{"sourceNamespace": "shop", "sourcePVC": name}
				o["status"] = map[string]any{"phase": "InProgress"}
			})
		}
		b.api.put("/api/v1/namespaces/velero/pods/node-agent-1", fillNodeAgent)
		f, err := New(b.options(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.GatherEvidence(t.Context(), job.Backup, "b")
		if err != nil {
			t.Fatal(err)
		}
		w := planOf(CancelVolumes, remedies(e, Request{}))
		if w.Action != CancelVolumes {
			t.Fatalf("no plan: %+v", remedies(e, Request{}))
		}
		b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			if step == "write" && r.URL.Path == uploads+"du-2" {
				return nil, &lostConnection{}
			}
			connected(r)
			return serve(), nil
		}
		out, err := f.ApplyPlan(t.Context(), w, false, nil)
		var over *retry.DeadlineError
		if !errors.As(err, &over) || out.State != StateUnfinished || out.Sent != PartlyLanded ||
			!strings.Contains(out.Message, "in part") {
			t.Errorf("%v, %+v", err, out)
		}
		if !cancelAsked(b.api.get(uploads+"du-1")) || cancelAsked(b.api.get(uploads+"du-2")) {
			t.Error("the wrong ones were asked")
		}
	})
}

// fillWaitingBackup makes backup b, which waits for its data uploads.
func fillWaitingBackup(o map[string]any, start time.Time, uid string) {
	fill(o, start, uid)
	o["kind"] = "Backup"
	o["metadata"].(map[string]any)["name"] = "b"
	o["spec"] = map[string]any{}
	o["status"] = map[string]any{"phase": "WaitingForPluginOperations", "startTimestamp": start.UTC().Format(time.RFC3339)}
}

// fillNodeAgent makes a node-agent that is ready.
func fillNodeAgent(o map[string]any) {
	o["apiVersion"], o["kind"] = "v1", "Pod"
	o["metadata"] = map[string]any{"name": "node-agent-1", "namespace": "velero", "uid": "n-1",
		"labels": map[string]any{"name": "node-agent", "role": "node-agent"}}
	o["spec"] = map[string]any{"nodeName": "n1",
		"containers": []any{map[string]any{"name": "node-agent", "image": "velero/velero:v1.18.3"}}}
	o["status"] = map[string]any{"phase": "Running",
		"containerStatuses": []any{map[string]any{"name": "node-agent", "ready": true}}}
}

// An older CRD drops spec.cancel without a word.
func TestCancelWithoutTheField(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.uploads(in.backup("b", veleroapi.BackupPhaseWaitingForPluginOperations), "du")
	f := in.finalizer()
	w := in.remedy(f, "b", CancelVolumes)
	in.changeCRD("datauploads.velero.io", func(v map[string]any) {
		unstructured.RemoveNestedField(v, "schema", "openAPIV3Schema", "properties", "spec", "properties", "cancel")
	})
	eventually(t, "the API server uses the old CRD", func() bool {
		out, err := f.ApplyPlan(t.Context(), w, true, nil)
		return err == nil && out.State == StateRefused && strings.Contains(out.Message, "spec/cancel")
	})
	if out, err := f.ApplyPlan(
		t.Context(),
		w,
		false,
		nil,
	); err != nil || out.State != StateRefused || out.Sent != NotSent ||
		in.requests.patches() != 0 {
		t.Errorf("%v, %+v", err, out)
	}
}
