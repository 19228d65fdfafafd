package job

import (
	"cmp"
	"slices"
	"time"
)

// volumes: all items are done, and pod volumes are waited for.
func (q *inquiry) volumes() Verdict {
	return q.movers(q.job.record(StageVolumes).Bound, true)
}

// movers judges volumes that have not ended and did not move lately.
func (q *inquiry) movers(bound time.Time, filesystem bool) Verdict {
	var waiting, moving []*Volume
	for i := range q.job.Volumes {
		v := &q.job.Volumes[i]
		switch {
		case v.filesystem() != filesystem || v.Ended():
		case v.waiting():
			waiting = append(waiting, v)
		default:
			moving = append(moving, v)
		}
	}
	q.noteQuiet()
	until := ""
	if !bound.IsZero() {
		until = "; Velero gives up at " + clock(bound, q.s.Now)
		if filesystem && q.cancelsAtLimit() {
			// Since 1.18.3 the backup then waits for them without limit
			// (pkg/podvolume/backupper.go WaitAllPodVolumesProcessed).
			until = "; Velero cancels them at " + clock(bound, q.s.Now)
		}
		if q.s.Now.Sub(bound) > waitMargin {
			q.holds(sourceWatch, bound, "Velero's limit passed %s ago", q.ago(bound))
			advice := "Look into the log of the Velero server: it should have given up by itself."
			if filesystem && q.cancelsAtLimit() {
				advice = "Get the node-agents on their nodes to run: Velero has cancelled them and waits for the node-agents to end them."
			}
			return q.rule(Stuck, advice,
				"%s not ended %s after Velero's own limit", plural(len(waiting)+len(moving), "volume"), q.ago(bound))
		}
	}
	if v, ok := q.agentless(waiting, until); ok {
		return v
	}
	if v, ok := q.stalledVolume(slices.Concat(waiting, moving), until); ok {
		return v
	}
	if len(moving) == 0 {
		return q.waitingVolumes(waiting, until)
	}
	return q.movingVolumes(moving, until)
}

// cancelsAtLimit reports whether the server cancels pod volume backups at the
// fs-backup time-out (since 1.18.3) in place of giving up on them.
func (q *inquiry) cancelsAtLimit() bool {
	return q.job.Kind == Backup && !before(q.s.Server.Version, 1, 18, 3)
}

// volumeContext is what the surroundings tell about volumes.
func (q *inquiry) volumeContext() *VolumeContext {
	c := &VolumeContext{Now: q.s.Now, Volumes: q.s.Volumes, Complete: q.s.VolumesKnown, PodsSeen: q.s.Server.Visible,
		Movers: q.s.Movers, PrepareTimeout: q.s.PrepareTimeout, Version: q.s.Server.Version, Agents: map[string]time.Time{}}
	for _, a := range q.s.NodeAgents {
		if a.Ready {
			c.Agents[a.Node] = a.StartedAt
		}
	}
	return c
}

// stalledVolume finds a volume that cannot move any more, for a cause.
func (q *inquiry) stalledVolume(volumes []*Volume, until string) (Verdict, bool) {
	c := q.volumeContext()
	for _, v := range volumes {
		switch cause := c.Stalled(v); {
		case cause != "":
			q.holds(sourceWatch, v.Changed, "%s %s is %s, unchanged for %s: %s", v.Kind, v.Target, v.Phase, span(v.quiet(q.s.Now)), cause)
			q.noteAgents()
			return q.rule(Stuck, "Look at the node-agent's log and at the data mover pods in Velero's namespace.",
				"%s cannot move: %s%s", v.Target, cause, until), true
		case c.LostTrack(v):
			q.holds(sourcePod, v.Changed, "the pod that moved %s has succeeded", v.Target)
			q.noteAgents()
			return q.rule(Stuck, "Restart the node-agent on node "+orNode(v.Node, "(not named)")+". Do not cancel the volume: its data are complete.",
				"volume %s is moved, but the node-agent lost track of it%s", v.Target, until), true
		}
	}
	return Verdict{}, false
}

