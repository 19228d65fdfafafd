package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Judge returns the verdict on a job, based on what Velero marks at its start and where its status patches can be
// lost (docs/dev/velero.md#restart, #lost-patch). Facts name what could not be checked.
func Judge(j *job.Job, env World) Verdict {
	a := newJobJudge(j, &env)
	v := a.judgeJob()
	if a.isOverruledByLog(v) {
		v = a.judgeByLog()
	} else if blind, ok := a.judgeHiddenKind(v); ok {
		v = blind
	} else {
		v = a.withholdAction(v)
	}
	return a.withUnknownVersionFact(a.withStoreOutage(v))
}

// withUnknownVersionFact adds the note on a version that veltui does not know to a verdict on a job that has not ended.
func (a *jobJudge) withUnknownVersionFact(v Verdict) Verdict {
	note := velero.UnreviewedVersionNote(a.world.Server.Version)
	if note == "" || v.state == "" {
		return v
	}
	v.Facts = append(slices.Clone(v.Facts), Fact{Text: note, Source: SourcePod, At: a.world.Server.SeenAt})
	return v
}

func (a *jobJudge) withholdAction(v Verdict) Verdict {
	why, refused := a.jobEvidence().RefusedActions[v.Action]
	unseen := a.uncheckedForAction()
	text := ""
	switch {
	case v.Action == "":
		return v
	case refused:
		text = fmt.Sprintf("veltui would refuse %s: %s", v.Action, human.Shorten(why, 200))
	case unseen != "":
		text = fmt.Sprintf("veltui does not advise %s before it has seen whether %s", v.Action, unseen)
	default:
		return v
	}
	v.Facts = append(slices.Clone(v.Facts), Fact{Text: text, Source: SourceAction, At: a.Now})
	v.Action = ""
	return v
}

// uncheckedForAction names what must be checked before an action is offered, empty if all was: what is still moving,
// and who else would be affected.
func (a *jobJudge) uncheckedForAction() string {
	switch {
	case a.world.Listed.OwnVolumes != FullyListed:
		return "a volume still moves"
	case a.world.Listed.Locations != FullyListed && job.StageOf(a.j.Phase) != job.StageQueued:
		return "its storage location is there and can be written"
	case a.world.Listed.Jobs != FullyListed && job.StageOf(a.j.Phase) == job.StageQueued:
		return "another job is before it"
	}
	return ""
}

func (a *jobJudge) judgeJob() Verdict {
	j, env := a.j, a.world
	if j.Deleting {
		a.AddSupport(
			SourceWatch,
			j.Object.GetDeletionTimestamp().Time,
			"deletion was asked for; held by %s",
			strings.Join(j.Object.GetFinalizers(), ", "),
		)
	}
	a.noteMalformed()
	switch {
	case j.IsTerminal():
		return a.judgeEnded()
	case !env.StaleSince.IsZero():
		return a.judgeStale()
	}
	if v, ok := a.judgeUnhandled(); ok {
		return v
	}
	switch {
	case j.Stage == job.StageDeleting:
		return a.judgeDeleting()
	case len(j.MalformedFields) > 0:
		return a.judgeMalformed()
	case job.StageOf(j.Phase) == job.StageUnknown:
		return a.judgeUnknownPhase()
	case !env.Server.Visible:
		return a.judgeHiddenPods()
	case !env.Server.Running:
		return a.judgeServerDown()
	}
	switch job.StageOf(j.Phase) {
	case job.StageQueued:
		return a.judgeQueued()
	case job.StageOperations:
		return a.judgeOperations()
	case job.StageFinalizing:
		return a.judgeFinalizing()
	}
	return a.judgeInProgress()
}

