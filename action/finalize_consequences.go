package action

import (
	"fmt"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// describe puts into plain words what the plan does, does not, and leads to.
func (p *Plan) describe(e *Evidence) {
	from := p.From
	if from == "" {
		from = "no phase"
	}
	p.Will = append(p.Will, fmt.Sprintf("write %s over %s on %s %s/%s, only if nothing has changed it since", p.To, from, p.Kind.Word(), p.Namespace, p.Name))
	for _, f := range p.Set {
		p.Will = append(p.Will, fmt.Sprintf("write %s %d", f.Name, f.Value))
	}
	if p.Effect() == End {
		p.Will = append(p.Will, "write completionTimestamp (now) and failureReason ("+p.Reason+")")
	}
	p.Will = append(p.Will, "note in annotations and an Event who did it, when, from and to which phase, and why")
	if p.Effect() == Nudge {
		p.describeNudge(e)
	} else {
		p.describeEnd(e)
	}
	if p.Kind == job.Backup && len(e.Queued) > 0 {
		p.Then = append(p.Then, "backups that wait in the queue may start: "+human.List(e.Queued, 5))
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
	p.Then = append(p.Then, "Velero's own finalizer does what is left and ends it as "+end+", normally within a minute")
	p.WillNot = append(p.WillNot, "bring back the item and hook counts that the lost patch carried")
	if p.Kind == job.Restore && e.owner() != ownerAlive && e.mayHaveHooks() {
		// The hook tracker is in memory, and an empty one counts as complete
		// (internal/hook/hook_tracker.go IsComplete).
		p.WillNot = append(p.WillNot, "run hooks that had not run: the server that restarted has forgotten them, and ends the restore without them")
	}
	if p.Kind == job.Backup {
		p.WillNot = append(p.WillNot, "bring back the counts of volume snapshots that the lost patch carried",
			"free the server's memory of it before it ends: until then a deletion of it is refused, else a restart of the server frees it")
	}
}

func (p *Plan) describeEnd(e *Evidence) {
	p.WillNot = append(p.WillNot, "make undone what was done: a final phase is never left again")
	if moving := e.moving(); len(moving) > 0 {
		p.WillNot = append(p.WillNot, fmt.Sprintf("stop %s still moving, nor remove snapshots or what else was left behind", human.Plural(len(moving), "volume that is", "volumes that are")))
	} else {
		p.WillNot = append(p.WillNot, "remove snapshots, data or objects that were left behind")
	}
	if p.Kind == job.Backup {
		p.describeEndedBackup(e)
	} else {
		p.describeEndedRestore(e)
	}
	if len(e.Server.Running) == 0 && p.From == velero.PhaseInProgress && p.To == velero.PhasePartiallyFailed {
		p.Then = append(p.Then, "a server that comes back leaves it as it is (it would have marked it Failed)")
	}
}

// describeEndedBackup says what a final phase means for a backup that Velero did
// not end itself.
func (p *Plan) describeEndedBackup(e *Evidence) {
	begun := e.Job.Stage != job.StageQueued
	if e.owner() == ownerAlive && begun {
		p.WillNot = append(p.WillNot, "free the server's memory of it: a deletion of it may be refused until the server restarts")
	}
	if begun {
		p.WillNot = append(p.WillNot, "change a copy of it in the object store, which other clusters may read")
	}
	if undeletable(e) {
		p.Then = append(p.Then, "Velero cannot delete it, because it names no storage location, and never expires it: remove it with "+deleteCommand(e, p.request))
	}
	if begun && p.To == velero.PhaseFailed {
		// velero-io main, restore_controller.go fetchBackupInfo; up to 1.18.3 a
		// named backup may have any phase.
		p.Then = append(p.Then, "it cannot be used for a restore with Velero versions after 1.18, which restore only from Completed and PartiallyFailed backups; what is stored of it may be incomplete in any version")
	}
	if e.olderFiles() {
		p.Then = append(p.Then, "an older backup of this name is in the object store: deleting this one through Velero, or its expiry, deletes the older one's files")
	}
	if e.Job.ScheduleName != "" {
		p.Then = append(p.Then, "schedule "+e.Job.ScheduleName+" may make its next backup again")
	}
}

func (p *Plan) describeEndedRestore(e *Evidence) {
	p.WillNot = append(p.WillNot, "take back what was restored so far")
	if e.Job.Stage != job.StageQueued && e.mayHaveHooks() {
		p.WillNot = append(p.WillNot, "run hooks that have not run")
	}
	if e.olderFiles() {
		p.Then = append(p.Then, "results of an older restore of this name are in the object store: deleting this one deletes those")
	}
}
