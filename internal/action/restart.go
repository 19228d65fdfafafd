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
	notPickedUp = 5 * time.Minute // how long a job that nothing holds back may wait: after an outage up to 1.5 minutes
	// how long one backup may be finalized: with operations its contents are stored again
	finalizerHangs = time.Hour
	limitMargin    = 30 * time.Minute // how long past their own limit operations are polled
)

// restartAction advises to restart the server.
type restartAction struct{ baseAction }

func (restartAction) name() Name { return Restart }

// fill gets a hung server going again, at the cost of all that it works on. It is only offered where the evidence
// names what hangs, or that the work is done, and where it helps: a restart marks what is in progress Failed and
// cancels its data movement (pkg/cmd/server/server.go markInProgressCRsFailed, markDataUploadsCancel), forgets hooks
// and backups that are ready to start, and reads the same objects and CRDs as before.
func (restartAction) fill(e *Evidence, w *Plan) bool {
	j, o := e.Job, e.owner()
	if j.Deleting || !o.live() || e.justStarted() || e.logMoves() || len(e.Malformed) > 0 || e.StatusSubresource ||
		e.schemaTooOld() ||
		!e.handled() {
		return false
	}
	found := false
	switch j.Phase {
	case velero.PhaseInProgress:
		found = o == ownerAlive && restartOver(e, w)
	case velero.PhaseFinalizing, velero.PhaseFinalizingPartly:
		found = restartFinalizer(e, w)
	case velero.PhaseWaiting, velero.PhaseWaitingPartly:
		found = restartOperations(e, w)
	case velero.PhaseReadyToStart:
		found = o == ownerAlive && restartQueue(e, w)
	case "", velero.PhaseNew, velero.PhaseQueued:
		found = restartWorker(e, w)
	}
	if found {
		describeRestart(e, w)
	}
	return found
}

// justStarted reports whether a server may still be marking what it found at its start.
func (e *Evidence) justStarted() bool {
	return slices.ContainsFunc(
		e.Server.Pods,
		func(c velero.ServerPod) bool { return e.At.Sub(c.StartedAt) < velero.RestartGrace },
	)
}

// schemaTooOld reports whether the CRD lacks phases of the server. An unknown version counts as the newest.
func (e *Evidence) schemaTooOld() bool {
	if e.Phases == nil {
		return false
	}
	needed := onward
	if e.Job.Kind == job.Backup {
		if v, known := e.version(); !known || !v.Before(velero.Version{1, 18, 0}) {
			needed = slices.Concat([]string{velero.PhaseQueued, velero.PhaseReadyToStart}, onward)
		}
	} else if v, known := e.version(); known && v.Before(velero.Version{1, 14, 0}) {
		needed = []string{velero.PhaseCompleted, velero.PhasePartiallyFailed, velero.PhaseFailed}
	}
	return slices.ContainsFunc(needed, func(phase string) bool { return !slices.Contains(e.Phases, phase) })
}

// restartOver: the work is done, but not proven complete. Where volumes still move only finalizing saves them; where it
// could be finalized once its location is back, a restart would make a complete job a failed one.
func restartOver(e *Evidence, w *Plan) bool {
	if e.quiet() < patchWindow(e) || e.Volumes != Yes || len(e.moving()) > 0 || canFinalize(e).refusal != "" {
		return false
	}
	if _, _, missing := nextPhase(e); missing.refusal == "" {
		return false
	}
	if c := e.Counts; c != nil && c.Operations.Attempted > c.Operations.Completed+c.Operations.Failed {
		return false
	}
	switch {
	case e.Job.Kind == job.Backup && e.olderFiles() && !e.Job.Items.Known:
		w.Why = "its name is taken in the object store, so Velero would have marked it Failed (backup already exists " +
			"in object storage)"
		w.WillNot = append(
			w.WillNot,
			"change the older backup of that name; deleting this one through Velero would delete its files",
		)
	case e.resultsStored():
		w.Why = fmt.Sprintf(
			"its results are stored, so Velero has finished its work, but the job has not changed for %s",
			human.Duration(e.quiet()),
		)
	default:
		return false
	}
	w.Then = append(w.Then, "Velero marks it Failed when it starts")
	return true
}

// resultsStored reports whether the results, uploaded after all work, are stored.
func (e *Evidence) resultsStored() bool {
	return len(e.Artifacts) > 0 && e.Artifacts[0].Target == Targets(e.Job.Kind)[0] &&
		e.Artifacts[0].State == job.Present &&
		e.Artifacts[0].LastModified.After(e.began()) &&
		e.At.Sub(e.Artifacts[0].LastModified) >= patchWindow(e)
}

