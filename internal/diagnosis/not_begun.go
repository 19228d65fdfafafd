package diagnosis

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

func (a *assessment) queued() Verdict {
	w := turnOf(a.j, a.env)
	if !w.ok { // asked to be deleted before it began
		a.noteQuiet()
		return a.Conclude(Waiting, Deleting, "", "has not begun and is being deleted")
	}
	a.noteServer()
	a.Supports(SourceWatch, a.Now, "%s", w.reason)
	if v, ok := a.refused(); ok {
		return v
	}
	if a.j.Phase == velero.PhaseReadyToStart {
		return a.readyToStart()
	}
	if v, ok := a.blocked(w); ok {
		return v
	}
	if !w.free {
		return a.Conclude(Waiting, w.why, "", "%s", a.place(w)).withWaits(publicWaits(a.waits()))
	}
	return a.untaken(w)
}

// blocked: all that it waits for are proven not to go on by themselves.
func (a *assessment) blocked(w turn) (Verdict, bool) {
	if len(w.behind) == 0 || a.Now.Sub(a.j.Created) < settleGrace {
		return Verdict{}, false
	}
	for _, b := range w.behind[1:] {
		if Judge(b, *a.env).Proof.IsZero() {
			return Verdict{}, false
		}
	}
	return a.behindStuck(w.behind[0], QueueBlocked, "this job begins when that one is out of the way", "waits for %s")
}

func (a *assessment) behindStuck(b *job.Job, reason Reason, why, format string) (Verdict, bool) {
	first := Judge(b, *a.env)
	if first.Proof.IsZero() {
		return Verdict{}, false
	}
	fact := a.Supports(SourceWatch, b.QuietSince(), "%s is %s (%s)", b.Name, first.state, first.Reason)
	return a.stuck(
		first.Proof.behind(fact),
		reason,
		"Look at "+b.Name+" first: "+why+".",
		format+", which is %s",
		b.Name,
		first.state,
	), true
}

// refused: the log says, more than once, that a controller could not take it up, say for an admission webhook.
func (a *assessment) refused() (Verdict, bool) {
	r := a.evidence().Log.Refused
	if r.At.IsZero() || a.loggedAgo(r.At) > refusedAgain || a.Now.Sub(a.j.QuietSince()) < lostPatchQuiet {
		return Verdict{}, false
	}
	a.noteQuiet()
	fact := a.Supports(SourceLog, r.At, "%s", LoggedText(r))
	advice := "Remove what refuses it; Velero tries again by itself."
	if a.j.Kind == job.Backup && a.j.Phase == velero.PhaseReadyToStart {
		advice += " Until then it keeps its place in the queue: others may not start."
	}
	return a.stuck(
		ByRefusal(fact),
		NotPickedUp,
		advice,
		"%s for %s; refused: %s",
		cmp.Or(a.j.Phase, velero.PhaseNew),
		a.quietWords(),
		human.Shorten(cmp.Or(r.Error, r.Text), 60),
	), true
}

// refusedAgain is longer than the longest delay after which a controller tries again.
const refusedAgain = 20 * time.Minute

// notHandled: no time, no restart and no touch of the job lets this server take it out of its phase. A job in progress
// is another matter: whoever began it works on it, and a server's start marks it Failed.
func (a *assessment) notHandled() (Verdict, bool) {
	s, phase := a.env.Server, cmp.Or(a.j.Phase, velero.PhaseNew)
	stage := job.StageOf(a.j.Phase)
	if !s.Visible || !s.Running || s.Others() > 0 || stage == job.StageItems || stage == job.StageUnknown ||
		len(a.j.Malformed) > 0 {
		return Verdict{}, false
	}
	return a.unhandled(phase)
}

// Handled reports whether the server runs a controller for the job's phase. An unknown version counts as that of the
// CRDs, else as the newest.
func Handled(j *job.Job, env *Environment) bool {
	c, ok := newAssessment(j, env).handler(j.Phase)
	return ok && env.Server.Flags.Runs(c)
}

func (a *assessment) handler(phase string) (velero.Controller, bool) {
	return a.version().Handler(a.j.Kind == job.Backup, phase)
}

func (a *assessment) unhandled(phase string) (Verdict, bool) {
	s := a.env.Server
	v, known := velero.ParseVersion(s.Version)
	c, ok := a.handler(phase)
	switch {
	case !ok && known:
		fact := a.Supports(SourcePod, s.SeenAt, "Velero %s has no controller for phase %s", v, phase)
		return a.Prove(
			Orphaned,
			ByOwner(fact),
			NotHandled,
			"Delete it, or finalize it with phase Failed; then make it again."+a.undeletable(),
			"is %s, which Velero %s does not handle: a newer version left it so",
			phase,
			v,
		), true
	case !ok, s.Flags.Runs(c):
		return Verdict{}, false
	}
	a.noteQuiet()
	fact := a.Supports(
		SourcePod,
		s.SeenAt,
		"the server runs without the controller %s (--disable-controllers, --restore-only)",
		c,
	)
	advice := "Let the server run that controller: the " + a.j.Kind.Word() + " then goes on by itself."
	if job.StageOf(a.j.Phase) == job.StageQueued &&
		(a.j.Kind == job.Restore || s.Flags.Runs(velero.BackupDeletionController)) {
		advice = "Let the server run that controller, or delete the " + a.j.Kind.Word() + "."
	}
	return a.Prove(Orphaned, ByOwner(fact), NotHandled, advice, "is %s, and %s", phase, fact.Text), true
}

