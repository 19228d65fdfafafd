package action

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// describe fills in what the plan does, does not do, and leads to.
func (p *Plan) describe(e *Evidence) {
	p.Will = append(
		p.Will,
		fmt.Sprintf(
			"change the phase of %s %s/%s from %s to %s, only if nothing has changed it since",
			p.Kind.Word(),
			p.Namespace,
			p.Name,
			orNone(p.From),
			p.To,
		),
	)
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
	p.WillNot = append(p.WillNot, "recover the item and hook counts of the lost update")
	if p.Kind == job.Restore && e.owner() != ownerAlive && e.mayHaveHooks() {
		// The hook tracker is in memory, and an empty one counts as complete
		// (internal/hook/hook_tracker.go IsComplete).
		p.WillNot = append(
			p.WillNot,
			"run hooks that have not run: the restarted server has forgotten them, and ends the restore without them",
		)
	}
	if p.Kind == job.Backup {
		p.WillNot = append(
			p.WillNot,
			"restore the volume snapshot counts of the lost patch",
			"make the server forget it before it ends: until then Velero refuses to delete it, unless you restart the server",
		)
	}
}

func (p *Plan) describeEnd(e *Evidence) {
	p.WillNot = append(p.WillNot, "be reversible: a final phase stays")
	if moving := e.moving(); len(moving) > 0 {
		p.WillNot = append(
			p.WillNot,
			fmt.Sprintf(
				"stop %s, or remove snapshots and other leftovers",
				human.Plural(len(moving), "volume that has not ended", "volumes that have not ended"),
			),
		)
	} else {
		p.WillNot = append(p.WillNot, "remove snapshots, data or objects that were left behind")
	}
	if p.Kind == job.Backup {
		p.describeEndedBackup(e)
	} else {
		p.describeEndedRestore(e)
	}
	if len(e.Server.Pods) == 0 && p.From == velero.PhaseInProgress && p.To == velero.PhasePartiallyFailed {
		p.Then = append(p.Then, "a server that comes back leaves it as it is (otherwise it would mark it Failed)")
	}
}

func (p *Plan) describeEndedBackup(e *Evidence) {
	begun := e.Job.Stage != job.StageQueued
	if e.owner() == ownerAlive && begun {
		p.WillNot = append(
			p.WillNot,
			"make the server forget it: Velero may refuse to delete it until the server restarts",
		)
	}
	if begun {
		p.WillNot = append(p.WillNot, "change the copy of it in the object store, which other clusters may read")
	}
	if diagnosis.Undeletable(e.Job) {
		p.Then = append(
			p.Then,
			"Velero cannot delete it, because it names no storage location, and never expires it; to remove it: "+deleteCommand(
				e,
				p.request,
			),
		)
	}
	if begun && p.To == velero.PhaseFailed {
		// velero-io main, restore_controller.go fetchBackupInfo; up to 1.18.3 a named backup may have any phase.
		p.Then = append(
			p.Then,
			"Velero versions after 1.18 cannot restore from it: they accept only Completed and PartiallyFailed backups; "+
				"in any version it may be incomplete",
		)
	}
	if e.olderFiles() {
		p.Then = append(
			p.Then,
			"the object store holds an older backup of this name: deleting this one through Velero, or its expiry, "+
				"deletes the older one's files",
		)
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
		p.Then = append(
			p.Then,
			"the object store holds results of an older restore of this name: deleting this one deletes those",
		)
	}
}

func (finalizeAction) changes(
	p *Plan,
	o *unstructured.Unstructured,
	s stamp,
) (ops []operation, notes [][2]string) {
	if status, _, _ := unstructured.NestedMap(o.Object, "status"); status == nil {
		ops = append(ops, operation{"add", "/status", map[string]any{}})
	}
	ops = append(ops, operation{"add", "/status/phase", p.To})
	for _, f := range p.Set {
		ops = append(ops, operation{"add", "/status/" + f.Name, f.Value})
	}
	if p.Effect() == End {
		at := s.at.UTC().Format(time.RFC3339)
		ops = append(
			ops,
			operation{"add", "/status/completionTimestamp", at},
			operation{
				"add",
				"/status/failureReason",
				fmt.Sprintf("%s (finalized by %s with veltui at %s)", p.Reason, cmp.Or(s.by, "an unknown user"), at),
			},
		)
	}
	return ops, [][2]string{{"-from", p.From}, {"-to", p.To}}
}

// observe checks for at least one sync period whether the phase holds: Velero's server
// may overwrite it, and its backup sync may remove a backup that is not in the object store.
func (finalizeAction) observe(ctx context.Context, x *execution, late bool) error {
	if _, err := x.readSubject(ctx); err != nil {
		return err
	}
	held, over := x.plan.holds(x.out.Phase)
	switch {
	case !held:
		return x.stop(Reverted, "somebody changed it to %s: a Velero server was still working on it", x.out.Phase)
	case over && x.observed():
		return x.stop(Settled, "it is %s, and stayed so for %s", x.out.Phase, human.Duration(x.f.o.Observe))
	case !over && late:
		return x.stop(Moving, "it is %s; Velero did not end it within %s", x.out.Phase, human.Duration(x.limit()))
	}
	return nil
}

// onward are the phases that may follow each other, in order.
var onward = []string{
	velero.PhaseWaiting,
	velero.PhaseWaitingPartly,
	velero.PhaseFinalizing,
	velero.PhaseFinalizingPartly,
	velero.PhaseCompleted,
	velero.PhasePartiallyFailed,
	velero.PhaseFailed,
}

// holds reports whether a phase follows from the plan, and whether it is the last.
func (p *Plan) holds(phase string) (held, over bool) {
	if p.Effect() == End {
		return phase == p.To, phase == p.To
	}
	from := slices.Index(onward, p.To)
	// The partly failed form of a phase may follow the plain one, but not the other way round.
	return from >= 0 && slices.Index(onward, phase) >= from, velero.TerminalPhase(phase)
}
