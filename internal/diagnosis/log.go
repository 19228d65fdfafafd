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
	// maxFreshLogAge is the maximum age of a line that shows work: the server logs each item, and every five seconds while
	// it waits.
	maxFreshLogAge = 2 * time.Minute
	maxLogRunes    = 300
)

func (a *jobJudge) noteLog() {
	switch e := a.jobEvidence(); {
	case !e.LogChecked && e.LogUnchecked != "":
		a.AddDoubt(SourceLog, a.Now, "whether the server's log still speaks of it could not be seen: %s", e.LogUnchecked)
	case !e.LogChecked:
		a.AddDoubt(SourceLog, time.Time{}, "veltui has not read the server's log, which may still mention it")
	case e.ServerLog.Last.At.IsZero():
		a.AddDoubt(SourceLog, a.Now, "what could be read of the server's log does not speak of it")
	default:
		a.AddSupport(SourceLog, e.ServerLog.Last.At, "%s", LoggedText(e.ServerLog.Last))
	}
}

// LoggedText says what the server logged about a job.
func LoggedText(l velero.LogLine) string { return "the server logged about it: " + logText(l) }

// GaveUpText says that the server gave up on a job's last status.
func GaveUpText(l velero.LogLine) string { return "the server gave up: " + logText(l) }

func logText(l velero.LogLine) string {
	return human.Shorten(l.Text+human.Prefixed(": ", l.Error), maxLogRunes)
}

// isOverruledByLog reports whether the log shows work, and only silence speaks against the job. A named cause is not
// overruled.
func (a *jobJudge) isOverruledByLog(v Verdict) bool {
	last := a.jobEvidence().ServerLog.Last
	if ago := a.logAge(
		last.At,
	); last.At.IsZero() || last.IsJobEnd() || ago > maxFreshLogAge || ago < -maxFreshLogAge || !a.world.Server.Running ||
		job.StageOf(a.j.Phase) == job.StageQueued {
		return false
	}
	switch v.Reason {
	case LimitPassed, FinalizerStalled, LostPatch:
		return v.state == Stuck && !a.hasServerGivenUp() && v.Proof.Kind() == ProofLimitsPassed
	}
	return v.state == Quiet
}

func (a *jobJudge) judgeByLog() Verdict {
	last, state := a.jobEvidence().ServerLog.Last, UnprovenState(Progressing)
	if strings.HasPrefix(strings.ToLower(last.Text), "waiting ") {
		state = Waiting
	}
	return a.Conclude(state, LogMoving, "", "%s, quiet for %s, but the server logged about it %s ago: %s",
		progressText(a.j), a.quietText(), a.logAgeText(last), logText(last))
}

// logAge returns the age of a log line, whose time is by the clock of the server's node.
func (a *jobJudge) logAge(at time.Time) time.Duration {
	return a.Now.Add(a.world.ServerClockOffset).Sub(at)
}

func (a *jobJudge) logAgeText(l velero.LogLine) string { return a.world.Style.Duration(a.logAge(l.At)) }

// hasServerGivenUp reports whether Velero logged that it gave up on the job's last status. With several servers another
// one may work on it.
func (a *jobJudge) hasServerGivenUp() bool {
	return a.jobEvidence().LogChecked && a.j.Phase == velero.PhaseInProgress && a.world.Server.OtherServerCount() == 0 &&
		OwnershipOf(a.j, a.world) == Owned &&
		a.jobEvidence().ServerLog.HasGivenUp(
			a.world.lastWorkTime(a.j),
			a.world.Server.StartedAt,
			a.Now.Add(a.world.ServerClockOffset),
		)
}

// HasServerGivenUp reports whether the one server that works on the job has certainly given up writing its last status:
// its log says so, and nothing came after that.
func HasServerGivenUp(j *job.Job, env *World) bool {
	return newJobJudge(j, env).hasServerGivenUp()
}

