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

// Velero has a time-out only in Accepted (data_upload_controller.go Reconcile, onPrepareTimeout, and its siblings).
const (
	// DefaultPrepareTimeout is the default --data-mover-prepare-timeout (pkg/cmd/cli/nodeagent/server.go).
	DefaultPrepareTimeout = 30 * time.Minute
	// prepareMargin: node-agents look once a minute (preparingMonitorFrequency), and clocks differ.
	prepareMargin = 5 * time.Minute
	// carrierQuiet is the silence of a volume in progress after which its carrier is looked
	// for. Silence alone means nothing: walking millions of directories changes no byte
	// (pkg/uploader/kopia/progress.go FinishedDirectory), and equal values are not written.
	carrierQuiet = 45 * time.Minute
	// agentGrace is how long a node may be without a node-agent, and a volume without its pod, which goes
	// once the end is noted (OnDataUploadCompleted and its siblings).
	agentGrace = time.Minute
	// lostTrackQuiet: by then a node-agent has noted that a pod ended (pkg/datapath/micro_service_watcher.go startWatch).
	lostTrackQuiet = 10 * time.Minute
)

// VolumeContext is what it takes to say whether a volume can still move.
type VolumeContext struct {
	// Now is the moment of judgement in the cluster's clock.
	Now time.Time
	// Volumes are the open volumes of every job, which share slots; Complete says if all.
	Volumes  []job.Volume
	Complete bool
	// PodsSeen is false if the pods could not be listed; Agents and Movers are then empty.
	PodsSeen bool
	// Agents are the nodes with a ready node-agent, and since when it runs.
	Agents   map[string]time.Time
	Starting map[string]bool
	// rollOut is true while a node-agent's pod is new: others may be replaced just now.
	rollOut bool
	// AgentsGone are the nodes that lost their node-agent while veltui watched, and when.
	AgentsGone map[string]time.Time
	// Owners is Velero's table of owners, nil for [velero.Owners].
	Owners []velero.Owner
	// Blinding names, by kind, a resource that hides its kind from node-agents (docs/dev/velero.md#malformed-resources).
	Blinding map[velero.VolumeKind]string
	// Movers are the mover pods; a volume without an entry has none.
	Movers         map[velero.VolumeRef]velero.Mover
	PrepareTimeout time.Duration
	// Slots is for words only: a node-agent reads its ConfigMap when it starts.
	Slots   velero.Slots
	Version string
	Style   human.Style
}

// AddAgents adds what the node-agents tell; c.Now must be set.
func (c *VolumeContext) AddAgents(agents []velero.Agent) {
	c.Agents, c.Starting = map[string]time.Time{}, map[string]bool{}
	for _, a := range agents {
		c.rollOut = c.rollOut || !a.Created.IsZero() && c.Now.Sub(a.Created) < ownerMargin
		c.PrepareTimeout = max(c.PrepareTimeout, a.Flags.PrepareTimeout)
		if a.Ready {
			c.Agents[a.Node] = a.StartedAt
		} else if a.Starting(c.Now) {
			c.Starting[a.Node] = true
		}
	}
}

// SlotHolder may hold the slot that v waits for, nil for none. The controller asks every 5 seconds and writes nothing.
func (c *VolumeContext) SlotHolder(v *job.Volume) *job.Volume {
	for o := range c.holders(v) {
		return o
	}
	return nil
}

func (c *VolumeContext) holders(v *job.Volume) iter.Seq[*job.Volume] {
	return func(yield func(*job.Volume) bool) {
		for i := range c.Volumes {
			o := &c.Volumes[i]
			if o.Ref() != v.Ref() && !o.Ended() && o.BuiltIn() && c.holdsSlotFor(o, v) && !yield(o) {
				return
			}
		}
		for ref := range c.Movers {
			if o := c.carried(ref); ref != v.Ref() && o != nil && c.holdsSlotFor(o, v) && !yield(o) {
				return
			}
		}
	}
}

// carried is a volume that a pod still moves although its resource has ended: slots are counted in memory
// and freed when the pod ends (pkg/datapath/manager.go; data_upload_controller.go OnDataUploadCompleted
// and its siblings, 1.15 to 1.18.3).
func (c *VolumeContext) carried(ref velero.VolumeRef) *job.Volume {
	mover := c.Movers[ref]
	if !mover.Alive() || slices.ContainsFunc(c.Volumes, func(o job.Volume) bool { return o.Ref() == ref }) {
		return nil
	}
	return &job.Volume{Kind: ref.Kind, Name: ref.Name, Node: mover.Node, Phase: velero.VolumeInProgress}
}

// holdsSlotFor reports whether o may hold what v waits for. In New: its node-agent, or since 1.17 one of
// prepareQueueLength places while being prepared (pkg/exposer/vgdp_counter.go IsConstrained counts the label, which
// goes on the way to InProgress); before, a pod volume waits for its node. In Prepared: a slot in the memory of its
// node's node-agent, by default one (pkg/datapath/manager.go, ConcurrentLimitExceed).
func (c *VolumeContext) holdsSlotFor(o, v *job.Volume) bool {
	version, known := velero.ParseVersion(c.Version)
	sameNode := v.Node == "" || o.Node == "" || v.Node == o.Node
	switch v.Phase {
	case "", velero.VolumeNew:
		if v.Kind.IsPodVolume() && (!known || !version.CancelsPodVolumes()) && sameNode && !o.Waiting() {
			return true
		}
		queued := o.Phase == velero.VolumePrepared || o.Exposing
		return o.Phase == velero.VolumeAccepted || queued && c.Slots.Queues(c.Version)
	case velero.VolumePrepared:
		return sameNode && !o.Waiting() && !c.agentless(cmp.Or(o.Node, v.Node))
	}
	return false
}

