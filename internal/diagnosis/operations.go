package diagnosis

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// operations are waited for, and the server goes on with them after a restart (docs/dev/velero.md#operations).
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
		if where, proof := a.down(); where != "" && a.operationsOpen() {
			a.Doubts(
				SourceWatch,
				a.Now,
				"Velero needs the location when the operations have ended; until then they go on without it",
			)
		} else if where != "" {
			a.noteQuiet()
			return a.unavailable(
				proof,
				"Get the storage location back; Velero reads and writes its operations there.",
				"waits for operations, but %s",
				where,
			)
		}
		if l, fact, ok := a.readOnlyLocation(); ok {
			a.noteQuiet()
			return a.stuck(
				ByRefusal(fact),
				LocationReadOnly,
				"Make the storage location "+l.Name+" writable: Velero ends the backup PartiallyFailed, without finalizing "+
					"it, when it next looks.",
				"waits for operations, but %s",
				fact.Text,
			)
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
	w := a.Conclude(
		Waiting,
		WaitingForOperations,
		"",
		"waits for %d of %s; Velero gives up at %s (itemOperationTimeout)",
		open,
		human.Count(j.Operations.Attempted, "operation"),
		human.Clock(bound, a.Now),
	)
	if open == 0 && a.quiet() > lostPatchQuiet {
		w = a.Conclude(
			Quiet,
			WaitingForOperations,
			"Look into the log of the Velero server: it looks at ended operations every 10 seconds.",
			"%s ended, phase not moved on for %s",
			human.All(j.Operations.Attempted, "operation"),
			a.quietWords(),
		)
	}
	return w.withWaits(v.Waits)
}

// operationsOpen reports whether operations may still go on that the store does not carry: the server has them in
// memory and asks the plugins (pkg/itemoperationmap, backup_operations_controller.go Reconcile). Velero's own data
// movers read and write the store.
func (a *assessment) operationsOpen() bool {
	j, carried := a.j, 0
	for i := range j.Volumes {
		if v := &j.Volumes[i]; !v.Kind.IsPodVolume() && v.BuiltIn() {
			carried++
		}
	}
	if j.Operations.Attempted > 0 &&
		(int64(j.Operations.Attempted) <= j.Operations.Ended() || j.Operations.Attempted <= carried) {
		return false
	}
	waits := a.waitsIn(velero.StepOperations)
	return slices.ContainsFunc(
		waits,
		func(w wait) bool { return w.row.Name == velero.WaitOperations && !a.passed(w.until) },
	)
}

// finalizing: all work is done, Velero ends the job (docs/dev/velero.md#finalizing).
func (a *assessment) finalizing() Verdict {
	j := a.j
	a.noteServer()
	a.noteQuiet()
	a.noteLog()
	if a.quiet() > freshItems/2 {
		if v, ok := a.cutOff(); ok {
			return v
		}
	}
	if a.quiet() < freshItems {
		return a.progressing()
	}
	if v, ok := a.hungHook(); ok {
		return v
	}
	v := a.silent("finalizing for " + a.quietWords())
	switch {
	case v.Reason == FinalizingBehind && a.finalizesFirst() != nil:
		behind := "finalizing for " + a.quietWords() + " behind %s"
		if w, ok := a.behindStuck(
			a.finalizesFirst(),
			FinalizingBehind,
			"one worker finalizes all jobs of a kind",
			behind,
		); ok {
			return w.withWaits(v.Waits)
		}
	case v.state == Quiet && a.quiet() < lostPatchQuiet:
		v.state, v.Reason = Waiting, Finalizing
	case v.state == Quiet:
		v.Reason = Finalizing
		if j.Kind == job.Backup {
			v.Advice = cmp.Or(v.Advice, "If this goes on, touch an annotation of it to make Velero look again.")
			v.Action = Wake
		}
	}
	return v
}

// cutOff: the job waits for its storage location. That is proven only where it can wait for nothing else: what runs
// beside the store goes on without it (restore_finalizer_controller.go Reconcile reads the store first, then waits).
func (a *assessment) cutOff() (Verdict, bool) {
	const doing, advice = "waits to be finalized", "Get the storage location back; Velero tries again by itself."
	if where, proof := a.down(); where != "" {
		other, open := a.besidesStore()
		switch {
		case open && other.shown && other.row.Name != velero.WaitBinding && other.row.Name != velero.WaitRewriting:
			a.Doubts(
				SourceWatch,
				a.Now,
				"what it waits for now does not need the location; Velero may need it at the end",
			)
			return Verdict{}, false
		case open && !proof.IsZero():
			a.Doubts(
				SourceWatch,
				a.Now,
				"it may still be waiting for %s, which goes on without the location",
				other.public().For,
			)
			return a.Conclude(Quiet, LocationUnavailable, advice, "%s: %s", doing, where), true
		}
		return a.unavailable(proof, advice, "%s: %s", doing, where), true
	}
	name := a.j.StorageLocation
	if a.j.Kind != job.Backup || name == "" || len(a.env.Locations) == 0 || a.env.Listed.Locations != Whole ||
		a.env.Locations[name].Name != "" {
		return Verdict{}, false
	}
	// The finalizer gets the location first, and tries again for ever (backup_finalizer_controller.go Reconcile).
	fact := a.Supports(SourceWatch, a.Now, "storage location %s does not exist", name)
	return a.stuck(
		ByRefusal(fact),
		LocationUnavailable,
		"Create storage location "+name+" again; Velero tries again by itself and then ends the job. Neither a "+
			"restart nor a touch of it helps.",
		"%s: storage location %s does not exist",
		doing,
		name,
	), true
}

// besidesStore is what a job that is finalized may be waiting for beside its store, one that is shown first.
func (a *assessment) besidesStore() (other wait, open bool) {
	for _, w := range a.waitsIn(velero.StepFinalizing) {
		switch {
		case w.row.Name == velero.WaitStore, w.row.Name == velero.WaitLastPatch, a.passed(w.until):
			continue
		case w.row.Name == velero.WaitFinalizer && a.finalizesFirst() != nil &&
			!Judge(a.finalizesFirst(), *a.env).Proof.IsZero():
			continue // the finalizer leaves that one and tries this
		case w.row.Name == velero.WaitRewriting && a.storeAway() >= lastingOutage:
			continue // its contents are read from the store and written back to it
		}
		if !open || w.shown && !other.shown {
			other, open = w, true
		}
	}
	return other, open
}

// storeAway is how long the job's location was not read, and the job has not moved.
func (a *assessment) storeAway() time.Duration {
	name := a.j.StorageLocation
	if a.j.Kind == job.Restore {
		name = a.env.BackupLocations[a.j.BackupName]
	}
	return min(a.quiet(), a.Now.Sub(job.Latest(a.env.Locations[name].LastSynced)))
}

// finalizesFirst is the job of the same kind that has been finalizing for longest.
func (a *assessment) finalizesFirst() *job.Job {
	var first *job.Job
	for _, o := range a.env.Jobs {
		if o.UID == a.j.UID || o.Kind != a.j.Kind || job.StageOf(o.Phase) != job.StageFinalizing ||
			!o.QuietSince().Before(a.j.QuietSince()) {
			continue
		}
		if first == nil || o.QuietSince().Before(first.QuietSince()) {
			first = o
		}
	}
	return first
}
