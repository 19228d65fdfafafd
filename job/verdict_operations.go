package job

// operations: asynchronous operations are waited for. The server goes on with
// them after a restart (velero-facts 6.1).
func (q *inquiry) operations() Verdict {
	j := q.job
	q.noteCounts()
	q.noteServer()
	where, certain := q.down()
	if q.fresh() {
		return q.progressing()
	}
	bound := j.record(StageOperations).Bound
	if where != "" && certain && q.quiet() > settleGrace {
		q.noteQuiet()
		return q.rule(Stuck, "Get the storage location back; Velero reads and writes its operations there.",
			"waits for operations, but %s", where)
	}
	if j.track.movers.active() > 0 {
		return q.movers(bound, false)
	}
	q.noteQuiet()
	ended := j.Operations.ended()
	if j.Operations.Attempted > 0 && ended >= int64(j.Operations.Attempted) && q.quiet() > lostPatchQuiet {
		return q.rule(Stuck, "Look into the log of the Velero server: it looks at ended operations every 10 seconds.",
			"all %s ended, phase never moved on for %s", plural(j.Operations.Attempted, "operation"), q.quietWords())
	}
	open := max(0, int64(j.Operations.Attempted)-ended)
	if q.s.Now.Sub(bound) > waitMargin && !bound.IsZero() {
		q.holds(sourceWatch, bound, "Velero's limit passed %s ago", q.ago(bound))
		return q.rule(Stuck, "Look into the log of the Velero server: it should have given up by itself.",
			"%s not ended %s after Velero's own limit", plural(open, "operation"), q.ago(bound))
	}
	return q.rule(Waiting, "", "waits for %d of %s; Velero gives up at %s (itemOperationTimeout)",
		open, plural(j.Operations.Attempted, "operation"), clock(bound, q.s.Now))
}
