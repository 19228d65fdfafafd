package diagnosis

import (
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
// Failed when it starts, unless it cannot (velero-facts 6.1 and 6.5).
func (a *assessment) orphaned() (Verdict, bool) {
	j, v := a.j, a.env.Server
	if !forgotten(j, v) {
		if !j.Started.IsZero() && v.StartedAt.After(j.Started) {
			a.doubts(sourcePod, v.StartedAt, "a Velero server started after this job, yet the job moved after that")
		}
		return Verdict{}, false
	}
	a.supports(sourcePod, v.StartedAt, "the Velero server started %s ago, after this job began", a.ago(v.StartedAt))
	if a.env.Now.Sub(v.StartedAt) < settleGrace {
		return a.conclude(Waiting, ServerRestarted, "", "Velero restarted %s ago, it will mark this job Failed in a moment", a.ago(v.StartedAt)), true
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
		"Finalize it as Failed, as Velero itself does at its start, or restart Velero once more.",
		"Velero restarted %s ago%s, after this job began; nobody works on it", a.ago(v.StartedAt), why), true
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
			until = "; Velero gives up at " + clock(bound, a.env.Now)
		}
		return a.conclude(Stuck, CancelledVolumeHang, "Do not wait for the time-out: this version then loses the list of the volumes that did end. A restart of the Velero server fails all that is in progress.",
			"%s (Velero issue 9464)%s", what, until), true
	}
	return Verdict{}, false
}

// collecting: no number has been written yet.
func (a *assessment) collecting() Verdict {
	a.noteQuiet()
	doing := "Velero lists the cluster"
	if a.j.Kind == job.Restore {
		doing = "Velero downloads and reads the backup"
	}
	if a.quiet() < collectingQuiet {
		return a.conclude(Quiet, CollectingItems, "", "no count after %s; %s, which takes long when there is much", a.quietWords(), doing)
	}
	return a.conclude(Stuck, LimitPassed, "Look into the log of the Velero server for the last thing it did for this job.",
		"no count after %s, longer than listing or downloading should take", a.quietWords())
}

// afterItems: all items are done and no volume moves, so only the upload of
// results and one status patch are left (velero-facts 3.9).
func (a *assessment) afterItems() Verdict {
	j := a.j
	a.noteQuiet()
	a.supports(sourceWatch, a.env.Now, "no volume is still moving")
	all := "all " + plural(j.Items.Total, "item") + " " + verb(j)
	if a.quiet() < lostPatchQuiet {
		return a.conclude(Quiet, UploadingArtifacts, "", "%s, quiet for %s; Velero stores logs and results now", all, a.quietWords())
	}
	a.noteUnlooked()
	if where, _ := a.down(); where != "" {
		return a.conclude(Stuck, LocationUnavailable, "Get the storage location back; Velero cannot store the results without it.",
			"%s, but %s; quiet for %s", all, where, a.quietWords())
	}
	return a.conclude(Stuck, LostPatch,
		"If its results are stored, finalize moves it on. A restart of Velero marks it Failed, with all else in progress.",
		"%s, phase never moved on for %s; its last status patch was probably lost", all, a.quietWords())
}

// quietItems: some items are left and nothing moves.
func (a *assessment) quietItems() Verdict {
	j := a.j
	a.noteQuiet()
	limit := max(longestWait, velero.SnapshotTimeout(j.Object), velero.ResourceTimeout(j.Object, a.env.Server.Flags)) + waitMargin
	if j.PodVolumes().Active() > 0 || j.DataMovements().Active() > 0 {
		limit = max(limit, carrierQuiet)
	}
	if a.quiet() < limit {
		return a.conclude(Quiet, SlowItem, "", "%d of %s, quiet for %s; one slow item can take %s",
			j.Items.Done, plural(j.Items.Total, "item"), a.quietWords(), span(longestWait))
	}
	a.noteUnlooked()
	return a.conclude(Stuck, LimitPassed,
		"Look whether the Velero log still speaks of it. If results are stored, its last status patches were lost and finalize moves it on.",
		"%d of %s, quiet for %s, longer than Velero waits for any item", j.Items.Done, plural(j.Items.Total, "item"), a.quietWords())
}
