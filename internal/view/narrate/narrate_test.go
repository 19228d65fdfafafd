package narrate

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

var update = flag.Bool("update", false, "write the transcript anew")

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is a cluster whose jobs a test moves.
type world struct {
	at   time.Time
	jobs map[string]*job.Job
	// order is that of the names.
	order  []string
	health watch.Health
	server velero.Server
	phase  veleroapi.BackupStorageLocationPhase
	known  assess.Estimates
}

func newWorld() *world {
	return &world{
		at:     noon,
		jobs:   map[string]*job.Job{},
		health: watch.Health{State: watch.Live, Since: noon},
		phase:  veleroapi.BackupStorageLocationPhaseAvailable,
		server: velero.Server{
			Visible: true,
			ServerPod: velero.ServerPod{Running: true, Ready: true, Name: "velero-7d4", Version: "v1.18.3",
				StartedAt: noon.Add(-80 * time.Hour), Flags: velero.DefaultServerFlags()},
		},
	}
}

// restore writes a restore's status, begun at noon.
func (w *world) restore(name string, status veleroapi.RestoreStatus) {
	r := &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "velero",
			Name:              name,
			UID:               types.UID("uid-" + name),
			CreationTimestamp: metav1.NewTime(noon),
		},
		Status: status,
	}
	r.Spec.BackupName = "nightly"
	r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: &metav1.Time{Time: w.at}}}
	if w.jobs[name] == nil {
		w.order = append(w.order, name)
	}
	w.jobs[name] = job.Fold(w.jobs[name], job.Observation{Restore: r, ObservedAt: w.at})
}

func (w *world) items(name string, done, total int) {
	started := metav1.NewTime(noon)
	w.restore(name, veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &started,
		Progress: &veleroapi.RestoreProgress{ItemsRestored: done, TotalItems: total}})
}

func (w *world) ends(name string, phase veleroapi.RestorePhase, errors int) {
	started, ended := metav1.NewTime(noon), metav1.NewTime(w.at)
	w.restore(
		name,
		veleroapi.RestoreStatus{Phase: phase, StartTimestamp: &started, CompletionTimestamp: &ended, Errors: errors,
			Progress: &veleroapi.RestoreProgress{ItemsRestored: 1000, TotalItems: 1000}},
	)
}

func (w *world) assess() *assess.Assessment {
	w.server.SeenAt = w.at
	snap := &watch.Snapshot{
		Seq:       1,
		At:        w.at,
		Namespace: "velero",
		Health:    w.health,
		Server:    w.server,
		Sources: []watch.Source{
			{Resource: "backups.velero.io", State: watch.SourceLive},
			{Resource: "restores.velero.io", State: watch.SourceLive},
			{Resource: watch.StorageLocations, State: watch.SourceLive},
		},
		StorageLocations: []*veleroapi.BackupStorageLocation{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "default"},
				Status: veleroapi.BackupStorageLocationStatus{Phase: w.phase, Message: "no route to host"}},
		},
	}
	for _, name := range w.order {
		if j := w.jobs[name]; j != nil {
			snap.Jobs = append(snap.Jobs, j)
			if !j.IsTerminal() {
				snap.Active = append(snap.Active, j)
			}
		}
	}
	return w.known.AssessSnapshot(snap, w.at)
}

