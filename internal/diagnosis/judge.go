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

// Judge says how a job is, by what Velero marks at its start and where its status patches can be lost
// (docs/dev/velero.md#restart, #lost-patch). Facts name what could not be checked.
func Judge(j *job.Job, env Environment) Verdict {
	a := newAssessment(j, &env)
	v := a.judge()
	if a.logMoves(v) {
		v = a.logMoving()
	} else if blind, ok := a.blinding(v); ok {
		v = blind
	} else {
		v = a.offer(v)
	}
	return a.noteUnreadVersion(v)
}

// noteUnreadVersion is part of every verdict on a job that has not ended.
func (a *assessment) noteUnreadVersion(v Verdict) Verdict {
	note := velero.UnreadNote(a.env.Server.Version)
	if note == "" || v.state == "" {
		return v
	}
	v.Facts = append(slices.Clone(v.Facts), Fact{Text: note, Source: SourcePod, At: a.env.Server.SeenAt})
	return v
}

func (a *assessment) offer(v Verdict) Verdict {
	why, refused := a.evidence().Refused[v.Action]
	unseen := a.unseen()
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

// unseen is what would have to be seen before an action is offered, empty if all was: what still moves, and who else
// would be touched.
func (a *assessment) unseen() string {
	switch {
	case a.env.Listed.OwnVolumes != Whole:
		return "a volume still moves"
	case a.env.Listed.Locations != Whole && job.StageOf(a.j.Phase) != job.StageQueued:
		return "its storage location is there and can be written"
	case a.env.Listed.Jobs != Whole && job.StageOf(a.j.Phase) == job.StageQueued:
		return "another job is before it"
	}
	return ""
}

func (a *assessment) judge() Verdict {
	j, env := a.j, a.env
	if j.Deleting {
		a.Supports(
			SourceWatch,
			j.Object.GetDeletionTimestamp().Time,
			"deletion was asked for; held by %s",
			strings.Join(j.Object.GetFinalizers(), ", "),
		)
	}
	a.noteMalformed()
	switch {
	case j.Terminal():
		return a.ended()
	case !env.StaleSince.IsZero():
		return a.stale()
	}
	if v, ok := a.notHandled(); ok {
		return v
	}
	switch {
	case j.Stage == job.StageDeleting:
		return a.deleting()
	case len(j.Malformed) > 0:
		return a.malformed()
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

// blinding is a malformed resource that hides its whole kind from the server (docs/dev/velero.md#malformed-resources).
func (a *assessment) blinding(v Verdict) (Verdict, bool) {
	idle := slices.Contains([]Reason{NotPickedUp, Starting, QueueStalled, WorkerHung}, v.Reason) ||
		v.Reason == Finalizing && a.quiet() >= lostPatchQuiet
	i := slices.IndexFunc(a.env.Malformed, func(m Malformed) bool { return m.of(a.j.Kind) })
	if !idle || v.state != Stuck && v.state != Quiet || i < 0 {
		return Verdict{}, false
	}
	m := a.env.Malformed[i]
	fact := a.Supports(
		SourceWatch,
		a.Now,
		"Velero cannot read %s, and then sees nothing of that kind: %s",
		m.Ref,
		m.Field,
	)
	return a.stuck(
		ByRefusal(fact),
		MalformedSpec,
		"Correct or delete "+m.Ref+" with kubectl. Do not restart the Velero server before: it may not come up again.",
		"nothing for %s; Velero cannot read %s",
		a.quietWords(),
		human.Shorten(m.Ref, 60),
	), true
}

func (a *assessment) stale() Verdict {
	if r := a.env.Reading; r.Kind != "" {
		a.Doubts(SourceWatch, a.Now, "%s have not all been looked at yet", r.Kind)
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
	a.Doubts(SourceWatch, a.env.StaleSince, "the cluster has not been heard for %s", a.ago(a.env.StaleSince))
	a.noteCounts()
	return a.Conclude(Unknown, StaleData, "Wait until the API server answers again; what is shown is as old as that.",
		"cannot tell, nothing heard from the cluster for %s; last seen: %s", a.ago(a.env.StaleSince), progressText(a.j))
}

func (a *assessment) unknownPhase() Verdict {
	a.noteQuiet()
	a.noteServer()
	a.Doubts(SourceSchema, a.Now, "phase %q is not known to this veltui", a.j.Phase)
	return a.Conclude(
		Unknown,
		UnknownPhase,
		"A newer veltui may know this phase.",
		"phase %s is not known to this veltui; last change %s ago",
		human.Shorten(a.j.Phase, 40),
		a.env.Style.Duration(a.quiet()),
	)
}

// blind: the pods are hidden. Only what moves before our eyes is sure.
func (a *assessment) blind() Verdict {
	a.noteServer()
	a.noteCounts()
	if a.fresh() && job.StageOf(a.j.Phase) != job.StageQueued {
		return a.progressing()
	}
	if w := turnOf(a.j, a.env); w.ok {
		for _, b := range w.behind {
			other := newAssessment(b, a.env)
			if other.fresh() {
				a.Supports(SourceWatch, b.QuietSince(), "%s moves", b.Name)
				return a.Conclude(Waiting, w.why, "", "%s", w.reason)
			}
		}
	}
	a.noteQuiet()
	return a.Conclude(
		Unknown,
		PodsHidden,
		"Ask for the right to list pods in namespace "+a.j.Namespace+", or look at the velero pod there.",
		"quiet for %s; whether Velero works on it cannot be told, its pods are not visible",
		a.quietWords(),
	)
}

// serverDown: nothing but data movers works without a server.
func (a *assessment) serverDown() Verdict {
	v := a.env.Server
	a.noteServer()
	a.noteCounts()
	moved, known := a.j.Moved()
	since := job.Latest(v.LastTerminationAt, v.Created)
	if known {
		since = job.Latest(since, moved)
	}
	if a.j.Phase == velero.PhaseInProgress && known && a.Now.Sub(moved) <= justNow && moved.After(v.LastTerminationAt) {
		return a.progressing() // some server that is not among these pods works on it
	}
	if !since.IsZero() && a.Now.Sub(since) < v.DownGrace() {
		if job.StageOf(a.j.Phase) == job.StageQueued {
			if v, ok := a.unhandled(cmp.Or(a.j.Phase, velero.PhaseNew)); ok {
				return v // the same container comes back
			}
		}
		return a.Conclude(
			Waiting,
			ServerStarting,
			"",
			"the Velero server is not up at the moment, last seen at work %s ago",
			a.ago(since),
		)
	}
	if l, ok := a.servedElsewhere(); ok {
		a.Supports(
			SourceWatch,
			l.LastValidated,
			"some server validated storage location %s %s ago",
			l.Name,
			a.ago(job.Latest(l.LastValidated, l.LastSynced)),
		)
		a.noteQuiet()
		return a.Conclude(
			Quiet,
			ServerElsewhere,
			"Look where the server of this namespace runs; veltui recognises no pod of it.",
			"quiet for %s; no pod is recognised as the Velero server, but one is at work",
			a.quietWords(),
		)
	}
	text, reason := "no Velero server runs"+human.Parens(cmp.Or(v.Waiting, v.LastTermination)), ServerDown
	if v.Waiting == "CrashLoopBackOff" {
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
	proof := ByOwner(Fact{Holds: true, Text: text, Source: SourcePod, At: v.SeenAt})
	if v.Name == "" { // one that is not recognised would show by what it writes into the locations
		proof = ByAbsence(a.env.Listed.Locations, proof.Fact())
	}
	return a.stuck(proof, reason, advice, "%s; %s", text, after)
}

// locationPeriod is how often a server validates and syncs a location by default
// (pkg/controller/backup_storage_location_controller.go, backup_sync_controller.go), with a margin.
const locationPeriod = 3 * time.Minute

// servedElsewhere is a storage location that a server without a pod just checked.
func (a *assessment) servedElsewhere() (Location, bool) {
	for _, l := range a.env.Locations {
		at := job.Latest(l.LastValidated, l.LastSynced)
		if a.env.Server.Name == "" && !at.IsZero() && a.Now.Sub(at) < locationPeriod &&
			at.After(a.env.Server.LastTerminationAt) {
			return l, true
		}
	}
	return Location{}, false
}

// deleting is a backup whose deletion has begun (docs/dev/velero.md#deletion). Nothing is written until all
// is removed, without a limit (pkg/controller/backup_deletion_controller.go). A request that failed is not
// tried again, but the garbage collector makes one each hour, so the newest decides, not the backup's age.
func (a *assessment) deleting() Verdict {
	a.noteQuiet()
	a.noteServer()
	d, ok := a.newestDeletion()
	again := "Fix what its DeleteBackupRequest reports (often the storage location), then delete the backup again: " +
		"velero backup delete " + a.j.Name
	switch {
	case !ok && a.env.Listed.Deletions != Whole:
		a.Doubts(SourceWatch, a.Now, "whether a DeleteBackupRequest still asks for its deletion was not seen")
		return a.Conclude(
			Unknown,
			Deleting,
			"Ask for the right to list deletebackuprequests in namespace "+a.j.Namespace+".",
			"deletion began %s ago; whether it still runs cannot be told",
			a.env.Style.Duration(a.quiet()),
		)
	case !ok && a.quiet() < deletionQuiet:
		return a.Conclude(Waiting, Deleting, "", "being deleted for %s", a.env.Style.Duration(a.quiet()))
	case !ok:
		fact := a.Supports(SourceWatch, a.Now, "no DeleteBackupRequest asks for its deletion any more")
		return a.stuck(
			ByAbsence(a.env.Listed.Deletions, fact),
			DeletionFailed,
			again,
			"deletion began %s ago and did not end; no request asks for it any more",
			a.env.Style.Duration(a.quiet()),
		)
	}
	fact := a.Supports(
		SourceWatch,
		d.Created,
		"DeleteBackupRequest %s is %s",
		d.Name,
		cmp.Or(d.Phase, velero.VolumeNew),
	)
	for _, e := range d.Errors {
		a.Supports(SourceWatch, d.Created, "%s", human.Shorten(e, 400))
	}
	began := job.Latest(d.Created, d.Changed)
	switch {
	case d.Phase == velero.DeletionProcessed && a.Now.Sub(began) < deletionQuiet && len(d.Errors) == 0:
		return a.Conclude(Waiting, Deleting, "", "being deleted for %s", a.ago(d.Created))
	case d.Phase == velero.DeletionProcessed:
		return a.stuck(
			ByGivingUp(fact),
			DeletionFailed,
			again,
			"deletion began %s ago and did not end",
			a.env.Style.Duration(a.quiet()),
		)
	case d.Phase == velero.DeletionInProgress && a.env.restartedSince(began) &&
		a.env.Listed.Locations == Whole: // they tell its clock
		fact = a.Supports(
			SourcePod,
			a.env.serverStarted(),
			"the Velero server restarted %s ago, after it began with the deletion",
			a.ago(a.env.serverStarted()),
		)
		return a.stuck(
			ByOwner(fact),
			DeletionFailed,
			"Delete it again: velero backup delete "+a.j.Name+
				". Velero looks at the old request again only when it is a day old.",
			"its deletion was cut off when Velero restarted %s ago",
			a.ago(a.env.serverStarted()),
		)
	case !a.env.Server.Running && a.env.Server.Visible:
		return a.stuck(
			ByOwner(fact),
			DeletionFailed,
			"Get the Velero server to run again.",
			"being deleted, and no Velero server runs",
		)
	}
	v := a.Conclude(Waiting, Deleting, "", "being deleted for %s", a.ago(d.Created))
	v.Waits = publicWaits(a.waits())
	return v
}

func (a *assessment) newestDeletion() (newest Deletion, ok bool) {
	for _, d := range a.env.Deletions {
		if d.Backup == a.j.Name && (!ok || d.Created.After(newest.Created)) {
			newest, ok = d, true
		}
	}
	return newest, ok
}

func (a *assessment) progressing() Verdict {
	j := a.j
	a.Supports(SourceWatch, j.QuietSince(), "last movement %s ago", a.ago(j.QuietSince()))
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
	if low, high, ok := j.RoughETA(a.Now); ok {
		text += ", about " + a.env.Style.TimeLeftRange(low, high) + " left"
	} else if left, ok := j.ETA(a.Now); ok {
		text += ", about " + a.env.Style.TimeLeft(left) + " left"
	}
	return a.Conclude(Progressing, reason, "", "%s", text)
}
