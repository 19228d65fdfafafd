package diagnosis

import (
	"time"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// volumes: all items are done, and pod volumes are waited for.
func (a *assessment) volumes() Verdict {
	return a.movers(a.deadline(job.StageVolumes), true)
}

// movers judges volumes that have not ended and did not move lately.
func (a *assessment) movers(bound time.Time, filesystem bool) Verdict {
	var waiting, moving []*job.Volume
	for i := range a.j.Volumes {
		v := &a.j.Volumes[i]
		switch {
		case v.Kind.IsPodVolume() != filesystem || v.Ended():
		case v.Waiting():
			waiting = append(waiting, v)
		default:
			moving = append(moving, v)
		}
	}
	a.noteQuiet()
	until := ""
	if !bound.IsZero() {
		until = "; Velero gives up at " + clock(bound, a.env.Now)
		if a.env.Now.Sub(bound) > waitMargin {
			a.supports(sourceWatch, bound, "Velero's limit passed %s ago", a.ago(bound))
			return a.conclude(Stuck, LimitPassed, "Look into the log of the Velero server: it should have given up by itself.",
				"%s not ended %s after Velero's own limit", plural(len(waiting)+len(moving), "volume"), a.ago(bound))
		}
	}
	if v, ok := a.agentless(waiting, until); ok {
		return v
	}
	if len(moving) == 0 {
		return a.waitingVolumes(waiting, until)
	}
	return a.movingVolumes(moving, until)
}

// agentless finds volumes that no node agent will ever take up
// (velero-facts 1.6).
func (a *assessment) agentless(waiting []*job.Volume, until string) (Verdict, bool) {
	for _, v := range waiting {
		if v.Phase != "" && v.Phase != velero.VolumeNew || a.env.Now.Sub(v.Created) < settleGrace {
			continue
		}
		ready, there := 0, false
		for _, agent := range a.env.NodeAgents {
			if agent.Ready {
				ready++
			}
			there = there || agent.Ready && agent.Node == v.Node
		}
		switch {
		case ready == 0:
			a.supports(sourcePod, a.env.Server.SeenAt, "no node-agent pod is ready (%d in all)", len(a.env.NodeAgents))
			return a.conclude(Stuck, NodeAgentMissing, "Get the node-agent DaemonSet to run.",
				"%s to be moved, and no node-agent runs%s", plural(len(waiting), "volume"), until), true
		case v.Node != "" && !there:
			a.supports(sourcePod, a.env.Server.SeenAt, "no node-agent pod is ready on node %s", v.Node)
			return a.conclude(Stuck, NodeAgentMissing, "Get the node-agent on node "+v.Node+" to run.",
				"volume %s is on node %s, where no node-agent runs%s", v.Target, v.Node, until), true
		}
	}
	return Verdict{}, false
}

// waitingVolumes: none is being moved.
func (a *assessment) waitingVolumes(waiting []*job.Volume, until string) Verdict {
	a.noteAgents()
	what := plural(len(waiting), "volume") + " not begun"
	switch {
	case a.quiet() < volumeStall:
		return a.conclude(Waiting, PreparingVolume, "", "items done; %s for %s%s", what, a.quietWords(), until)
	case a.quiet() < prepareTimeout+waitMargin:
		return a.conclude(Quiet, PreparingVolume, "", "items done; %s for %s; preparing may take %s%s", what, a.quietWords(), span(prepareTimeout), until)
	}
	return a.conclude(Stuck, VolumeStalled, "Look at the node-agent's log and at the data mover pods in Velero's namespace.",
		"items done; %s for %s, longer than preparing may take%s", what, a.quietWords(), until)
}

// movingVolumes: some are in progress, but their bytes stand still.
func (a *assessment) movingVolumes(moving []*job.Volume, until string) Verdict {
	slowest := moving[0]
	for _, v := range moving {
		if v.Changed.Before(slowest.Changed) {
			slowest = v
		}
	}
	a.supports(sourceWatch, slowest.Changed, "%s %s is %s at %s of %s, unchanged for %s", slowest.Kind, slowest.Target,
		slowest.Phase, job.Size(max(0, slowest.Done)), job.Size(max(0, slowest.Total)), span(slowest.Quiet(a.env.Now)))
	a.noteAgents()
	for _, agent := range a.env.NodeAgents {
		if agent.Node != "" && agent.Node == slowest.Node && !slowest.Started.IsZero() && agent.StartedAt.After(slowest.Started) {
			a.supports(sourcePod, agent.StartedAt, "the node-agent on %s started after this volume did", agent.Node)
		}
	}
	what := plural(len(moving), "volume") + " in progress"
	switch {
	case a.quiet() < volumeStall:
		return a.conclude(Waiting, VolumeSilent, "", "%s, no new bytes for %s%s", what, a.quietWords(), until)
	case a.quiet() < volumeStuck:
		return a.conclude(Quiet, VolumeSilent, "Look at the node-agent's log if this goes on.", "%s, no new bytes for %s%s", what, a.quietWords(), until)
	}
	return a.conclude(Stuck, VolumeStalled, "Look at the node-agent's log on node "+orNotNamed(slowest.Node)+" and at its data mover pod.",
		"%s, no new bytes for %s%s", what, a.quietWords(), until)
}

func (a *assessment) noteAgents() {
	ready := 0
	for _, agent := range a.env.NodeAgents {
		if agent.Ready {
			ready++
		}
	}
	a.supports(sourcePod, a.env.Server.SeenAt, "%d of %s ready", ready, plural(len(a.env.NodeAgents), "node-agent"))
}

func orNotNamed(node string) string {
	if node == "" {
		return "(not named)"
	}
	return node
}

// StandsStill reports whether a volume that has not ended has been silent for
// longer than preparing or uploading it can explain.
func StandsStill(v *job.Volume, now time.Time) bool {
	switch {
	case v.Ended():
		return false
	case v.Waiting():
		return v.Quiet(now) >= prepareTimeout+waitMargin
	}
	return v.Quiet(now) >= volumeStuck
}