func (a *assessment) place(w turn) string {
	if w.position > 1 {
		return human.Ordinal(w.position) + " in line; " + w.reason
	}
	return w.reason
}

func (a *assessment) untaken(w turn) Verdict {
	j := a.j
	idle := a.Now.Sub(job.Latest(j.Changed, j.Created, a.env.serverStarted(), a.env.LastEnded))
	if idle < settleGrace {
		return a.Conclude(Waiting, w.why, "", "%s", a.place(w))
	}
	a.noteQuiet()
	const gone = "The server may still work on a job that was deleted or edited, which does not show. "
	switch {
	case j.Phase == velero.PhaseQueued:
		const advice = "A restart of the Velero server gets the queue going; it fails what is in progress."
		if o := a.lostSlot(); o != nil {
			fact := a.Supports(
				SourceWatch,
				o.Changed,
				"somebody set %s to %s before it started, and the server counts it as running until it restarts",
				o.Name,
				o.Phase,
			)
			return a.stuck(
				ByOwner(fact),
				QueueStalled,
				advice,
				"free to start for %s, but %s keeps its slot: somebody set it to %s",
				a.env.Style.Duration(idle),
				human.Shorten(o.Name, 30),
				o.Phase,
			).withAction(Restart)
		}
		// Velero issue 10519: the queue lost count of what runs.
		return a.Conclude(
			Quiet,
			QueueStalled,
			gone+advice,
			"queue stalled: free to start for %s, but Velero starts nothing",
			a.env.Style.Duration(idle),
		).withAction(Restart)
	case j.Kind == job.Restore:
		// Velero issues 4128 and 4556: its one worker can hang on a deleted restore.
		return a.Conclude(
			Quiet,
			WorkerHung,
			gone+"A restart of the Velero server frees its worker; it fails what is in progress.",
			"new for %s and no restore runs; Velero's only restore worker may hang",
			a.ago(j.Created),
		).withAction(Restart)
	}
	return a.Conclude(
		Quiet,
		NotPickedUp,
		gone+"Look into the log of the Velero server; a restart makes it look at all backups again.",
		"new for %s, and Velero has not picked it up",
		a.ago(j.Created),
	).withAction(Restart)
}

// lostSlot is a backup that a person ended before its start, nil for none: the queue counts it as long as the
// server lives.
func (a *assessment) lostSlot() *job.Job {
	for _, o := range a.env.Overridden {
		if o.LostSlot(a.env.serverStarted()) && !o.RunsOn(a.Now) {
			return o
		}
	}
	return nil
}

// readyToStart left the queue. It starts within seconds, or, after a restart, never (docs/dev/velero.md#restart).
func (a *assessment) readyToStart() Verdict {
	j := a.j
	if busy := a.busyWorkers(); len(busy) > 0 && j.Changed.After(a.env.serverStarted()) {
		return a.Conclude(
			Waiting,
			ConcurrencyLimit,
			"",
			"waits for %s: %s",
			human.List(names(busy), 2),
			limitWords(len(busy)),
		)
	}
	if forgotten(j, a.env) {
		if !a.settled() {
			return a.Conclude(
				Waiting,
				ServerRestarted,
				"",
				"ready to start; Velero restarted %s ago",
				a.ago(a.env.serverStarted()),
			)
		}
		moved, _ := j.Moved()
		fact := a.Supports(SourceWatch, moved, "ready to start since before the server's start")
		return a.Prove(
			Orphaned,
			ByOwner(fact),
			ForgottenReady,
			"Touch an annotation of this backup; it keeps back queued backups of the same namespaces."+a.undeletable(),
			"was about to start when Velero restarted %s ago; Velero has forgotten it",
			a.ago(a.env.serverStarted()),
		).withAction(Wake)
	}
	if a.quiet() < settleGrace {
		return a.Conclude(Waiting, Starting, "", "about to start")
	}
	a.noteQuiet()
	v := a.Conclude(Quiet, Starting, "", "ready to start for %s; that normally takes seconds", a.quietWords())
	if a.quiet() >= lostPatchQuiet {
		v.Advice = "Touch an annotation of this backup, then look into the log of the Velero server. It keeps its " +
			"place in the queue: others may not start." + a.undeletable()
		v.Action = Wake
	}
	return v
}

// busyWorkers are the backups that have all workers, none if one is free. A change of a ready backup puts
// it into the work queue (backup_controller.go SetupWithManager, since 1.18).
func (a *assessment) busyWorkers() []*job.Job {
	running, _ := ahead(a.j, a.env)
	busy := slices.DeleteFunc(
		remembered(running, a.env),
		func(r *job.Job) bool { return r.Phase != velero.PhaseInProgress },
	)
	if limit := a.env.Server.Flags.ConcurrentBackups; limit <= 0 || len(busy) < limit {
		return nil
	}
	return busy
}

// Undeletable reports whether Velero refuses to delete a job: a backup that names no location. Only the start fills in
// spec.storageLocation and the expiration (backup_controller.go prepareBackupRequest, backup_deletion_controller.go
// Reconcile).
func Undeletable(j *job.Job) bool { return j.Kind == job.Backup && j.StorageLocation == "" }

func (a *assessment) undeletable() string {
	if !Undeletable(a.j) {
		return ""
	}
	return " Velero cannot delete it, as it names no storage location; kubectl delete can."
}
