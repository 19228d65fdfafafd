package finalize

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// describe puts into plain words what the plan does, does not, and leads to.
func (p *Plan) describe(e *Evidence) {
	from := p.From
	if from == "" {
		from = "no phase"
	}
	p.Will = append(p.Will, fmt.Sprintf("write %s over %s on %s %s/%s, only if nothing has changed it since", p.To, from, word(p.Kind), p.Namespace, p.Name))
	for _, f := range p.Set {
		p.Will = append(p.Will, fmt.Sprintf("write %s %d", f.Name, f.Value))
	}
	if p.Action == End {
		p.Will = append(p.Will, "write completionTimestamp (now) and failureReason ("+p.Reason+")")
	}
	p.Will = append(p.Will, "note in annotations and an Event who did it, when, from and to which phase, and why")
	if p.Action == Nudge {
		p.describeNudge(e)
	} else {
		p.describeEnd(e)
	}
	if p.Kind == job.Backup && len(e.Queued) > 0 {
		p.Then = append(p.Then, "backups that wait in the queue may start: "+some(e.Queued, 5))
	}
}

func (p *Plan) describeNudge(e *Evidence) {
	if p.To == velero.PhaseWaiting || p.To == velero.PhaseWaitingPartly {
		open := e.Counts.Operations.Attempted - e.Counts.Operations.Completed - e.Counts.Operations.Failed
		p.Then = append(p.Then, fmt.Sprintf("Velero waits for %s, then finalizes it", count(open, "operation", "operations")))
	}
	end := velero.PhaseCompleted
	if p.To == velero.PhaseFinalizingPartly || p.To == velero.PhaseWaitingPartly {
		end = velero.PhasePartiallyFailed
	}
	p.Then = append(p.Then, "Velero's own finalizer does what is left and ends it as "+end+", in a minute as a rule")
	p.WillNot = append(p.WillNot, "bring back the item and hook counts that the lost patch carried")
	if p.Kind == job.Backup {
		p.WillNot = append(p.WillNot, "bring back the counts of volume snapshots that the lost patch carried",
			"free the server's memory of it before it ends: until then a deletion of it is refused, else a restart of the server frees it")
	}
}

func (p *Plan) describeEnd(e *Evidence) {
	p.WillNot = append(p.WillNot, "make undone what was done: a final phase is never left again")
	if moving := e.moving(); len(moving) > 0 {
		p.WillNot = append(p.WillNot, fmt.Sprintf("stop %s still moving, nor remove snapshots or what else was left behind", count(len(moving), "volume that is", "volumes that are")))
	} else {
		p.WillNot = append(p.WillNot, "remove snapshots, data or objects that were left behind")
	}
	if p.Kind == job.Backup {
		if e.owner() == ownerAlive {
			p.WillNot = append(p.WillNot, "free the server's memory of it: a deletion of it may be refused until the server restarts")
		}
		if e.Job.Phase != "" && e.Job.Phase != velero.PhaseNew && e.Job.Phase != velero.PhaseQueued && e.Job.Phase != velero.PhaseReadyToStart {
			p.WillNot = append(p.WillNot, "change a copy of it in the object store, which other clusters may read")
		}
		if e.Job.ScheduleName != "" {
			p.Then = append(p.Then, "schedule "+e.Job.ScheduleName+" may make its next backup again")
		}
	} else {
		p.WillNot = append(p.WillNot, "take back what was restored so far")
	}
	if len(e.Server.Running) == 0 && p.From == velero.PhaseInProgress && p.To == velero.PhasePartiallyFailed {
		p.Then = append(p.Then, "a server that comes back leaves it as it is (it would have marked it Failed)")
	}
}

func some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
