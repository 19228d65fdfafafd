package diagnosis

import (
	"time"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// finalizing: all work is done, Velero ends the job (docs/velero.md#finalizing).
func (a *assessment) finalizing() Verdict {
	j := a.j
	a.noteServer()
	a.noteQuiet()
	a.noteLog()
	if where := a.down(); where != "" && a.quiet() > settleGrace {
		return a.conclude(Stuck, LocationUnavailable, "Get the storage location back; Velero tries again by itself and then ends the job.",
			"waits to be finalized: %s", where)
	}
	if name := j.StorageLocation; j.Kind == job.Backup && a.quiet() > settleGrace && len(a.env.Locations) > 0 && a.env.Locations[name].Name == "" && name != "" {
		// The finalizer gets the location first, and tries again for ever
		// (backup_finalizer_controller.go Reconcile).
		return a.conclude(Stuck, LocationUnavailable, "Create storage location "+name+" again; Velero tries again by itself and then ends the job. Neither a restart nor a touch of it helps.",
			"waits to be finalized: storage location %s does not exist", name)
	}
	if a.quiet() < freshItems {
		return a.progressing()
	}
	if v, ok := a.hungHook(); ok {
		return v
	}
	if o := a.finalizesFirst(); o != nil {
		a.supports(sourceWatch, o.QuietSince(), "%s is being finalized too, for %s; Velero does one at a time", o.Name, a.ago(o.QuietSince()))
	}
	limit := a.finalizingLimit()
	if a.quiet() < limit {
		doing := "Velero stores the final state"
		if j.Kind == job.Restore {
			doing = "Velero waits for volumes to be bound and for hooks"
		}
		return a.conclude(Waiting, Finalizing, "", "finalizing for %s; %s", a.quietWords(), doing)
	}
	if o := a.finalizesFirst(); o != nil {
		return a.conclude(Stuck, FinalizingBehind, "Look at "+o.Name+" first: one worker finalizes all jobs of a kind.",
			"finalizing for %s, maybe behind %s", a.quietWords(), o.Name)
	}
	if j.Kind == job.Backup {
		return a.conclude(Stuck, FinalizerStalled, "Touch an annotation of it to make Velero look again. If that does not help, restart the server: it goes on with finalizing.",
			"finalizing for %s, which normally takes seconds", a.quietWords()).by(Wake)
	}
	return a.restoreFinalizing()
}

// restoreFinalizing: a restore's finalizer is silent for longer than binding its
// volumes explains.
func (a *assessment) restoreFinalizing() Verdict {
	asked := hasHooks(a.j)
	if asked {
		a.supports(sourceWatch, a.env.Now, "the restore asks for hooks")
	} else {
		a.doubts(sourceWatch, a.env.Now, "veltui has not checked whether pods ask for hooks by annotation")
	}
	const lost = " A restart of the server ends the restore with its hooks never run."
	if a.version().BoundsRestoreHooks() {
		return a.conclude(Stuck, FinalizerStalled, "Look into the log of the Velero server for what it waits for."+lost,
			"finalizing for %s, longer than Velero waits for volumes and hooks", a.quietWords())
	}
	if asked || a.quiet() >= unboundedQuiet {
		return a.conclude(Stuck, HookHung, "If an exec hook never ended (Velero issues 9744, 9749), end it in its pod."+lost,
			"finalizing for %s; its hooks may never end, and this Velero waits without limit", a.quietWords())
	}
	return a.conclude(Quiet, Finalizing, "Look whether a hook still runs in one of the restored pods."+lost,
		"finalizing for %s; this Velero waits for hooks without limit", a.quietWords())
}

// finalizingLimit is how long finalizing may be quiet: three volumes are bound at
// a time, each for up to --resource-timeout, and then hooks are waited for
// (pkg/controller/restore_finalizer_controller.go). How many volumes there are is
// not known where a CSI snapshot or the storage itself restores them.
func (a *assessment) finalizingLimit() time.Duration {
	if a.j.Kind == job.Backup {
		return lostPatchQuiet
	}
	flags := a.env.Server.Flags
	return max(bindingLimit(a.j, flags)+velero.ResourceTimeout(a.j.Object, flags)+settleGrace, unseenQuiet)
}

// finalizesFirst is a job of the same kind that has been finalizing for longer.
func (a *assessment) finalizesFirst() *job.Job {
	for _, o := range a.env.Jobs {
		if o.UID != a.j.UID && o.Kind == a.j.Kind && job.StageOf(o.Phase) == job.StageFinalizing &&
			o.QuietSince().Before(a.j.QuietSince()) {
			return o
		}
	}
	return nil
}
