package action

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// strippable are the actions of the fake API server, by name.
func strippable(t *testing.T) map[string]sendAction {
	return map[string]sendAction{
		"finalize":           finalizeSend,
		"create a restore":   createSend,
		"create a selection": selectSend,
		"create a backup":    backupSend,
		"pause":              pauseSend,
		"unpause":            unpauseSend,
		"delete a restore":   deleteRestoreSend,
		"delete a backup":    deleteBackupSend(t),
	}
}

// stripFirst drops dryRun of the first dry run; the request for good is refused.
func stripFirst(b *sendBench) {
	b.api.strip = func(string) bool { return true }
	b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		if step == "write" {
			return statusAnswer(r, 403, "Forbidden"), nil
		}
		return serve(), nil
	}
}

// A dry run that something before the API server turns into a write is an outcome of its own, for every action, whether a
// dry run was all that was wanted or not. Nothing else is sent, and the journal and the next start say so.
func TestDryRunCarriedOut(t *testing.T) {
	for name, a := range strippable(t) {
		for _, dryRun := range []bool{true, false} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := newSendBench(a)
				o := b.options(dir)
				engine, err := New(o)
				if err != nil {
					t.Fatal(err)
				}
				p, err := b.plan(t.Context(), engine)
				if err != nil || !p.IsPossible() {
					t.Fatalf("%s: %q %v", name, p.Refusal, err)
				}
				stripFirst(b)
				out, err := engine.ApplyPlan(t.Context(), p, dryRun, nil)
				sent := Landed
				if len(p.targets) > 1 {
					sent = PartlyLanded
				}
				if err != nil || out.State != StateCarriedOut || out.Sent != sent ||
					strings.Contains(out.Message, "nothing was written") {
					t.Errorf("%s: %s, %s: %s, %v", name, out.State, out.Sent, out.Message, err)
				}
				if slices.ContainsFunc(b.api.log, isSend) {
					t.Errorf("%s: it sent more: %q", name, b.api.log)
				}
				if undone := len(out.UndoCommands) > 0; undone == (a.mark == deletedPrefix && a.given) {
					t.Errorf("%s: undo: %q", name, out.UndoCommands)
				}
				log := entries(t, out.AuditLogPath)
				end := log[len(log)-1]
				if log[0].Event != "begin" || log[1].Event != "check" || end.State != StateCarriedOut || end.Sent != sent ||
					end.DryRun != dryRun {
					t.Errorf("%s: the journal is %+v", name, log)
				}
			})
		}
	}
}

// A dry run without an answer is looked up by the object.
func TestDryRunWithoutAnAnswer(t *testing.T) {
	for name, a := range strippable(t) {
		for _, lands := range []bool{true, false} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := newSendBench(a)
				engine, p := b.planned(t, dir)
				lost := 0
				b.api.strip = func(string) bool { return lands }
				b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
					connected(r)
					if step == "dry run" && lost == 0 {
						lost++
						serve()
						return nil, io.ErrUnexpectedEOF
					}
					return serve(), nil
				}
				out, err := engine.ApplyPlan(t.Context(), p, true, nil)
				switch {
				case lands && (out.State != StateCarriedOut || out.Sent == NotSent):
					t.Errorf("%s, carried out: %s, %s: %s %v", name, out.State, out.Sent, out.Message, err)
				case !lands && (err == nil || out.Sent != Doubtful || strings.Contains(out.Message, "nothing was written")):
					t.Errorf("%s, not carried out: %s, %s: %s %v", name, out.State, out.Sent, out.Message, err)
				}
			})
		}
	}
}

// An attempt that ended during its dry run is settled at the next start.
func TestSettleDryRun(t *testing.T) {
	for name, a := range strippable(t) {
		for _, lands := range []bool{true, false} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := newSendBench(a)
				o := b.options(dir)
				engine, err := New(o)
				if err != nil {
					t.Fatal(err)
				}
				p, err := b.plan(t.Context(), engine)
				if err != nil {
					t.Fatal(err)
				}
				b.api.strip = func(string) bool { return lands }
				killed := false
				b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
					connected(r)
					if killed {
						return nil, io.ErrUnexpectedEOF
					}
					if step == "dry run" {
						serve()
						killed = true
						return nil, io.ErrUnexpectedEOF
					}
					return serve(), nil
				}
				_, _ = engine.ApplyPlan(t.Context(), p, true, nil)
				b.api.tamper, b.api.strip = nil, nil
				settleTwice(t, name, o, engine, lands, a)
			})
		}
	}
}

func settleTwice(t *testing.T, name string, o Options, engine *Engine, lands bool, a sendAction) {
	unfinished, _, err := UnfinishedAttempts(o.AuditDir, time.Now())
	if err != nil || len(unfinished) != 1 || !strings.Contains(unfinished[0].FormatSummary(time.Now()), "(dry run only)") {
		t.Fatalf("%s: %v %v", name, unfinished, err)
	}
	fate, err := engine.SettleAttempt(t.Context(), &unfinished[0])
	if isDeletion := a.mark == deletedPrefix && a.given; lands && !isDeletion {
		if err != nil || !fate.IsKnown || fate.Sent == NotSent || fate.Sent == Doubtful {
			t.Errorf("%s, carried out: %+v %v", name, fate, err)
		}
		return
	}
	if err != nil || fate.Sent != Doubtful {
		t.Errorf("%s, at once: %+v %v", name, fate, err)
	}
	if lands {
		return // gone, and nobody knows by whom
	}
	time.Sleep(maxDryRunAge + time.Minute)
	if fate, err = engine.SettleAttempt(t.Context(), &unfinished[0]); err != nil || !fate.IsKnown || fate.Sent != NotSent {
		t.Errorf("%s, later: %+v %v", name, fate, err)
	}
	if left, _ := filepath.Glob(filepath.Join(o.AuditDir, "*.lock")); len(left) > 0 {
		t.Errorf("%s: locks are left: %q", name, left)
	}
}

