package cmd

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// printed is a printer that keeps what it is given.
type printed struct{ items []document.Job }

// rowsOf are jobs as get prints them.
func rowsOf(context string, a *assess.Assessment, jobs ...*job.Job) []listRow {
	return mapSlice(jobs, func(j *job.Job) listRow { return newRow(context, a, j) })
}

// listOf is the list that -o json prints.
func listOf(rows []listRow, malformed []document.Malformed) document.JobList {
	printed := selection{}.listDocument(rows, malformed)
	list := document.JobList{Header: printed.Header, Malformed: printed.Malformed}
	for _, doc := range printed.Items {
		list.Items = append(list.Items, *doc.(*document.Job))
	}
	return list
}

func (p *printed) list(rows []listRow, malformed []document.Malformed, _ rowPlaces) error {
	p.items = append(p.items, listOf(rows, malformed).Items...)
	return nil
}

// followed is a follower of one snapshot, with a clock that the test moves.
type followed struct {
	rowFollower
	monitor *cluster.Assessor
	now     time.Time
	out     *printed
	snap    *watch.Snapshot
}

func newFollowed(stuck bool, jobs ...*job.Job) *followed {
	f := &followed{now: followNoon, out: &printed{}}
	c := newCLI(nil, nil, nil)
	c.process.clock = func() time.Time { return f.now }
	f.monitor = c.newCluster().NewAssessor(0, kubectl.ClusterAccess{})
	f.rowFollower = rowFollower{
		cli:           c,
		printer:       rowPrinter{printRows: f.out.list},
		needsVerdicts: true,
		selected:      selection{stuck: stuck},
		printedStates: map[types.UID]string{},
	}
	f.snap = &watch.Snapshot{
		At:        followNoon,
		Namespace: "velero",
		Jobs:      jobs,
		Active:    jobs,
		Health:    watch.Health{State: watch.Live},
		Server: velero.Server{
			Visible: true,
			ServerPod: velero.ServerPod{Name: "velero", Running: true, Ready: true, Version: "v1.18.3",
				StartedAt: followNoon.Add(-time.Hour), Flags: velero.DefaultServerFlags()},
		},
	}
	for _, j := range jobs {
		f.snap.Changes = append(f.snap.Changes, watch.Change{Job: j})
	}
	return f
}

// pass judges once a second, as the command does.
func (f *followed) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for end := f.now.Add(d); f.now.Before(end); f.now = f.now.Add(time.Second) {
		if err := f.handleAssessment(f.monitor.AssessSnapshot(t.Context(), f.snap, func(*job.Job) bool { return false })); err != nil {
			t.Fatal(err)
		}
		f.snap.Changes = nil
	}
}

var followNoon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func followedRestore(name string, done, total int) *job.Job {
	start := metav1.NewTime(followNoon.Add(-time.Minute))
	r := &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "velero",
			Name:              name,
			UID:               types.UID(name),
			CreationTimestamp: start,
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "velero-server", Time: &metav1.Time{Time: followNoon}},
			},
		},
		Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &start,
			Progress: &veleroapi.RestoreProgress{ItemsRestored: done, TotalItems: total}},
	}
	return job.Fold(nil, job.Observation{Restore: r, ObservedAt: followNoon})
}

// Nothing but time passes, and the stream says what `get` would say: that the restore
// moves no more, and at last that it is stuck. Each is said once.
func TestFollowJudgesAgainAsTimePasses(t *testing.T) {
	f := newFollowed(false, followedRestore("shop", 265, 265))
	f.pass(t, 8*time.Hour)
	var states []string
	for i, item := range f.out.items {
		if i > 0 && item.Verdict.State == f.out.items[i-1].Verdict.State &&
			item.Verdict.Reason == f.out.items[i-1].Verdict.Reason {
			t.Errorf("%s %s is printed twice", item.Verdict.State, item.Verdict.Reason)
		}
		states = append(states, item.Verdict.State)
	}
	if len(states) < 2 || states[0] != "progressing" ||
		!slices.ContainsFunc(states, func(s string) bool { return s == "quiet" || s == "stuck" || s == "waiting" }) {
		t.Errorf("in eight hours of silence it printed %v", states)
	}
}

// What happens around a job is told too, once: the server goes away, and an alert on
// stuck jobs fires.
func TestFollowTellsOfADeadServer(t *testing.T) {
	for _, onlyStuck := range []bool{false, true} {
		f := newFollowed(onlyStuck, followedRestore("shop", 100, 265), followedRestore("erp", 1, 2))
		f.pass(t, 5*time.Second)
		before := len(f.out.items)
		if want := 2; onlyStuck && before != 0 || !onlyStuck && before != want {
			t.Errorf("stuck %v: %d lines at first", onlyStuck, before)
		}
		f.snap.Server.ServerPod = velero.ServerPod{Name: "velero", LastTerminationReason: "Error"}
		f.pass(t, 30*time.Minute)
		stuck := map[string]int{}
		for _, item := range f.out.items[before:] {
			if item.Stuck {
				stuck[item.Name]++
			}
		}
		if stuck["shop"] != 1 || stuck["erp"] != 1 {
			t.Errorf("stuck %v: %v", onlyStuck, stuck)
		}
		lines := len(f.out.items)
		f.pass(t, time.Hour)
		if len(f.out.items) != lines {
			t.Errorf("stuck %v: %d lines although nothing changed", onlyStuck, len(f.out.items)-lines)
		}
		f.snap.Active, f.snap.Jobs = nil, nil
		f.snap.Changes = []watch.Change{{Job: followedRestore("shop", 100, 265), Deleted: true}}
		f.pass(t, time.Minute)
		if last := f.out.items[len(f.out.items)-1]; len(f.out.items) != lines+1 || !last.Deleted {
			t.Errorf("stuck %v: a deletion printed %d lines", onlyStuck, len(f.out.items)-lines)
		}
	}
}

// A table without verdicts prints changes only.
func TestFollowWithoutVerdicts(t *testing.T) {
	f := newFollowed(false, followedRestore("shop", 265, 265))
	f.needsVerdicts = false
	f.pass(t, time.Hour)
	if len(f.out.items) != 1 {
		t.Errorf("%d lines", len(f.out.items))
	}
}
