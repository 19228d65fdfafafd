package diagnosis

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// judgeOperations judges a job that waits for operations, with which the server continues after a restart
// (docs/dev/velero.md#operations).
func (a *jobJudge) judgeOperations() Verdict {
	j := a.j
	a.noteCounts()
	a.noteServer()
	if a.hasMovedRecently() {
		return a.judgeProgressing()
	}
	bound, _ := StageDeadline(j, *a.world)
	moving := j.DataMovements().ActiveCount() > 0
	if moving {
		// A proof about a volume holds whatever the state of the store.
		facts := a.facts
		if v := a.judgeOpenVolumes(bound, velero.WaitOperations); !v.Proof.IsZero() {
			return v
		}
		a.facts = facts
	}
	if a.quietDuration() > settleGrace {
		if where, proof := a.findLocationOutage(); where != "" && a.hasOpenOperations() {
			a.AddDoubt(
				SourceWatch,
				a.Now,
				"Velero needs the location when the operations have ended; until then they go on without it",
			)
		} else if where != "" {
			a.noteQuiet()
			return a.concludeUnavailable(
				proof,
				"Get the storage location back; Velero reads and writes its operations there.",
				"waits for operations, but %s",
				where,
			)
		}
		if l, fact, ok := a.findReadOnlyLocation(); ok {
			a.noteQuiet()
			return a.proveStuck(
				ProveRefused(fact),
				LocationReadOnly,
				"Make the storage location "+l.Name+" writable: Velero ends the backup PartiallyFailed, without finalizing "+
					"it, when it next looks.",
				"waits for operations, but %s",
				fact.Text,
			)
		}
	}
	if moving {
		return a.judgeOpenVolumes(bound, velero.WaitOperations)
	}
	a.noteQuiet()
	v := a.judgeSilent(human.Count(j.Operations.Attempted, "operation"))
	if !v.Proof.IsZero() {
		return v
	}
	open := max(0, int64(j.Operations.Attempted)-j.Operations.EndedCount())
	w := a.Conclude(
		Waiting,
		WaitingForOperations,
		"",
		"waits for %d of %s; Velero gives up at %s (itemOperationTimeout)",
		open,
		human.Count(j.Operations.Attempted, "operation"),
		human.ClockTime(bound, a.Now),
	)
	if open == 0 && a.quietDuration() > lostPatchQuiet {
		w = a.Conclude(
			Quiet,
			WaitingForOperations,
			"Look into the log of the Velero server: it looks at ended operations every 10 seconds.",
			"%s ended, phase not moved on for %s",
			human.AllOf(j.Operations.Attempted, "operation"),
			a.quietText(),
		)
	}
	return w.withWaits(v.Waits)
}

// hasOpenOperations reports whether operations may still continue that do not depend on the store: the server keeps
// them in memory and asks the plugins (pkg/itemoperationmap, backup_operations_controller.go Reconcile). Velero's own
// data movers read and write the store.
func (a *jobJudge) hasOpenOperations() bool {
	j, carried := a.j, 0
	for i := range j.Volumes {
		if v := &j.Volumes[i]; !v.Kind.IsPodVolume() && v.IsBuiltIn() {
			carried++
		}
	}
	if j.Operations.Attempted > 0 &&
		(int64(j.Operations.Attempted) <= j.Operations.EndedCount() || j.Operations.Attempted <= carried) {
		return false
	}
	waits := a.findWaits(velero.StepOperations)
	return slices.ContainsFunc(
		waits,
		func(w waitCandidate) bool {
			return w.row.Name == velero.WaitOperations && !a.hasLimitPassed(w.latestAt)
		},
	)
}

