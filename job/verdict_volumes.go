package job

import "time"

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
		if q.s.Now.Sub(bound) > waitMargin {
			q.holds(sourceWatch, bound, "Velero's limit passed %s ago", q.ago(bound))
			return q.rule(Stuck, "Look into the log of the Velero server: it should have given up by itself.",
				"%s not ended %s after Velero's own limit", plural(len(waiting)+len(moving), "volume"), q.ago(bound))
		}
	}
	if v, ok := q.agentless(waiting, until); ok {
		return v
	}
	if len(moving) == 0 {
		return q.waitingVolumes(waiting, until)
	}
	return q.movingVolumes(moving, until)
}

// agentless finds volumes that no node agent will ever take up
// (velero-facts 1.6).
func (q *inquiry) agentless(waiting []*Volume, until string) (Verdict, bool) {
	for _, v := range waiting {
		if v.Phase != "" && v.Phase != volumeNew || q.s.Now.Sub(v.Created) < settleGrace {
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

// waitingVolumes: none is being moved.
func (q *inquiry) waitingVolumes(waiting []*Volume, until string) Verdict {
	q.noteAgents()
	what := plural(len(waiting), "volume") + " not begun"
	switch {
	case q.quiet() < volumeStall:
		return q.rule(Waiting, "", "items done; %s for %s%s", what, q.quietWords(), until)
	case q.quiet() < prepareTimeout+waitMargin:
		return q.rule(Quiet, "", "items done; %s for %s; preparing may take %s%s", what, q.quietWords(), span(prepareTimeout), until)
	}
	return q.rule(Stuck, "Look at the node-agent's log and at the data mover pods in Velero's namespace.",
		"items done; %s for %s, longer than preparing may take%s", what, q.quietWords(), until)
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
	case q.quiet() < volumeStuck:
		return q.rule(Quiet, "Look at the node-agent's log if this goes on.", "%s, no new bytes for %s%s", what, q.quietWords(), until)
	}
	return q.rule(Stuck, "Look at the node-agent's log on node "+orNode(slowest.Node, "(not named)")+" and at its data mover pod.",
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
