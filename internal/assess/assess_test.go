package assess

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// restore is one as it is after a look a second, from items done at noon on.
func restore(phase veleroapi.RestorePhase, total int, done ...int) *job.Job {
	var j *job.Job
	for i, n := range done {
		at := noon.Add(time.Duration(i) * time.Second)
		start := metav1.NewTime(noon.Add(-time.Minute))
		r := &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "shop", UID: "shop", CreationTimestamp: start,
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: &metav1.Time{Time: at}}}},
		}
		r.Spec.BackupName = "b"
		r.Status = veleroapi.RestoreStatus{Phase: phase, StartTimestamp: &start}
		if total > 0 || n > 0 {
			r.Status.Progress = &veleroapi.RestoreProgress{ItemsRestored: n, TotalItems: total}
		}
		j = job.Fold(j, job.Observation{Restore: r, ObservedAt: at})
	}
	return j
}

// readOnce is a restore that Velero last wrote at noon and that is read a silence later.
func readOnce(phase veleroapi.RestorePhase, total, done int, silence time.Duration) *job.Job {
	j := restore(phase, total, done)
	return job.Fold(nil, job.Observation{Restore: j.Object.(*veleroapi.Restore), ObservedAt: noon.Add(silence)})
}

func snapshotOf(at time.Time, jobs ...*job.Job) *watch.Snapshot {
	snap := &watch.Snapshot{
		At:        at,
		Namespace: "velero",
		Jobs:      jobs,
		Health:    watch.Health{State: watch.Live},
		Server: velero.Server{
			Visible: true,
			ServerPod: velero.ServerPod{
				Running:   true,
				Ready:     true,
				Version:   "v1.18.3",
				StartedAt: noon.Add(-time.Hour),
				Flags:     velero.DefaultServerFlags(),
			},
		},
	}
	for _, j := range jobs {
		if !j.IsTerminal() {
			snap.Active = append(snap.Active, j)
		}
	}
	return snap
}

// secretsThenPods is a restore whose second half takes far longer.
var secretsThenPods = []collector.Step{{Resource: "secrets", Items: 600}, {Resource: "pods", Items: 300}}

var shopItems = collector.Estimate{Total: 900, SelectedCount: 920, Steps: secretsThenPods}

var lab = forecast.Rates{
	Throttle:  forecast.Cost{Seconds: 0.02, SeenSeconds: 30},
	Resources: map[string]forecast.Cost{"pods": {Seconds: 0.1, SeenSeconds: 20}},
}

// However a restore goes, the verdict's sentence and the number have one ETA.
func TestOneETA(t *testing.T) {
	for name, c := range map[string]struct {
		total int
		known bool
		done  []int
	}{
		"by its rate":                {900, false, []int{100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700}},
		"by the mix of its kinds":    {900, true, []int{100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700}},
		"by a mix that does not fit": {4000, true, []int{100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700}},
	} {
		t.Run(name, func(t *testing.T) {
			var e Estimates
			if c.known {
				e.Set("shop", shopItems, lab, forecast.ClientLimit{})
			}
			said := 0
			for n := 2; n <= len(c.done); n++ {
				j := restore(veleroapi.RestorePhaseInProgress, c.total, c.done[:n]...)
				for wait := time.Duration(0); wait < 40*time.Second; wait += 1700 * time.Millisecond {
					now := noon.Add(time.Duration(n-1)*time.Second + wait)
					a := e.AssessSnapshot(snapshotOf(now, j), now)
					judged := a.AssessJob(a.Snapshot.Active[0])
					_, after, tells := strings.Cut(judged.Verdict.Summary(), ", about ")
					switch {
					case tells && !judged.ETA.Known:
						t.Fatalf("%q, but no ETA", judged.Verdict.Summary())
					case tells && after != judged.ETA.String()+" left":
						t.Fatalf("%q, and an ETA of %s", judged.Verdict.Summary(), judged.ETA.String())
					case tells:
						said++
					}
				}
			}
			if said == 0 {
				t.Error("no sentence ever told an ETA, so nothing was compared")
			}
		})
	}
}

// A restore is enriched before it is judged: its sentence knows the estimate.
func TestEnrichedBeforeJudged(t *testing.T) {
	j := restore(veleroapi.RestorePhaseInProgress, 0, 0)
	snap := snapshotOf(noon, j)
	var e Estimates
	e.Set("shop", shopItems, lab, forecast.ClientLimit{})
	a := e.AssessSnapshot(snap, noon)
	judged := a.AssessJob(a.FindJob("shop"))
	if !judged.Items.Estimated || judged.Items.Total != 900 ||
		!strings.Contains(judged.Verdict.Summary(), "900 items") {
		t.Errorf("items %+v, judged %q", judged.Items, judged.Verdict.Summary())
	}
	if j.Items.Known || snap.Active[0] != j || a.Source != snap || a.World.Jobs[0] != judged.Job {
		t.Error("the snapshot itself was changed, or others see another job")
	}
	e.RetainRestores(func(types.UID) bool { return false })
	if a := e.AssessSnapshot(snap, noon); a.Snapshot != snap {
		t.Error("something is known of a restore that was dropped")
	}
}

