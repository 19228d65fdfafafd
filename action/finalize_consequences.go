package action

import (
	"fmt"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// describe puts into plain words what the plan does, does not, and leads to.
func (p *Plan) describe(e *Evidence) {
	p.Will = append(p.Will, fmt.Sprintf("change the phase of %s %s/%s from %s to %s, only if nothing has changed it since", p.Kind.Word(), p.Namespace, p.Name, orNone(p.From), p.To))
	for _, f := range p.Set {
		p.Will = append(p.Will, fmt.Sprintf("set %s to %d", f.Name, f.Value))
	}
	if p.Effect() == End {
		p.Will = append(p.Will, "set completionTimestamp to now, and failureReason to: "+p.Reason)
	}
	p.Will = append(p.Will, "record in annotations and an Event who did it, when, why, and both phases")
	if p.Effect() == Nudge {
		p.describeNudge(e)
	} else {
		p.describeEnd(e)
	}
	if p.Kind == job.Backup && len(e.Queued) > 0 {
		p.Then = append(p.Then, "backups in the queue may start: "+human.List(e.Queued, 5))
	}
}

func (p *Plan) describeNudge(e *Evidence) {
	if p.To == velero.PhaseWaiting || p.To == velero.PhaseWaitingPartly {
		open := e.Counts.Operations.Attempted - e.Counts.Operations.Completed - e.Counts.Operations.Failed
		p.Then = append(p.Then, fmt.Sprintf("Velero waits for %s, then finalizes it", human.Count(open, "operation")))
	}
	end := velero.PhaseCompleted
	if p.To == velero.PhaseFinalizingPartly || p.To == velero.PhaseWaitingPartly {
		end = velero.PhasePartiallyFailed
	}
	p.Then = append(p.Then, "Velero's finalizer does the rest and sets it to "+end+", normally within a minute")
	p.WillNot = append(p.WillNot, "restore the item and hook counts of the lost patch")
	if p.Kind == job.Restore && e.owner() != ownerAlive && e.mayHaveHooks() {
		// The hook tracker is in memory, and an empty one counts as complete
		// (internal/hook/hook_tracker.go IsComplete).
		p.WillNot = append(p.WillNot, "run hooks that have not run: the restarted server has forgotten them, and ends the restore without them")
	}
	if p.Kind == job.Backup {
		p.WillNot = append(p.WillNot, "restore the volume snapshot counts of the lost patch",
			"make the server forget it before it ends: until then Velero refuses to delete it, unless you restart the server")
	}
}

func (p *Plan) describeEnd(e *Evidence) {
	p.WillNot = append(p.WillNot, "be reversible: a final phase stays")
	if moving := e.moving(); len(moving) > 0 {
		p.WillNot = append(p.WillNot, fmt.Sprintf("stop %s, or remove snapshots and other leftovers", human.Plural(len(moving), "volume that has not ended", "volumes that have not ended")))
	} else {
		p.WillNot = append(p.WillNot, "remove snapshots, data or objects that were left behind")
	}
	if p.Kind == job.Backup {
		p.describeEndedBackup(e)
	} else {
		p.describeEndedRestore(e)
	}
	if len(e.Server.Running) == 0 && p.From == velero.PhaseInProgress && p.To == velero.PhasePartiallyFailed {
		p.Then = append(p.Then, "a server that comes back leaves it as it is (otherwise it would mark it Failed)")
	}
}

// describeEndedBackup says what a final phase means for a backup that Velero did
// not end itself.
func (p *Plan) describeEndedBackup(e *Evidence) {
	begun := e.Job.Stage != job.StageQueued
	if e.owner() == ownerAlive && begun {
		p.WillNot = append(p.WillNot, "make the server forget it: Velero may refuse to delete it until the server restarts")
	}
	if begun {
		p.WillNot = append(p.WillNot, "change the copy of it in the object store, which other clusters may read")
	}
	if undeletable(e) {
		p.Then = append(p.Then, "Velero cannot delete it, because it names no storage location, and never expires it; to remove it: "+deleteCommand(e, p.request))
	}
	if begun && p.To == velero.PhaseFailed {
		// velero-io main, restore_controller.go fetchBackupInfo; up to 1.18.3 a
		// named backup may have any phase.
		p.Then = append(p.Then, "Velero versions after 1.18 cannot restore from it: they accept only Completed and PartiallyFailed backups; in any version it may be incomplete")
	}
	if e.olderFiles() {
		p.Then = append(p.Then, "the object store holds an older backup of this name: deleting this one through Velero, or its expiry, deletes the older one's files")
	}
	if e.Job.ScheduleName != "" {
		p.Then = append(p.Then, "schedule "+e.Job.ScheduleName+" may create its next backup")
	}
}

func (p *Plan) describeEndedRestore(e *Evidence) {
	p.WillNot = append(p.WillNot, "remove what was restored so far")
	if e.Job.Stage != job.StageQueued && e.mayHaveHooks() {
		p.WillNot = append(p.WillNot, "run hooks that have not run")
	}
	if e.olderFiles() {
		p.Then = append(p.Then, "the object store holds results of an older restore of this name: deleting this one deletes those")
	}
}