// restartFinalizer: the finalizer hangs on a hook that cannot run, or, of a backup, on a patch without end
// (NewBackupFinalizerReconciler does not store its time-out up to 1.18.3, so it retries without limit).
func restartFinalizer(e *Evidence, w *Plan) bool {
	if e.Job.Kind == job.Restore {
		h := e.hungHook()
		if h == nil || e.quiet() < velero.HookHangs {
			return false
		}
		w.Why = fmt.Sprintf(
			"it waits without limit for the hook of pod %s, whose container cannot start: %s (Velero issues 9744, 9749)",
			h.Pod,
			h.Blocked,
		)
		w.WillNot = append(
			w.WillNot,
			"run its hooks: the restarted server forgets them and ends the restore as if they had run",
		)
		w.Then = append(w.Then, "Velero continues to finalize it when it starts")
		return true
	}
	l := e.Location
	busy := slices.ContainsFunc(e.Others, func(o Other) bool {
		return o.Kind == job.Backup && (o.Phase == velero.PhaseFinalizing || o.Phase == velero.PhaseFinalizingPartly)
	})
	if e.quiet() < finalizerHangs || busy || e.OthersWhy != "" || l == nil || l.Phase != velero.LocationAvailable {
		return false
	}
	w.Why = fmt.Sprintf(
		"it has been %s for %s; the finalizer may be repeating a patch that always fails",
		e.Job.Phase,
		human.Duration(e.quiet()),
	)
	w.Then = append(w.Then, "Velero continues to finalize it when it starts")
	return true
}

// restartOperations: Velero gives up on operations at their limit, but looks at it only after the plugin has
// answered, and with one worker for all (backup_operations_controller.go getBackupItemOperationProgress).
func restartOperations(e *Evidence, w *Plan) bool {
	limit := velero.ItemOperationTimeout(e.Job.Object, e.Server.Flags)
	if e.quiet() < limit+velero.OperationLooks(e.Server.Flags)+limitMargin || e.Volumes != Yes || len(e.moving()) > 0 ||
		canFinalize(e).refusal != "" {
		return false
	}
	w.Why = fmt.Sprintf(
		"its operations are %s past their limit of %s, at which Velero should have given up: a plugin may hang",
		human.Duration(e.quiet()-limit),
		human.Duration(limit),
	)
	w.Then = append(w.Then, "Velero reads its operations again and continues")
	return true
}

// restartQueue: the server that let a backup out of its queue cannot start it, and counts it as running until then.
func restartQueue(e *Evidence, w *Plan) bool {
	if e.Job.Kind != job.Backup || e.quiet() < notPickedUp {
		return false
	}
	w.Why = fmt.Sprintf(
		"it has been ReadyToStart for %s and holds a slot of the queue; the server that queued it does not start it",
		human.Duration(e.quiet()),
	)
	w.Then = append(w.Then, "the slot is free, so other backups may start",
		"Velero forgets this backup: then wake it (--wake), or give it up")
	return true
}

// restartWorker: a job waits, and nothing is in progress that it could wait for.
func restartWorker(e *Evidence, w *Plan) bool {
	if e.quiet() < notPickedUp || e.busy() != "" || e.OthersWhy != "" {
		return false
	}
	w.Why = fmt.Sprintf(
		"it has waited for %s although nothing else is in progress; the server's worker or queue may be stuck (Velero "+
			"issues 4128, 10519)",
		human.Duration(e.quiet()),
	)
	w.Then = append(w.Then, "Velero picks it up when it starts")
	return true
}

func (e *Evidence) busy() string {
	for _, o := range e.Others {
		if o.Running || o.Phase == velero.PhaseInProgress || o.Phase == velero.PhaseReadyToStart {
			return o.ref()
		}
	}
	return ""
}

func (o Other) ref() string { return o.Kind.Word() + "/" + o.Name }

func describeRestart(e *Evidence, w *Plan) {
	j := e.Job
	w.Title = "restart the Velero server"
	if j.Phase == velero.PhaseInProgress {
		w.Fails = append(w.Fails, j.Kind.Word()+"/"+j.Name)
	}
	for _, o := range e.Others {
		if o.Phase == velero.PhaseInProgress {
			w.Fails = append(w.Fails, o.ref())
		}
	}
	switch {
	case e.OthersWhy != "":
		w.Will = append(
			w.Will,
			"mark every job in progress Failed and cancel its data movement; veltui cannot list them all: "+e.OthersWhy,
		)
	case len(w.Fails) > 0:
		w.Will = append(
			w.Will,
			fmt.Sprintf(
				"mark %s in progress Failed and cancel their data movement: %s",
				human.Count(len(w.Fails), "job"),
				human.List(w.Fails, 10),
			),
		)
	default:
		w.Will = append(w.Will, "fail nothing: no job is in progress")
	}
	w.Will = append(w.Will, "clear the server's memory, so that it accepts deletions that it refused")
	if forgets := e.forgotten(); len(forgets) > 0 {
		w.Will = append(
			w.Will,
			"forget backups that are ready to start; wake them afterwards: "+human.List(forgets, 10),
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
			w.request.Reach().Kubectl(j.Namespace, "rollout", "restart", "deployment/"+e.Server.Deployment),
		}
	} else {
		for _, c := range e.Server.Pods {
			w.Commands = append(w.Commands, w.request.Reach().Kubectl(j.Namespace, "delete", "pod", c.Name))
		}
	}
	w.Refusal = "restarting is up to you: veltui only shows the command"
	w.Advice = "Run the command if you can afford to lose what it fails."
}

// forgotten are the backups that a restart leaves ready to start (backup_controller.go SetupWithManager).
func (e *Evidence) forgotten() []string {
	var names []string
	for _, o := range e.Others {
		if o.Phase == velero.PhaseReadyToStart {
			names = append(names, o.ref())
		}
	}
	return names
}
