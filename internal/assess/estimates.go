package assess

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Estimates are what is known of jobs beyond the watch: how many items a restore restores, how it goes,
// and closer looks. The zero value knows nothing. Several goroutines may use them.
type Estimates struct {
	// BackupAge is [Assessment.BackupAge]. Set it before the first assessment.
	BackupAge time.Duration

	mu       sync.Mutex
	restores map[types.UID]*estimate
	learned  []forecast.Rates
	looks    map[types.UID]Look
}

type estimate struct {
	total  job.Total
	course *forecast.Restore // nil where nothing can be foreseen
	// drawn is how much of the items was shown as done.
	drawn float64
}

// Set notes what a restore restores, what earlier restores of the cluster showed, and what bounds the server's client.
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
	maps.DeleteFunc(e.restores, func(uid types.UID, _ *estimate) bool { return !keep(uid) })
}

// Learned removes and returns what restores showed about the cluster since the last call.
func (e *Estimates) Learned() []forecast.Rates {
	e.mu.Lock()
	defer e.mu.Unlock()
	learned := e.learned
	e.learned = nil
	return learned
}

// Assess enriches and judges the jobs of a snapshot for a moment of our own clock.
func (e *Estimates) Assess(snap *watch.Snapshot, now time.Time) *Assessment {
	a := assess(e.enrich(snap, now.Add(snap.ClockOffset)), snap, e.recent(now), now)
	a.BackupAge = e.BackupAge
	return a
}

// enrich gives restores their estimates, and takes the speed from jobs that stand still.
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

// movedNow is how old a movement before our eyes is at most: Velero writes each second (docs/dev/velero.md#progress).
const movedNow = 3 * time.Second

// halted reports whether items stand still as no server runs. An unrecognized server may still move them.
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
		jobs[i] = cmp.Or(better[j.UID], j)
	}
	return jobs
}
