package diagnosis

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

func (a *jobJudge) judgeQueued() Verdict {
	w := findTurn(a.j, a.world)
	if !w.isWaiting { // deletion was requested before it began
		a.noteQuiet()
		return a.Conclude(Waiting, Deleting, "", "has not begun and is being deleted")
	}
	a.noteServer()
	a.AddSupport(SourceWatch, a.Now, "%s", w.reasonText)
	if v, ok := a.judgeRefused(); ok {
		return v
	}
	if a.j.Phase == velero.PhaseReadyToStart {
		return a.judgeReadyToStart()
	}
	if v, ok := a.judgeBlocked(w); ok {
		return v
	}
	if !w.canStart {
		return a.Conclude(Waiting, w.reason, "", "%s", a.turnText(w)).withWaits(toWaits(a.likelyWaits()))
	}
	return a.judgeNotPickedUp(w)
}

// judgeBlocked judges a job that waits only for jobs that are proven not to continue by themselves.
func (a *jobJudge) judgeBlocked(w queueTurn) (Verdict, bool) {
	if len(w.blockers) == 0 || a.Now.Sub(a.j.Created) < settleGrace {
		return Verdict{}, false
	}
	for _, b := range w.blockers[1:] {
		if Judge(b, *a.world).Proof.IsZero() {
			return Verdict{}, false
		}
	}
	return a.judgeBehindStuck(
		w.blockers[0],
		QueueBlocked,
		"this job begins when that one is out of the way",
		"waits for %s",
	)
}

func (a *jobJudge) judgeBehindStuck(b *job.Job, reason Reason, why, format string) (Verdict, bool) {
	first := Judge(b, *a.world)
	if first.Proof.IsZero() {
		return Verdict{}, false
	}
	fact := a.AddSupport(SourceWatch, b.QuietSince(), "%s is %s (%s)", b.Name, first.state, first.Reason)
	return a.proveStuck(
		first.Proof.withFact(fact),
		reason,
		"Look at "+b.Name+" first: "+why+".",
		format+", which is %s",
		b.Name,
		first.state,
	), true
}

// judgeRefused judges a job that a controller could not pick up, as the log says more than once, for example because
// of an admission webhook.
func (a *jobJudge) judgeRefused() (Verdict, bool) {
	r := a.jobEvidence().ServerLog.Refusal
	if r.At.IsZero() || a.logAge(r.At) > maxRefusalAge || a.Now.Sub(a.j.QuietSince()) < lostPatchQuiet {
		return Verdict{}, false
	}
	a.noteQuiet()
	fact := a.AddSupport(SourceLog, r.At, "%s", LoggedText(r))
	advice := "Remove what refuses it; Velero tries again by itself."
	if a.j.Kind == job.Backup && a.j.Phase == velero.PhaseReadyToStart {
		advice += " Until then it keeps its place in the queue: others may not start."
	}
	return a.proveStuck(
		ProveRefused(fact),
		NotPickedUp,
		advice,
		"%s for %s; refused: %s",
		cmp.Or(a.j.Phase, velero.PhaseNew),
		a.quietText(),
		human.Shorten(cmp.Or(r.Error, r.Text), 60),
	), true
}

// maxRefusalAge is longer than the longest delay after which a controller tries again.
const maxRefusalAge = 20 * time.Minute

// judgeUnhandled judges a job in a phase from which this server never takes it: no time, restart or touch of the job
// helps. A job in progress is different: the server that began it works on it, and a server's start marks it Failed.
func (a *jobJudge) judgeUnhandled() (Verdict, bool) {
	s, phase := a.world.Server, cmp.Or(a.j.Phase, velero.PhaseNew)
	stage := job.StageOf(a.j.Phase)
	if !s.Visible || !s.Running || s.OtherServerCount() > 0 || stage == job.StageItems || stage == job.StageUnknown ||
		len(a.j.MalformedFields) > 0 {
		return Verdict{}, false
	}
	return a.judgeUnhandledPhase(phase)
}

