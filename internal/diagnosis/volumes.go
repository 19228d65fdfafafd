package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

func (a *assessment) volumes() Verdict {
	bound, _ := Deadline(a.j, *a.env)
	return a.movers(bound, velero.WaitPodVolumes)
}

// movers judges open volumes that did not move lately. bound is when Velero gives them up.
func (a *assessment) movers(bound time.Time, name velero.WaitName) Verdict {
	podVolumes := name == velero.WaitPodVolumes
	waits := a.waits()
	var waiting, moving []*job.Volume
	for i := range a.j.Volumes {
		v := &a.j.Volumes[i]
		switch {
		case v.Kind.IsPodVolume() != podVolumes || v.Ended():
		case v.Waiting():
			waiting = append(waiting, v)
		default:
			moving = append(moving, v)
		}
	}
	a.noteQuiet()
	until := ""
	if !bound.IsZero() {
		gives := "gives up"
		if podVolumes && a.cancelsAtLimit() {
			gives = "cancels them"
		}
		until = "; Velero " + gives + " at " + human.Clock(bound, a.Now)
		if bound.Before(a.Now) {
			until = "; past its limit"
			a.noteOverLimit(bound, podVolumes)
			if v, ok := a.volumesOverdue(len(waiting)+len(moving), bound); ok {
				return v
			}
		}
	}
	return a.openVolumes(waiting, moving, until).withWaits(publicWaits(waits))
}

func (a *assessment) openVolumes(waiting, moving []*job.Volume, until string) Verdict {
	if v, ok := a.stalledVolume(slices.Concat(waiting, moving), until); ok {
		return v
	}
	if len(moving) == 0 {
		return a.waitingVolumes(waiting, until)
	}
	return a.movingVolumes(moving, until)
}

func (a *assessment) volumesOverdue(open int, bound time.Time) (Verdict, bool) {
	fact := Fact{Holds: true, Source: SourceWatch, At: bound, Text: "Velero's limit passed " + a.ago(bound) + " ago"}
	proof := a.byLimits(fact)
	if proof.IsZero() {
		return Verdict{}, false
	}
	a.facts = append(a.facts, fact)
	return a.stuck(
		proof,
		LimitPassed,
		overdueAdvice,
		"%s not ended %s after Velero's own limit",
		human.Count(open, "volume"),
		a.ago(bound),
	), true
}

// noteOverLimit says what Velero does of a limit that has passed: that of a backup's pod volumes is acted on after the
// last item only, and from 1.18.3 on shows by their cancel; before, and in restores, they stay open.
func (a *assessment) noteOverLimit(bound time.Time, podVolumes bool) {
	cancelled := slices.ContainsFunc(a.j.Volumes, func(v job.Volume) bool { return !v.Ended() && v.CancelAsked })
	switch {
	case !podVolumes:
	case !a.cancelsAtLimit():
		a.Doubts(
			SourceWatch,
			bound,
			"at its limit Velero goes on and leaves such volumes open, so they do not show whether it did",
		)
	case cancelled:
		a.Supports(SourceWatch, bound, "they are being cancelled, and Velero waits for the node-agents to end them")
	default:
		a.Doubts(
			SourceWatch,
			bound,
			"Velero acts on the limit after the last item, and then cancels them; it has not done so yet",
		)
	}
}

func (a *assessment) cancelsAtLimit() bool {
	return a.j.Kind == job.Backup && a.version().CancelsAtVolumeTimeout()
}

// NewVolumeContext is what the environment tells of whether the job's volumes can still move.
func NewVolumeContext(env *Environment, j *job.Job) *VolumeContext {
	c := &VolumeContext{
		Slots:      env.Evidence[j.UID].Slots,
		Now:        env.Now,
		Volumes:    env.Volumes,
		Complete:   env.VolumesKnown,
		PodsSeen:   env.Server.Visible,
		Style:      env.Style,
		Movers:     env.Movers,
		Version:    env.Server.Version,
		Blinding:   map[velero.VolumeKind]string{},
		AgentsGone: env.AgentsGone,
		Owners:     env.Owners,
	}
	for _, m := range env.Malformed {
		for _, kind := range velero.VolumeKinds {
			if strings.HasPrefix(m.Ref, strings.ToLower(string(kind))+"/") {
				c.Blinding[kind] = m.Ref + " (" + m.Field.Field + ")"
			}
		}
	}
	c.AddAgents(env.NodeAgents)
	return c
}

