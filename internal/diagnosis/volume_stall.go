package diagnosis

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Velero has a time-out only for Accepted volumes (data_upload_controller.go Reconcile, onPrepareTimeout, and its
// siblings).
const (
	// DefaultPrepareTimeout is the default --data-mover-prepare-timeout (pkg/cmd/cli/nodeagent/server.go).
	DefaultPrepareTimeout = 30 * time.Minute
	// prepareMargin allows for node-agents that check once a minute (preparingMonitorFrequency), and for differing
	// clocks.
	prepareMargin = 5 * time.Minute
	// ownerCheckQuiet is the silence of a volume in progress after which its carrier is checked. Silence alone means
	// nothing: walking millions of directories changes no byte (pkg/uploader/kopia/progress.go FinishedDirectory), and
	// equal values are not written.
	ownerCheckQuiet = 45 * time.Minute
	// agentGrace is how long a node may be without a node-agent, and a volume without its pod, which is deleted once the
	// end is recorded (OnDataUploadCompleted and its siblings).
	agentGrace = time.Minute
	// lostTrackQuiet is when a node-agent must have noticed that a pod ended (pkg/datapath/micro_service_watcher.go
	// startWatch).
	lostTrackQuiet = 10 * time.Minute
)

// VolumeContext is the evidence needed to say whether a volume can still move.
type VolumeContext struct {
	// Now is the time of judgement by the cluster's clock.
	Now time.Time
	// Volumes are the open volumes of every job, which share slots; Complete is true if they are all.
	Volumes         []job.Volume
	AllVolumesKnown bool
	// JobEnds are the ends of the jobs of open volumes, if the jobs have ended ([World.JobEnds]).
	JobEnds map[velero.VolumeRef]time.Time
	// PodsChecked is false if the pods could not be listed; Agents and Movers are then empty.
	PodsChecked bool
	// AgentRunningSince are the nodes with a ready node-agent, and since when it has been running.
	AgentRunningSince map[string]time.Time
	StartingAgents    map[string]bool
	// isRollingOut is true while a node-agent's pod is new: other agents may just be being replaced.
	isRollingOut bool
	// LostAgents are the nodes that lost their node-agent while veltui watched, with the times.
	LostAgents map[string]time.Time
	// OwnerTable is Velero's table of owners, nil for [velero.OwnerTable].
	OwnerTable []velero.PossibleOwner
	// HidingResources names, by kind, a resource that hides its kind from node-agents
	// (docs/dev/velero.md#malformed-resources).
	HidingResources map[velero.VolumeKind]string
	// MoverPods are the mover pods; a volume without an entry has none.
	MoverPods      map[velero.VolumeRef]velero.Mover
	PrepareTimeout time.Duration
	// Slots is only for texts: a node-agent reads its ConfigMap when it starts.
	Slots   velero.Slots
	Version string
	Style   human.DurationStyle
}

// AddAgents adds the evidence of the node-agents; c.Now must be set.
func (c *VolumeContext) AddAgents(agents []velero.NodeAgent) {
	c.AgentRunningSince, c.StartingAgents = map[string]time.Time{}, map[string]bool{}
	for _, a := range agents {
		c.isRollingOut = c.isRollingOut || !a.Created.IsZero() && c.Now.Sub(a.Created) < ownerMargin
		c.PrepareTimeout = max(c.PrepareTimeout, a.Flags.PrepareTimeout)
		if a.Ready {
			c.AgentRunningSince[a.Node] = a.StartedAt
		} else if a.IsStarting(c.Now) {
			c.StartingAgents[a.Node] = true
		}
	}
}

// FindSlotHolder returns a volume that may hold the slot that v waits for, nil for none. The controller checks every
// 5 seconds and writes nothing.
func (c *VolumeContext) FindSlotHolder(v *job.Volume) *job.Volume {
	for o := range c.findSlotHolders(v) {
		return o
	}
	return nil
}

func (c *VolumeContext) findSlotHolders(v *job.Volume) iter.Seq[*job.Volume] {
	return func(yield func(*job.Volume) bool) {
		for i := range c.Volumes {
			o := &c.Volumes[i]
			if o.Ref() != v.Ref() && !o.HasEnded() && o.IsBuiltIn() && c.holdsSlotFor(o, v) && !yield(o) {
				return
			}
		}
		for ref := range c.MoverPods {
			if o := c.findLingeringVolume(ref); ref != v.Ref() && o != nil && c.holdsSlotFor(o, v) && !yield(o) {
				return
			}
		}
	}
}

// findLingeringVolume returns a volume that a pod still moves although its resource has ended, nil for none: slots
// are counted in memory and freed when the pod ends (pkg/datapath/manager.go; data_upload_controller.go
// OnDataUploadCompleted and its siblings, 1.15 to 1.18.3).
func (c *VolumeContext) findLingeringVolume(ref velero.VolumeRef) *job.Volume {
	mover := c.MoverPods[ref]
	if !mover.IsAlive() || slices.ContainsFunc(c.Volumes, func(o job.Volume) bool { return o.Ref() == ref }) {
		return nil
	}
	return &job.Volume{Kind: ref.Kind, Name: ref.Name, Node: mover.Node, Phase: velero.VolumeInProgress}
}

// holdsSlotFor reports whether o may hold what v waits for. A New volume waits for its node-agent, or since 1.17 for
// one of prepareQueueLength places for volumes being prepared (pkg/exposer/vgdp_counter.go IsConstrained counts the
// label, which is removed on the way to InProgress); before 1.17, a pod volume waits for its node. A Prepared volume
// waits for a slot in the memory of its node's node-agent, by default one (pkg/datapath/manager.go,
// ConcurrentLimitExceed).
func (c *VolumeContext) holdsSlotFor(o, v *job.Volume) bool {
	version, known := velero.ParseVersion(c.Version)
	sameNode := v.Node == "" || o.Node == "" || v.Node == o.Node
	switch v.Phase {
	case "", velero.VolumeNew:
		if v.Kind.IsPodVolume() && (!known || !version.CancelsPodVolumes()) && sameNode && !o.IsWaiting() {
			return true
		}
		queued := o.Phase == velero.VolumePrepared || o.HasExposingLabel
		return o.Phase == velero.VolumeAccepted || queued && c.Slots.MayQueue(c.Version)
	case velero.VolumePrepared:
		return sameNode && !o.IsWaiting() && !c.hasNoAgent(cmp.Or(o.Node, v.Node))
	}
	return false
}

// hasNoAgent reports whether no node-agent runs or is starting on a node, or on any node if it is empty, as far as
// the pods could be listed. During a rollout a node has no pod for a moment.
func (c *VolumeContext) hasNoAgent(node string) bool {
	if !c.PodsChecked || c.isRollingOut || c.mayAgentRun(node) {
		return false
	}
	if node == "" {
		return len(c.AgentRunningSince) == 0 && len(c.StartingAgents) == 0
	}
	_, ready := c.AgentRunningSince[node]
	return !ready && !c.StartingAgents[node]
}

// StallCause returns why an open volume may be cancelled, empty if it may still move. What could not be checked is no
// cause. Third-party data movers are never judged: the vendor need not write phases (data_upload_controller.go
// Reconcile, datamover.IsBuiltInUploader).
func (c *VolumeContext) StallCause(v *job.Volume) string {
	_, cause := c.findStall(v)
	quiet, mover := v.QuietDuration(c.Now), c.MoverPods[v.Ref()]
	switch {
	case !c.AllVolumesKnown || quiet < prepareMargin || c.FindSlotHolder(v) != nil || c.WaitsForPod(v):
		return ""
	case v.Phase == velero.VolumeCanceling:
		return "" // it was cancelled already
	case v.Phase == velero.VolumeInProgress &&
		(quiet < ownerCheckQuiet || mover.Phase != "" && mover.Phase != velero.MoverFailed):
		return "" // a node-agent that comes back picks it up again
	}
	return cause
}

// findStall proves by its owners that a volume stands still: each owner has been gone, or its work over, for longer
// than its longest work takes (velero.OwnerTable).
func (c *VolumeContext) findStall(v *job.Volume) (Reason, string) {
	silent := v.QuietDuration(c.Now)
	switch {
	case v.HasEnded() || !v.IsBuiltIn() || !c.PodsChecked:
		return Reason{}, ""
	case c.HidingResources[v.Kind] != "" && v.IsWaiting() && v.Phase != velero.VolumeAccepted:
		if !c.WaitsForPod(v) && silent >= prepareMargin && len(c.AgentRunningSince) > 0 {
			return MalformedSpec, "the node-agents see no " + v.Kind.Resource() +
				", because Velero cannot read " + c.HidingResources[v.Kind]
		}
		return Reason{}, ""
	case !c.isOwnerless(c.findOwners(v)):
		return Reason{}, ""
	case c.hasNoAgent(""):
		return NodeAgentMissing, "no node-agent runs" + human.InParens(c.moverCauseText(v))
	case v.Node != "" && c.hasNoAgent(v.Node):
		return NodeAgentMissing, "no node-agent runs on its node " + v.Node
	case !c.AllVolumesKnown || c.FindSlotHolder(v) != nil:
		return Reason{}, ""
	}
	switch v.Phase {
	case "", velero.VolumeNew, velero.VolumePrepared:
		if velero.IsUnreviewedVersion(c.Version) {
			return Reason{}, "" // the holders of its slots are unknown
		}
		return VolumeStalled, "its slot looks free, but nobody starts it for " + c.Style.Duration(silent)
	case velero.VolumeAccepted:
		limit := cmp.Or(c.PrepareTimeout, DefaultPrepareTimeout)
		cause := fmt.Sprintf("it is being prepared for %s, and no node-agent ended that after %s",
			c.Style.Duration(c.Now.Sub(job.LatestTime(v.LastChanged, v.Accepted))), c.Style.Duration(limit))
		return VolumeStalled, cause + human.InParens(c.moverCauseText(v))
	}
	return c.findLossCause(v)
}

// ContinuesAfterRestart reports whether a stalled volume goes on once its node-agent is restarted, and keeps its data:
// a node-agent looks at each Prepared volume when it starts, and then leaves it out of what it looks at again
// (pkg/controller/pod_volume_backup_controller.go SetupWithManager and its siblings, 1.17 to 1.18.3;
// data_upload_controller.go "the Prepared CR could be still handled by dataupload controller after node-agent
// restart").
func (c *VolumeContext) ContinuesAfterRestart(v *job.Volume) bool {
	mover := c.MoverPods[v.Ref()]
	return v.Phase == velero.VolumePrepared && v.Node != "" && !c.hasNoAgent(v.Node) && !v.CancelRequested &&
		c.movesInPods(v.Kind) && mover.IsAlive()
}

// WaitsForPod reports whether the volume may wait for the restored pod: no node-agent begins before that pod runs its
// init container, and the volume does not show it (pod_volume_restore_controller.go shouldProcess).
func (c *VolumeContext) WaitsForPod(v *job.Volume) bool {
	return v.Kind == velero.PodVolumeRestore && (v.Phase == "" || v.Phase == velero.VolumeNew)
}

// findLossCause says what happened to the carrier of a volume that nobody moves.
func (c *VolumeContext) findLossCause(v *job.Volume) (Reason, string) {
	mover := c.MoverPods[v.Ref()]
	switch since := c.AgentRunningSince[v.Node]; {
	case mover.Phase == velero.MoverSucceeded:
		return Reason{}, "" // see HasAgentLostTrack
	case mover.Phase == velero.MoverFailed && v.QuietDuration(c.Now) < ownerCheckQuiet:
		return Reason{}, ""
	case mover.Phase == velero.MoverFailed:
		return MoverGone, "its mover pod has failed" + human.InParens(
			moverReasonText(mover),
		) + ", and the node-agent did not note it"
	case v.Started.IsZero() || !since.After(v.Started) || c.movesInPods(v.Kind):
		return MoverGone, "no pod moves it any more"
	}
	return MoverGone, "the node-agent on " + v.Node + " started after it did"
}

func (c *VolumeContext) movesInPods(kind velero.VolumeKind) bool {
	version, known := velero.ParseVersion(c.Version)
	return known && version.MovesInPods(kind)
}

// HasAgentLostTrack reports whether the pod has succeeded without the node-agent noticing. Restarting the node-agent
// completes the volume (AttemptDataUploadResume and its siblings, reEnsureThisPod); cancelling it throws the work
// away.
func (c *VolumeContext) HasAgentLostTrack(v *job.Volume) bool {
	return c.PodsChecked && v.IsBuiltIn() && v.Phase == velero.VolumeInProgress &&
		c.MoverPods[v.Ref()].Phase == velero.MoverSucceeded && v.QuietDuration(c.Now) >= lostTrackQuiet &&
		c.isOwnerless(c.findOwners(v))
}