// agentless finds volumes that no node agent will ever take up
// (velero-facts 1.6).
func (q *inquiry) agentless(waiting []*Volume, until string) (Verdict, bool) {
	for _, v := range waiting {
		if v.Phase != "" && v.Phase != volumeNew || !v.BuiltIn() || q.s.Now.Sub(v.Created) < settleGrace {
			continue
		}
		ready, there := 0, false
		for _, a := range q.s.NodeAgents {
			if a.Ready {
				ready++
			}
			there = there || a.Ready && a.Node == v.Node
		}
		switch {
		case ready == 0:
			q.holds(sourcePod, q.s.Server.SeenAt, "no node-agent pod is ready (%d in all)", len(q.s.NodeAgents))
			return q.rule(Stuck, "Get the node-agent DaemonSet to run.",
				"%s to be moved, and no node-agent runs%s", plural(len(waiting), "volume"), until), true
		case v.Node != "" && !there:
			q.holds(sourcePod, q.s.Server.SeenAt, "no node-agent pod is ready on node %s", v.Node)
			return q.rule(Stuck, "Get the node-agent on node "+v.Node+" to run.",
				"volume %s is on node %s, where no node-agent runs%s", v.Target, v.Node, until), true
		}
	}
	return Verdict{}, false
}

// waitingVolumes: none is being moved. They may wait for a slot as long as
// another volume of any job has it.
func (q *inquiry) waitingVolumes(waiting []*Volume, until string) Verdict {
	what := plural(len(waiting), "volume") + " not begun"
	c := q.volumeContext()
	for _, v := range waiting {
		if holder := c.SlotHolder(v); holder != nil {
			q.holds(sourceWatch, holder.Changed, "%s %s of %s is %s and may hold its slot", holder.Kind, holder.Target, orNode(holder.Node, "an unknown node"), holder.Phase)
			return q.rule(Waiting, "", "%s; %s may hold the slot%s", what, holder.Target, until)
		}
	}
	q.noteAgents()
	if q.quiet() < volumeStall {
		return q.rule(Waiting, "", "items done; %s for %s%s", what, q.quietWords(), until)
	}
	q.open(sourceWatch, q.s.Now, "preparing a volume may take %s, and volumes of other jobs may hold the slots", span(cmp.Or(q.s.PrepareTimeout, DefaultPrepareTimeout)))
	return q.rule(Quiet, "", "%s for %s; it may wait for a slot%s", what, q.quietWords(), until)
}

// movingVolumes: some are in progress, but their bytes stand still.
func (q *inquiry) movingVolumes(moving []*Volume, until string) Verdict {
	slowest := moving[0]
	for _, v := range moving {
		if v.Changed.Before(slowest.Changed) {
			slowest = v
		}
	}
	q.holds(sourceWatch, slowest.Changed, "%s %s is %s at %s of %s, unchanged for %s", slowest.Kind, slowest.Target,
		slowest.Phase, Size(max(0, slowest.Done)), Size(max(0, slowest.Total)), span(slowest.quiet(q.s.Now)))
	q.noteAgents()
	for _, a := range q.s.NodeAgents {
		if a.Node != "" && a.Node == slowest.Node && !slowest.Started.IsZero() && a.StartedAt.After(slowest.Started) {
			q.holds(sourcePod, a.StartedAt, "the node-agent on %s started after this volume did", a.Node)
		}
	}
	what := plural(len(moving), "volume") + " in progress"
	switch {
	case q.quiet() < volumeStall:
		return q.rule(Waiting, "", "%s, no new bytes for %s%s", what, q.quietWords(), until)
	}
	return q.rule(Quiet, "Look at the node-agent's log on node "+orNode(slowest.Node, "(not named)")+" and at its data mover pod if this goes on.",
		"%s, no new bytes for %s%s", what, q.quietWords(), until)
}

func (q *inquiry) noteAgents() {
	ready := 0
	for _, a := range q.s.NodeAgents {
		if a.Ready {
			ready++
		}
	}
	q.holds(sourcePod, q.s.Server.SeenAt, "%d of %s ready", ready, plural(len(q.s.NodeAgents), "node-agent"))
}
