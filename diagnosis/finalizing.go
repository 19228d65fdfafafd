package diagnosis

import (
	"cmp"

	"github.com/veltui/veltui/job"
)

// finalizing: all work is done, Velero ends the job (docs/dev/velero.md#finalizing).
func (a *assessment) finalizing() Verdict {
	j := a.j
	a.noteServer()
	a.noteQuiet()
	a.noteLog()
	if a.quiet() > freshItems/2 {
		if v, ok := a.cutOff("waits to be finalized"); ok {
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
	case v.Reason == FinalizingBehind:
		behind := "finalizing for " + a.quietWords() + " behind %s"
		if w, ok := a.behindStuck(a.finalizesFirst(), FinalizingBehind, "one worker finalizes all jobs of a kind", behind); ok {
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

// cutOff: the job needs its storage location, and does without it only wait.
func (a *assessment) cutOff(doing string) (Verdict, bool) {
	const advice = "Get the storage location back; Velero tries again by itself."
	if where, proof := a.down(); where != "" {
		return a.unavailable(proof, advice, "%s: %s", doing, where), true
	}
	name := a.j.StorageLocation
	if a.j.Kind != job.Backup || name == "" || len(a.env.Locations) == 0 || a.env.Locations[name].Name != "" {
		return Verdict{}, false
	}
	// The finalizer gets the location first, and tries again for ever
	// (backup_finalizer_controller.go Reconcile).
	fact := a.Supports(SourceWatch, a.Now, "storage location %s does not exist", name)
	return a.stuck(ByRefusal(fact), LocationUnavailable, "Create storage location "+name+" again; Velero tries again by itself and then ends the job. Neither a restart nor a touch of it helps.",
		"%s: storage location %s does not exist", doing, name), true
}

// finalizesFirst is the job of the same kind that has been finalizing for longest.
func (a *assessment) finalizesFirst() *job.Job {
	var first *job.Job
	for _, o := range a.env.Jobs {
		if o.UID == a.j.UID || o.Kind != a.j.Kind || job.StageOf(o.Phase) != job.StageFinalizing || !o.QuietSince().Before(a.j.QuietSince()) {
			continue
		}
		if first == nil || o.QuietSince().Before(first.QuietSince()) {
			first = o
		}
	}
	return first
}
