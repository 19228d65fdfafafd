package diagnosis

import (
	"maps"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// ownerMargin is added to a limit of a volume's owner before the limit counts as passed: node-agents check once a
// minute (preparingMonitorFrequency), and clocks differ.
const ownerMargin = 5 * time.Minute

// actorStatus is what the evidence shows about an actor.
type actorStatus struct {
	// isRunning is true while a process of the actor runs.
	isRunning bool
	// isExpected is true if a process is on its way, or nothing rules that out.
	isExpected bool
	// startedAt is the start of the youngest process, zero if unknown.
	startedAt time.Time
}

// ownerState is a row of Velero's table of owners, and until when the owner's work may continue; zero means without
// end.
type ownerState struct {
	row *velero.PossibleOwner
	actorStatus
	worksUntil time.Time
}

// canContinue reports whether the owner may still continue the volume.
func (o *ownerState) canContinue(now time.Time) bool {
	return o.isExpected || o.isRunning && o.worksUntil.IsZero() || now.Before(o.worksUntil)
}

// findOwners returns the owners that may continue a volume, by Velero's table.
func (c *VolumeContext) findOwners(v *job.Volume) []ownerState {
	version, known := velero.ParseVersion(c.Version)
	if !known {
		version = velero.Version{}
	}
	table := c.OwnerTable
	if table == nil {
		table = velero.OwnerTable()
	}
	rows := velero.FindOwners(table, v.Kind, v.Phase, v.CancelRequested, version)
	found := make([]ownerState, len(rows))
	for i := range rows {
		o := ownerState{row: &rows[i], actorStatus: c.findActorStatus(v, &rows[i])}
		if o.row.Actor == velero.AcceptingAgent && !o.isRunning {
			o.worksUntil = v.LastChanged.Add(agentGrace) // Expose ended with the process
		} else if o.row.Limit != nil {
			o.worksUntil = c.ownerLimitStart(v, &o).Add(o.row.Limit(c.ownerLimits(v)) + ownerMargin)
			if o.isRunning { // a process that has just started checks all open volumes
				o.worksUntil = job.LatestTime(o.worksUntil, o.startedAt.Add(ownerMargin))
			}
		} else if !o.isRunning {
			o.worksUntil = v.LastChanged.Add(agentGrace)
		}
		found[i] = o
	}
	return found
}

func (c *VolumeContext) ownerLimits(v *job.Volume) velero.OwnerLimits {
	limits := velero.OwnerLimits{OperationTimeout: v.OperationTimeout, PrepareTimeout: c.PrepareTimeout}
	for i := range c.Volumes {
		if o := &c.Volumes[i]; o.Node == v.Node && o.Phase == velero.VolumeInProgress {
			limits.ResumedVolumes++
			limits.OperationTimeout = max(limits.OperationTimeout, o.OperationTimeout)
		}
	}
	return limits
}

// ownerLimitStart returns the time from which an owner's limit is counted. A process that started after the last
// write begins again.
func (c *VolumeContext) ownerLimitStart(v *job.Volume, o *ownerState) time.Time {
	switch o.row.LimitStart {
	case velero.FromAccepted:
		return job.LatestTime(v.Accepted, v.LastChanged)
	case velero.FromProcess:
		return job.LatestTime(v.LastChanged, o.startedAt)
	case velero.FromProcessStart:
		if o.isRunning && !o.startedAt.IsZero() {
			return o.startedAt
		}
	}
	return v.LastChanged
}

// findActorStatus returns what is known about the actor of a row.
func (c *VolumeContext) findActorStatus(v *job.Volume, row *velero.PossibleOwner) actorStatus {
	switch row.Actor {
	case velero.MoverPod:
		mover := c.MoverPods[v.Ref()]
		return actorStatus{isRunning: mover.IsAlive(), startedAt: mover.Created}
	case velero.RestoredPod:
		s := c.anyAgentStatus(v, false)
		return actorStatus{
			isRunning:  s.isRunning,
			isExpected: s.isExpected,
		} // other namespaces are not looked at; it waits for an agent
	case velero.AcceptingAgent:
		s := c.agentStatusOn(v.AcceptedBy)
		if v.AcceptedBy == "" || s.isRunning && !v.Accepted.IsZero() && s.startedAt.After(v.Accepted) {
			return actorStatus{}
		}
		return s
	case velero.FirstAgent:
		s := c.agentStatusOn(v.Node)
		if s.isRunning && !v.Started.IsZero() && s.startedAt.After(v.Started) {
			return actorStatus{startedAt: s.startedAt}
		}
		return actorStatus{isRunning: s.isRunning} // an expected process is another one
	case velero.VolumeAgent:
		s := c.agentStatusOn(v.Node)
		s.isExpected = s.isExpected || c.StartingAgents[v.Node] ||
			s.isRunning && row.NeedsOnlyWorker && c.isWorkerBusy(v, v.Node)
		return s
	}
	return c.anyAgentStatus(v, row.NeedsOnlyWorker)
}

// agentStatusOn returns the status of the node-agent on a node; for an unknown node, that of the youngest as long as
// any may run.
func (c *VolumeContext) agentStatusOn(node string) actorStatus {
	if node == "" {
		return actorStatus{
			isRunning:  len(c.AgentRunningSince) > 0,
			isExpected: len(c.StartingAgents) > 0 || len(c.AgentRunningSince) == 0 && !c.hasNoAgent(""),
			startedAt:  job.LatestTime(slices.Collect(maps.Values(c.AgentRunningSince))...),
		}
	}
	since, ready := c.AgentRunningSince[node]
	return actorStatus{isRunning: ready, isExpected: !ready && !c.hasNoAgent(node), startedAt: since}
}

// anyAgentStatus returns the status of the youngest node-agent. An agent is expected while any starts, or while each
// has its only worker busy.
func (c *VolumeContext) anyAgentStatus(v *job.Volume, oneWorker bool) actorStatus {
	s := c.agentStatusOn("")
	busy := oneWorker && s.isRunning
	for node := range c.AgentRunningSince {
		busy = busy && c.isWorkerBusy(v, node)
	}
	s.isExpected = s.isExpected || busy
	return s
}

// isWorkerBusy reports whether the only worker of a node-agent may be exposing another volume of the kind, or has
// just done so (SetupWithManager sets no MaxConcurrentReconciles).
func (c *VolumeContext) isWorkerBusy(v *job.Volume, node string) bool {
	return slices.ContainsFunc(c.Volumes, func(o job.Volume) bool {
		if o.Ref() == v.Ref() || o.Kind != v.Kind || o.AcceptedBy != node || o.Kind.IsPodVolume() {
			return false
		}
		limits := velero.OwnerLimits{OperationTimeout: o.OperationTimeout, PrepareTimeout: c.PrepareTimeout}
		exposing := o.Phase == velero.VolumeAccepted &&
			c.Now.Before(job.LatestTime(o.Accepted, o.LastChanged).Add(velero.ExposeLimit(limits)+ownerMargin))
		return exposing || o.Phase == velero.VolumePrepared && o.QuietDuration(c.Now) < ownerMargin
	})
}

// isOwnerless reports whether all owners that may continue a volume have been gone for longer than their longest
// work.
func (c *VolumeContext) isOwnerless(owners []ownerState) bool {
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(o ownerState) bool { return o.canContinue(c.Now) })
}

// mayAgentRun reports whether unrecognised node-agents may run: one wrote within a margin, or pods of a rollout come
// and go.
func (c *VolumeContext) mayAgentRun(node string) bool {
	for i := range c.Volumes {
		v := &c.Volumes[i]
		here := node == "" || v.Node == node
		if here && c.Now.Sub(v.LastAgentWrite) < ownerMargin {
			return true
		}
	}
	for n, gone := range c.LostAgents {
		if (node == "" || n == node) && c.Now.Sub(gone) < ownerMargin {
			return true
		}
	}
	return false
}