// IsHandled reports whether the server runs a controller for the job's phase. An unknown version counts as that of
// the CRDs, else as the newest.
func IsHandled(j *job.Job, env *World) bool {
	c, ok := newJobJudge(j, env).findController(j.Phase)
	return ok && env.Server.Flags.RunsController(c)
}

func (a *jobJudge) findController(phase string) (velero.Controller, bool) {
	return a.effectiveVersion().FindController(a.j.Kind == job.Backup, phase)
}

func (a *jobJudge) judgeUnhandledPhase(phase string) (Verdict, bool) {
	s := a.world.Server
	v, known := velero.ParseVersion(s.Version)
	c, ok := a.findController(phase)
	switch {
	case !ok && known:
		fact := a.AddSupport(SourcePod, s.SeenAt, "Velero %s has no controller for phase %s", v, phase)
		return a.ConcludeProven(
			Orphaned,
			ProveOwnerGone(fact),
			NotHandled,
			"Delete it, or finalize it with phase Failed; then make it again."+a.undeletableAdvice(),
			"is %s, which Velero %s does not handle: a newer version left it so",
			phase,
			v,
		), true
	case !ok, s.Flags.RunsController(c):
		return Verdict{}, false
	}
	a.noteQuiet()
	fact := a.AddSupport(
		SourcePod,
		s.SeenAt,
		"the server runs without the controller %s (--disable-controllers, --restore-only)",
		c,
	)
	advice := "Let the server run that controller: the " + a.j.Kind.Noun() + " then goes on by itself."
	if job.StageOf(a.j.Phase) == job.StageQueued &&
		(a.j.Kind == job.Restore || s.Flags.RunsController(velero.BackupDeletionController)) {
		advice = "Let the server run that controller, or delete the " + a.j.Kind.Noun() + "."
	}
	return a.ConcludeProven(Orphaned, ProveOwnerGone(fact), NotHandled, advice, "is %s, and %s", phase, fact.Text), true
}

func (a *jobJudge) turnText(w queueTurn) string {
	if w.position > 1 {
		return human.Ordinal(w.position) + " in line; " + w.reasonText
	}
	return w.reasonText
}

func (a *jobJudge) judgeNotPickedUp(w queueTurn) Verdict {
	j := a.j
	idle := a.Now.Sub(job.LatestTime(j.LastChanged, j.Created, a.world.serverStartTime(), a.world.LastJobEndedAt))
	if idle < settleGrace {
		return a.Conclude(Waiting, w.reason, "", "%s", a.turnText(w))
	}
	a.noteQuiet()
	const gone = "The server may still work on a job that was deleted or edited, which does not show. "
	switch {
	case j.Phase == velero.PhaseQueued:
		const advice = "A restart of the Velero server gets the queue going; it fails what is in progress."
		if o := a.findLostSlot(); o != nil {
			fact := a.AddSupport(
				SourceWatch,
				o.LastChanged,
				"somebody set %s to %s before it started, and the server counts it as running until it restarts",
				o.Name,
				o.Phase,
			)
			return a.proveStuck(
				ProveOwnerGone(fact),
				QueueStalled,
				advice,
				"free to start for %s, but %s keeps its slot: somebody set it to %s",
				a.world.Style.Duration(idle),
				human.Shorten(o.Name, 30),
				o.Phase,
			).withAction(Restart)
		}
		// Velero issue 10519: the queue lost count of the running backups.
		return a.Conclude(
			Quiet,
			QueueStalled,
			gone+advice,
			"queue stalled: free to start for %s, but Velero starts nothing",
			a.world.Style.Duration(idle),
		).withAction(Restart)
	case j.Kind == job.Restore:
		// Velero issues 4128 and 4556: the only worker can hang on a deleted restore.
		return a.Conclude(
			Quiet,
			WorkerHung,
			gone+"A restart of the Velero server frees its worker; it fails what is in progress.",
			"new for %s and no restore runs; Velero's only restore worker may hang",
			a.formatAge(j.Created),
		).withAction(Restart)
	}
	return a.Conclude(
		Quiet,
		NotPickedUp,
		gone+"Look into the log of the Velero server; a restart makes it look at all backups again.",
		"new for %s, and Velero has not picked it up",
		a.formatAge(j.Created),
	).withAction(Restart)
}

