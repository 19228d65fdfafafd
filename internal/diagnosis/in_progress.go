package diagnosis

import (
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

func (a *assessment) inProgress() Verdict {
	for _, proven := range []func() (Verdict, bool){a.orphaned, a.reopened, a.gaveUp, a.leftBehind, a.statusDropped} {
		if v, ok := proven(); ok {
			return v
		}
	}
	a.noteCounts()
	a.noteServer()
	a.noteLog()
	if a.fresh() {
		return a.progressing()
	}
	switch a.step() {
	case velero.StepVolumes:
		return a.volumes()
	case velero.StepCollecting:
		return a.collecting()
	case velero.StepStoring:
		return a.afterItems()
	}
	a.noteQuiet()
	return a.silent(fmt.Sprintf("%s of %s", human.Number(a.j.Items.Done), human.Count(a.j.Items.Total, "item")))
}

// orphaned: its server is gone. Velero marks such jobs Failed at its start, unless it cannot
// (docs/dev/velero.md#restart).
func (a *assessment) orphaned() (Verdict, bool) {
	j, v := a.j, a.env.Server
	if !forgotten(j, a.env) {
		switch {
		case j.Started.IsZero() || !v.StartedAt.After(j.Started):
		case v.Others() > 0:
			a.Doubts(
				SourcePod,
				v.StartedAt,
				"%d servers run, and one of them started after this job; which of them works on it is not known",
				v.Others()+1,
			)
		case a.evidence().Log.BeforeStart:
			a.Doubts(
				SourceLog,
				v.StartedAt,
				"a Velero server started after this job, yet its log speaks of the job before that: a clock was set",
			)
		case OwnershipOf(j, a.env) == OwnershipUnknown:
			a.Doubts(
				SourcePod,
				v.StartedAt,
				"a Velero server started after this job, but so shortly that a clock may be wrong",
			)
		default:
			a.Doubts(SourcePod, v.StartedAt, "a Velero server started after this job, yet the job moved after that")
		}
		return Verdict{}, false
	}
	a.noteCounts()
	gone := a.Supports(
		SourcePod,
		v.StartedAt,
		"the Velero server started %s ago, after this job began",
		a.ago(a.env.serverStarted()),
	)
	if !a.settled() {
		return a.Conclude(
			Waiting,
			ServerRestarted,
			"",
			"Velero restarted %s ago, it will mark this job Failed in a moment",
			a.ago(a.env.serverStarted()),
		), true
	}
	if v.LastTermination != "" {
		a.Supports(SourcePod, v.LastTerminationAt, "the server before it ended with %s", v.LastTermination)
	}
	a.noteQuiet()
	a.noteUnlooked()
	action := Finalize
	advice := "It can be finalized as Failed, as Velero itself does at its start. " +
		"Another restart of Velero does the same."
	if OwnershipOf(j, a.env) == DisownedByOneClock {
		a.Doubts(
			SourcePod,
			v.StartedAt,
			"the server started so shortly after this job that a clock that was set back would explain it too; the log "+
				"of the container before would tell",
		)
		action, advice = "", "Another restart of Velero marks it Failed, and everything else in progress."
	}
	return a.Prove(
		Orphaned,
		ByOwner(gone),
		ServerRestarted,
		advice,
		"Velero restarted %s ago%s, after this job began; nobody works on it",
		a.ago(a.env.serverStarted()),
		human.Parens(v.LastTermination),
	).withAction(action), true
}

// reopened: a job in progress with a completion time was set back by a person, and no controller takes it
// up (backup_controller.go and restore_controller.go Reconcile). The finalizer's last log line tells the
// same of a restore.
func (a *assessment) reopened() (Verdict, bool) {
	j, last := a.j, a.evidence().Log.Last
	ended := j.Completed
	if ended.IsZero() && last.EndsFinalizing() {
		ended = last.At.Add(-a.env.ServerAhead)
	}
	if ended.IsZero() || a.Now.Sub(job.Latest(j.Changed, ended)) < freshItems/2 {
		return Verdict{}, false
	}
	a.noteCounts()
	a.noteServer()
	a.noteLog()
	fact := a.Supports(SourceWatch, ended, "it ended %s ago, and was set back to InProgress", a.ago(ended))
	a.noteQuiet()
	a.noteUnlooked()
	return a.Prove(
		Orphaned,
		ByOwner(fact),
		Reopened,
		"Check that its results are stored, then finalize it: Velero ends it again.",
		"it had ended %s ago, and somebody set it back to InProgress; nobody works on it",
		a.ago(ended),
	).withAction(Finalize), true
}

// leftBehind: the only worker of the kind has gone on, so this one's last status was lost
// (docs/dev/velero.md#restore-worker; backup_controller.go, restore_controller.go SetupWithManager).
func (a *assessment) leftBehind() (Verdict, bool) {
	v := a.env.Server
	if v.Others() > 0 || v.StartedAt.IsZero() || a.j.Started.IsZero() || v.StartedAt.After(a.j.Started) ||
		!a.singleWorker() {
		return Verdict{}, false
	}
	for _, o := range a.env.Jobs {
		if o.UID == a.j.UID || o.Kind != a.j.Kind || o.Namespace != a.j.Namespace ||
			o.Phase != velero.PhaseInProgress ||
			!o.Started.After(a.j.Started) {
			continue
		}
		moved, known := a.j.Moved()
		if !known || moved.After(o.Started.Add(justNow)) || a.Now.Sub(o.Started) < settleGrace {
			continue // whatever the phases say, it has moved since, or still may
		}
		a.noteCounts()
		a.noteServer()
		fact := a.Supports(
			SourceWatch,
			o.Started,
			"%s began %s ago, and Velero's only %s worker begins none before it is done with the one before",
			o.Name,
			a.ago(o.Started),
			a.j.Kind.Word(),
		)
		a.noteQuiet()
		a.noteUnread()
		return a.stuck(
			ByOwner(fact),
			LostPatch,
			"Check that its results are stored, then finalize it. "+restartFails,
			"%s; Velero's only %s worker has gone on to %s",
			progressText(a.j),
			a.j.Kind.Word(),
			human.Shorten(o.Name, 40),
		).withAction(Finalize), true
	}
	return Verdict{}, false
}

// singleWorker: restores in every version, backups up to 1.17, and later where --concurrent-backups is 1.
func (a *assessment) singleWorker() bool {
	v, known := velero.ParseVersion(a.env.Server.Version)
	if a.j.Kind == job.Restore {
		return !known || !velero.IsUnread(a.env.Server.Version)
	}
	one := a.env.Server.Container != "" && a.env.Server.Flags.ConcurrentBackups == 1
	return known && (!v.QueuesBackups() || !velero.IsUnread(a.env.Server.Version) && one)
}

// statusDropped: with a status subresource the API server answers 200 to each status that Velero
// writes, and drops it. No version of Velero's CRDs has one (config/crd/v1/bases), and Velero
// patches the resource itself (pkg/util/kube/client.go PatchResource).
func (a *assessment) statusDropped() (Verdict, bool) {
	if !a.evidence().StatusSubresource || a.quiet() < settleGrace {
		return Verdict{}, false
	}
	a.noteCounts()
	a.noteServer()
	a.noteLog()
	a.noteQuiet()
	fact := a.Supports(
		SourceSchema,
		a.Now,
		"the CRD has a status subresource, so the API server drops every status that Velero writes",
	)
	return a.stuck(
		ByRefusal(fact),
		StatusSubresource,
		"Apply the CRDs of the server's own version, which have no status subresource: velero install --crds-only "+
			"--dry-run -o yaml | kubectl apply -f -. What Velero wrote meanwhile is lost.",
		"the CRD has a status subresource, and nothing that Velero writes lands; quiet for %s",
		a.quietWords(),
	), true
}

// collecting: no number has been written yet. Velero puts no limit on it.
func (a *assessment) collecting() Verdict {
	a.noteQuiet()
	if v, ok := a.kindNotListed(); ok {
		return v
	}
	v := a.silent("no count yet")
	if v.Reason == CollectingItems {
		doing := "Velero lists the cluster"
		if a.j.Kind == job.Restore {
			doing = "Velero downloads and reads the backup"
		}
		v.Text = fmt.Sprintf("no count after %s; %s, which takes long when there is much", a.quietWords(), doing)
	}
	return v
}

const (
	// unlistedFor is longer than a webhook restarts. The reflector tries every 30 s at least.
	unlistedFor = 45 * time.Second
	// listedWithin is longer than lists take: the API server ends each after a minute
	// (--request-timeout). What waits longer was refused before, in a part of the log that is gone.
	listedWithin = 10 * time.Minute
)

// kindNotListed: before its first item a restore waits for all kinds of the backup to be listed, and one cannot be.
func (a *assessment) kindNotListed() (Verdict, bool) {
	log := a.evidence().Log
	if !log.AwaitsCaches() || log.UnlistedSince.IsZero() || a.loggedAgo(log.Unlisted.At) > settleGrace {
		return Verdict{}, false
	}
	if at := log.Unlisted.At; at.Sub(log.UnlistedSince) < unlistedFor && at.Sub(log.Last.At) < listedWithin {
		return Verdict{}, false
	}
	fact := a.Supports(
		SourceLog,
		log.Unlisted.At,
		"it waits for its caches, and the server logs again and again: %s",
		logText(log.Unlisted),
	)
	return a.stuck(
		ByRefusal(fact),
		KindNotListed,
		"Make the API server list that kind again: its conversion webhook, its aggregated API or the version that the "+
			"backup has. The restore then goes on by itself. No other restore runs meanwhile; --disable-informer-cache "+
			"of the server avoids it.",
		"waits for %s until a kind can be listed: %s",
		a.env.Style.Duration(a.loggedAgo(log.Last.At)),
		human.Shorten(log.Unlisted.Error, 55),
	), true
}

// afterItems: only results and one status patch are left (docs/dev/velero.md#after-the-last-item).
func (a *assessment) afterItems() Verdict {
	j, verb := a.j, "backed up"
	if j.Kind == job.Restore {
		verb = "restored"
	}
	a.noteQuiet()
	switch {
	case a.env.Listed.OwnVolumes != Whole:
		a.Doubts(SourceWatch, a.Now, "whether a volume still moves was not seen")
	case j.ActiveVolumes() == 0:
		a.Supports(SourceWatch, a.Now, NoVolumeMoves)
	default:
		a.Supports(SourceWatch, a.Now, "no pod volume is still moving")
	}
	all := human.All(j.Items.Total, "item") + " " + verb
	if n := j.DataMovements().Active(); n > 0 {
		a.Supports(
			SourceWatch,
			j.AnyVolumeMoved(),
			"%s not ended: Velero waits for these operations next",
			human.Count(n, "data movement"),
		)
	}
	v := a.silent(all)
	switch {
	case v.Proof.Kind() == ProofLimitsPassed:
		return a.lostPatch(v, all)
	case v.state != Quiet:
		return v
	case a.env.Listed.OwnVolumes != Whole:
		v.Text = fmt.Sprintf("%s, quiet for %s; Velero may wait for volumes that were not seen", all, a.quietWords())
	case v.Reason == UploadingArtifacts:
		v.Text = fmt.Sprintf(
			"%s, quiet for %s; Velero stores logs and results now, if nothing was lost",
			all,
			a.quietWords(),
		)
	}
	if a.quiet() < lostPatchQuiet+time.Duration(j.Items.Total/itemsPerMinute)*time.Minute {
		return v
	}
	a.noteUnlooked()
	if where, proof := a.down(); where != "" {
		return a.Prove(
			Stuck,
			proof,
			LocationUnavailable,
			"Get the storage location back; Velero cannot store the results without it.",
			"%s, but %s; quiet for %s",
			all,
			where,
			a.quietWords(),
		)
	}
	if w, ok := a.cannotEnd(all); ok {
		return w
	}
	v.Facts = a.facts
	v.Advice = "If this goes on, read the server's log and what is stored: a lost last status shows there. " +
		a.restartCost()
	return v
}

func (a *assessment) restartCost() string {
	var others []string
	for _, o := range a.env.Jobs {
		if o.UID != a.j.UID && o.Phase == velero.PhaseInProgress {
			others = append(others, o.Kind.Word()+"/"+o.Name)
		}
	}
	if len(others) == 0 {
		return "Restarting the Velero server would mark it as Failed."
	}
	return "Restarting the Velero server would mark it as Failed, and " + human.List(others, 3) + " too."
}

// lostPatch: all files are stored, and Velero will not try again to write the status.
func (a *assessment) lostPatch(v Verdict, all string) Verdict {
	e := a.evidence()
	a.Supports(SourceStorage, e.Stored, "all of its files are stored, the last %s ago", a.ago(e.Stored))
	if w, ok := a.cannotEnd(all); ok {
		return w
	}
	to := "its next phase, once veltui has read its operations"
	switch {
	case e.NextPhase != "":
		to = e.NextPhase
		a.Supports(SourceStorage, e.Stored, "by its stored results Velero would have moved it to %s", e.NextPhase)
	case e.StoredErrors > 0:
		a.Supports(
			SourceStorage,
			e.Stored,
			"its stored results count %s, so it ends PartiallyFailed",
			human.Count(e.StoredErrors, "error"),
		)
	}
	return a.stuck(
		v.Proof,
		LostPatch,
		"Finalize it, which moves it on to "+to+". "+restartFails,
		"%s and stored, phase never moved on for %s; its last status patch was lost",
		all,
		a.quietWords(),
	).withAction(Finalize)
}

// cannotEnd: its work is over, and something keeps Velero from ending it.
func (a *assessment) cannotEnd(all string) (Verdict, bool) {
	if refused := a.refusedPhases(); len(refused) > 0 {
		fact := a.Supports(SourceSchema, a.Now, "the CRD does not allow %s", human.List(refused, 3))
		return a.stuck(
			ByRefusal(fact),
			SchemaTooOld,
			"Apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
			"%s, but the CRD refuses the phase that comes next (Velero issue 6170)",
			all,
		), true
	}
	if l, fact, ok := a.readOnlyLocation(); ok {
		return a.stuck(
			ByRefusal(fact),
			LocationReadOnly,
			"Make the storage location "+l.Name+" writable first: Velero cannot finalize a backup in a read-only one.",
			"%s, phase never moved on for %s; %s",
			all,
			a.quietWords(),
			fact.Text,
		), true
	}
	return Verdict{}, false
}

// readOnlyLocation is that of a backup, if it may only be read. Restores do not care (docs/dev/velero.md#operations).
func (a *assessment) readOnlyLocation() (Location, Fact, bool) {
	l, ok := a.env.Locations[a.j.StorageLocation]
	if !ok || a.j.Kind != job.Backup || l.AccessMode != string(velerov1.BackupStorageLocationAccessModeReadOnly) {
		return Location{}, Fact{}, false
	}
	return l, a.Supports(SourceWatch, l.LastValidated, "storage location %s is read-only", l.Name), true
}
