package diagnosis

import (
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
)

// operations: asynchronous operations are waited for. The server goes on with
// them after a restart (docs/velero.md#operations).
func (a *assessment) operations() Verdict {
	j := a.j
	a.noteCounts()
	a.noteServer()
	where := a.down()
	if a.fresh() {
		return a.progressing()
	}
	bound := a.deadline(job.StageOperations)
	if where != "" && a.quiet() > settleGrace {
		a.noteQuiet()
		return a.conclude(Stuck, LocationUnavailable, "Get the storage location back; Velero reads and writes its operations there.",
			"waits for operations, but %s", where)
	}
	if l, ok := a.readOnlyLocation(); ok && a.quiet() > settleGrace {
		a.noteQuiet()
		return a.conclude(Stuck, LocationReadOnly, "Make the storage location "+l.Name+" writable: Velero ends the backup PartiallyFailed, without finalizing it, when it next looks.",
			"waits for operations, but storage location %s is read-only", l.Name)
	}
	if j.DataMovements().Active() > 0 {
		return a.movers(bound, false)
	}
	a.noteQuiet()
	ended := j.Operations.Ended()
	if j.Operations.Attempted > 0 && ended >= int64(j.Operations.Attempted) && a.quiet() > lostPatchQuiet {
		return a.conclude(Stuck, LostPatch, "Look into the log of the Velero server: it looks at ended operations every 10 seconds.",
			"%s ended, phase never moved on for %s", human.All(j.Operations.Attempted, "operation"), a.quietWords())
	}
	open := max(0, int64(j.Operations.Attempted)-ended)
	if a.env.Now.Sub(bound) > waitMargin && !bound.IsZero() {
		a.supports(sourceWatch, bound, "Velero's limit passed %s ago", a.ago(bound))
		return a.conclude(Stuck, LimitPassed, "Look into the log of the Velero server: it should have given up by itself.",
			"%s not ended %s after Velero's own limit", human.Count(open, "operation"), a.ago(bound))
	}
	return a.conclude(Waiting, WaitingForOperations, "", "waits for %d of %s; Velero gives up at %s (itemOperationTimeout)",
		open, human.Count(j.Operations.Attempted, "operation"), human.Clock(bound, a.env.Now))
}