func (a *assessment) stalledVolume(volumes []*job.Volume, until string) (Verdict, bool) {
	c := NewVolumeContext(a.env, a.j)
	for _, v := range volumes {
		switch reason, cause := c.stalled(v); {
		case reason == MalformedSpec:
			a.noteAgents()
			fact := a.Supports(SourceWatch, v.Changed, "%s %s: %s", v.Kind, v.Target, cause)
			return a.stuck(
				ByRefusal(fact),
				MalformedSpec,
				"Correct or delete "+c.Blinding[v.Kind]+" with kubectl. Until then the node-agents hear no cancel either.",
				"%s cannot move: %s%s",
				v.Target,
				cause,
				until,
			), true
		case cause != "":
			a.noteMover(v)
			fact := a.Supports(
				SourceWatch,
				v.Changed,
				"%s %s is %s, unchanged for %s: %s",
				v.Kind,
				v.Target,
				cmp.Or(v.Phase, velero.VolumeNew),
				a.env.Style.Duration(v.Quiet(a.Now)),
				cause,
			)
			a.noteAgents()
			if reason == NodeAgentMissing {
				a.noteDownAgent(v.Node)
			}
			proof := ByOwner(fact)
			if reason == VolumeStalled &&
				velero.IsUnread(c.Version) { // it rests on defaults of slots and the prepare time-out
				proof = Proof{}
			}
			return a.stuck(
				proof,
				reason,
				a.stalledAdvice(c, v, reason),
				"%s cannot move: %s%s",
				v.Target,
				cause,
				until,
			), true
		case c.LostTrack(v):
			fact := a.Supports(
				SourcePod,
				v.Changed,
				"the pod that moved %s has succeeded %s ago, and the node-agent has not noted it",
				v.Target,
				a.env.Style.Duration(v.Quiet(a.Now)),
			)
			a.noteAgents()
			return a.stuck(
				ByOwner(fact),
				MoverForgotten,
				"Restart the node-agent on node "+cmp.Or(
					v.Node,
					noNode,
				)+". Do not cancel the volume: its data are complete.",
				"volume %s is moved, but the node-agent lost track of it%s",
				v.Target,
				until,
			).withAction(RestartNodeAgent), true
		}
	}
	for _, v := range volumes {
		if v.BuiltIn() && c.Movers[v.Ref()].Blocked() && v.Quiet(c.Now) >= settleGrace {
			return a.moverBlocked(c, v, until), true
		}
	}
	return Verdict{}, false
}

// stalledAdvice is what helps a volume that nobody carries on. A cancel needs a node-agent, and up to 1.18.2 a backup
// waits for a cancelled pod volume as for one that is open (Velero issue 9464).
func (a *assessment) stalledAdvice(c *VolumeContext, v *job.Volume, reason Reason) string {
	lost := "A volume that is cancelled is lost to the " + a.j.Kind.Word() + ", which then ends PartiallyFailed."
	if version, known := velero.ParseVersion(
		c.Version,
	); v.Kind.IsPodVolume() &&
		(!known || !version.CancelsPodVolumes() || a.j.Kind == job.Backup && version.HangsOnCancelledVolume()) {
		lost = "Without that the " + a.j.Kind.Word() + " ends PartiallyFailed at Velero's limit."
	}
	switch {
	case reason == NodeAgentMissing && c.agentless(""):
		return "Get the node-agent DaemonSet to run. Until one runs, nothing ends the volume either."
	case reason == NodeAgentMissing:
		return "Get the node-agent on node " + v.Node + " to run, if that node still is in the cluster. " + lost
	case v.Node != "" && !c.agentless(v.Node):
		return "Look at the log of the node-agent on node " + v.Node + ". " + lost
	}
	return "Look at the logs of the node-agents. " + lost
}

func (a *assessment) moverBlocked(c *VolumeContext, v *job.Volume, until string) Verdict {
	a.noteMover(v)
	a.noteAgents()
	pod, reason, state := "pod "+c.Movers[v.Ref()].Pod+" in namespace "+a.j.Namespace, c.blockedReason(v), Open(Waiting)
	advice := "Look at " + pod + "."
	switch {
	case reason == MoverUnschedulable:
		advice = "Make room on a node that may run " + pod + "."
	case reason == VolumeSilent && a.quiet() >= volumeStall:
		state = Quiet
	}
	if v.Phase == velero.VolumeAccepted {
		advice += " The node-agent gives the volume up after " + a.env.Style.Duration(
			cmp.Or(c.PrepareTimeout, DefaultPrepareTimeout),
		) + "."
	}
	return a.Conclude(state, reason, advice, "%s: %s%s", v.Target, c.moverCause(v), until)
}

func (a *assessment) noteMover(v *job.Volume) {
	if m := a.env.Movers[v.Ref()]; m.Reason != "" {
		a.Supports(
			SourcePod,
			m.Created,
			"pod %s is to move %s and does not run: %s%s",
			m.Pod,
			v.Target,
			m.Reason,
			because(m.Message),
		)
	}
}

// noteDownAgent says why a node-agent does not run, on a node or, without one, on any.
func (a *assessment) noteDownAgent(node string) {
	for _, agent := range a.env.NodeAgents {
		if !agent.Ready && agent.Waiting != "" && (node == "" || agent.Node == "" || agent.Node == node) {
			a.Supports(
				SourcePod,
				a.env.Server.SeenAt,
				"node-agent pod %s: %s%s, restarted %s",
				agent.Pod,
				agent.Waiting,
				because(agent.Message),
				human.Times(agent.Restarts),
			)
			return
		}
	}
}

