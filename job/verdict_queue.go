package job

// queued is a job that waits for its turn.
func (q *inquiry) queued() Verdict {
	w := q.job.wait(q.s)
	if !w.ok { // asked to be deleted before it began
		q.noteQuiet()
		return q.rule(Waiting, "", "has not begun and is being deleted")
	}
	q.noteServer()
	q.holds(sourceWatch, q.s.Now, "%s", w.reason)
	if q.job.Phase == PhaseReadyToStart {
		return q.readyToStart()
	}
	for _, b := range w.behind {
		v := b.Verdict(q.s)
		if (v.State == Stuck || v.State == Orphaned) && q.s.Now.Sub(q.job.Created) >= settleGrace {
			q.facts = append(q.facts, v.Facts...)
			return q.rule(Stuck, "Look at "+b.Name+" first: this job begins when that one is out of the way.",
				"waits for %s, which is %s", b.Name, v.State)
		}
	}
	if !w.free {
		return q.rule(Waiting, "", "%s", q.place(w))
	}
	return q.untaken(w)
}

func (q *inquiry) place(w wait) string {
	if w.position > 1 {
		return ordinal(w.position) + " in line; " + w.reason
	}
	return w.reason
}

// untaken is a job that nothing known holds back.
func (q *inquiry) untaken(w wait) Verdict {
	j := q.job
	idle := q.s.Now.Sub(latest(j.Changed, j.Created, q.s.Server.StartedAt, q.s.LastEnded))
	if idle < settleGrace {
		return q.rule(Waiting, "", "%s", q.place(w))
	}
	q.noteQuiet()
	switch {
	case j.Phase == PhaseQueued:
		// Velero issue 10519: the queue lost count of what runs.
		return q.rule(Stuck, "A restart of the Velero server gets the queue going; it fails what is in progress.",
			"queue stalled: free to start for %s, but Velero starts nothing", span(idle))
	case j.Kind == Restore:
		// Velero issues 4128 and 4556: its one worker can hang on a deleted restore.
		return q.rule(Stuck, "A restart of the Velero server frees its worker; it fails what is in progress.",
			"new for %s and no restore runs; Velero's only restore worker may hang", q.ago(j.Created))
	}
	return q.rule(Stuck, "Look into the log of the Velero server; a restart makes it look at all backups again.",
		"new for %s, and Velero has not taken it up", q.ago(j.Created))
}

// readyToStart is a backup that Velero let out of its queue. It starts within
// seconds, or never: after a restart the server does not look at it again
// (velero-facts 6.1).
func (q *inquiry) readyToStart() Verdict {
	j, v := q.job, q.s.Server
	if j.forgotten(v) {
		if q.s.Now.Sub(v.StartedAt) < settleGrace {
			return q.rule(Waiting, "", "ready to start; Velero restarted %s ago", q.ago(v.StartedAt))
		}
		q.holds(sourceWatch, j.track.moved, "ready to start since before the server's start")
		return q.rule(Orphaned,
			"Touch an annotation of this backup, or delete it; it keeps back queued backups of the same namespaces.",
			"was about to start when Velero restarted %s ago; Velero has forgotten it", q.ago(v.StartedAt))
	}
	if q.quiet() < settleGrace {
		return q.rule(Waiting, "", "about to start")
	}
	q.noteQuiet()
	if q.quiet() < lostPatchQuiet {
		return q.rule(Quiet, "", "ready to start for %s; that takes seconds as a rule", q.quietWords())
	}
	return q.rule(Stuck, "Touch an annotation of this backup, then look into the log of the Velero server.",
		"ready to start for %s, but Velero does not start it", q.quietWords())
}