// While the API server is away a job stays in trouble that was, the count says
// the same, and no number goes on from what nobody confirms.
func TestStale(t *testing.T) {
	j := restore(veleroapi.RestorePhaseInProgress, 900, 100, 150, 200, 250, 300, 350)
	orphaned := restore(veleroapi.RestorePhaseInProgress, 900, 100)
	orphaned.UID, orphaned.Name = "orphan", "orphan"
	now := noon.Add(5 * time.Second)
	snap := snapshotOf(now, j, orphaned)
	snap.Server.StartedAt = noon.Add(4 * time.Second)
	snap.Server.LastTerminationReason, snap.Server.LastTerminationAt = "OOMKilled", noon.Add(3*time.Second)
	later := now.Add(2 * time.Minute)
	var e Estimates
	live := e.AssessSnapshot(snap, later)
	if live.Troubled == 0 {
		t.Fatalf("nothing is in trouble: %q", live.AssessJob(orphaned).Verdict.Summary())
	}
	away := *snap
	away.Health = watch.Health{State: watch.Stale, Since: later}
	stale := e.AssessSnapshot(&away, later.Add(time.Minute))
	if stale.Troubled != live.Troubled || stale.Running != live.Running || stale.Queued != live.Queued {
		t.Errorf(
			"live %d, %d, %d, stale %d, %d, %d",
			live.Running,
			live.Queued,
			live.Troubled,
			stale.Running,
			stale.Queued,
			stale.Troubled,
		)
	}
	troubled := 0
	for _, j := range stale.Snapshot.Active {
		judged := stale.AssessJob(j)
		if judged.IsTroubled() {
			troubled++
		}
		if judged.Verdict.State() != diagnosis.Unknown || judged.ETA.Known || judged.Rate.Known {
			t.Errorf("%s: %s, ETA %v, rate %v", j.Name, judged.Verdict.State(), judged.ETA, judged.Rate)
		}
	}
	if troubled != stale.Troubled {
		t.Errorf("%d are counted, %d are marked", stale.Troubled, troubled)
	}
}

// While a kind has not been read, what is not known of it is never taken for a no.
func TestNothingIsStuckThatWasNotRead(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	j := restore(veleroapi.RestorePhaseInProgress, 100, 10)
	snap := snapshotOf(now, j)
	snap.Health, snap.Server = watch.Health{State: watch.Connecting, Since: now}, velero.Server{}
	snap.Sources = []watch.Source{
		{Resource: watch.Backups, State: watch.SourceLive},
		{Resource: watch.DataUploads, State: watch.SourceSyncing, ObjectsRead: 7, Since: now},
	}
	a := new(Estimates).AssessSnapshot(snap, now.Add(2*time.Hour))
	if got := a.AssessJob(
		a.Snapshot.Jobs[0],
	); got.State != diagnosis.Unknown || a.Troubled != 0 ||
		!strings.Contains(got.Verdict.Summary(), "reading DataUploads, 7 so far") {
		t.Errorf("%s, %d in trouble: %s", got.State, a.Troubled, got.Verdict.Summary())
	}
}

// What a restore tells about the cluster is learned once, when its items are done.
func TestLearned(t *testing.T) {
	var e Estimates
	e.Set("shop", shopItems, forecast.Rates{}, forecast.ClientLimit{})
	e.AssessSnapshot(
		snapshotOf(noon, restore(veleroapi.RestorePhaseInProgress, 900, 100, 200, 300, 400)),
		noon.Add(4*time.Second),
	)
	if len(e.TakeLearnedRates()) != 0 {
		t.Error("learned while it runs")
	}
	ended := snapshotOf(noon, restore(veleroapi.RestorePhaseCompleted, 900, 900))
	e.AssessSnapshot(ended, noon.Add(10*time.Second))
	e.AssessSnapshot(ended, noon.Add(11*time.Second))
	if n := len(e.TakeLearnedRates()); n != 1 {
		t.Errorf("learned %d times", n)
	}
	if len(e.TakeLearnedRates()) != 0 {
		t.Error("what was learned is told twice")
	}
}

// Changes of the journal are enriched and judged as they were, each for itself.
func TestChangesAreJudgedAsTheyWere(t *testing.T) {
	before, after := restore(veleroapi.RestorePhaseInProgress, 0, 0), restore(veleroapi.RestorePhaseCompleted, 900, 900)
	snap := snapshotOf(noon, after)
	snap.Changes = []watch.Change{{Job: before}, {Job: after}}
	var e Estimates
	e.Set("shop", shopItems, lab, forecast.ClientLimit{})
	a := e.AssessSnapshot(snap, noon)
	first, second := a.AssessJob(a.Snapshot.Changes[0].Job), a.AssessJob(a.Snapshot.Changes[1].Job)
	if !first.Items.Estimated || first.State == "" || second.State != "" || second.Phase != "Completed" {
		t.Errorf("first %s %+v, second %s %s", first.State, first.Items, second.State, second.Phase)
	}
	if snap.Changes[0].Job != before {
		t.Error("the snapshot's own change was replaced")
	}
}
