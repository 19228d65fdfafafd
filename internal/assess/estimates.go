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
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Estimates are what is known of jobs beyond the watch: how many items a restore restores, how it progresses, and
// closer looks. The zero value knows nothing. Estimates are safe for concurrent use.
type Estimates struct {
	// BackupAge is [Assessment.BackupAge]. Set it before the first assessment.
	BackupAge time.Duration
	// Access is how the commands that verdicts and findings advise reach the cluster. Set it as BackupAge.
	Access kubectl.ClusterAccess

	mu           sync.Mutex
	restores     map[types.UID]*restoreEstimate
	learnedRates []forecast.Rates
	looks        map[types.UID]CloserLook
}

type restoreEstimate struct {
	itemEstimate job.ItemEstimate
	forecaster   *forecast.JobForecaster // nil if nothing can be predicted
	// shownFraction is the share of the items that was shown as done.
	shownFraction float64
}

// Set records what a restore restores, what earlier restores of the cluster showed, and what limits the server's
// client.
func (e *Estimates) Set(uid types.UID, restores collector.Estimate, known forecast.Rates, limit forecast.ClientLimit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.restores == nil {
		e.restores = map[types.UID]*restoreEstimate{}
	}
	e.restores[uid] = &restoreEstimate{
		itemEstimate: restores.ItemEstimate(),
		forecaster:   forecast.NewJobForecaster(restores.Steps, known, limit),
	}
}

// RetainRestores drops what is known of restores for which keep returns false.
func (e *Estimates) RetainRestores(keep func(types.UID) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.restores, func(uid types.UID, _ *restoreEstimate) bool { return !keep(uid) })
}

// TakeLearnedRates removes and returns what restores have shown about the cluster since the last call.
func (e *Estimates) TakeLearnedRates() []forecast.Rates {
	e.mu.Lock()
	defer e.mu.Unlock()
	learned := e.learnedRates
	e.learnedRates = nil
	return learned
}

// AssessSnapshot enriches and judges the jobs of a snapshot for a time by our own clock.
func (e *Estimates) AssessSnapshot(snap *watch.Snapshot, now time.Time) *Assessment {
	a := newAssessment(e.enrichSnapshot(snap, now.Add(snap.ClockOffset)), snap, e.recentLooks(now), now, e.Access)
	a.BackupAge = e.BackupAge
	return a
}

// enrichSnapshot gives restores their estimates, and removes the speed of jobs that stand still.
func (e *Estimates) enrichSnapshot(snap *watch.Snapshot, now time.Time) *watch.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	serverDown := snap.Server.Visible && !snap.Server.Running
	if len(e.restores) == 0 && !serverDown {
		return snap
	}
	live := snap.Health.State == watch.Live
	enriched := func(j *job.Job) *job.Job {
		if j = e.withEstimate(j, live); serverDown && isHalted(j, snap.Server, now) {
			return j.WithoutRate()
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
		if _, known := e.restores[j.UID]; !known && j.IsTerminal() {
			continue
		}
		if k := enriched(j); k != j {
			better[j.UID] = k
		}
	}
	copied.Jobs, copied.Active = replaceJobs(snap.Jobs, better), replaceJobs(snap.Active, better)
	return &copied
}

// currentMovementAge is the maximum age of a movement that is happening now: Velero writes each second
// (docs/dev/velero.md#progress).
const currentMovementAge = 3 * time.Second

// isHalted reports whether items stand still because no server runs. An unrecognized server may still move them.
func isHalted(j *job.Job, s velero.Server, now time.Time) bool {
	return j.Stage == job.StageItems && (s.Name != "" || now.Sub(j.ItemsMovedAt()) > currentMovementAge)
}

// withEstimate returns j with what is known of it, and learns from j.
func (e *Estimates) withEstimate(j *job.Job, live bool) *job.Job {
	known, ok := e.restores[j.UID]
	if !ok {
		return j
	}
	if rates, ok := known.forecaster.TakeLearnedRates(j); ok {
		e.learnedRates = append(e.learnedRates, rates)
	}
	known.itemEstimate = known.itemEstimate.CorrectBy(j.Items)
	k := j.WithItemEstimate(known.itemEstimate)
	if k.Stage == job.StageItems {
		k = k.WithFraction(known.shownFraction)
		known.shownFraction = max(known.shownFraction, k.Fraction)
	}
	return known.forecaster.ObserveJob(k, live)
}

func replaceJobs(jobs []*job.Job, better map[types.UID]*job.Job) []*job.Job {
	if len(better) == 0 {
		return jobs
	}
	jobs = slices.Clone(jobs)
	for i, j := range jobs {
		jobs[i] = cmp.Or(better[j.UID], j)
	}
	return jobs
}