// judgeFinalizing judges a job whose work is done and which Velero is ending (docs/dev/velero.md#finalizing).
func (a *jobJudge) judgeFinalizing() Verdict {
	j := a.j
	a.noteServer()
	a.noteQuiet()
	a.noteLog()
	if a.quietDuration() > maxFreshItemsAge/2 {
		if v, ok := a.judgeCutOff(); ok {
			return v
		}
	}
	if a.quietDuration() < maxFreshItemsAge {
		return a.judgeProgressing()
	}
	if v, ok := a.judgeHungHook(); ok {
		return v
	}
	v := a.judgeSilent("finalizing for " + a.quietText())
	switch {
	case v.Reason == FinalizingBehind && a.firstFinalizingJob() != nil:
		behind := "finalizing for " + a.quietText() + " behind %s"
		if w, ok := a.judgeBehindStuck(
			a.firstFinalizingJob(),
			FinalizingBehind,
			"one worker finalizes all jobs of a kind",
			behind,
		); ok {
			return w.withWaits(v.Waits)
		}
	case v.state == Quiet && a.quietDuration() < lostPatchQuiet:
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

// judgeCutOff judges a job that waits for its storage location. That is proven only if it can wait for nothing else:
// whatever runs independently of the store continues without it (restore_finalizer_controller.go Reconcile reads the
// store first, then waits).
func (a *jobJudge) judgeCutOff() (Verdict, bool) {
	const doing, advice = "waits to be finalized", "Get the storage location back; Velero tries again by itself."
	if where, proof := a.findLocationOutage(); where != "" {
		other, open := a.findOtherWait()
		switch {
		case open && other.isConfirmed && other.row.Name != velero.WaitBinding && other.row.Name != velero.WaitRewriting:
			a.AddDoubt(
				SourceWatch,
				a.Now,
				"what it waits for now does not need the location; Velero may need it at the end",
			)
			return Verdict{}, false
		case open && !proof.IsZero():
			a.AddDoubt(
				SourceWatch,
				a.Now,
				"it may still be waiting for %s, which goes on without the location",
				other.toWait().Target,
			)
			return a.Conclude(Quiet, LocationUnavailable, advice, "%s: %s", doing, where), true
		}
		return a.concludeUnavailable(proof, advice, "%s: %s", doing, where), true
	}
	name := a.j.StorageLocation
	if a.j.Kind != job.Backup || name == "" || len(a.world.Locations) == 0 || a.world.Listed.Locations != FullyListed ||
		a.world.Locations[name].Name != "" {
		return Verdict{}, false
	}
	// The finalizer gets the location first, and retries forever (backup_finalizer_controller.go Reconcile).
	fact := a.AddSupport(SourceWatch, a.Now, "storage location %s does not exist", name)
	return a.proveStuck(
		ProveRefused(fact),
		LocationUnavailable,
		"Create storage location "+name+" again; Velero tries again by itself and then ends the job. Neither a "+
			"restart nor a touch of it helps.",
		"%s: storage location %s does not exist",
		doing,
		name,
	), true
}

// findOtherWait returns what a job being finalized may be waiting for besides its store, preferably a wait that is
// shown.
func (a *jobJudge) findOtherWait() (other waitCandidate, open bool) {
	for _, w := range a.findWaits(velero.StepFinalizing) {
		switch {
		case w.row.Name == velero.WaitObjectStore, w.row.Name == velero.WaitLastPatch, a.hasLimitPassed(w.latestAt):
			continue
		case w.row.Name == velero.WaitFinalizer && a.firstFinalizingJob() != nil &&
			!Judge(a.firstFinalizingJob(), *a.world).Proof.IsZero():
			continue // the finalizer leaves that job and tries this one
		case w.row.Name == velero.WaitRewriting && a.storeOutageDuration() >= minLastingOutage:
			continue // the backup's contents are read from the store and written back to it
		}
		if !open || w.isConfirmed && !other.isConfirmed {
			other, open = w, true
		}
	}
	return other, open
}

// storeOutageDuration returns how long the job's location has not been read and the job has not moved.
func (a *jobJudge) storeOutageDuration() time.Duration {
	name := a.j.StorageLocation
	if a.j.Kind == job.Restore {
		name = a.world.LocationByBackup[a.j.BackupName]
	}
	return min(a.quietDuration(), a.Now.Sub(job.LatestTime(a.world.Locations[name].LastSynced)))
}

// firstFinalizingJob returns the job of the same kind that has been finalizing for longest.
func (a *jobJudge) firstFinalizingJob() *job.Job {
	var first *job.Job
	for _, o := range a.world.Jobs {
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
