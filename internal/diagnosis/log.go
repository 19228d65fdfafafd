package diagnosis

import (
	"cmp"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

const (
	// logFresh is how old a line that shows work may be: the server logs each item, and every five seconds while it waits.
	logFresh = 2 * time.Minute
	logRunes = 300
)

func (a *assessment) noteLog() {
	switch e := a.evidence(); {
	case !e.LogSeen && e.LogWhy != "":
		a.Doubts(SourceLog, a.Now, "whether the server's log still speaks of it could not be seen: %s", e.LogWhy)
	case !e.LogSeen:
		a.Doubts(SourceLog, time.Time{}, "veltui has not read the server's log, which may still mention it")
	case e.Log.Last.At.IsZero():
		a.Doubts(SourceLog, a.Now, "what could be read of the server's log does not speak of it")
	default:
		a.Supports(SourceLog, e.Log.Last.At, "%s", LoggedText(e.Log.Last))
	}
}

// LoggedText says what the server logged about a job.
func LoggedText(l velero.LogLine) string { return "the server logged about it: " + logText(l) }

// GaveUpText says that the server gave up on a job's last status.
func GaveUpText(l velero.LogLine) string { return "the server gave up: " + logText(l) }

func logText(l velero.LogLine) string {
	return human.Shorten(l.Text+human.Clause(": ", l.Error), logRunes)
}

// logMoves: the log shows work, and only silence speaks against the job. A named cause is not overruled.
func (a *assessment) logMoves(v Verdict) bool {
	last := a.evidence().Log.Last
	if ago := a.loggedAgo(
		last.At,
	); last.At.IsZero() || last.EndsJob() || ago > logFresh || ago < -logFresh || !a.env.Server.Running ||
		job.StageOf(a.j.Phase) == job.StageQueued {
		return false
	}
	switch v.Reason {
	case LimitPassed, FinalizerStalled, LostPatch:
		return v.state == Stuck && !a.final() && v.Proof.Kind() == ProofLimitsPassed
	}
	return v.state == Quiet
}

func (a *assessment) logMoving() Verdict {
	last, state := a.evidence().Log.Last, Open(Progressing)
	if strings.HasPrefix(strings.ToLower(last.Text), "waiting ") {
		state = Waiting
	}
	return a.Conclude(state, LogMoving, "", "%s, quiet for %s, but the server logged about it %s ago: %s",
		progressText(a.j), a.quietWords(), a.logged(last), logText(last))
}

// loggedAgo is the age of a line, whose time is that of the server's node.
func (a *assessment) loggedAgo(at time.Time) time.Duration {
	return a.Now.Add(a.env.ServerAhead).Sub(at)
}

func (a *assessment) logged(l velero.LogLine) string { return a.env.Style.Duration(a.loggedAgo(l.At)) }

// final reports whether Velero logged that it gave up on the job's last status. With more servers than one another may
// work on it.
func (a *assessment) final() bool {
	return a.evidence().LogSeen && a.j.Phase == velero.PhaseInProgress && a.env.Server.Others() == 0 &&
		OwnershipOf(a.j, a.env) == Owned &&
		a.evidence().Log.Final(a.env.lastWork(a.j), a.env.Server.StartedAt, a.Now.Add(a.env.ServerAhead))
}

// GaveUp reports whether the one server that works on the job surely gave up writing its last status: its log says
// so, and nothing came after that.
func GaveUp(j *job.Job, env *Environment) bool {
	return newAssessment(j, env).final()
}

// GaveUpAtRest reports whether a server gave up like that, and the job has not moved since, though maybe a moment ago.
func GaveUpAtRest(j *job.Job, env *Environment) bool {
	moved, known := j.Moved()
	return GaveUp(j, env) && !(known && moved.Add(env.ServerAhead).After(env.Evidence[j.UID].Log.GaveUp.At))
}

// gaveUp: the last status patch is lost, by the server's log. No limit has to pass.
func (a *assessment) gaveUp() (Verdict, bool) {
	log := a.evidence().Log
	if !a.final() {
		return Verdict{}, false
	}
	a.noteCounts()
	a.noteServer()
	a.noteQuiet()
	proof := ByGivingUp(a.Supports(SourceLog, log.GaveUp.At, "%s", GaveUpText(log.GaveUp)))
	if log.LostPhase == velero.PhaseFailed {
		return a.expectsFailure(log, proof), true
	}
	a.noteUnread()
	if n := a.j.DataMovements().Active(); n > 0 {
		a.Supports(
			SourceWatch,
			a.j.AnyVolumeMoved(),
			"%s not ended: Velero waits for these operations next",
			human.Count(n, "data movement"),
		)
	}
	done := progressText(a.j)
	if strings.Contains(log.GaveUp.Error, "Unsupported value") {
		return a.stuck(
			proof,
			SchemaTooOld,
			"Apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
			"finished %s, but the CRD refused phase %s (Velero issue 6170)",
			a.working(),
			log.LostPhase,
		), true
	}
	if v, ok := a.cannotEnd(done); ok {
		return v, true
	}
	to := cmp.Or(log.LostPhase, a.evidence().NextPhase, "its next phase")
	if n := a.j.PodVolumes().Active(); n > 0 { // finalize refuses while they may move
		return a.stuck(
			proof,
			LostPatch,
			"Wait until its volumes have ended, then finalize it, which moves it on to "+to+". "+restartFails,
			"Velero could not save its status %s ago and will not retry; %s not ended",
			a.logged(log.GaveUp),
			human.Plural(n, "volume has", "volumes have"),
		), true
	}
	return a.stuck(
		proof,
		LostPatch,
		"Check that its results are stored, then finalize it, which moves it on to "+to+". "+restartFails,
		"finished %s (%s), but Velero could not save its status %s ago and will not retry",
		a.working(),
		done,
		a.logged(log.GaveUp),
	).withAction(Finalize), true
}

// restartFails is the effect of a restart on a job in progress.
const restartFails = "Restarting Velero would mark it, and everything else in progress, as Failed."

// working names the work of a job that has finished it.
func (a *assessment) working() string {
	if a.j.Kind == job.Restore {
		return "restoring"
	}
	return "backing up"
}

// expectsFailure: the lost patch would have ended the job as Failed. A backup of a name that the
// object store has already fails at once (pkg/controller/backup_controller.go runBackup).
func (a *assessment) expectsFailure(log velero.JobLog, proof Proof) Verdict {
	why := ""
	if log.Failure != "" {
		why = ": " + human.Shorten(log.Failure, logRunes)
		a.Supports(SourceLog, log.GaveUp.At, "it failed%s", why)
	}
	advice := restartFails
	switch {
	case strings.Contains(log.Failure, "already exists"):
		advice += " Do not delete it through Velero: that deletes the older " + a.j.Kind.Word() +
			" of this name from the object store."
	case a.j.Kind == job.Backup:
		advice += " Do not rely on what was backed up: make a new backup."
	}
	return a.stuck(
		proof,
		LostPatch,
		advice,
		"it failed%s; Velero could not save that status %s ago and will not retry",
		why,
		a.logged(log.GaveUp),
	).withAction(Restart)
}
