package action

import (
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

const (
	// maxPickupDelay is how long a job that nothing holds back may wait: after an outage up to 1.5 minutes.
	maxPickupDelay = 5 * time.Minute
	// finalizerHangTime is how long one backup may take to finalize: with operations its contents are stored again.
	finalizerHangTime = time.Hour
	// operationLimitMargin is how long operations are polled past their own limit.
	operationLimitMargin = 30 * time.Minute
)

// restartAction advises restarting the server.
type restartAction struct{ baseAction }

func (restartAction) actionKind() Kind { return Restart }

// fillPlan gets a hung server going again, at the cost of everything that it works on. It is offered only if the
// evidence shows what hangs, or that the work is done, and only where it helps: a restart marks jobs in progress
// Failed and cancels their data movement (pkg/cmd/server/server.go markInProgressCRsFailed, markDataUploadsCancel),
// forgets hooks and backups that are ready to start, and reads the same objects and CRDs as before.
func (restartAction) fillPlan(e *Evidence, w *Plan) bool {
	j, o := e.Job, e.findJobOwner()
	if j.Deleting || !o.hasServer() || e.hasServerJustStarted() || e.isLogFresh() || len(e.MalformedJobs) > 0 ||
		e.HasStatusSubresource ||
		e.isSchemaTooOld() ||
		!e.hasController() {
		return false
	}
	found := false
	switch j.Phase {
	case velero.PhaseInProgress:
		found = o == ownerAlive && planDoneWorkRestart(e, w)
	case velero.PhaseFinalizing, velero.PhaseFinalizingPartiallyFailed:
		found = planFinalizerRestart(e, w)
	case velero.PhaseWaitingForPluginOperations, velero.PhaseWaitingForPluginOperationsPartiallyFailed:
		found = planOperationsRestart(e, w)
	case velero.PhaseReadyToStart:
		found = o == ownerAlive && planQueueRestart(e, w)
	case "", velero.PhaseNew, velero.PhaseQueued:
		found = planWorkerRestart(e, w)
	}
	if found {
		describeRestart(e, w)
	}
	return found
}

// hasServerJustStarted reports whether a server may still be marking the jobs that it found at its start.
func (e *Evidence) hasServerJustStarted() bool {
	return slices.ContainsFunc(
		e.Server.Pods,
		func(c velero.ServerPod) bool { return e.Now.Sub(c.StartedAt) < velero.RestartGrace },
	)
}

// isSchemaTooOld reports whether the CRD lacks phases of the server. An unknown version counts as the newest.
func (e *Evidence) isSchemaTooOld() bool {
	if e.AllowedPhases == nil {
		return false
	}
	needed := phaseOrder
	if e.Job.Kind == job.Backup {
		if v, known := e.serverVersion(); !known || !v.Before(velero.Version{1, 18, 0}) {
			needed = slices.Concat([]string{velero.PhaseQueued, velero.PhaseReadyToStart}, phaseOrder)
		}
	} else if v, known := e.serverVersion(); known && v.Before(velero.Version{1, 14, 0}) {
		needed = []string{velero.PhaseCompleted, velero.PhasePartiallyFailed, velero.PhaseFailed}
	}
	return slices.ContainsFunc(needed, func(phase string) bool { return !slices.Contains(e.AllowedPhases, phase) })
}

// planDoneWorkRestart plans a restart for a job whose work is done, but not proven complete. If volumes still move,
// only finalizing saves them; if the job could be finalized once its location is back, a restart would make a complete
// job a failed one.
func planDoneWorkRestart(e *Evidence, w *Plan) bool {
	if e.quietDuration() < statusPatchWindow(e) || e.VolumesListed != Yes || len(e.unendedVolumes()) > 0 ||
		checkFinalizerCanFinish(e).refusal != "" {
		return false
	}
	if _, _, missing := findNextPhase(e); missing.refusal == "" {
		return false
	}
	if c := e.StoredCounts; c != nil && c.Operations.Attempted > c.Operations.Completed+c.Operations.Failed {
		return false
	}
	switch {
	case e.Job.Kind == job.Backup && e.hasOlderFiles() && !e.Job.Items.Known:
		w.EvidenceText = "its name is taken in the object store, so Velero would have marked it Failed (backup already " +
			"exists in object storage)"
		w.WillNot = append(
			w.WillNot,
			"change the older backup of that name; deleting this one through Velero would delete its files",
		)
	case e.hasStoredResults():
		w.EvidenceText = fmt.Sprintf(
			"its results are stored, so Velero has finished its work, but the job has not changed for %s",
			human.Duration(e.quietDuration()),
		)
	default:
		return false
	}
	w.Afterwards = append(w.Afterwards, "Velero marks it Failed when it starts")
	return true
}

// hasStoredResults reports whether the results, uploaded after all work, are stored.
func (e *Evidence) hasStoredResults() bool {
	return len(e.Artifacts) > 0 && e.Artifacts[0].Target == ArtifactTargets(e.Job.Kind)[0] &&
		e.Artifacts[0].State == job.Present &&
		e.Artifacts[0].LastModified.After(e.startTime()) &&
		e.Now.Sub(e.Artifacts[0].LastModified) >= statusPatchWindow(e)
}

// planFinalizerRestart plans a restart for a finalizer that hangs on a hook that cannot run, or, for a backup, on a
// patch without end (NewBackupFinalizerReconciler does not store its time-out up to 1.18.3, so it retries without
// limit).
func planFinalizerRestart(e *Evidence, w *Plan) bool {
	if e.Job.Kind == job.Restore {
		h := e.findHungHook()
		if h == nil || e.quietDuration() < velero.HungHookAfter {
			return false
		}
		w.EvidenceText = fmt.Sprintf(
			"it waits without limit for the hook of pod %s, whose container cannot start: %s (Velero issues 9744, 9749)",
			h.Pod,
			h.BlockedReason,
		)
		w.WillNot = append(
			w.WillNot,
			"run its hooks: the restarted server forgets them and ends the restore as if they had run",
		)
		w.Afterwards = append(w.Afterwards, "Velero continues to finalize it when it starts")
		return true
	}
	l := e.Location
	busy := slices.ContainsFunc(e.OtherJobs, func(o OtherJob) bool {
		return o.Kind == job.Backup && (o.Phase == velero.PhaseFinalizing || o.Phase == velero.PhaseFinalizingPartiallyFailed)
	})
	if e.quietDuration() < finalizerHangTime || busy || e.OtherJobsUnchecked != "" || l == nil ||
		l.Phase != velero.LocationAvailable {
		return false
	}
	w.EvidenceText = fmt.Sprintf(
		"it has been %s for %s; the finalizer may be repeating a patch that always fails",
		e.Job.Phase,
		human.Duration(e.quietDuration()),
	)
	w.Afterwards = append(w.Afterwards, "Velero continues to finalize it when it starts")
	return true
}

// planOperationsRestart plans a restart for operations past their limit. Velero gives up on operations at their limit,
// but checks it only after the plugin has answered, and with one worker for all (backup_operations_controller.go
// getBackupItemOperationProgress).
func planOperationsRestart(e *Evidence, w *Plan) bool {
	limit := velero.ItemOperationTimeout(e.Job.Object, e.Server.Flags)
	if e.quietDuration() < limit+velero.OperationCheckDelay(e.Server.Flags)+operationLimitMargin ||
		e.VolumesListed != Yes ||
		len(e.unendedVolumes()) > 0 ||
		checkFinalizerCanFinish(e).refusal != "" {
		return false
	}
	w.EvidenceText = fmt.Sprintf(
		"its operations are %s past their limit of %s, at which Velero should have given up: a plugin may hang",
		human.Duration(e.quietDuration()-limit),
		human.Duration(limit),
	)
	w.Afterwards = append(w.Afterwards, "Velero reads its operations again and continues")
	return true
}

// planQueueRestart plans a restart for a server that let a backup out of its queue but cannot start it, and counts it
// as running until then.
func planQueueRestart(e *Evidence, w *Plan) bool {
	if e.Job.Kind != job.Backup || e.quietDuration() < maxPickupDelay {
		return false
	}
	w.EvidenceText = fmt.Sprintf(
		"it has been ReadyToStart for %s and holds a slot of the queue; the server that queued it does not start it",
		human.Duration(e.quietDuration()),
	)
	w.Afterwards = append(w.Afterwards, "the slot is free, so other backups may start",
		"Velero forgets this backup: then wake it (--wake), or give it up")
	return true
}

// planWorkerRestart plans a restart for a job that waits while nothing is in progress that it could wait for.
func planWorkerRestart(e *Evidence, w *Plan) bool {
	if e.quietDuration() < maxPickupDelay || e.findBusyJob() != "" || e.OtherJobsUnchecked != "" {
		return false
	}
	w.EvidenceText = fmt.Sprintf(
		"it has waited for %s although nothing else is in progress; the server's worker or queue may be stuck (Velero "+
			"issues 4128, 10519)",
		human.Duration(e.quietDuration()),
	)
	w.Afterwards = append(w.Afterwards, "Velero picks it up when it starts")
	return true
}

func (e *Evidence) findBusyJob() string {
	for _, o := range e.OtherJobs {
		if o.IsRunning || o.Phase == velero.PhaseInProgress || o.Phase == velero.PhaseReadyToStart {
			return o.jobRef()
		}
	}
	return ""
}

func (o OtherJob) jobRef() string { return o.Kind.Noun() + "/" + o.Name }

func describeRestart(e *Evidence, w *Plan) {
	j := e.Job
	w.Title = "restart the Velero server"
	if j.Phase == velero.PhaseInProgress {
		w.FailingJobs = append(w.FailingJobs, j.Kind.Noun()+"/"+j.Name)
	}
	for _, o := range e.OtherJobs {
		if o.Phase == velero.PhaseInProgress {
			w.FailingJobs = append(w.FailingJobs, o.jobRef())
		}
	}
	switch {
	case e.OtherJobsUnchecked != "":
		w.Will = append(
			w.Will,
			"mark every job in progress Failed and cancel its data movement; veltui cannot list them all: "+e.OtherJobsUnchecked,
		)
	case len(w.FailingJobs) > 0:
		w.Will = append(
			w.Will,
			fmt.Sprintf(
				"mark %s in progress Failed and cancel their data movement: %s",
				human.Count(len(w.FailingJobs), "job"),
				human.JoinNames(w.FailingJobs, 10),
			),
		)
	default:
		w.Will = append(w.Will, "fail nothing: no job is in progress")
	}
	w.Will = append(w.Will, "clear the server's memory, so that it accepts deletions that it refused")
	if forgets := e.forgottenBackups(); len(forgets) > 0 {
		w.Will = append(
			w.Will,
			"forget backups that are ready to start; wake them afterwards: "+human.JoinNames(forgets, 10),
		)
	}
	w.WillNot = append(
		w.WillNot,
		"remove snapshots or objects that failed jobs leave behind",
		"change jobs that wait for operations or are being finalized: they continue, but restore hooks that have not "+
			"run never will",
	)
	if e.Server.Deployment != "" {
		w.Commands = []string{
			w.request.ClusterAccess().KubectlCommand(j.Namespace, "rollout", "restart", "deployment/"+e.Server.Deployment),
		}
	} else {
		for _, c := range e.Server.Pods {
			w.Commands = append(w.Commands, w.request.ClusterAccess().KubectlCommand(j.Namespace, "delete", "pod", c.Name))
		}
	}
	w.Refusal = "restarting is up to you: veltui only shows the command"
	w.Advice = "Run the command if you can afford to lose what it fails."
}

// forgottenBackups returns the backups that a restart leaves ready to start (backup_controller.go SetupWithManager).
func (e *Evidence) forgottenBackups() []string {
	var names []string
	for _, o := range e.OtherJobs {
		if o.Phase == velero.PhaseReadyToStart {
			names = append(names, o.jobRef())
		}
	}
	return names
}
