package job

import (
	"strings"

	"github.com/veltui/veltui/human"
)

// Verdict judges the job from its own resources and its surroundings. The
// rules are those of velero-facts 6.2 and 6.5 as far as resources and pods
// tell; what only the object store or a schema could tell is named among the
// facts as not looked at.
func (j *Job) Verdict(s Surroundings) Verdict {
	q := &inquiry{job: j, s: s}
	if j.Deleting {
		q.holds(sourceWatch, j.Object.GetDeletionTimestamp().Time, "deletion was asked for; held by %s",
			strings.Join(j.Object.GetFinalizers(), ", "))
	}
	switch {
	case j.Terminal():
		return q.ended()
	case !s.StaleSince.IsZero():
		return q.stale()
	case j.Stage == StageDeleting:
		return q.deleting()
	case phaseStage(j.Phase) == StageUnknown:
		return q.unknownPhase()
	case !s.Server.Visible:
		return q.blind()
	case !s.Server.Running:
		return q.serverDown()
	}
	switch phaseStage(j.Phase) {
	case StageQueued:
		return q.queued()
	case StageOperations:
		return q.operations()
	case StageFinalizing:
		return q.finalizing()
	}
	return q.inProgress()
}

// stale: what is shown may be out of date, so nothing can be said.
func (q *inquiry) stale() Verdict {
	q.open(sourceWatch, q.s.StaleSince, "the cluster has not been heard for %s", q.ago(q.s.StaleSince))
	q.noteCounts()
	return q.rule(Unknown, "Wait until the API server answers again; what is shown is as old as that.",
		"cannot tell, nothing heard from the cluster for %s; last seen: %s", q.ago(q.s.StaleSince), q.job.standing())
}

func (q *inquiry) unknownPhase() Verdict {
	q.noteQuiet()
	q.noteServer()
	q.open(sourceSchema, q.s.Now, "phase %q is not known to this veltui", q.job.Phase)
	return q.rule(Unknown, "A newer veltui may know this phase.",
		"phase %s is not known to this veltui; last change %s ago", cut(q.job.Phase, 40), span(q.quiet()))
}

// blind: the pods are not visible. Only what moves before our eyes is sure.
func (q *inquiry) blind() Verdict {
	q.noteServer()
	q.noteCounts()
	if q.fresh() && phaseStage(q.job.Phase) != StageQueued {
		return q.progressing()
	}
	if w := q.job.wait(q.s); w.ok {
		for _, b := range w.behind {
			other := &inquiry{job: b, s: q.s}
			if other.fresh() {
				q.holds(sourceWatch, b.quietSince(), "%s moves", b.Name)
				return q.rule(Waiting, "", "%s", w.reason)
			}
		}
	}
	q.noteQuiet()
	return q.rule(Unknown, "Ask for the right to list pods in namespace "+q.job.Namespace+", or look at the velero pod there.",
		"quiet for %s; whether Velero works on it cannot be told, its pods are not visible", q.quietWords())
}

// serverDown: nothing but data movers works without a server.
func (q *inquiry) serverDown() Verdict {
	v := q.s.Server
	q.noteServer()
	q.noteCounts()
	since := v.LastTerminationAt
	if q.job.track.movedKnown {
		since = latest(since, q.job.track.moved)
	}
	if q.job.Phase == PhaseInProgress && q.job.track.movedKnown &&
		q.s.Now.Sub(q.job.track.moved) <= justNow && q.job.track.moved.After(v.LastTerminationAt) {
		return q.progressing() // some server that is not among these pods works on it
	}
	if !since.IsZero() && q.s.Now.Sub(since) < settleGrace {
		return q.rule(Waiting, "", "the Velero server is not up at the moment, last seen at work %s ago", q.ago(since))
	}
	why := ""
	switch {
	case v.Waiting != "":
		why = " (" + v.Waiting + ")"
	case v.LastTermination != "":
		why = " (" + v.LastTermination + ")"
	}
	advice := "Get the Velero server to run again; the job then goes on by itself."
	after := "nothing moves until it is back"
	switch {
	case q.job.Phase == PhaseInProgress:
		advice = "Get the Velero server to run again; at its start it marks this job Failed."
		after = "when it is back it marks this Failed"
	case q.job.Phase == PhaseReadyToStart:
		advice = "Get the Velero server to run again, then touch an annotation of this backup: Velero forgets those that were ready to start."
		after = "it will not start by itself afterwards"
	}
	return q.rule(Stuck, advice, "no Velero server runs%s; %s", why, after)
}

// deleting is a backup whose deletion has begun.
func (q *inquiry) deleting() Verdict {
	q.noteQuiet()
	q.noteServer()
	q.open(sourceWatch, q.s.Now, "the errors of its DeleteBackupRequest were not looked at")
	if q.quiet() < longestWait {
		return q.rule(Waiting, "", "being deleted for %s", span(q.quiet()))
	}
	return q.rule(Stuck,
		"Look at the errors of its DeleteBackupRequest, mend them (often the storage location), and make a new request.",
		"deletion began %s ago and did not end; Velero does not try again by itself", span(q.quiet()))
}

// progressing says how far the job is and how fast it goes.
func (q *inquiry) progressing() Verdict {
	j := q.job
	q.holds(sourceWatch, j.quietSince(), "last movement %s ago", q.ago(j.quietSince()))
	text := j.standing()
	done, total, _, known := j.Progress()
	if j.Stage == StageItems && known && done >= total {
		return q.rule(Progressing, "", "%s, logs and results are being stored", text)
	}
	if rate, ok := j.Rate(q.s.Now); ok {
		if _, _, unit, _ := j.Progress(); unit == UnitBytes {
			text += ", " + Size(int64(rate)) + "/s"
		} else {
			text += ", " + perSecond(rate)
		}
	}
	if left, ok := j.ETA(q.s.Now); ok {
		text += ", about " + human.TimeLeft(left) + " left"
	}
	return q.rule(Progressing, "", "%s", text)
}