// findLostSlot returns a backup that a person ended before its start, nil for none: the queue counts it for the
// lifetime of the server.
func (a *jobJudge) findLostSlot() *job.Job {
	for _, o := range a.world.OverriddenJobs {
		if o.HasLostSlot(a.world.serverStartTime()) && !o.IsStillRunning(a.Now) {
			return o
		}
	}
	return nil
}

// judgeReadyToStart judges a backup that has left the queue. It starts within seconds, or, after a restart, never
// (docs/dev/velero.md#restart).
func (a *jobJudge) judgeReadyToStart() Verdict {
	j := a.j
	if busy := a.backupsHoldingWorkers(); len(busy) > 0 && j.LastChanged.After(a.world.serverStartTime()) {
		return a.Conclude(
			Waiting,
			ConcurrencyLimit,
			"",
			"waits for %s: %s",
			human.JoinNames(jobNames(busy), 2),
			limitText(len(busy)),
		)
	}
	if isDisowned(j, a.world) {
		if !a.hasServerSettled() {
			return a.Conclude(
				Waiting,
				ServerRestarted,
				"",
				"ready to start; Velero restarted %s ago",
				a.formatAge(a.world.serverStartTime()),
			)
		}
		moved, _ := j.MovedAt()
		fact := a.AddSupport(SourceWatch, moved, "ready to start since before the server's start")
		return a.ConcludeProven(
			Orphaned,
			ProveOwnerGone(fact),
			ForgottenReady,
			"Touch an annotation of this backup; it keeps back queued backups of the same namespaces."+a.undeletableAdvice(),
			"was about to start when Velero restarted %s ago; Velero has forgotten it",
			a.formatAge(a.world.serverStartTime()),
		).withAction(Wake)
	}
	if a.quietDuration() < settleGrace {
		return a.Conclude(Waiting, Starting, "", "about to start")
	}
	a.noteQuiet()
	v := a.Conclude(Quiet, Starting, "", "ready to start for %s; that normally takes seconds", a.quietText())
	if a.quietDuration() >= lostPatchQuiet {
		v.Advice = "Touch an annotation of this backup, then look into the log of the Velero server. It keeps its " +
			"place in the queue: others may not start." + a.undeletableAdvice()
		v.Action = Wake
	}
	return v
}

// backupsHoldingWorkers returns the backups that occupy all workers, none if a worker is free. A change of a ready
// backup puts it into the work queue (backup_controller.go SetupWithManager, since 1.18).
func (a *jobJudge) backupsHoldingWorkers() []*job.Job {
	running, _ := findJobsAhead(a.j, a.world)
	busy := slices.DeleteFunc(
		countedByServer(running, a.world),
		func(r *job.Job) bool { return r.Phase != velero.PhaseInProgress },
	)
	if limit := a.world.Server.Flags.ConcurrentBackups; limit <= 0 || len(busy) < limit {
		return nil
	}
	return busy
}

// IsUndeletable reports whether Velero refuses to delete a job: a backup that names no location. Only when it starts
// are spec.storageLocation and the expiration filled in (backup_controller.go prepareBackupRequest,
// backup_deletion_controller.go Reconcile).
func IsUndeletable(j *job.Job) bool { return j.Kind == job.Backup && j.StorageLocation == "" }

func (a *jobJudge) undeletableAdvice() string {
	if !IsUndeletable(a.j) {
		return ""
	}
	return " Velero cannot delete it, as it names no storage location; kubectl delete can."
}
