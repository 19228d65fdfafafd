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

func (a *jobJudge) judgePodVolumes() Verdict {
	bound, _ := StageDeadline(a.j, *a.world)
	return a.judgeOpenVolumes(bound, velero.WaitPodVolumes)
}

// judgeOpenVolumes judges open volumes that have not moved lately. bound is when Velero gives up on them.
func (a *jobJudge) judgeOpenVolumes(bound time.Time, name velero.WaitName) Verdict {
	podVolumes := name == velero.WaitPodVolumes
	waits := a.likelyWaits()
	var waiting, moving []*job.Volume
	for i := range a.j.Volumes {
		v := &a.j.Volumes[i]
		switch {
		case v.Kind.IsPodVolume() != podVolumes || v.HasEnded():
		case v.IsWaiting():
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
		until = "; Velero " + gives + " at " + human.ClockTime(bound, a.Now)
		if bound.Before(a.Now) {
			until = "; past its limit"
			a.noteLimitPassed(bound, podVolumes)
			if v, ok := a.judgeVolumesOverdue(len(waiting)+len(moving), bound); ok {
				return v
			}
		}
	}
	return a.judgeVolumesByState(waiting, moving, until).withWaits(toWaits(waits))
}

func (a *jobJudge) judgeVolumesByState(waiting, moving []*job.Volume, until string) Verdict {
	if v, ok := a.judgeStalledVolume(slices.Concat(waiting, moving), until); ok {
		return v
	}
	if len(moving) == 0 {
		return a.judgeWaitingVolumes(waiting, until)
	}
	return a.judgeMovingVolumes(moving, until)
}

func (a *jobJudge) judgeVolumesOverdue(open int, bound time.Time) (Verdict, bool) {
	fact := Fact{
		Supports: true,
		Source:   SourceWatch,
		At:       bound,
		Text:     "Velero's limit passed " + a.formatAge(bound) + " ago",
	}
	proof := a.proveAllLimitsPassed(fact)
	if proof.IsZero() {
		return Verdict{}, false
	}
	a.facts = append(a.facts, fact)
	return a.proveStuck(
		proof,
		LimitPassed,
		overdueAdvice,
		"%s not ended %s after Velero's own limit",
		human.Count(open, "volume"),
		a.formatAge(bound),
	), true
}

// noteLimitPassed says what Velero does about a limit that has passed: for a backup's pod volumes it acts on the limit
// only after the last item, and since 1.18.3 shows that by cancelling them; before 1.18.3, and in restores, they stay
// open.
func (a *jobJudge) noteLimitPassed(bound time.Time, podVolumes bool) {
	cancelled := slices.ContainsFunc(a.j.Volumes, func(v job.Volume) bool { return !v.HasEnded() && v.CancelRequested })
	switch {
	case !podVolumes:
	case !a.cancelsAtLimit():
		a.AddDoubt(
			SourceWatch,
			bound,
			"at its limit Velero goes on and leaves such volumes open, so they do not show whether it did",
		)
	case cancelled:
		a.AddSupport(SourceWatch, bound, "they are being cancelled, and Velero waits for the node-agents to end them")
	default:
		a.AddDoubt(
			SourceWatch,
			bound,
			"Velero acts on the limit after the last item, and then cancels them; it has not done so yet",
		)
	}
}

func (a *jobJudge) cancelsAtLimit() bool {
	return a.j.Kind == job.Backup && a.effectiveVersion().CancelsAtVolumeTimeout()
}

// NewVolumeContext returns the evidence on whether the job's volumes can still move.
func NewVolumeContext(env *World, j *job.Job) *VolumeContext {
	c := &VolumeContext{
		Slots:           env.Evidence[j.UID].Slots,
		Now:             env.Now,
		Volumes:         env.Volumes,
		AllVolumesKnown: env.VolumesKnown,
		JobEnds:         env.JobEnds,
		PodsChecked:     env.Server.Visible,
		Style:           env.Style,
		MoverPods:       env.MoverPods,
		Version:         env.Server.Version,
		HidingResources: map[velero.VolumeKind]string{},
		LostAgents:      env.LostAgents,
		OwnerTable:      env.OwnerTable,
	}
	for _, m := range env.MalformedResources {
		for _, kind := range velero.VolumeKinds {
			if strings.HasPrefix(m.Ref, strings.ToLower(string(kind))+"/") {
				c.HidingResources[kind] = m.Ref + " (" + m.Field.Field + ")"
			}
		}
	}
	c.AddAgents(env.NodeAgents)
	return c
}

func (a *jobJudge) judgeStalledVolume(volumes []*job.Volume, until string) (Verdict, bool) {
	c := NewVolumeContext(a.world, a.j)
	for _, v := range volumes {
		a.world.nameVolume(&a.Names, v)
		switch reason, cause := c.findStall(v); {
		case reason == MalformedSpec:
			a.noteAgents()
			fact := a.AddSupport(SourceWatch, v.LastChanged, "%s %s: %s", v.Kind, v.Target, cause)
			return a.proveStuck(
				ProveRefused(fact),
				MalformedSpec,
				"Correct or delete "+c.HidingResources[v.Kind]+" with kubectl. Until then the node-agents hear no cancel either.",
				"%s cannot move: %s%s",
				v.Target,
				cause,
				until,
			), true
		case cause != "":
			a.noteMover(v)
			fact := a.AddSupport(
				SourceWatch,
				v.LastChanged,
				"%s %s is %s, unchanged for %s: %s",
				v.Kind,
				v.Target,
				cmp.Or(v.Phase, velero.VolumeNew),
				a.world.Style.Duration(v.QuietDuration(a.Now)),
				cause,
			)
			a.noteAgents()
			if reason == NodeAgentMissing {
				a.noteDownAgent(v.Node)
			}
			proof := ProveOwnerGone(fact)
			if reason == VolumeStalled &&
				velero.IsUnreviewedVersion(c.Version) { // it relies on default slots and prepare time-out
				proof = Proof{}
			}
			if reason == VolumeStalled && c.ContinuesAfterRestart(v) {
				a.Names.Restartable = a.Names.Agent
			}
			return a.proveStuck(
				proof,
				reason,
				a.stalledAdvice(c, v, reason),
				"%s cannot move: %s%s",
				stalledText(c, volumes, v, reason),
				cause,
				until,
			), true
		case c.HasAgentLostTrack(v):
			fact := a.AddSupport(
				SourcePod,
				v.LastChanged,
				"the pod that moved %s has succeeded %s ago, and the node-agent has not noted it",
				v.Target,
				a.world.Style.Duration(v.QuietDuration(a.Now)),
			)
			a.noteAgents()
			return a.proveStuck(
				ProveOwnerGone(fact),
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
		if v.IsBuiltIn() && c.MoverPods[v.Ref()].IsBlocked() && v.QuietDuration(c.Now) >= settleGrace {
			return a.judgeBlockedMover(c, v, until), true
		}
	}
	return Verdict{}, false
}

// stalledAdvice returns the advice for a volume that nobody continues. A cancellation needs a node-agent, and up to
// 1.18.2 a backup waits for a cancelled pod volume as for an open one (Velero issue 9464).
func (a *jobJudge) stalledAdvice(c *VolumeContext, v *job.Volume, reason Reason) string {
	lost := "A volume that is cancelled is lost to the " + a.j.Kind.Noun() + ", which then ends PartiallyFailed."
	if version, known := velero.ParseVersion(
		c.Version,
	); v.Kind.IsPodVolume() &&
		(!known || !version.CancelsPodVolumes() || a.j.Kind == job.Backup && version.HangsOnCancelledVolume()) {
		lost = "Without that the " + a.j.Kind.Noun() + " ends PartiallyFailed at Velero's limit."
	}
	switch {
	case reason == VolumeStalled && c.ContinuesAfterRestart(v):
		return "Restart the node-agent on node " + v.Node + human.InParens(a.Names.Agent) +
			": it may hold the slot in its memory, and starts the volume again. Do not cancel the volume before. " + lost
	case reason == NodeAgentMissing && c.hasNoAgent(""):
		return "Get the node-agent DaemonSet to run. Until one runs, nothing ends the volume either."
	case reason == NodeAgentMissing:
		return "Get the node-agent on node " + v.Node + " to run, if that node still is in the cluster. " + lost
	case v.Node != "" && !c.hasNoAgent(v.Node):
		return "Look at the log of the node-agent on node " + v.Node + ". " + lost
	}
	return "Look at the logs of the node-agents. " + lost
}

// stalledText names the first volume that is stalled for a reason, and counts the others.
func stalledText(c *VolumeContext, volumes []*job.Volume, first *job.Volume, reason Reason) string {
	others := 0
	for _, v := range volumes {
		if why, _ := c.findStall(v); why == reason && v != first {
			others++
		}
	}
	if others == 0 {
		return first.Target
	}
	return first.Target + " and " + human.Count(others, "volume") + " more"
}

func (a *jobJudge) judgeBlockedMover(c *VolumeContext, v *job.Volume, until string) Verdict {
	a.noteMover(v)
	a.noteAgents()
	a.world.nameVolume(&a.Names, v)
	pod, reason, state := "pod "+c.MoverPods[v.Ref()].Pod+" in namespace "+a.j.Namespace, c.blockedReason(
		v,
	), UnprovenState(
		Waiting,
	)
	advice := "Look at " + pod + "."
	switch {
	case reason == MoverUnschedulable:
		advice = "Make room on a node that may run " + pod + "."
	case reason == VolumeSilent && a.quietDuration() >= notableVolumeSilence:
		state = Quiet
	}
	if v.Phase == velero.VolumeAccepted {
		advice += " The node-agent gives the volume up after " + a.world.Style.Duration(
			cmp.Or(c.PrepareTimeout, DefaultPrepareTimeout),
		) + "."
	}
	return a.Conclude(state, reason, advice, "%s: %s%s", v.Target, c.moverCauseText(v), until)
}

func (a *jobJudge) noteMover(v *job.Volume) {
	if m := a.world.MoverPods[v.Ref()]; m.Reason != "" {
		a.AddSupport(
			SourcePod,
			m.Created,
			"pod %s is to move %s and does not run: %s%s",
			m.Pod,
			v.Target,
			m.Reason,
			causeClause(m.Message),
		)
	}
}

// noteDownAgent says why a node-agent does not run, on a node or, if node is empty, on any.
func (a *jobJudge) noteDownAgent(node string) {
	for _, agent := range a.world.NodeAgents {
		if !agent.Ready && agent.WaitingReason != "" && (node == "" || agent.Node == "" || agent.Node == node) {
			a.AddSupport(
				SourcePod,
				a.world.Server.SeenAt,
				"node-agent pod %s: %s%s, restarted %s",
				agent.Pod,
				agent.WaitingReason,
				causeClause(agent.Message),
				human.CountTimes(agent.Restarts),
			)
			return
		}
	}
}

// judgeWaitingVolumes judges a job none of whose volumes moves. They may wait for a slot that another volume of any
// job holds.
func (a *jobJudge) judgeWaitingVolumes(waiting []*job.Volume, until string) Verdict {
	what := human.Count(len(waiting), "volume") + " not begun"
	c := NewVolumeContext(a.world, a.j)
	preparing := false
	for _, v := range waiting {
		a.world.nameVolume(&a.Names, v)
		if !v.IsBuiltIn() {
			a.AddSupport(
				SourceWatch,
				v.LastChanged,
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
				a.quietText(),
				human.Shorten(v.DataMover, 25),
				until,
			)
		}
		if v, ok := a.judgeBehindLeftover(c, v, what, until); ok {
			return v
		}
		if holder := c.FindSlotHolder(v); holder != nil {
			a.AddSupport(
				SourceWatch,
				holder.LastChanged,
				"%s %s of %s is %s and may hold its slot",
				holder.Kind,
				holder.Target,
				cmp.Or(holder.Node, "an unknown node"),
				holder.Phase,
			)
			a.noteSlots(c.Slots)
			return a.Conclude(Waiting, WaitingForSlot, "", "%s; %s%s", what, c.slotWaitText(v), until)
		}
		if c.WaitsForPod(v) {
			a.AddSupport(
				SourceWatch,
				v.LastChanged,
				"%s %s begins when its restored pod is on a node and runs its first init container",
				v.Kind,
				v.Target,
			)
			a.noteAgents()
			state := UnprovenState(Waiting)
			if a.quietDuration() >= notableVolumeSilence {
				state = Quiet
			}
			return a.Conclude(state, PreparingVolume, "Look whether the restored pods are scheduled and start.",
				"%s for %s; they wait for their restored pods to start%s", what, a.quietText(), until)
		}
		preparing = preparing || v.Phase == velero.VolumeAccepted
	}
	a.noteAgents()
	if preparing || a.quietDuration() < notableVolumeSilence {
		return a.Conclude(Waiting, PreparingVolume, "", "items done; %s for %s%s", what, a.quietText(), until)
	}
	a.AddDoubt(
		SourceWatch,
		a.Now,
		"preparing a volume may take %s, and volumes of other jobs may hold the slots",
		a.world.Style.Duration(cmp.Or(c.PrepareTimeout, DefaultPrepareTimeout)),
	)
	return a.Conclude(Quiet, WaitingForSlot, "", "%s for %s; it may wait for a slot%s", what, a.quietText(), until)
}

func (a *jobJudge) noteSlots(s velero.Slots) {
	if s.Source != "" {
		a.AddSupport(
			SourceConfig,
			a.Now,
			"how many volumes move at once: %s; node-agents read it when they start",
			s.Source,
		)
	}
	if s.Unchecked != "" {
		a.AddDoubt(SourceConfig, a.Now, "how many volumes move at once is not known: %s", s.Unchecked)
	}
}

// judgeMovingVolumes judges a job with volumes in progress whose bytes stand still.
func (a *jobJudge) judgeMovingVolumes(moving []*job.Volume, until string) Verdict {
	slowest := slices.MinFunc(moving, func(v, w *job.Volume) int { return v.LastChanged.Compare(w.LastChanged) })
	a.world.nameVolume(&a.Names, slowest)
	a.AddSupport(
		SourceWatch,
		slowest.LastChanged,
		"%s %s is %s at %s of %s, unchanged for %s",
		slowest.Kind,
		slowest.Target,
		slowest.Phase,
		human.Bytes(max(0, slowest.Done)),
		human.Bytes(max(0, slowest.Total)),
		a.world.Style.Duration(slowest.QuietDuration(a.Now)),
	)
	a.noteAgents()
	reason := VolumeSilent
	if a.world.MoverPods[slowest.Ref()].Phase == velero.MoverRunning {
		a.AddSupport(SourcePod, a.world.Server.SeenAt, "the pod that moves it runs")
		reason = WaitingForOperations
	}
	for _, agent := range a.world.NodeAgents {
		if agent.Node != "" && agent.Node == slowest.Node && !slowest.Started.IsZero() &&
			agent.StartedAt.After(slowest.Started) {
			a.AddSupport(SourcePod, agent.StartedAt, "the node-agent on %s started after this volume did", agent.Node)
		}
	}
	what := human.Count(len(moving), "volume") + " in progress"
	if a.quietDuration() < notableVolumeSilence {
		return a.Conclude(Waiting, reason, "", "%s, no new bytes for %s%s", what, a.quietText(), until)
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
		a.quietText(),
		until,
	)
}

func (a *jobJudge) noteAgents() {
	ready := 0
	for _, agent := range a.world.NodeAgents {
		if agent.Ready {
			ready++
		}
	}
	a.AddSupport(
		SourcePod,
		a.world.Server.SeenAt,
		"%d of %s ready",
		ready,
		human.Count(len(a.world.NodeAgents), "node-agent"),
	)
}

const noNode = "(not named)"
