package diagnosis

import (
	"time"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// finalizing: all work is done, Velero ends the job (velero-facts 3.9, 6.3).
func (a *assessment) finalizing() Verdict {
	j := a.j
	a.noteServer()
	a.noteQuiet()
	where, certain := a.down()
	if where != "" && a.quiet() > settleGrace {
		may := ""
		if !certain {
			may = ", where its backup may lie"
		}
		return a.conclude(Stuck, LocationUnavailable, "Get the storage location back; Velero tries again by itself and then ends the job.",
			"waits to be finalized: %s%s", where, may)
	}
	if a.quiet() < freshItems {
		return a.progressing()
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
			"finalizing for %s, which takes seconds as a rule", a.quietWords())
	}
	hooks, reason := "hooks in annotations of pods were not looked at", FinalizerStalled
	if hasHooks(j) {
		a.supports(sourceWatch, a.env.Now, "the restore asks for hooks, which Velero waits for without limit")
		hooks, reason = "its hooks may never end", HookHung
	} else {
		a.doubts(sourceWatch, a.env.Now, "whether pods ask for hooks by annotation was not looked at")
	}
	return a.conclude(Stuck, reason, "If an exec hook never ended (Velero issues 9744, 9749), only a restart of the server helps; it goes on with finalizing.",
		"finalizing for %s; %s", a.quietWords(), hooks)
}

// finalizingLimit is how long finalizing may be quiet.
func (a *assessment) finalizingLimit() time.Duration {
	if a.j.Kind == job.Backup {
		return lostPatchQuiet
	}
	rounds := (max(1, len(a.j.Volumes)) + 2) / 3
	return time.Duration(rounds)*velero.ResourceTimeout(a.j.Object, a.env.Server.Flags) + settleGrace
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