// judgeHiddenKind judges an idle job whose whole kind a malformed resource hides from the server
// (docs/dev/velero.md#malformed-resources).
func (a *jobJudge) judgeHiddenKind(v Verdict) (Verdict, bool) {
	idle := slices.Contains([]Reason{NotPickedUp, Starting, QueueStalled, WorkerHung}, v.Reason) ||
		v.Reason == Finalizing && a.quietDuration() >= lostPatchQuiet
	i := slices.IndexFunc(a.world.MalformedResources, func(m MalformedResource) bool { return m.isOfKind(a.j.Kind) })
	if !idle || v.state != Stuck && v.state != Quiet || i < 0 {
		return Verdict{}, false
	}
	m := a.world.MalformedResources[i]
	fact := a.AddSupport(
		SourceWatch,
		a.Now,
		"Velero cannot read %s, and then sees nothing of that kind: %s",
		m.Ref,
		m.Field,
	)
	return a.proveStuck(
		ProveRefused(fact),
		MalformedSpec,
		"Correct or delete "+m.Ref+" with kubectl. Do not restart the Velero server before: it may not come up again.",
		"nothing for %s; Velero cannot read %s",
		a.quietText(),
		human.Shorten(m.Ref, 60),
	), true
}

func (a *jobJudge) judgeStale() Verdict {
	if r := a.world.ReadProgress; r.Kind != "" {
		a.AddDoubt(SourceWatch, a.Now, "%s have not all been looked at yet", r.Kind)
		a.noteCounts()
		return a.Conclude(
			Unknown,
			StaleData,
			"Wait until the cluster is read; what stands here is not out of date.",
			"cannot tell yet, %s; %s",
			r,
			progressText(a.j),
		)
	}
	a.AddDoubt(SourceWatch, a.world.StaleSince, "the cluster has not been heard for %s", a.formatAge(a.world.StaleSince))
	a.noteCounts()
	return a.Conclude(
		Unknown,
		StaleData,
		"Wait until the API server answers again; what is shown is as old as that.",
		"cannot tell, nothing heard from the cluster for %s; last seen: %s",
		a.formatAge(a.world.StaleSince),
		progressText(a.j),
	)
}

func (a *jobJudge) judgeUnknownPhase() Verdict {
	a.noteQuiet()
	a.noteServer()
	a.AddDoubt(SourceSchema, a.Now, "phase %q is not known to this veltui", a.j.Phase)
	return a.Conclude(
		Unknown,
		UnknownPhase,
		"A newer veltui may know this phase.",
		"phase %s is not known to this veltui; last change %s ago",
		human.Shorten(a.j.Phase, 40),
		a.world.Style.Duration(a.quietDuration()),
	)
}

// judgeHiddenPods judges a job whose server's pods are hidden. Only movement seen right now is certain.
func (a *jobJudge) judgeHiddenPods() Verdict {
	a.noteServer()
	a.noteCounts()
	if a.hasMovedRecently() && job.StageOf(a.j.Phase) != job.StageQueued {
		return a.judgeProgressing()
	}
	if w := findTurn(a.j, a.world); w.isWaiting {
		for _, b := range w.blockers {
			other := newJobJudge(b, a.world)
			if other.hasMovedRecently() {
				a.AddSupport(SourceWatch, b.QuietSince(), "%s moves", b.Name)
				return a.Conclude(Waiting, w.reason, "", "%s", w.reasonText)
			}
		}
	}
	a.noteQuiet()
	return a.Conclude(
		Unknown,
		PodsHidden,
		"Ask for the right to list pods in namespace "+a.j.Namespace+", or look at the velero pod there.",
		"quiet for %s; whether Velero works on it cannot be told, its pods are not visible",
		a.quietText(),
	)
}

