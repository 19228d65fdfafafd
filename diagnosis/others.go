package diagnosis

import (
	"slices"

	"github.com/veltui/veltui/job"
)

// NeedsOthers reports what else may change a verdict that was reached with the
// job, its own volumes, the pods and the small kinds alone: the other jobs of the
// installation, and the volumes of all of them. A job that moves before our eyes
// needs neither.
func NeedsOthers(j *job.Job, v Verdict) (jobs, volumes bool) {
	switch {
	case j.Terminal():
		return false, false
	case j.Stage == job.StageQueued:
		return true, true // the verdict on what it waits for needs that one's volumes
	}
	volumes = slices.ContainsFunc(j.Volumes, func(o job.Volume) bool {
		return !o.Ended() && (v.State() != Progressing || o.Waiting())
	})
	switch v.Reason {
	case NotPickedUp, Starting, QueueStalled, WorkerHung, FinalizerStalled: // see blinding
		return true, volumes
	}
	stage := job.StageOf(j.Phase)
	return v.state != Progressing && (stage == job.StageFinalizing || stage == job.StageItems), volumes
}
