package diagnosis

import (
	"fmt"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func (a *jobJudge) judgeInProgress() Verdict {
	for _, proven := range []func() (Verdict, bool){
		a.judgeOrphaned,
		a.judgeReopened,
		a.judgeGaveUp,
		a.judgeLeftBehind,
		a.judgeStatusDropped,
	} {
		if v, ok := proven(); ok {
			return v
		}
	}
	a.noteCounts()
	a.noteServer()
	a.noteLog()
	if a.hasMovedRecently() {
		return a.judgeProgressing()
	}
	switch a.likelyStep() {
	case velero.StepVolumes:
		return a.judgePodVolumes()
	case velero.StepCollecting:
		return a.judgeCollecting()
	case velero.StepStoring:
		return a.judgeAfterItems()
	}
	a.noteQuiet()
	return a.judgeSilent(fmt.Sprintf("%s of %s", human.Number(a.j.Items.Done), human.Count(a.j.Items.Total, "item")))
}

// judgeOrphaned judges a job whose server no longer exists. Velero marks such jobs Failed at its start, unless it
// cannot (docs/dev/velero.md#restart).
func (a *jobJudge) judgeOrphaned() (Verdict, bool) {
	j, v := a.j, a.world.Server
	if !isDisowned(j, a.world) {
		switch {
		case j.Started.IsZero() || !v.StartedAt.After(j.Started):
		case v.OtherServerCount() > 0:
			a.AddDoubt(
				SourcePod,
				v.StartedAt,
				"%d servers run, and one of them started after this job; which of them works on it is not known",
				v.OtherServerCount()+1,
			)
		case a.jobEvidence().ServerLog.BeforeStart:
			a.AddDoubt(
				SourceLog,
				v.StartedAt,
				"a Velero server started after this job, yet its log speaks of the job before that: a clock was set",
			)
		case OwnershipOf(j, a.world) == OwnershipUnknown:
			a.AddDoubt(
				SourcePod,
				v.StartedAt,
				"a Velero server started after this job, but so shortly that a clock may be wrong",
			)
		default:
			a.AddDoubt(SourcePod, v.StartedAt, "a Velero server started after this job, yet the job moved after that")
		}
		return Verdict{}, false
	}
	a.noteCounts()
	gone := a.AddSupport(
		SourcePod,
		v.StartedAt,
		"the Velero server started %s ago, after this job began",
		a.formatAge(a.world.serverStartTime()),
	)
	if !a.hasServerSettled() {
		return a.Conclude(
			Waiting,
			ServerRestarted,
			"",
			"Velero restarted %s ago, it will mark this job Failed in a moment",
			a.formatAge(a.world.serverStartTime()),
		), true
	}
	if v.LastTerminationReason != "" {
		a.AddSupport(SourcePod, v.LastTerminationAt, "the server before it ended with %s", v.LastTerminationReason)
	}
	a.noteQuiet()
	a.noteUncheckedEvidence()
	action := Finalize
	advice := "It can be finalized as Failed, as Velero itself does at its start. " +
		"Another restart of Velero does the same."
	if OwnershipOf(j, a.world) == DisownedByOneClock {
		a.AddDoubt(
			SourcePod,
			v.StartedAt,
			"the server started so shortly after this job that a clock that was set back would explain it too; the log "+
				"of the container before would tell",
		)
		action, advice = "", "Another restart of Velero marks it Failed, and everything else in progress."
	}
	return a.ConcludeProven(
		Orphaned,
		ProveOwnerGone(gone),
		ServerRestarted,
		advice,
		"Velero restarted %s ago%s, after this job began; nobody works on it",
		a.formatAge(a.world.serverStartTime()),
		human.InParens(v.LastTerminationReason),
	).withAction(action), true
}

// judgeReopened judges a job that was set back to InProgress: a job in progress with a completion time was set back
// by a person, and no controller picks it up (backup_controller.go and restore_controller.go Reconcile). For a
// restore, the finalizer's last log line shows the same.
func (a *jobJudge) judgeReopened() (Verdict, bool) {
	j, last := a.j, a.jobEvidence().ServerLog.Last
	ended := j.Completed
	if ended.IsZero() && last.IsFinalizingEnd() {
		ended = last.At.Add(-a.world.ServerClockOffset)
	}
	if ended.IsZero() || a.Now.Sub(job.LatestTime(j.LastChanged, ended)) < maxFreshItemsAge/2 {
		return Verdict{}, false
	}
	a.noteCounts()
	a.noteServer()
	a.noteLog()
	fact := a.AddSupport(SourceWatch, ended, "it ended %s ago, and was set back to InProgress", a.formatAge(ended))
	a.noteQuiet()
	a.noteUncheckedEvidence()
	return a.ConcludeProven(
		Orphaned,
		ProveOwnerGone(fact),
		Reopened,
		"Check that its results are stored, then finalize it: Velero ends it again.",
		"it had ended %s ago, and somebody set it back to InProgress; nobody works on it",
		a.formatAge(ended),
	).withAction(Finalize), true
}

// judgeLeftBehind judges a job that the only worker of its kind has left for a later one, so that the job's last
// status was lost (docs/dev/velero.md#restore-worker; backup_controller.go, restore_controller.go SetupWithManager).
func (a *jobJudge) judgeLeftBehind() (Verdict, bool) {
	v := a.world.Server
	if v.OtherServerCount() > 0 || v.StartedAt.IsZero() || a.j.Started.IsZero() || v.StartedAt.After(a.j.Started) ||
		!a.hasSingleWorker() {
		return Verdict{}, false
	}
	for _, o := range a.world.Jobs {
		if o.UID == a.j.UID || o.Kind != a.j.Kind || o.Namespace != a.j.Namespace ||
			o.Phase != velero.PhaseInProgress ||
			!o.Started.After(a.j.Started) {
			continue
		}
		moved, known := a.j.MovedAt()
		if !known || moved.After(o.Started.Add(justMovedAge)) || a.Now.Sub(o.Started) < settleGrace {
			continue // whatever the phases say, the job has moved since, or still may
		}
		a.noteCounts()
		a.noteServer()
		fact := a.AddSupport(
			SourceWatch,
			o.Started,
			"%s began %s ago, and Velero's only %s worker begins none before it is done with the one before",
			o.Name,
			a.formatAge(o.Started),
			a.j.Kind.Noun(),
		)
		a.noteQuiet()
		a.noteResultsUnchecked()
		return a.proveStuck(
			ProveOwnerGone(fact),
			LostPatch,
			"Check that its results are stored, then finalize it. "+restartWarning,
			"%s; Velero's only %s worker has gone on to %s",
			progressText(a.j),
			a.j.Kind.Noun(),
			human.Shorten(o.Name, 40),
		).withAction(Finalize), true
	}
	return Verdict{}, false
}

// hasSingleWorker reports whether one worker runs all jobs of the kind: restores in every version, backups up to
// 1.17, and later with --concurrent-backups 1.
func (a *jobJudge) hasSingleWorker() bool {
	v, known := velero.ParseVersion(a.world.Server.Version)
	if a.j.Kind == job.Restore {
		return !known || !velero.IsUnreviewedVersion(a.world.Server.Version)
	}
	one := a.world.Server.Container != "" && a.world.Server.Flags.ConcurrentBackups == 1
	return known && (!v.QueuesBackups() || !velero.IsUnreviewedVersion(a.world.Server.Version) && one)
}

// judgeStatusDropped judges a job whose status is lost to a status subresource: the API server answers 200 to each
// status that Velero writes, and drops it. No version of Velero's CRDs has a status subresource
// (config/crd/v1/bases), and Velero patches the resource itself (pkg/util/kube/client.go PatchResource).
func (a *jobJudge) judgeStatusDropped() (Verdict, bool) {
	if !a.jobEvidence().HasStatusSubresource || a.quietDuration() < settleGrace {
		return Verdict{}, false
	}
	a.noteCounts()
	a.noteServer()
	a.noteLog()
	a.noteQuiet()
	fact := a.AddSupport(
		SourceSchema,
		a.Now,
		"the CRD has a status subresource, so the API server drops every status that Velero writes",
	)
	return a.proveStuck(
		ProveRefused(fact),
		StatusSubresource,
		"Apply the CRDs of the server's own version, which have no status subresource: velero install --crds-only "+
			"--dry-run -o yaml | kubectl apply -f -. What Velero wrote meanwhile is lost.",
		"the CRD has a status subresource, and nothing that Velero writes lands; quiet for %s",
		a.quietText(),
	), true
}

// judgeCollecting judges a job without any item count yet. Velero sets no limit for this.
func (a *jobJudge) judgeCollecting() Verdict {
	a.noteQuiet()
	if v, ok := a.judgeKindNotListed(); ok {
		return v
	}
	v := a.judgeSilent("no count yet")
	if v.Reason == CollectingItems {
		doing := "Velero lists the cluster"
		if a.j.Kind == job.Restore {
			doing = "Velero downloads and reads the backup"
		}
		v.Text = fmt.Sprintf("no count after %s; %s, which takes long when there is much", a.quietText(), doing)
	}
	return v
}

const (
	// minUnlistedDuration is longer than a webhook takes to restart. The reflector tries at least every 30 s.
	minUnlistedDuration = 45 * time.Second
	// maxListDuration is longer than any list takes: the API server ends each after a minute (--request-timeout). A list
	// that has waited longer was refused before, in a part of the log that no longer exists.
	maxListDuration = 10 * time.Minute
)

// judgeKindNotListed judges a restore before its first item, which waits for all kinds of the backup to be listed
// while one of them cannot be.
func (a *jobJudge) judgeKindNotListed() (Verdict, bool) {
	log := a.jobEvidence().ServerLog
	if !log.AwaitsCaches() || log.UnlistedSince.IsZero() || a.logAge(log.ListFailure.At) > settleGrace {
		return Verdict{}, false
	}
	if at := log.ListFailure.At; at.Sub(log.UnlistedSince) < minUnlistedDuration && at.Sub(log.Last.At) < maxListDuration {
		return Verdict{}, false
	}
	fact := a.AddSupport(
		SourceLog,
		log.ListFailure.At,
		"it waits for its caches, and the server logs again and again: %s",
		logText(log.ListFailure),
	)
	return a.proveStuck(
		ProveRefused(fact),
		KindNotListed,
		"Make the API server list that kind again: its conversion webhook, its aggregated API or the version that the "+
			"backup has. The restore then goes on by itself. No other restore runs meanwhile; --disable-informer-cache "+
			"of the server avoids it.",
		"waits for %s until a kind can be listed: %s",
		a.world.Style.Duration(a.logAge(log.Last.At)),
		human.Shorten(log.ListFailure.Error, 55),
	), true
}

// judgeAfterItems judges a job with only results and one status patch left (docs/dev/velero.md#after-the-last-item).
func (a *jobJudge) judgeAfterItems() Verdict {
	j, verb := a.j, "backed up"
	if j.Kind == job.Restore {
		verb = "restored"
	}
	a.noteQuiet()
	switch {
	case a.world.Listed.OwnVolumes != FullyListed:
		a.AddDoubt(SourceWatch, a.Now, "whether a volume still moves was not seen")
	case j.ActiveVolumeCount() == 0:
		a.AddSupport(SourceWatch, a.Now, NoVolumeMoves)
	default:
		a.AddSupport(SourceWatch, a.Now, "no pod volume is still moving")
	}
	all := human.AllOf(j.Items.Total, "item") + " " + verb
	if n := j.DataMovements().ActiveCount(); n > 0 {
		a.AddSupport(
			SourceWatch,
			j.AnyVolumeMovedAt(),
			"%s not ended: Velero waits for these operations next",
			human.Count(n, "data movement"),
		)
	}
	v := a.judgeSilent(all)
	switch {
	case v.Proof.Kind() == ProofLimitsPassed:
		return a.judgeLostPatch(v, all)
	case v.state != Quiet:
		return v
	case a.world.Listed.OwnVolumes != FullyListed:
		v.Text = fmt.Sprintf("%s, quiet for %s; Velero may wait for volumes that were not seen", all, a.quietText())
	case v.Reason == UploadingArtifacts:
		v.Text = fmt.Sprintf(
			"%s, quiet for %s; Velero stores logs and results now, if nothing was lost",
			all,
			a.quietText(),
		)
	}
	if a.quietDuration() < lostPatchQuiet+time.Duration(j.Items.Total/minUploadItemsPerMinute)*time.Minute {
		return v
	}
	a.noteUncheckedEvidence()
	if where, proof := a.findLocationOutage(); where != "" {
		return a.ConcludeProven(
			Stuck,
			proof,
			LocationUnavailable,
			"Get the storage location back; Velero cannot store the results without it.",
			"%s, but %s; quiet for %s",
			all,
			where,
			a.quietText(),
		)
	}
	if w, ok := a.judgeCannotEnd(all); ok {
		return w
	}
	v.Facts = a.facts
	v.Advice = "If this goes on, read the server's log and what is stored: a lost last status shows there. " +
		a.restartCostText()
	return v
}

func (a *jobJudge) restartCostText() string {
	var others []string
	for _, o := range a.world.Jobs {
		if o.UID != a.j.UID && o.Phase == velero.PhaseInProgress {
			others = append(others, o.Kind.Noun()+"/"+o.Name)
		}
	}
	if len(others) == 0 {
		return "Restarting the Velero server would mark it as Failed."
	}
	return "Restarting the Velero server would mark it as Failed, and " + human.JoinNames(others, 3) + " too."
}

// judgeLostPatch judges a job whose files are all stored, and whose status Velero will not try to write again.
func (a *jobJudge) judgeLostPatch(v Verdict, all string) Verdict {
	e := a.jobEvidence()
	a.AddSupport(SourceStorage, e.StoredAt, "all of its files are stored, the last %s ago", a.formatAge(e.StoredAt))
	if w, ok := a.judgeCannotEnd(all); ok {
		return w
	}
	to := "its next phase, once veltui has read its operations"
	switch {
	case e.NextPhase != "":
		to = e.NextPhase
		a.AddSupport(SourceStorage, e.StoredAt, "by its stored results Velero would have moved it to %s", e.NextPhase)
	case e.StoredErrors > 0:
		a.AddSupport(
			SourceStorage,
			e.StoredAt,
			"its stored results count %s, so it ends PartiallyFailed",
			human.Count(e.StoredErrors, "error"),
		)
	}
	return a.proveStuck(
		v.Proof,
		LostPatch,
		"Finalize it, which moves it on to "+to+". "+restartWarning,
		"%s and stored, phase never moved on for %s; its last status patch was lost",
		all,
		a.quietText(),
	).withAction(Finalize)
}

// judgeCannotEnd judges a job whose work is done, but which something keeps Velero from ending.
func (a *jobJudge) judgeCannotEnd(all string) (Verdict, bool) {
	if refused := a.phasesNotInSchema(); len(refused) > 0 {
		fact := a.AddSupport(SourceSchema, a.Now, "the CRD does not allow %s", human.JoinNames(refused, 3))
		return a.proveStuck(
			ProveRefused(fact),
			SchemaTooOld,
			"Apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
			"%s, but the CRD refuses the phase that comes next (Velero issue 6170)",
			all,
		), true
	}
	if l, fact, ok := a.findReadOnlyLocation(); ok {
		return a.proveStuck(
			ProveRefused(fact),
			LocationReadOnly,
			"Make the storage location "+l.Name+" writable first: Velero cannot finalize a backup in a read-only one.",
			"%s, phase never moved on for %s; %s",
			all,
			a.quietText(),
			fact.Text,
		), true
	}
	return Verdict{}, false
}

// findReadOnlyLocation returns the location of a backup, if it is read-only. Restores ignore the access mode
// (docs/dev/velero.md#operations).
func (a *jobJudge) findReadOnlyLocation() (LocationStatus, Fact, bool) {
	l, ok := a.world.Locations[a.j.StorageLocation]
	if !ok || a.j.Kind != job.Backup || l.AccessMode != string(veleroapi.BackupStorageLocationAccessModeReadOnly) {
		return LocationStatus{}, Fact{}, false
	}
	return l, a.AddSupport(SourceWatch, l.LastValidated, "storage location %s is read-only", l.Name), true
}