// HasServerGivenUpAtRest reports whether HasServerGivenUp holds and the job has not moved since the server gave up,
// which may be a moment ago.
func HasServerGivenUpAtRest(j *job.Job, env *World) bool {
	moved, known := j.MovedAt()
	return HasServerGivenUp(j, env) &&
		!(known && moved.Add(env.ServerClockOffset).After(env.Evidence[j.UID].ServerLog.GaveUp.At))
}

// judgeGaveUp judges a job whose last status patch is lost according to the server's log. No limit has to pass.
func (a *jobJudge) judgeGaveUp() (Verdict, bool) {
	log := a.jobEvidence().ServerLog
	if !a.hasServerGivenUp() {
		return Verdict{}, false
	}
	a.noteCounts()
	a.noteServer()
	a.noteQuiet()
	proof := ProveGivenUp(a.AddSupport(SourceLog, log.GaveUp.At, "%s", GaveUpText(log.GaveUp)))
	if log.LostPhase == velero.PhaseFailed {
		return a.judgeLostFailure(log, proof), true
	}
	a.noteResultsUnchecked()
	if n := a.j.DataMovements().ActiveCount(); n > 0 {
		a.AddSupport(
			SourceWatch,
			a.j.AnyVolumeMovedAt(),
			"%s not ended: Velero waits for these operations next",
			human.Count(n, "data movement"),
		)
	}
	done := progressText(a.j)
	if strings.Contains(log.GaveUp.Error, "Unsupported value") {
		return a.proveStuck(
			proof,
			SchemaTooOld,
			"Apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
			"finished %s, but the CRD refused phase %s (Velero issue 6170)",
			a.workText(),
			log.LostPhase,
		), true
	}
	if v, ok := a.judgeCannotEnd(done); ok {
		return v, true
	}
	to := cmp.Or(log.LostPhase, a.jobEvidence().NextPhase, "its next phase")
	// Finalizing is refused while pod volumes may move.
	if n := a.j.PodVolumes().ActiveCount(); n > 0 {
		return a.proveStuck(
			proof,
			LostPatch,
			"Wait until its volumes have ended, then finalize it, which moves it on to "+to+". "+restartWarning,
			"Velero could not save its status %s ago and will not retry; %s not ended",
			a.logAgeText(log.GaveUp),
			human.CountForms(n, "volume has", "volumes have"),
		), true
	}
	return a.proveStuck(
		proof,
		LostPatch,
		"Check that its results are stored, then finalize it, which moves it on to "+to+". "+restartWarning,
		"finished %s (%s), but Velero could not save its status %s ago and will not retry",
		a.workText(),
		done,
		a.logAgeText(log.GaveUp),
	).withAction(Finalize), true
}

// restartWarning is the effect of a restart on a job in progress.
const restartWarning = "Restarting Velero would mark it, and everything else in progress, as Failed."

// workText returns the word for the work that a job has finished.
func (a *jobJudge) workText() string {
	if a.j.Kind == job.Restore {
		return "restoring"
	}
	return "backing up"
}

// judgeLostFailure judges a job that the lost patch would have ended as Failed. A backup whose name the object store
// already has fails at once (pkg/controller/backup_controller.go runBackup).
func (a *jobJudge) judgeLostFailure(log velero.JobLog, proof Proof) Verdict {
	why := ""
	if log.Failure != "" {
		why = ": " + human.Shorten(log.Failure, maxLogRunes)
		a.AddSupport(SourceLog, log.GaveUp.At, "it failed%s", why)
	}
	advice := restartWarning
	switch {
	case strings.Contains(log.Failure, "already exists"):
		advice += " Do not delete it through Velero: that deletes the older " + a.j.Kind.Noun() +
			" of this name from the object store."
	case a.j.Kind == job.Backup:
		advice += " Do not rely on what was backed up: make a new backup."
	}
	return a.proveStuck(
		proof,
		LostPatch,
		advice,
		"it failed%s; Velero could not save that status %s ago and will not retry",
		why,
		a.logAgeText(log.GaveUp),
	).withAction(Restart)
}
