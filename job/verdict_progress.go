package job

// inProgress is a job in phase InProgress with a server that runs.
func (q *inquiry) inProgress() Verdict {
	if v, ok := q.orphaned(); ok {
		return v
	}
	q.noteCounts()
	q.noteServer()
	if v, ok := q.cancelledVolume(); ok {
		return v
	}
	j := q.job
	switch {
	case q.fresh():
		return q.progressing()
	case j.Stage == StageVolumes && j.track.filesystem.active() > 0:
		return q.volumes()
	case !j.Items.Known:
		return q.collecting()
	case j.Items.Done >= j.Items.Total && j.track.filesystem.active() == 0:
		return q.afterItems()
	}
	return q.quietItems()
}

// orphaned: the server that worked on the job is gone. Velero marks such jobs
// Failed when it starts, unless it cannot (velero-facts 6.1 and 6.5).
func (q *inquiry) orphaned() (Verdict, bool) {
	j, v := q.job, q.s.Server
	if !j.forgotten(v) {
		if !j.Started.IsZero() && v.StartedAt.After(j.Started) {
			q.open(sourcePod, v.StartedAt, "a Velero server started after this job, yet the job moved after that")
		}
		return Verdict{}, false
	}
	q.holds(sourcePod, v.StartedAt, "the Velero server started %s ago, after this job began", q.ago(v.StartedAt))
	if q.s.Now.Sub(v.StartedAt) < settleGrace {
		return q.rule(Waiting, "", "Velero restarted %s ago, it will mark this job Failed in a moment", q.ago(v.StartedAt)), true
	}
	why := ""
	if v.LastTermination != "" {
		why = " (" + v.LastTermination + ")"
		q.holds(sourcePod, v.LastTerminationAt, "the server before it ended with %s", v.LastTermination)
	}
	q.noteCounts()
	q.noteQuiet()
	q.noteUnlooked()
	return q.rule(Orphaned,
		"Finalize it as Failed, as Velero itself does at its start, or restart Velero once more.",
		"Velero restarted %s ago%s, after this job began; nobody works on it", q.ago(v.StartedAt), why), true
}

// cancelledVolume: some versions wait for a cancelled pod volume backup for
// ever (Velero issue 9464, from 1.17.0 until 1.18.3).
func (q *inquiry) cancelledVolume() (Verdict, bool) {
	j, tag := q.job, q.s.Server.Version
	v, known := ParseVersion(tag)
	fixed := known && !v.HangsOnCancelledVolume()
	if j.Kind != Backup || fixed || j.track.filesystem.active() > 0 || q.fresh() {
		return Verdict{}, false
	}
	for i := range j.Volumes {
		c := &j.Volumes[i]
		if c.Kind != PodVolumeBackup || c.Phase != volumeCanceled {
			continue
		}
		q.holds(sourceWatch, c.Changed, "volume %s was cancelled", c.Target)
		q.noteQuiet()
		what := "hangs on a cancelled volume"
		if known {
			q.holds(sourcePod, q.s.Server.SeenAt, "Velero %s has the bug of issue 9464", v)
		} else {
			q.open(sourcePod, q.s.Server.SeenAt, "the server's version is not known")
			what = "may hang on a cancelled volume"
		}
		until := ""
		bound := j.Started.Add(j.podVolumeTimeout())
		if bound.After(q.s.Now) {
			until = "; Velero gives up at " + clock(bound, q.s.Now)
		}
		// From 1.16 to 1.18.2 the time-out stores an empty list of pod volume
		// backups (fixed by Velero pull request 9999), so waiting saves nothing.
		return q.rule(Stuck, "Do not wait for the time-out: this version then loses the list of the volumes that did end. A restart of the Velero server fails all that is in progress.",
			"%s (Velero issue 9464)%s", what, until), true
	}
	return Verdict{}, false
}

// collecting: no number has been written yet.
func (q *inquiry) collecting() Verdict {
	q.noteQuiet()
	doing := "Velero lists the cluster"
	if q.job.Kind == Restore {
		doing = "Velero downloads and reads the backup"
	}
	if q.quiet() < collectingQuiet {
		return q.rule(Quiet, "", "no count after %s; %s, which takes long when there is much", q.quietWords(), doing)
	}
	return q.rule(Stuck, "Look into the log of the Velero server for the last thing it did for this job.",
		"no count after %s, longer than listing or downloading should take", q.quietWords())
}

// afterItems: all items are done and no volume moves, so only the upload of
// results and one status patch are left (velero-facts 3.9).
func (q *inquiry) afterItems() Verdict {
	j := q.job
	q.noteQuiet()
	q.holds(sourceWatch, q.s.Now, "no volume is still moving")
	all := "all " + plural(j.Items.Total, "item") + " " + j.verb()
	if q.quiet() < lostPatchQuiet {
		return q.rule(Quiet, "", "%s, quiet for %s; Velero stores logs and results now", all, q.quietWords())
	}
	q.noteUnlooked()
	if where, _ := q.down(); where != "" {
		return q.rule(Stuck, "Get the storage location back; Velero cannot store the results without it.",
			"%s, but %s; quiet for %s", all, where, q.quietWords())
	}
	return q.rule(Stuck,
		"If its results are stored, finalize moves it on. A restart of Velero marks it Failed, with all else in progress.",
		"%s, phase never moved on for %s; its last status patch was probably lost", all, q.quietWords())
}

// quietItems: some items are left and nothing moves.
func (q *inquiry) quietItems() Verdict {
	j := q.job
	q.noteQuiet()
	limit := max(longestWait, j.snapshotTimeout(), j.resourceTimeout()) + waitMargin
	if j.track.filesystem.active() > 0 || j.track.movers.active() > 0 {
		limit = max(limit, volumeStuck)
	}
	if q.quiet() < limit {
		return q.rule(Quiet, "", "%d of %s, quiet for %s; one slow item can take %s",
			j.Items.Done, plural(j.Items.Total, "item"), q.quietWords(), span(longestWait))
	}
	q.noteUnlooked()
	return q.rule(Stuck,
		"Look whether the Velero log still speaks of it. If results are stored, its last status patches were lost and finalize moves it on.",
		"%d of %s, quiet for %s, longer than Velero waits for any item", j.Items.Done, plural(j.Items.Total, "item"), q.quietWords())
}
