package diagnosis

import (
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/velero"
)

// operations: asynchronous operations are waited for. The server goes on with
// them after a restart (docs/dev/velero.md#operations).
func (a *assessment) operations() Verdict {
	j := a.j
	a.noteCounts()
	a.noteServer()
	if a.fresh() {
		return a.progressing()
	}
	bound, _ := Deadline(j, *a.env)
	moving := j.DataMovements().Active() > 0
	if moving {
		// What is proven of a volume holds whatever the store does.
		facts := a.facts
		if v := a.movers(bound, velero.WaitOperations); !v.Proof.IsZero() {
			return v
		}
		a.facts = facts
	}
	if a.quiet() > settleGrace {
		if where, proof := a.down(); where != "" {
			a.noteQuiet()
			return a.unavailable(proof, "Get the storage location back; Velero reads and writes its operations there.", "waits for operations, but %s", where)
		}
		if l, fact, ok := a.readOnlyLocation(); ok {
			a.noteQuiet()
			return a.stuck(ByRefusal(fact), LocationReadOnly, "Make the storage location "+l.Name+" writable: Velero ends the backup PartiallyFailed, without finalizing it, when it next looks.",
				"waits for operations, but %s", fact.Text)
		}
	}
	if moving {
		return a.movers(bound, velero.WaitOperations)
	}
	a.noteQuiet()
	v := a.silent(human.Count(j.Operations.Attempted, "operation"))
	if !v.Proof.IsZero() {
		return v
	}
	open := max(0, int64(j.Operations.Attempted)-j.Operations.Ended())
	w := a.Conclude(Waiting, WaitingForOperations, "", "waits for %d of %s; Velero gives up at %s (itemOperationTimeout)",
		open, human.Count(j.Operations.Attempted, "operation"), human.Clock(bound, a.Now))
	if open == 0 && a.quiet() > lostPatchQuiet {
		w = a.Conclude(Quiet, WaitingForOperations, "Look into the log of the Velero server: it looks at ended operations every 10 seconds.",
			"%s ended, phase not moved on for %s", human.All(j.Operations.Attempted, "operation"), a.quietWords())
	}
	return w.withWaits(v.Waits)
}
