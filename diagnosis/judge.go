package diagnosis

import (
	"strings"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Judge says how a job is, from its own resources and the evidence around it. The
// rules follow from what Velero's server marks at its start and where its
// status patches can be lost (docs/velero.md#restart, #lost-patch); what only
// the object store or a schema could tell is named among the facts as not seen.
func Judge(j *job.Job, env Environment) Verdict {
	a := &assessment{j: j, env: &env}
	if j.Deleting {
		a.supports(sourceWatch, j.Object.GetDeletionTimestamp().Time, "deletion was asked for; held by %s",
			strings.Join(j.Object.GetFinalizers(), ", "))
	}
	switch {
	case j.Terminal():
		return a.ended()
	case !env.StaleSince.IsZero():
		return a.stale()
	case j.Stage == job.StageDeleting:
		return a.deleting()
	case job.StageOf(j.Phase) == job.StageUnknown:
		return a.unknownPhase()
	case !env.Server.Visible:
		return a.blind()
	case !env.Server.Running:
		return a.serverDown()
	}
	switch job.StageOf(j.Phase) {
	case job.StageQueued:
		return a.queued()
	case job.StageOperations:
		return a.operations()
	case job.StageFinalizing:
		return a.finalizing()
	}
	return a.inProgress()
}

// stale: what is shown may be out of date, so nothing can be said.
func (a *assessment) stale() Verdict {
	a.doubts(sourceWatch, a.env.StaleSince, "the cluster has not been heard for %s", a.ago(a.env.StaleSince))
	a.noteCounts()
	return a.conclude(Unknown, StaleData, "Wait until the API server answers again; what is shown is as old as that.",
		"cannot tell, nothing heard from the cluster for %s; last seen: %s", a.ago(a.env.StaleSince), progressText(a.j))
}

func (a *assessment) unknownPhase() Verdict {
	a.noteQuiet()
	a.noteServer()
	a.doubts(sourceSchema, a.env.Now, "phase %q is not known to this veltui", a.j.Phase)
	return a.conclude(Unknown, UnknownPhase, "A newer veltui may know this phase.",
		"phase %s is not known to this veltui; last change %s ago", cut(a.j.Phase, 40), span(a.quiet()))
}

// blind: the pods are not visible. Only what moves before our eyes is sure.
func (a *assessment) blind() Verdict {
	a.noteServer()
	a.noteCounts()
	if a.fresh() && job.StageOf(a.j.Phase) != job.StageQueued {
		return a.progressing()
	}
	if w := waitOf(a.j, a.env); w.ok {
		for _, b := range w.behind {
			other := &assessment{j: b, env: a.env}
			if other.fresh() {
				a.supports(sourceWatch, b.QuietSince(), "%s moves", b.Name)
				return a.conclude(Waiting, w.why, "", "%s", w.reason)
			}
		}
	}
	a.noteQuiet()
	return a.conclude(Unknown, PodsHidden, "Ask for the right to list pods in namespace "+a.j.Namespace+", or look at the velero pod there.",
		"quiet for %s; whether Velero works on it cannot be told, its pods are not visible", a.quietWords())
}

// serverDown: nothing but data movers works without a server.
func (a *assessment) serverDown() Verdict {
	v := a.env.Server
	a.noteServer()
	a.noteCounts()
	since := v.LastTerminationAt
	moved, known := a.j.Moved()
	if known {
		since = latest(since, moved)
	}
	if a.j.Phase == velero.PhaseInProgress && known && a.env.Now.Sub(moved) <= justNow && moved.After(v.LastTerminationAt) {
		return a.progressing() // some server that is not among these pods works on it
	}
	if !since.IsZero() && a.env.Now.Sub(since) < settleGrace {
		return a.conclude(Waiting, ServerStarting, "", "the Velero server is not up at the moment, last seen at work %s ago", a.ago(since))
	}
	why, reason := "", ServerDown
	switch {
	case v.Waiting != "":
		why = " (" + v.Waiting + ")"
	case v.LastTermination != "":
		why = " (" + v.LastTermination + ")"
	}
	if v.Waiting == "CrashLoopBackOff" {
		reason = ServerCrashLooping
	}
	advice := "Get the Velero server to run again; the job then goes on by itself."
	after := "nothing moves until it is back"
	switch {
	case a.j.Phase == velero.PhaseInProgress:
		advice = "Get the Velero server to run again; at its start it marks this job Failed."
		after = "when it is back it marks this Failed"
	case a.j.Phase == velero.PhaseReadyToStart:
		advice = "Get the Velero server to run again, then touch an annotation of this backup: Velero forgets those that were ready to start."
		after = "it will not start by itself afterwards"
	}
	return a.conclude(Stuck, reason, advice, "no Velero server runs%s; %s", why, after)
}

// deleting is a backup whose deletion has begun.
func (a *assessment) deleting() Verdict {
	a.noteQuiet()
	a.noteServer()
	a.doubts(sourceWatch, a.env.Now, "the errors of its DeleteBackupRequest were not looked at")
	if a.quiet() < longestWait {
		return a.conclude(Waiting, Deleting, "", "being deleted for %s", span(a.quiet()))
	}
	return a.conclude(Stuck, DeletionFailed,
		"Look at the errors of its DeleteBackupRequest, mend them (often the storage location), and make a new request.",
		"deletion began %s ago and did not end; Velero does not try again by itself", span(a.quiet()))
}

// progressing says how far the job is and how fast it goes.
func (a *assessment) progressing() Verdict {
	j := a.j
	a.supports(sourceWatch, j.QuietSince(), "last movement %s ago", a.ago(j.QuietSince()))
	text := progressText(j)
	done, total, _, known := j.Progress()
	if j.Stage == job.StageItems && known && done >= total {
		return a.conclude(Progressing, UploadingArtifacts, "", "%s, logs and results are being stored", text)
	}
	reason := ItemsMoving
	switch _, _, unit, _ := j.Progress(); {
	case j.Stage == job.StageFinalizing:
		reason = Finalizing
	case unit == job.UnitBytes || unit == job.UnitVolumes:
		reason = BytesMoving
	case unit == job.UnitOperations:
		reason = WaitingForOperations
	case !j.Items.Known:
		reason = CollectingItems
	}
	if rate, ok := j.Rate(a.env.Now); ok {
		if _, _, unit, _ := j.Progress(); unit == job.UnitBytes {
			text += ", " + job.Size(int64(rate)) + "/s"
		} else {
			text += ", " + perSecond(rate)
		}
	}
	if left, ok := j.ETA(a.env.Now); ok {
		text += ", about " + human.TimeLeft(left) + " left"
	}
	return a.conclude(Progressing, reason, "", "%s", text)
}