// waitingVolumes: none moves. They may wait for a slot that another volume of any job has.
func (a *assessment) waitingVolumes(waiting []*job.Volume, until string) Verdict {
	what := human.Count(len(waiting), "volume") + " not begun"
	c := NewVolumeContext(a.env, a.j)
	preparing := false
	for _, v := range waiting {
		if !v.BuiltIn() {
			a.Supports(
				SourceWatch,
				v.Changed,
				"%s is moved by the data mover %s, not by Velero's own",
				v.Target,
				human.Shorten(v.DataMover, 40),
			)
			return a.Conclude(
				Quiet,
				WaitingForOperations,
				"",
				"%s for %s; moved by %s%s",
				what,
				a.quietWords(),
				human.Shorten(v.DataMover, 25),
				until,
			)
		}
		if holder := c.SlotHolder(v); holder != nil {
			a.Supports(
				SourceWatch,
				holder.Changed,
				"%s %s of %s is %s and may hold its slot",
				holder.Kind,
				holder.Target,
				cmp.Or(holder.Node, "an unknown node"),
				holder.Phase,
			)
			a.noteSlots(c.Slots)
			return a.Conclude(Waiting, WaitingForSlot, "", "%s; %s%s", what, c.waits(v), until)
		}
		if c.WaitsForPod(v) {
			a.Supports(
				SourceWatch,
				v.Changed,
				"%s %s begins when its restored pod is on a node and runs its first init container",
				v.Kind,
				v.Target,
			)
			a.noteAgents()
			state := Open(Waiting)
			if a.quiet() >= volumeStall {
				state = Quiet
			}
			return a.Conclude(state, PreparingVolume, "Look whether the restored pods are scheduled and start.",
				"%s for %s; they wait for their restored pods to start%s", what, a.quietWords(), until)
		}
		preparing = preparing || v.Phase == velero.VolumeAccepted
	}
	a.noteAgents()
	if preparing || a.quiet() < volumeStall {
		return a.Conclude(Waiting, PreparingVolume, "", "items done; %s for %s%s", what, a.quietWords(), until)
	}
	a.Doubts(
		SourceWatch,
		a.Now,
		"preparing a volume may take %s, and volumes of other jobs may hold the slots",
		a.env.Style.Duration(cmp.Or(c.PrepareTimeout, DefaultPrepareTimeout)),
	)
	return a.Conclude(Quiet, WaitingForSlot, "", "%s for %s; it may wait for a slot%s", what, a.quietWords(), until)
}

func (a *assessment) noteSlots(s velero.Slots) {
	if s.Source != "" {
		a.Supports(
			SourceConfig,
			a.Now,
			"how many volumes move at once: %s; node-agents read it when they start",
			s.Source,
		)
	}
	if s.Why != "" {
		a.Doubts(SourceConfig, a.Now, "how many volumes move at once is not known: %s", s.Why)
	}
}

// movingVolumes: some are in progress, but their bytes stand still.
func (a *assessment) movingVolumes(moving []*job.Volume, until string) Verdict {
	slowest := slices.MinFunc(moving, func(v, w *job.Volume) int { return v.Changed.Compare(w.Changed) })
	a.Supports(
		SourceWatch,
		slowest.Changed,
		"%s %s is %s at %s of %s, unchanged for %s",
		slowest.Kind,
		slowest.Target,
		slowest.Phase,
		human.Bytes(max(0, slowest.Done)),
		human.Bytes(max(0, slowest.Total)),
		a.env.Style.Duration(slowest.Quiet(a.Now)),
	)
	a.noteAgents()
	reason := VolumeSilent
	if a.env.Movers[slowest.Ref()].Phase == velero.MoverRunning {
		a.Supports(SourcePod, a.env.Server.SeenAt, "the pod that moves it runs")
		reason = WaitingForOperations
	}
	for _, agent := range a.env.NodeAgents {
		if agent.Node != "" && agent.Node == slowest.Node && !slowest.Started.IsZero() &&
			agent.StartedAt.After(slowest.Started) {
			a.Supports(SourcePod, agent.StartedAt, "the node-agent on %s started after this volume did", agent.Node)
		}
	}
	what := human.Count(len(moving), "volume") + " in progress"
	if a.quiet() < volumeStall {
		return a.Conclude(Waiting, reason, "", "%s, no new bytes for %s%s", what, a.quietWords(), until)
	}
	return a.Conclude(
		Quiet,
		reason,
		"Look at the node-agent's log on node "+cmp.Or(
			slowest.Node,
			noNode,
		)+" and at its data mover pod if this goes on.",
		"%s, no new bytes for %s%s",
		what,
		a.quietWords(),
		until,
	)
}

func (a *assessment) noteAgents() {
	ready := 0
	for _, agent := range a.env.NodeAgents {
		if agent.Ready {
			ready++
		}
	}
	a.Supports(
		SourcePod,
		a.env.Server.SeenAt,
		"%d of %s ready",
		ready,
		human.Count(len(a.env.NodeAgents), "node-agent"),
	)
}

const noNode = "(not named)"
