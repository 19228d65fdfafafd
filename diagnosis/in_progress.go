package diagnosis

import (
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// inProgress is a job in phase InProgress with a server that runs.
func (a *assessment) inProgress() Verdict {
	if v, ok := a.orphaned(); ok {
		return v
	}
	a.noteCounts()
	a.noteServer()
	if v, ok := a.gaveUp(); ok {
		return v
	}
	a.noteLog()
	if v, ok := a.cancelledVolume(); ok {
		return v
	}
	j := a.j
	switch {
	case a.fresh():
		return a.progressing()
	case j.Stage == job.StageVolumes && j.PodVolumes().Active() > 0:
		return a.volumes()
	case !j.Items.Known:
		return a.collecting()
	case j.Items.Done >= j.Items.Total && j.PodVolumes().Active() == 0:
		return a.afterItems()
	}
	return a.quietItems()
}

// orphaned: the server that worked on the job is gone. Velero marks such jobs
// Failed when it starts, unless it cannot (docs/velero.md#restart).
func (a *assessment) orphaned() (Verdict, bool) {
	j, v := a.j, a.env.Server
	if !forgotten(j, a.env) {
		if !j.Started.IsZero() && v.StartedAt.After(j.Started) {
			a.doubts(sourcePod, v.StartedAt, "a Velero server started after this job, yet the job moved after that")
		}
		return Verdict{}, false
	}
	a.supports(sourcePod, v.StartedAt, "the Velero server started %s ago, after this job began", a.ago(a.env.serverStarted()))
	if a.env.Now.Sub(a.env.serverStarted()) < settleGrace {
		return a.conclude(Waiting, ServerRestarted, "", "Velero restarted %s ago, it will mark this job Failed in a moment", a.ago(a.env.serverStarted())), true
	}
	why := ""
	if v.LastTermination != "" {
		why = " (" + v.LastTermination + ")"
		a.supports(sourcePod, v.LastTerminationAt, "the server before it ended with %s", v.LastTermination)
	}
	a.noteCounts()
	a.noteQuiet()
	a.noteUnlooked()
	return a.conclude(Orphaned, ServerRestarted,
		"It can be finalized as Failed, as Velero itself does at its start. Another restart of Velero does the same.",
		"Velero restarted %s ago%s, after this job began; nobody works on it", a.ago(a.env.serverStarted()), why).by(Finalize), true
}

// cancelledVolume: some versions wait for a cancelled pod volume backup for
// ever (Velero issue 9464, from 1.17.0 until 1.18.3).
func (a *assessment) cancelledVolume() (Verdict, bool) {
	j, tag := a.j, a.env.Server.Version
	v, known := velero.ParseVersion(tag)
	fixed := known && !v.HangsOnCancelledVolume()
	if j.Kind != job.Backup || fixed || j.PodVolumes().Active() > 0 || a.fresh() {
		return Verdict{}, false
	}
	for i := range j.Volumes {
		c := &j.Volumes[i]
		if c.Kind != velero.PodVolumeBackup || c.Phase != velero.VolumeCanceled {
			continue
		}
		a.supports(sourceWatch, c.Changed, "volume %s was cancelled", c.Target)
		a.noteQuiet()
		what := "hangs on a cancelled volume"
		if known {
			a.supports(sourcePod, a.env.Server.SeenAt, "Velero %s has the bug of issue 9464", v)
		} else {
			a.doubts(sourcePod, a.env.Server.SeenAt, "the server's version is not known")
			what = "may hang on a cancelled volume"
		}
		until := ""
		bound := j.Started.Add(velero.PodVolumeTimeout(j.Object, a.env.Server.Flags))
		if bound.After(a.env.Now) {
			until = "; Velero gives up at " + human.Clock(bound, a.env.Now)
		}
		return a.conclude(Stuck, CancelledVolumeHang, "Do not wait for the time-out: this version then loses the list of the volumes that did end. A restart of the Velero server fails all that is in progress.",
			"%s (Velero issue 9464)%s", what, until).by(Restart), true
	}
	return Verdict{}, false
}

// collecting: no number has been written yet. Velero puts no limit on it.
func (a *assessment) collecting() Verdict {
	a.noteQuiet()
	if v, ok := a.knownWait("no count yet"); ok { // before the first item too
		return v
	}
	doing := "Velero lists the cluster"
	if a.j.Kind == job.Restore {
		doing = "Velero downloads and reads the backup"
	}
	if a.quiet() < unboundedQuiet {
		return a.conclude(Quiet, CollectingItems, "", "no count after %s; %s, which takes long when there is much", a.quietWords(), doing)
	}
	return a.conclude(Stuck, LimitPassed, "Look into the log of the Velero server for the last thing it did for this job.",
		"no count after %s, longer than listing or downloading should take", a.quietWords())
}

// afterItems: all items are done and no volume moves, so only the upload of
// results and one status patch are left (docs/velero.md#after-the-last-item).
func (a *assessment) afterItems() Verdict {
	j := a.j
	a.noteQuiet()
	a.supports(sourceWatch, a.env.Now, "no volume is still moving")
	all := human.All(j.Items.Total, "item") + " " + verb(j)
	if r, ok := a.preparedRepository(); ok && a.quiet() < velero.ResourceTimeout(j.Object, a.env.Server.Flags)+waitMargin {
		a.supports(sourceWatch, r.Changed, "backup repository %s is not ready", r.Name)
		return a.conclude(Waiting, PreparingRepository, "", "%s; Velero prepares repository %s for %s", all, r.Name, a.quietWords())
	}
	if a.quiet() < lostPatchQuiet+time.Duration(j.Items.Total/itemsPerMinute)*time.Minute {
		return a.conclude(Quiet, UploadingArtifacts, "", "%s, quiet for %s; Velero stores logs and results now", all, a.quietWords())
	}
	a.noteUnlooked()
	if n := j.DataMovements().Active(); n > 0 {
		a.supports(sourceWatch, j.AnyVolumeMoved(), "%s not ended: Velero waits for these operations next", human.Count(n, "data movement"))
	}
	if where := a.down(); where != "" {
		return a.conclude(Stuck, LocationUnavailable, "Get the storage location back; Velero cannot store the results without it.",
			"%s, but %s; quiet for %s", all, where, a.quietWords())
	}
	if v, ok := a.cannotEnd(all); ok {
		return v
	}
	return a.conclude(Stuck, LostPatch, "If its results are stored, it can be finalized. A restart of Velero marks it Failed, with all else in progress.",
		"%s, phase never moved on for %s; its last status patch was probably lost", all, a.quietWords()).by(Finalize)
}

// cannotEnd: its work is over, and something keeps Velero from ending it.
func (a *assessment) cannotEnd(all string) (Verdict, bool) {
	if refused := a.refusedPhases(); len(refused) > 0 {
		a.supports(sourceSchema, a.env.Now, "the CRD does not allow %s", human.List(refused, 3))
		return a.conclude(Stuck, SchemaTooOld, "Apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
			"%s, but the CRD refuses the phase that comes next (Velero issue 6170)", all), true
	}
	if l, ok := a.readOnlyLocation(); ok {
		return a.conclude(Stuck, LocationReadOnly, "Make the storage location "+l.Name+" writable first: Velero cannot finalize a backup in a read-only one.",
			"%s, phase never moved on for %s; storage location %s is read-only", all, a.quietWords(), l.Name), true
	}
	return Verdict{}, false
}

// quietItems: some items are left and nothing moves.
func (a *assessment) quietItems() Verdict {
	j := a.j
	a.noteQuiet()
	items := fmt.Sprintf("%s of %s", human.Number(j.Items.Done), human.Count(j.Items.Total, "item"))
	if v, ok := a.knownWait(items); ok {
		return v
	}
	wait, limit := a.itemLimit()
	if a.quiet() < limit {
		return a.conclude(Quiet, SlowItem, "", "%s, quiet for %s; one slow item can take %s", items, a.quietWords(), human.Duration(wait))
	}
	a.noteUnlooked()
	return a.conclude(Stuck, LimitPassed,
		"Check whether the Velero log still mentions it. If its results are stored, its last status patches were lost and it can be finalized.",
		"%s, quiet for %s, longer than Velero waits for any item", items, a.quietWords()).by(Finalize)
}

// readOnlyLocation is the location of a backup, if it may only be read. Restores
// do not care (docs/velero.md#operations).
func (a *assessment) readOnlyLocation() (Location, bool) {
	l, ok := a.env.Locations[a.j.StorageLocation]
	if !ok || a.j.Kind != job.Backup || l.AccessMode != string(velerov1.BackupStorageLocationAccessModeReadOnly) {
		return Location{}, false
	}
	a.supports(sourceWatch, l.LastValidated, "storage location %s is read-only", l.Name)
	return l, true
}

// knownWait is what one item waits for, where that can be named.
func (a *assessment) knownWait(items string) (Verdict, bool) {
	j, flags := a.j, a.env.Server.Flags
	if names := a.terminating(); len(names) > 0 && a.quiet() < flags.TerminatingTimeout+waitMargin {
		a.supports(sourceNamespaces, a.env.Now, "namespace %s is being deleted", human.List(names, 3))
		return a.conclude(Waiting, NamespaceTerminating, "Look what keeps the namespace: its status names the finalizers that remain.",
			"%s, quiet for %s; waits until namespace %s is gone", items, a.quietWords(), human.List(names, 1)), true
	}
	if v, ok := a.runningHook(items); ok {
		return v, true
	}
	if s, ok := a.awaitedSnapshot(); ok {
		a.supports(sourceSnapshots, s.Created, "VolumeSnapshot %s has no snapshot behind it yet%s", s.Name, because(s.Error))
		return a.conclude(Waiting, WaitingForSnapshot, "Look at VolumeSnapshot "+s.Name+" and at its CSI driver if this goes on.",
			"%s; snapshot %s not made for %s of %s%s", items, human.Shorten(s.Name, 60), a.ago(s.Created), human.Duration(velero.SnapshotTimeout(j.Object)), because(s.Error)), true
	}
	if hook := backupHookTimeout(j); hook > defaultHookTimeout && a.quiet() < hook+waitMargin {
		a.supports(sourceWatch, a.env.Now, "its spec asks for a hook that may take %s", human.Duration(hook))
		return a.conclude(Waiting, RunningHook, "", "%s, quiet for %s; a hook may take %s", items, a.quietWords(), human.Duration(hook)), true
	}
	if r, ok := a.preparedRepository(); ok && a.quiet() < velero.ResourceTimeout(j.Object, flags)+waitMargin {
		a.supports(sourceWatch, r.Changed, "backup repository %s is not ready", r.Name)
		return a.conclude(Waiting, PreparingRepository, "", "%s, quiet for %s; Velero prepares repository %s", items, a.quietWords(), r.Name), true
	}
	if d, ok := a.lockingDeletion(); ok {
		a.supports(sourceWatch, d.Created, "deletion %s of backup %s is in progress and locks backup repositories", d.Name, d.Backup)
		return a.conclude(Waiting, RepositoryLocked, "", "%s, quiet for %s; the deletion of %s may hold the lock on a repository",
			items, a.quietWords(), human.Shorten(d.Backup, 30)), true
	}
	return Verdict{}, false
}

// itemLimit is how long Velero waits for one item, as far as that is known, and
// how long silence is taken for that.
func (a *assessment) itemLimit() (wait, limit time.Duration) {
	j, flags := a.j, a.env.Server.Flags
	wait = max(velero.SnapshotTimeout(j.Object), velero.ResourceTimeout(j.Object, flags))
	if j.Kind == job.Restore {
		wait = max(wait, flags.TerminatingTimeout)
	}
	limit = wait + waitMargin
	if j.ActiveVolumes() > 0 {
		limit = max(limit, carrierQuiet)
	}
	switch {
	case j.Kind == job.Backup:
		a.doubts(sourceWatch, a.env.Now, "veltui has not checked whether a pod asks for a hook by annotation")
		limit = max(limit, unboundedQuiet)
	case !a.evidence().NamespacesSeen:
		a.doubts(sourceNamespaces, a.env.Now, "veltui has not checked whether a namespace that it restores into is being deleted")
	}
	return wait, limit
}
