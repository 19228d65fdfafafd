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

// describeFinalize fills in what the plan does, what it does not do, and what follows.
func (p *Plan) describeFinalize(e *Evidence) {
	p.Will = append(
		p.Will,
		fmt.Sprintf(
			"change the phase of %s %s/%s from %s to %s, only if nothing has changed it since",
			p.Kind.Noun(),
			p.Namespace,
			p.Name,
			phaseOrNone(p.FromPhase),
			p.ToPhase,
		),
	)
	for _, f := range p.StatusFields {
		p.Will = append(p.Will, fmt.Sprintf("set %s to %d", f.Name, f.Value))
	}
	if p.Effect() == EffectEnd {
		p.Will = append(p.Will, "set completionTimestamp to now, and failureReason to: "+p.Reason)
	}
	p.Will = append(p.Will, "record in annotations and an Event who did it, when, why, and both phases")
	if p.Effect() == EffectNudge {
		p.describeNudge(e)
	} else {
		p.describeEnd(e)
	}
	if p.Kind == job.Backup && len(e.QueuedBackups) > 0 {
		p.Afterwards = append(p.Afterwards, "backups in the queue may start: "+human.JoinNames(e.QueuedBackups, 5))
	}
}

func (p *Plan) describeNudge(e *Evidence) {
	if p.ToPhase == velero.PhaseWaitingForPluginOperations ||
		p.ToPhase == velero.PhaseWaitingForPluginOperationsPartiallyFailed {
		open := e.StoredCounts.Operations.Attempted - e.StoredCounts.Operations.Completed - e.StoredCounts.Operations.Failed
		p.Afterwards = append(
			p.Afterwards,
			fmt.Sprintf("Velero waits for %s, then finalizes it", human.Count(open, "operation")),
		)
	}
	end := velero.PhaseCompleted
	if p.ToPhase == velero.PhaseFinalizingPartiallyFailed ||
		p.ToPhase == velero.PhaseWaitingForPluginOperationsPartiallyFailed {
		end = velero.PhasePartiallyFailed
	}
	p.Afterwards = append(
		p.Afterwards,
		"Velero's finalizer does the rest and sets it to "+end+", normally within a minute",
	)
	p.WillNot = append(p.WillNot, "recover the item and hook counts of the lost update")
	if p.Kind == job.Restore && e.findJobOwner() != ownerAlive && e.mayHaveHooks() {
		// The hook tracker is in memory, and an empty tracker counts as complete (internal/hook/hook_tracker.go
		// IsComplete).
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
	if moving := e.unendedVolumes(); len(moving) > 0 {
		p.WillNot = append(
			p.WillNot,
			fmt.Sprintf(
				"stop %s, or remove snapshots and other leftovers",
				human.CountForms(len(moving), "volume that has not ended", "volumes that have not ended"),
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
	if len(e.Server.Pods) == 0 && p.FromPhase == velero.PhaseInProgress && p.ToPhase == velero.PhasePartiallyFailed {
		p.Afterwards = append(p.Afterwards, "a server that comes back leaves it as it is (otherwise it would mark it Failed)")
	}
}

func (p *Plan) describeEndedBackup(e *Evidence) {
	begun := e.Job.Stage != job.StageQueued
	if e.findJobOwner() == ownerAlive && begun {
		p.WillNot = append(
			p.WillNot,
			"make the server forget it: Velero may refuse to delete it until the server restarts",
		)
	}
	if begun {
		p.WillNot = append(p.WillNot, "change the copy of it in the object store, which other clusters may read")
	}
	if diagnosis.IsUndeletable(e.Job) {
		p.Afterwards = append(
			p.Afterwards,
			"Velero cannot delete it, because it names no storage location, and never expires it; to remove it: "+deleteCommand(
				e,
				p.request,
			),
		)
	}
	if begun && p.ToPhase == velero.PhaseFailed {
		// velero-io main, restore_controller.go fetchBackupInfo; up to 1.18.3 a named backup may have any phase.
		p.Afterwards = append(
			p.Afterwards,
			"Velero versions after 1.18 cannot restore from it: they accept only Completed and PartiallyFailed backups; "+
				"in any version it may be incomplete",
		)
	}
	if e.hasOlderFiles() {
		p.Afterwards = append(
			p.Afterwards,
			"the object store holds an older backup of this name: deleting this one through Velero, or its expiry, "+
				"deletes the older one's files",
		)
	}
	if e.Job.ScheduleName != "" {
		p.Afterwards = append(p.Afterwards, "schedule "+e.Job.ScheduleName+" may create its next backup")
	}
}

func (p *Plan) describeEndedRestore(e *Evidence) {
	p.WillNot = append(p.WillNot, "remove what was restored so far")
	if e.Job.Stage != job.StageQueued && e.mayHaveHooks() {
		p.WillNot = append(p.WillNot, "run hooks that have not run")
	}
	if e.hasOlderFiles() {
		p.Afterwards = append(
			p.Afterwards,
			"the object store holds results of an older restore of this name: deleting this one deletes those",
		)
	}
}

func (finalizeAction) buildChanges(
	p *Plan,
	o *unstructured.Unstructured,
	s attemptStamp,
) (ops []patchOperation, notes [][2]string) {
	if status, _, _ := unstructured.NestedMap(o.Object, "status"); status == nil {
		ops = append(ops, patchOperation{"add", "/status", map[string]any{}})
	}
	ops = append(ops, patchOperation{"add", "/status/phase", p.ToPhase})
	for _, f := range p.StatusFields {
		ops = append(ops, patchOperation{"add", "/status/" + f.Name, f.Value})
	}
	if p.Effect() == EffectEnd {
		at := s.at.UTC().Format(time.RFC3339)
		ops = append(
			ops,
			patchOperation{"add", "/status/completionTimestamp", at},
			patchOperation{
				"add",
				"/status/failureReason",
				fmt.Sprintf("%s (finalized by %s with veltui at %s)", p.Reason, cmp.Or(s.by, "an unknown user"), at),
			},
		)
	}
	return ops, [][2]string{{"-from", p.FromPhase}, {"-to", p.ToPhase}}
}

// observeEffect checks for at least one sync period whether the phase holds: Velero's server may overwrite it, and
// its backup sync may delete a backup that is not in the object store.
func (finalizeAction) observeEffect(ctx context.Context, x *execution, late bool) error {
	if _, err := x.readSubject(ctx); err != nil {
		return err
	}
	held, over := x.plan.judgePhase(x.outcome.Phase)
	switch {
	case !held:
		return x.endExecution(
			StateReverted,
			"somebody changed it to %s: a Velero server was still working on it",
			x.outcome.Phase,
		)
	case over && x.hasObservedEnough():
		return x.endExecution(
			StateSettled,
			"it is %s, and stayed so for %s",
			x.outcome.Phase,
			human.Duration(x.engine.options.ObserveFor),
		)
	case !over && late:
		return x.endExecution(
			StatePending,
			"it is %s; Velero did not end it within %s",
			x.outcome.Phase,
			human.Duration(x.observeTimeout()),
		)
	}
	return nil
}

// phaseOrder are the phases that may follow one another, in order.
var phaseOrder = []string{
	velero.PhaseWaitingForPluginOperations,
	velero.PhaseWaitingForPluginOperationsPartiallyFailed,
	velero.PhaseFinalizing,
	velero.PhaseFinalizingPartiallyFailed,
	velero.PhaseCompleted,
	velero.PhasePartiallyFailed,
	velero.PhaseFailed,
}

// judgePhase reports whether a phase follows from the plan, and whether it is final.
func (p *Plan) judgePhase(phase string) (held, over bool) {
	if p.Effect() == EffectEnd {
		return phase == p.ToPhase, phase == p.ToPhase
	}
	from := slices.Index(phaseOrder, p.ToPhase)
	// The partly failed form of a phase may follow the plain one, but not the other way round.
	return from >= 0 && slices.Index(phaseOrder, phase) >= from, velero.IsTerminalPhase(phase)
}
