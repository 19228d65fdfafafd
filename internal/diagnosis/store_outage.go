package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// maxRetryDelay is the longest time after which a controller tries again (client-go util/workqueue,
// DefaultTypedControllerRateLimiter: 1000 s), with a margin.
const maxRetryDelay = 1000*time.Second + maxFreshLogAge

// withStoreOutage names the object store in an unproven verdict on a running job, if the store is away: what the job
// needs now, it waits for; what it needs later is only said.
func (a *jobJudge) withStoreOutage(v Verdict) Verdict {
	step := a.likelyStep()
	if v.state == "" || v.state == Unknown || v.state == Orphaned || !v.Proof.IsZero() ||
		v.Reason == LocationUnavailable || step == velero.StepQueued || step == velero.StepDeleting {
		return v
	}
	known := len(a.facts)
	where := a.findStoreOutage()
	if where == "" {
		return v
	}
	facts := slices.Clone(v.Facts)
	for _, f := range a.facts[known:] {
		if !slices.Contains(facts, f) {
			facts = append(facts, f)
		}
	}
	if !a.needsStoreNow(v, step) {
		v.Facts = facts
		if v.Reason != WaitingForOperations { // most go on without the store; the facts name it
			v.Text += "; " + strings.TrimPrefix(where, "storage ")
		}
		return v
	}
	doing := progressText(a.j)
	if step == velero.StepFinalizing {
		doing = "finalizing for " + a.quietText()
	}
	waits := v.Waits
	v = a.Conclude(
		Waiting,
		LocationUnavailable,
		"Get the storage location back; Velero reads and stores the files of this job there.",
		"%s; %s, and Velero needs it now",
		doing,
		where,
	).withWaits(waits)
	v.Facts = facts
	return v
}

// needsStoreNow reports whether the job is in a step that cannot go on without the store, and not shown to wait for
// something else.
func (a *jobJudge) needsStoreNow(v Verdict, step velero.Step) bool {
	switch {
	case v.Reason == LogMoving:
		return false
	case step == velero.StepCollecting && a.j.Kind == job.Restore: // it downloads the backup
	case step != velero.StepStoring && step != velero.StepFinalizing:
		return false
	}
	return !slices.ContainsFunc(v.Waits, func(w Wait) bool {
		return w.Confirmed && !slices.Contains([]velero.WaitName{
			velero.WaitBinding, velero.WaitRewriting, velero.WaitObjectStore, velero.WaitStoring,
		}, w.Name)
	})
}

// findStoreOutage says that the job's storage location is unavailable, or else that the server's last attempt to reach
// the object store failed; it adds the facts.
func (a *jobJudge) findStoreOutage() string {
	if where, _ := a.findLocationOutage(); where != "" {
		return where
	}
	failure, maxAge := a.jobEvidence().ServerLog.StoreFailure, maxFreshLogAge
	if a.likelyStep() == velero.StepFinalizing {
		maxAge = maxRetryDelay // it would have ended, or logged more
	}
	if age := a.logAge(failure.At); failure.At.IsZero() || age > maxAge || age < -maxFreshLogAge {
		return ""
	}
	a.AddSupport(SourceLog, failure.At, "the server could not reach the object store: %s", logText(failure))
	name := a.j.StorageLocation
	if a.j.Kind == job.Restore {
		name = a.world.LocationByBackup[a.j.BackupName]
	}
	return "the object store" + human.Prefixed(" of storage location ", name) + " failed " + a.logAgeText(failure) + " ago"
}