// A real API server answers dry runs as the engine expects, for each kind of request, and without one a carried out
// deletion is found whether a finalizer holds the object or not. Several volumes are stopped at the first.
func TestDryRunCarriedOutForReal(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.backup("b", veleroapi.BackupPhaseReadyToStart)
	in.schedule("nightly", false)
	f := in.finalizer()
	pausing, err := f.ProposePlan(t.Context(), Pause, NewNamedObject("Schedule", "nightly"), Request{})
	if err != nil {
		t.Fatal(err)
	}
	creating, err := f.ProposePlan(t.Context(), Create, NewScheduledBackup("nightly", "now"), Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Plan{in.remedy(f, "b", Wake), creating, pausing} { // in this order: each changes what follows
		name := p.Action
		if out, err := f.ApplyPlan(t.Context(), p, true, nil); err != nil || out.State != StateChecked {
			t.Errorf("%s as it should be: %s, %s: %s, %v", name, out.State, out.Sent, out.Message, err)
		}
		in.requests.set(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("dryRun") == "" {
				return nil, nil
			}
			return next.RoundTrip(withoutDryRun(r))
		})
		out, err := f.ApplyPlan(t.Context(), p, true, nil)
		in.requests.set(nil)
		if err != nil || out.State != StateCarriedOut || out.Sent != Landed || len(out.UndoCommands) != 1 {
			t.Errorf("%s: %s, %s: %s %q, %v", name, out.State, out.Sent, out.Message, out.UndoCommands, err)
		}
	}
}

// Whatever veltui made or changed before, however long ago, can be changed and deleted: an old entry of its own in
// managedFields tells no clock.
func TestObjectsThatVeltuiMade(t *testing.T) {
	for name, a := range strippable(t) {
		for _, age := range []time.Duration{0, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := newSendBench(a)
				b.api.wrote = time.Now
				for path := range b.api.objects {
					b.api.put(path, func(o map[string]any) { madeByVeltui(o, time.Now().Add(-age)) })
				}
				engine, p := b.planned(t, dir)
				if out, err := engine.ApplyPlan(t.Context(), p, false, nil); err != nil || out.Sent != Landed {
					t.Errorf("%s, %s: %s, %s: %s, %v", name, age, out.State, out.Sent, out.Message, err)
				}
			})
		}
	}
}

// madeByVeltui adds an entry as veltui leaves one when it creates or patches an object.
func madeByVeltui(o map[string]any, at time.Time) {
	meta := o["metadata"].(map[string]any)
	fields, _ := meta["managedFields"].([]any)
	meta["managedFields"] = append(
		fields,
		map[string]any{
			"manager":    fieldManager,
			"operation":  "Update",
			"apiVersion": "velero.io/v1",
			"time": at.UTC().
				Format(time.RFC3339),
			"fieldsType": "FieldsV1",
			"fieldsV1":   map[string]any{"f:spec": map[string]any{}},
		},
	)
}

// A deletion is checked against the clock of the API server that would do it, by the time in the answer to its dry run.
func TestClockOfADeletion(t *testing.T) {
	seen := newObject(jobGVK(job.Restore), "velero", "r")
	seen.SetResourceVersion("7")
	d := &deletion{seen}
	answer := seen.DeepCopy()
	at := metav1.NewTime(time.Unix(1_800_000_000, 0))
	answer.SetDeletionTimestamp(&at)
	if got := d.answerTime(answer); !got.Equal(at.Time) {
		t.Errorf("%s", got)
	}
	answer.SetResourceVersion("") // the time is this machine's own
	if got := d.answerTime(answer); !got.IsZero() {
		t.Errorf("%s", got)
	}
}

// Clocks that differ stop only what an age decides.
func TestClocksApartStopOnlyWhatAgesDecide(t *testing.T) {
	for name, a := range strippable(t) {
		for _, off := range []time.Duration{20 * time.Minute, -20 * time.Minute} {
			restsOnAges := name == "finalize" || name == "delete a backup"
			p := proposed(t, a, func(b *sendBench) { b.api.date = func() time.Time { return time.Now().Add(off) } })
			if p.IsPossible() == restsOnAges {
				t.Errorf("%s, %s: %q", name, off, p.Refusal)
			}
			if noted := strings.Contains(fmt.Sprint(p.Facts()), "differ by 20m"); !noted {
				t.Errorf("%s, %s: the difference is not noted: %v", name, off, p.Facts())
			}
		}
	}
}

// TestUndo: undo takes back all that a patch has changed.
func TestUndo(t *testing.T) {
	b := newSendBench(pauseSend)
	seen := b.api.get(b.path)
	p, err := newPatch(seen, pausedPrefix.attemptKey(), "a-1", append([]patchOperation{{"add", "/spec/paused", true}},
		pausedPrefix.annotateOperations(seen, attemptStamp{by: "jane", attempt: "a-1"}, "why")...))
	if err != nil {
		t.Fatal(err)
	}
	after := seen.DeepCopy()
	after.SetResourceVersion("9")
	words := p.undoArgs(after)
	var steps []patchOperation
	if err := json.Unmarshal([]byte(words[len(words)-1]), &steps); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range steps {
		got = append(got, s.Op+" "+s.Path)
	}
	if want := []string{
		"test /metadata/uid",
		"test /metadata/resourceVersion",
		"remove /spec/paused",
		"remove /metadata/annotations",
	}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("%q", got)
	}
}
