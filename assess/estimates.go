package assess

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/job/forecast"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// Estimates are what veltui knows about jobs beyond what the watch tells: how
// many items a restore restores, how it goes, and what closer looks found. The
// zero value knows nothing. They may be used by several goroutines.
type Estimates struct {
	// BackupAge is what the user set for [Assessment.BackupAge]. It is set before
	// the first assessment.
	BackupAge time.Duration

	mu       sync.Mutex
	restores map[types.UID]*estimate
	learned  []forecast.Rates
	looks    map[types.UID]Look
}

// estimate is what is known of one restore.
type estimate struct {
	total  job.Total
	course *forecast.Restore // nil where nothing can be foreseen
	// drawn is how much of the items was shown as done.
	drawn float64
}

// Set notes what a restore restores. known is what earlier restores of the cluster
// showed, limit what bounds the client of the server.
func (e *Estimates) Set(uid types.UID, restores collector.Estimate, known forecast.Rates, limit forecast.Limit) {
	total := job.Total{Items: restores.Total, First: restores.MostPublished()}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.restores == nil {
		e.restores = map[types.UID]*estimate{}
	}
	e.restores[uid] = &estimate{total: total, course: forecast.Follow(restores.Steps, known, limit)}
}

// Keep drops what is known of restores that keep does not name.
func (e *Estimates) Keep(keep func(types.UID) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for uid := range e.restores {
		if !keep(uid) {
			delete(e.restores, uid)
		}
	}
}

// Learned removes and returns what restores whose items are done showed about the
// cluster since it was last called.
func (e *Estimates) Learned() []forecast.Rates {
	e.mu.Lock()
	defer e.mu.Unlock()
	learned := e.learned
	e.learned = nil
	return learned
}

// Assess enriches the jobs of a snapshot and judges them for a moment of our
// own clock. The snapshot and its jobs stay as they are.
func (e *Estimates) Assess(snap *watch.Snapshot, now time.Time) *Assessment {
	a := assess(e.enrich(snap, now.Add(snap.ClockOffset)), snap, e.recent(now), now)
	a.BackupAge = e.BackupAge
	return a
}

// enrich gives restores their estimates, and takes the speed from jobs that nobody
// works on; it is the snapshot itself where there is nothing to do.
func (e *Estimates) enrich(snap *watch.Snapshot, now time.Time) *watch.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	serverDown := snap.Server.Visible && !snap.Server.Running
	if len(e.restores) == 0 && !serverDown {
		return snap
	}
	live := snap.Health.State == watch.Live
	enriched := func(j *job.Job) *job.Job {
		if j = e.better(j, live); serverDown && halted(j, snap.Server, now) {
			return j.Halted()
		}
		return j
	}
	copied := *snap
	copied.Changes = slices.Clone(snap.Changes)
	for i, c := range copied.Changes {
		copied.Changes[i].Job = enriched(c.Job)
	}
	better := map[types.UID]*job.Job{}
	for _, j := range snap.Jobs {
		if _, known := e.restores[j.UID]; !known && j.Terminal() {
			continue
		}
		if k := enriched(j); k != j {
			better[j.UID] = k
		}
	}
	copied.Jobs, copied.Active = replaced(snap.Jobs, better), replaced(snap.Active, better)
	return &copied
}

// movedNow is how old a movement is at most that happens before our eyes: Velero
// writes progress once a second (docs/dev/velero.md#progress).
const movedNow = 3 * time.Second

// halted reports whether a job's items stand still because no server runs. One that
// is not recognized as a server may still move them.
func halted(j *job.Job, s velero.Server, now time.Time) bool {
	return j.Stage == job.StageItems && (s.Name != "" || now.Sub(j.ItemsMoved()) > movedNow)
}

// better is j with what is known of it, and learns from it.
func (e *Estimates) better(j *job.Job, live bool) *job.Job {
	known, ok := e.restores[j.UID]
	if !ok {
		return j
	}
	if rates, ok := known.course.Learned(j); ok {
		e.learned = append(e.learned, rates)
	}
	k := j.WithTotal(known.total)
	if k.Stage == job.StageItems {
		k = k.WithFraction(known.drawn)
		known.drawn = max(known.drawn, k.Fraction)
	}
	return known.course.See(k, live)
}

func replaced(jobs []*job.Job, better map[types.UID]*job.Job) []*job.Job {
	if len(better) == 0 {
		return jobs
	}
	jobs = slices.Clone(jobs)
	for i, j := range jobs {
		if k := better[j.UID]; k != nil {
			jobs[i] = k
		}
	}
	return jobs
}