// judgeServerDown judges a job without a server: nothing but data movers works then.
func (a *jobJudge) judgeServerDown() Verdict {
	v := a.world.Server
	a.noteServer()
	a.noteCounts()
	moved, known := a.j.MovedAt()
	since := job.LatestTime(v.LastTerminationAt, v.Created)
	if known {
		since = job.LatestTime(since, moved)
	}
	if a.j.Phase == velero.PhaseInProgress && known && a.Now.Sub(moved) <= justMovedAge &&
		moved.After(v.LastTerminationAt) {
		return a.judgeProgressing() // a server that is not among these pods works on it
	}
	if !since.IsZero() && a.Now.Sub(since) < v.DownGrace() {
		if job.StageOf(a.j.Phase) == job.StageQueued {
			if v, ok := a.judgeUnhandledPhase(cmp.Or(a.j.Phase, velero.PhaseNew)); ok {
				return v // the same container comes back
			}
		}
		return a.Conclude(
			Waiting,
			ServerStarting,
			"",
			"the Velero server is not up at the moment, last seen at work %s ago",
			a.formatAge(since),
		)
	}
	if l, ok := a.findLocationServedElsewhere(); ok {
		a.AddSupport(
			SourceWatch,
			l.LastValidated,
			"some server validated storage location %s %s ago",
			l.Name,
			a.formatAge(job.LatestTime(l.LastValidated, l.LastSynced)),
		)
		a.noteQuiet()
		return a.Conclude(
			Quiet,
			ServerElsewhere,
			"Look where the server of this namespace runs; veltui recognises no pod of it.",
			"quiet for %s; no pod is recognised as the Velero server, but one is at work",
			a.quietText(),
		)
	}
	text, reason := "no Velero server runs"+human.InParens(cmp.Or(v.WaitingReason, v.LastTerminationReason)), ServerDown
	if v.WaitingReason == "CrashLoopBackOff" {
		reason = ServerCrashLooping
	}
	advice := "Get the Velero server to run again; the job then goes on by itself."
	after := "nothing moves until it is back"
	switch {
	case a.j.Phase == velero.PhaseInProgress:
		advice = "Get the Velero server to run again; at its start it marks this job Failed."
		if a.j.Kind == job.Backup {
			advice += " Newer Velero versions do not restore from a Failed backup."
		}
		after = "when it is back it marks this Failed"
	case a.j.Phase == velero.PhaseReadyToStart:
		advice = "Get the Velero server to run again, then touch an annotation of this backup: Velero forgets those " +
			"that were ready to start."
		after = "it will not start by itself afterwards"
	}
	proof := ProveOwnerGone(Fact{Supports: true, Text: text, Source: SourcePod, At: v.SeenAt})
	// An unrecognised server would show by what it writes into the locations.
	if v.Name == "" {
		proof = ProveAbsence(a.world.Listed.Locations, proof.Fact())
	}
	return a.proveStuck(proof, reason, advice, "%s; %s", text, after)
}

// locationCheckPeriod is how often a server validates and syncs a location by default
// (pkg/controller/backup_storage_location_controller.go, backup_sync_controller.go), with a margin.
const locationCheckPeriod = 3 * time.Minute

// findLocationServedElsewhere returns a storage location that a server without a pod has just checked.
func (a *jobJudge) findLocationServedElsewhere() (LocationStatus, bool) {
	for _, l := range a.world.Locations {
		at := job.LatestTime(l.LastValidated, l.LastSynced)
		if a.world.Server.Name == "" && !at.IsZero() && a.Now.Sub(at) < locationCheckPeriod &&
			at.After(a.world.Server.LastTerminationAt) {
			return l, true
		}
	}
	return LocationStatus{}, false
}

