package diagnosis

import (
	"maps"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// ownerMargin is added to a limit of a volume's owner before it counts as passed: node-agents look once a minute
// (preparingMonitorFrequency), and clocks differ.
const ownerMargin = 5 * time.Minute

// standing is what the evidence shows of an actor.
type standing struct {
	// present is true while one runs.
	present bool
	// coming is true if one is on its way, or nothing tells that none is.
	coming bool
	// since is the start of the youngest process, zero if it is not known.
	since time.Time
}

// owner is a row of Velero's table of owners, and until when its work may go on; zero for without end.
type owner struct {
	row *velero.Owner
	standing
	until time.Time
}

// open reports whether the owner may still carry the volume on.
func (o *owner) open(now time.Time) bool {
	return o.coming || o.present && o.until.IsZero() || now.Before(o.until)
}

// owners are those who may carry a volume on, by Velero's table.
func (c *VolumeContext) owners(v *job.Volume) []owner {
	version, known := velero.ParseVersion(c.Version)
	if !known {
		version = velero.Version{}
	}
	table := c.Owners
	if table == nil {
		table = velero.Owners()
	}
	rows := velero.OwnersOf(table, v.Kind, v.Phase, v.CancelAsked, version)
	found := make([]owner, len(rows))
	for i := range rows {
		o := owner{row: &rows[i], standing: c.standing(v, &rows[i])}
		if o.row.Actor == velero.AcceptingAgent && !o.present {
			o.until = v.Changed.Add(agentGrace) // Expose died with the process
		} else if o.row.Limit != nil {
			o.until = c.ownerFrom(v, &o).Add(o.row.Limit(c.ownerLimits(v)) + ownerMargin)
			if o.present { // a process that has just started looks at all open volumes
				o.until = job.Latest(o.until, o.since.Add(ownerMargin))
			}
		} else if !o.present {
			o.until = v.Changed.Add(agentGrace)
		}
		found[i] = o
	}
	return found
}

func (c *VolumeContext) ownerLimits(v *job.Volume) velero.OwnerLimits {
	limits := velero.OwnerLimits{Operation: v.OperationTimeout, Prepare: c.PrepareTimeout}
	for i := range c.Volumes {
		if o := &c.Volumes[i]; o.Node == v.Node && o.Phase == velero.VolumeInProgress {
			limits.Resumed++
			limits.Operation = max(limits.Operation, o.OperationTimeout)
		}
	}
	return limits
}

// ownerFrom is what an owner's limit is counted from. A process that started after the last write begins anew.
func (c *VolumeContext) ownerFrom(v *job.Volume, o *owner) time.Time {
	switch o.row.From {
	case velero.FromAccepted:
		return job.Latest(v.Accepted, v.Changed)
	case velero.FromProcess:
		return job.Latest(v.Changed, o.since)
	case velero.FromProcessStart:
		if o.present && !o.since.IsZero() {
			return o.since
		}
	}
	return v.Changed
}

// standing is what is known of the actor of a row.
func (c *VolumeContext) standing(v *job.Volume, row *velero.Owner) standing {
	switch row.Actor {
	case velero.MoverPod:
		mover := c.Movers[v.Ref()]
		return standing{present: mover.Alive(), since: mover.Created}
	case velero.RestoredPod:
		s := c.anyAgent(v, false)
		return standing{
			present: s.present,
			coming:  s.coming,
		} // other namespaces are not looked at; it waits for an agent
	case velero.AcceptingAgent:
		s := c.agentOn(v.AcceptedBy)
		if v.AcceptedBy == "" || s.present && !v.Accepted.IsZero() && s.since.After(v.Accepted) {
			return standing{}
		}
		return s
	case velero.FirstAgent:
		s := c.agentOn(v.Node)
		if s.present && !v.Started.IsZero() && s.since.After(v.Started) {
			return standing{since: s.since}
		}
		return standing{present: s.present} // one that comes is another process
	case velero.VolumeAgent:
		s := c.agentOn(v.Node)
		s.coming = s.coming || c.Starting[v.Node] || s.present && row.OneWorker && c.busy(v, v.Node)
		return s
	}
	return c.anyAgent(v, row.OneWorker)
}

// agentOn is the node-agent on a node; an unknown node has the youngest as long as any may run.
func (c *VolumeContext) agentOn(node string) standing {
	if node == "" {
		return standing{
			present: len(c.Agents) > 0,
			coming:  len(c.Starting) > 0 || len(c.Agents) == 0 && !c.agentless(""),
			since:   job.Latest(slices.Collect(maps.Values(c.Agents))...),
		}
	}
	since, ready := c.Agents[node]
	return standing{present: ready, coming: !ready && !c.agentless(node), since: since}
}

// anyAgent is the youngest node-agent. One counts as coming while any starts, or each has its only worker busy.
func (c *VolumeContext) anyAgent(v *job.Volume, oneWorker bool) standing {
	s := c.agentOn("")
	busy := oneWorker && s.present
	for node := range c.Agents {
		busy = busy && c.busy(v, node)
	}
	s.coming = s.coming || busy
	return s
}

// busy reports whether the only worker of a node-agent may be exposing another volume of the kind, or has just done
// so (SetupWithManager sets no MaxConcurrentReconciles).
func (c *VolumeContext) busy(v *job.Volume, node string) bool {
	return slices.ContainsFunc(c.Volumes, func(o job.Volume) bool {
		if o.Ref() == v.Ref() || o.Kind != v.Kind || o.AcceptedBy != node || o.Kind.IsPodVolume() {
			return false
		}
		limits := velero.OwnerLimits{Operation: o.OperationTimeout, Prepare: c.PrepareTimeout}
		exposing := o.Phase == velero.VolumeAccepted &&
			c.Now.Before(job.Latest(o.Accepted, o.Changed).Add(velero.ExposeLimit(limits)+ownerMargin))
		return exposing || o.Phase == velero.VolumePrepared && o.Quiet(c.Now) < ownerMargin
	})
}

// ownerless reports whether all who may carry a volume on are gone for longer than their longest work.
func (c *VolumeContext) ownerless(owners []owner) bool {
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(o owner) bool { return o.open(c.Now) })
}

// hinted reports whether node-agents that are not recognised may run: one wrote within a margin, or pods of a
// roll-out come and go.
func (c *VolumeContext) hinted(node string) bool {
	for i := range c.Volumes {
		v := &c.Volumes[i]
		here := node == "" || v.Node == node
		if here && c.Now.Sub(v.AgentWrote) < ownerMargin {
			return true
		}
	}
	for n, gone := range c.AgentsGone {
		if (node == "" || n == node) && c.Now.Sub(gone) < ownerMargin {
			return true
		}
	}
	return false
}