// agentless reports whether no node-agent runs or comes on a node, or on any if it is empty, as far as the pods could
// be seen. In a roll-out a node has no pod for a moment.
func (c *VolumeContext) agentless(node string) bool {
	if !c.PodsSeen || c.rollOut || c.hinted(node) {
		return false
	}
	if node == "" {
		return len(c.Agents) == 0 && len(c.Starting) == 0
	}
	_, ready := c.Agents[node]
	return !ready && !c.Starting[node]
}

// Stalled is why an open volume may be cancelled, empty if it may still move. What could not be seen is
// no cause. Third-party data movers are never judged: the vendor need not write phases
// (data_upload_controller.go Reconcile, datamover.IsBuiltInUploader).
func (c *VolumeContext) Stalled(v *job.Volume) string {
	_, cause := c.stalled(v)
	quiet, mover := v.Quiet(c.Now), c.Movers[v.Ref()]
	switch {
	case !c.Complete || quiet < prepareMargin || c.SlotHolder(v) != nil || c.WaitsForPod(v):
		return ""
	case v.Phase == velero.VolumeCanceling:
		return "" // it was
	case v.Phase == velero.VolumeInProgress &&
		(quiet < carrierQuiet || mover.Phase != "" && mover.Phase != velero.MoverFailed):
		return "" // a node-agent that comes back takes it up again
	}
	return cause
}

// stalled proves by its owners that a volume stands still: each of them is gone, or its work is over, for longer than
// the longest of it (velero.Owners).
func (c *VolumeContext) stalled(v *job.Volume) (Reason, string) {
	silent := v.Quiet(c.Now)
	switch {
	case v.Ended() || !v.BuiltIn() || !c.PodsSeen:
		return "", ""
	case c.Blinding[v.Kind] != "" && v.Waiting() && v.Phase != velero.VolumeAccepted:
		if !c.WaitsForPod(v) && silent >= prepareMargin && len(c.Agents) > 0 {
			return MalformedSpec, "the node-agents see no " + v.Kind.Resource() +
				", because Velero cannot read " + c.Blinding[v.Kind]
		}
		return "", ""
	case !c.ownerless(c.owners(v)):
		return "", ""
	case c.agentless(""):
		return NodeAgentMissing, "no node-agent runs" + human.Parens(c.moverCause(v))
	case v.Node != "" && c.agentless(v.Node):
		return NodeAgentMissing, "no node-agent runs on its node " + v.Node
	case !c.Complete || c.SlotHolder(v) != nil:
		return "", ""
	}
	switch v.Phase {
	case "", velero.VolumeNew, velero.VolumePrepared:
		if velero.IsUnread(c.Version) {
			return "", "" // who holds a slot there is not known
		}
		return VolumeStalled, "its slot is free, but nobody starts it for " + c.Style.Duration(silent)
	case velero.VolumeAccepted:
		limit := cmp.Or(c.PrepareTimeout, DefaultPrepareTimeout)
		cause := fmt.Sprintf("it is being prepared for %s, and no node-agent ended that after %s",
			c.Style.Duration(c.Now.Sub(job.Latest(v.Changed, v.Accepted))), c.Style.Duration(limit))
		return VolumeStalled, cause + human.Parens(c.moverCause(v))
	}
	return c.notCarried(v)
}

// WaitsForPod: no node-agent begins before the restored pod runs its init container, and the volume does
// not show it (pod_volume_restore_controller.go shouldProcess).
func (c *VolumeContext) WaitsForPod(v *job.Volume) bool {
	return v.Kind == velero.PodVolumeRestore && (v.Phase == "" || v.Phase == velero.VolumeNew)
}

// notCarried says what became of the carrier of a volume that nobody moves.
func (c *VolumeContext) notCarried(v *job.Volume) (Reason, string) {
	mover := c.Movers[v.Ref()]
	switch since := c.Agents[v.Node]; {
	case mover.Phase == velero.MoverSucceeded:
		return "", "" // see LostTrack
	case mover.Phase == velero.MoverFailed && v.Quiet(c.Now) < carrierQuiet:
		return "", ""
	case mover.Phase == velero.MoverFailed:
		return MoverGone, "its mover pod has failed" + human.Parens(
			moverWhy(mover),
		) + ", and the node-agent did not note it"
	case v.Started.IsZero() || !since.After(v.Started) || c.inPods(v.Kind):
		return MoverGone, "no pod moves it any more"
	}
	return MoverGone, "the node-agent on " + v.Node + " started after it did"
}

func (c *VolumeContext) inPods(kind velero.VolumeKind) bool {
	version, known := velero.ParseVersion(c.Version)
	return known && version.MovesInPods(kind)
}

// LostTrack: the pod has succeeded, and the node-agent does not know. Its restart completes the volume
// (AttemptDataUploadResume and its siblings, reEnsureThisPod); a cancel throws the work away.
func (c *VolumeContext) LostTrack(v *job.Volume) bool {
	return c.PodsSeen && v.BuiltIn() && v.Phase == velero.VolumeInProgress &&
		c.Movers[v.Ref()].Phase == velero.MoverSucceeded && v.Quiet(c.Now) >= lostTrackQuiet && c.ownerless(c.owners(v))
}
