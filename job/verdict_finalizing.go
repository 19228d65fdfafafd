package job

import "time"

// finalizing: all work is done, Velero ends the job (velero-facts 3.9, 6.3).
func (q *inquiry) finalizing() Verdict {
	j := q.job
	q.noteServer()
	q.noteQuiet()
	where, certain := q.down()
	if where != "" && q.quiet() > settleGrace {
		may := ""
		if !certain {
			may = ", where its backup may lie"
		}
		return q.rule(Stuck, "Get the storage location back; Velero tries again by itself and then ends the job.",
			"waits to be finalized: %s%s", where, may)
	}
	if q.quiet() < freshItems {
		return q.progressing()
	}
	if o := q.finalizesFirst(); o != nil {
		q.holds(sourceWatch, o.quietSince(), "%s is being finalized too, for %s; Velero does one at a time", o.Name, q.ago(o.quietSince()))
	}
	limit := q.finalizingLimit()
	if q.quiet() < limit {
		doing := "Velero stores the final state"
		if j.Kind == Restore {
			doing = "Velero waits for volumes to be bound and for hooks"
		}
		return q.rule(Waiting, "", "finalizing for %s; %s", q.quietWords(), doing)
	}
	if o := q.finalizesFirst(); o != nil {
		return q.rule(Stuck, "Look at "+o.Name+" first: one worker finalizes all jobs of a kind.",
			"finalizing for %s, maybe behind %s", q.quietWords(), o.Name)
	}
	if j.Kind == Backup {
		return q.rule(Stuck, "Touch an annotation of it to make Velero look again. If that does not help, restart the server: it goes on with finalizing.",
			"finalizing for %s, which takes seconds as a rule", q.quietWords())
	}
	hooks := "hooks in annotations of pods were not looked at"
	if j.hasHooks() {
		q.holds(sourceWatch, q.s.Now, "the restore asks for hooks, which Velero waits for without limit")
		hooks = "its hooks may never end"
	} else {
		q.open(sourceWatch, q.s.Now, "whether pods ask for hooks by annotation was not looked at")
	}
	return q.rule(Stuck, "If an exec hook never ended (Velero issues 9744, 9749), only a restart of the server helps; it goes on with finalizing.",
		"finalizing for %s; %s", q.quietWords(), hooks)
}

// finalizingLimit is how long finalizing may be quiet.
func (q *inquiry) finalizingLimit() time.Duration {
	if q.job.Kind == Backup {
		return lostPatchQuiet
	}
	rounds := (max(1, len(q.job.Volumes)) + 2) / 3
	return time.Duration(rounds)*q.job.resourceTimeout() + settleGrace
}

// finalizesFirst is a job of the same kind that has been finalizing for longer.
func (q *inquiry) finalizesFirst() *Job {
	for _, o := range q.s.Jobs {
		if o.UID != q.job.UID && o.Kind == q.job.Kind && phaseStage(o.Phase) == StageFinalizing &&
			o.quietSince().Before(q.job.quietSince()) {
			return o
		}
	}
	return nil
}