// TestTranscript is a night on call, as it is heard.
func TestTranscript(t *testing.T) {
	w := newWorld()
	var changes ChangeTracker
	var pace Pacer
	var heard strings.Builder
	listen := func(lines ...string) {
		for _, line := range lines {
			fmt.Fprintf(&heard, "%s %s\n", w.at.Format(time.TimeOnly), line)
		}
	}
	pass := func(d time.Duration) {
		for end := w.at.Add(d); w.at.Before(end); {
			w.at = w.at.Add(time.Second)
			pace.AddLines(changes.CollectLines(w.assess())...)
			listen(pace.TakeDueLines(w.at)...)
		}
	}
	w.items("shop", 100, 1000)
	w.ends("old", veleroapi.RestorePhasePartiallyFailed, 3)
	changes.CollectLines(w.assess())
	listen(Overview(w.assess(), 10, "")...)

	w.at = w.at.Add(time.Minute)
	for done := 120; done <= 420; done += 10 {
		w.items("shop", done, 1000)
		pass(time.Second)
	}
	w.items("crm", 0, 0)
	w.restore("waits", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseNew})
	pass(20 * time.Second)
	w.health = watch.Health{State: watch.Stale, Since: w.at, Err: "dial tcp 10.0.0.1:6443: connection refused"}
	pass(90 * time.Second)
	w.health = watch.Health{State: watch.Live, Since: w.at}
	pass(2 * time.Minute)
	w.phase = veleroapi.BackupStorageLocationPhaseUnavailable
	pass(10 * time.Second)
	w.phase = veleroapi.BackupStorageLocationPhaseAvailable
	w.server.Running, w.server.WaitingReason = false, "CrashLoopBackOff"
	pass(2 * time.Minute)
	w.server.Running, w.server.StartedAt = true, w.at
	pass(6 * time.Minute)
	w.ends("crm", veleroapi.RestorePhaseFailed, 0)
	w.ends("shop", veleroapi.RestorePhaseCompleted, 0)
	w.ends("waits", veleroapi.RestorePhasePartiallyFailed, 2)
	pass(30 * time.Second)

	const path = "testdata/transcript.golden"
	if *update {
		if err := os.WriteFile(path, []byte(heard.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if heard.String() != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", heard.String(), want)
	}
}

// However much happens, no minute has more lines than a person listens to, and
// nothing urgent is lost.
func TestPace(t *testing.T) {
	var pace Pacer
	at := noon
	var said []time.Time
	urgent, summed := 0, 0
	for second := range 600 {
		at = at.Add(time.Second)
		for i := range 30 {
			if second < 120 {
				pace.AddLines(Line{fmt.Sprint("job ", i), fmt.Sprint("moved ", second), Minor})
			}
		}
		if second%60 == 0 && second < 300 {
			for i := range 4 {
				pace.AddLines(Line{fmt.Sprint("stuck ", second, i), "Stuck", Urgent})
			}
		}
		for _, line := range pace.TakeDueLines(at) {
			said = append(said, at)
			switch {
			case line == "Stuck":
				urgent++
			case strings.Contains(line, "more jobs changed"):
				summed++
			}
		}
	}
	for i, when := range said {
		if i >= maxLinesPerMinute && when.Sub(said[i-maxLinesPerMinute]) < time.Minute {
			t.Fatalf("more than %d lines in the minute before %s", maxLinesPerMinute, when)
		}
	}
	if urgent != 20 {
		t.Errorf("%d of 20 urgent lines were said", urgent)
	}
	if summed == 0 {
		t.Error("what was left out is not summed up")
	}
}

// What Velero calls or writes as if it were a duration stays as it is; veltui's own durations are spelled out.
func TestAloud(t *testing.T) {
	w := newWorld()
	w.at = noon.Add(192 * time.Second)
	w.ends("3d", veleroapi.RestorePhaseFailed, 0)
	w.restore(
		"16s",
		veleroapi.RestoreStatus{
			Phase:            veleroapi.RestorePhaseFailedValidation,
			ValidationErrors: []string{"it took 5m, more than 1h."},
		},
	)
	w.items("5m", 0, 0)
	w.at = w.at.Add(72 * time.Hour)
	failed, invalid, quiet := FindJobs(w.assess(), "3d")[0], FindJobs(w.assess(), "16s")[0], FindJobs(w.assess(), "5m")[0]
	for _, c := range []struct{ got, want string }{
		{Job(failed, w.at, ""), "Ended 3 days ago: restore 3d: Failed after 3 minutes 12 seconds at 1,000 of "},
		{Job(invalid, w.at, ""), "Ended: restore 16s: FailedValidation: it took 5m, more than 1h. "},
		{Job(quiet, w.at, ""), "Quiet: restore 5m: all 0 items restored, quiet for 3 days; "},
		{strings.Join(Facts(quiet, 9), " "), "Fact: nothing changed for 3 days."},
		{headlineText(failed), "restore 3d: Failed after 3 minutes 12 seconds"},
		{headlineText(invalid), "restore 16s: FailedValidation: it took 5m, more than 1h"},
		{failed.Verdict.Summary(), "3d: Failed after 3m12s"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// A reason that is cut off keeps its dots: without them it reads as a word that is
// not one.
func TestCutReason(t *testing.T) {
	w := newWorld()
	w.restore("shop", veleroapi.RestoreStatus{
		Phase: veleroapi.RestorePhaseFailedValidation,
		ValidationErrors: []string{
			"the storage location that the backup names was not found, so that nothing can be restored",
		},
	})
	said := Job(FindJobs(w.assess(), "shop")[0], w.at, "")
	if !strings.Contains(said, "... ") || strings.Contains(said, "....") {
		t.Errorf("%q", said)
	}
}

// A name finds its job, else what holds it; a kind leaves the other kind out.
func TestFind(t *testing.T) {
	w := newWorld()
	w.items("crm", 1, 2)
	w.items("crm-old", 1, 2)
	a := w.assess()
	for name, want := range map[string]int{"crm": 1, "cr": 2, "restore/crm": 1, "restores/crm-old": 1, "backup/crm": 0, "backups/cr": 0, "x": 0, "": 0} {
		if got := FindJobs(a, name); len(got) != want {
			t.Errorf("%q finds %d jobs, want %d", name, len(got), want)
		}
	}
}