// judgeDeleting judges a backup whose deletion has begun (docs/dev/velero.md#deletion). Nothing is written until
// everything is removed, without a limit (pkg/controller/backup_deletion_controller.go). A failed request is not
// retried, but the garbage collector makes a new one each hour, so the newest request decides, not the backup's age.
func (a *jobJudge) judgeDeleting() Verdict {
	a.noteQuiet()
	a.noteServer()
	d, ok := a.findNewestDeletion()
	again := "Fix what its DeleteBackupRequest reports (often the storage location), then delete the backup again: " +
		"velero backup delete " + a.j.Name
	switch {
	case !ok && a.world.Listed.Deletions != FullyListed:
		a.AddDoubt(SourceWatch, a.Now, "whether a DeleteBackupRequest still asks for its deletion was not seen")
		return a.Conclude(
			Unknown,
			Deleting,
			"Ask for the right to list deletebackuprequests in namespace "+a.j.Namespace+".",
			"deletion began %s ago; whether it still runs cannot be told",
			a.world.Style.Duration(a.quietDuration()),
		)
	case !ok && a.quietDuration() < maxDeletionQuiet:
		return a.Conclude(Waiting, Deleting, "", "being deleted for %s", a.world.Style.Duration(a.quietDuration()))
	case !ok:
		fact := a.AddSupport(SourceWatch, a.Now, "no DeleteBackupRequest asks for its deletion any more")
		return a.proveStuck(
			ProveAbsence(a.world.Listed.Deletions, fact),
			DeletionFailed,
			again,
			"deletion began %s ago and did not end; no request asks for it any more",
			a.world.Style.Duration(a.quietDuration()),
		)
	}
	fact := a.AddSupport(
		SourceWatch,
		d.Created,
		"DeleteBackupRequest %s is %s",
		d.Name,
		cmp.Or(d.Phase, velero.VolumeNew),
	)
	for _, e := range d.Errors {
		a.AddSupport(SourceWatch, d.Created, "%s", human.Shorten(e, 400))
	}
	began := job.LatestTime(d.Created, d.LastChanged)
	switch {
	case d.Phase == velero.DeletionProcessed && a.Now.Sub(began) < maxDeletionQuiet && len(d.Errors) == 0:
		return a.Conclude(Waiting, Deleting, "", "being deleted for %s", a.formatAge(d.Created))
	case d.Phase == velero.DeletionProcessed:
		return a.proveStuck(
			ProveGivenUp(fact),
			DeletionFailed,
			again,
			"deletion began %s ago and did not end",
			a.world.Style.Duration(a.quietDuration()),
		)
	case d.Phase == velero.DeletionInProgress && a.world.haveServersRestartedSince(began) &&
		a.world.Listed.Locations == FullyListed: // the locations tell the server's clock
		fact = a.AddSupport(
			SourcePod,
			a.world.serverStartTime(),
			"the Velero server restarted %s ago, after it began with the deletion",
			a.formatAge(a.world.serverStartTime()),
		)
		return a.proveStuck(
			ProveOwnerGone(fact),
			DeletionFailed,
			"Delete it again: velero backup delete "+a.j.Name+
				". Velero looks at the old request again only when it is a day old.",
			"its deletion was cut off when Velero restarted %s ago",
			a.formatAge(a.world.serverStartTime()),
		)
	case !a.world.Server.Running && a.world.Server.Visible:
		return a.proveStuck(
			ProveOwnerGone(fact),
			DeletionFailed,
			"Get the Velero server to run again.",
			"being deleted, and no Velero server runs",
		)
	}
	v := a.Conclude(Waiting, Deleting, "", "being deleted for %s", a.formatAge(d.Created))
	v.Waits = toWaits(a.likelyWaits())
	return v
}

func (a *jobJudge) findNewestDeletion() (newest DeletionRequest, ok bool) {
	for _, d := range a.world.DeletionRequests {
		if d.Backup == a.j.Name && (!ok || d.Created.After(newest.Created)) {
			newest, ok = d, true
		}
	}
	return newest, ok
}

func (a *jobJudge) judgeProgressing() Verdict {
	j := a.j
	a.AddSupport(SourceWatch, j.QuietSince(), "last movement %s ago", a.formatAge(j.QuietSince()))
	text := progressText(j)
	done, total, unit, known := j.Progress()
	if j.Stage == job.StageItems && known && done >= total {
		return a.Conclude(Progressing, UploadingArtifacts, "", "%s, logs and results are being stored", text)
	}
	reason := ItemsMoving
	switch {
	case j.Stage == job.StageFinalizing:
		reason = Finalizing
	case unit == job.UnitBytes || unit == job.UnitVolumes:
		reason = BytesMoving
	case unit == job.UnitOperations:
		reason = WaitingForOperations
	case !j.Items.Known:
		reason = CollectingItems
	}
	if rate, ok := j.Rate(a.Now); ok && unit == job.UnitBytes {
		text += ", " + human.BytesPerSecond(rate)
	} else if ok {
		text += ", " + human.PerSecond(rate)
	}
	if low, high, ok := j.ETARange(a.Now); ok {
		text += ", about " + a.world.Style.TimeLeftRange(low, high) + " left"
	} else if left, ok := j.ETA(a.Now); ok {
		text += ", about " + a.world.Style.TimeLeft(left) + " left"
	}
	return a.Conclude(Progressing, reason, "", "%s", text)
}
