package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// VolumeVerdict says what one volume is doing or waiting for.
type VolumeVerdict struct {
	// Stuck is true for a volume that cannot move any more.
	Stuck bool
	// Reason is empty for a volume that has ended.
	Reason Reason
	// Cause is one phrase for display, empty if the phase says it all.
	Cause string
}

// JudgeVolumes returns a verdict for each of the job's volumes, in the order of j.Volumes.
func JudgeVolumes(j *job.Job, env World) []VolumeVerdict {
	c := NewVolumeContext(&env, j)
	verdicts := make([]VolumeVerdict, len(j.Volumes))
	for i := range j.Volumes {
		verdicts[i] = c.judgeVolume(&j.Volumes[i])
	}
	return verdicts
}

// normalByteSilence is how long a lack of new bytes means nothing: node-agents write every ten seconds.
const normalByteSilence = 45 * time.Second

func (c *VolumeContext) judgeVolume(v *job.Volume) VolumeVerdict {
	if v.HasEnded() {
		return VolumeVerdict{}
	}
	if reason, cause := c.findStall(v); cause != "" {
		return VolumeVerdict{Stuck: true, Reason: reason, Cause: cause}
	}
	quiet := c.Style.Duration(v.QuietDuration(c.Now))
	switch {
	case c.HasAgentLostTrack(v):
		return VolumeVerdict{
			Stuck:  true,
			Reason: MoverForgotten,
			Cause:  "its pod has moved it, but the node-agent lost track",
		}
	case v.CancelRequested:
		return VolumeVerdict{Reason: VolumeSilent, Cause: "a cancel was requested; the node-agent has not ended it yet"}
	case !v.IsBuiltIn():
		return VolumeVerdict{
			Reason: WaitingForOperations,
			Cause:  "moved by the data mover " + human.Shorten(v.DataMover, 40),
		}
	case c.MoverPods[v.Ref()].IsBlocked():
		return VolumeVerdict{Reason: c.blockedReason(v), Cause: c.moverCauseText(v)}
	case v.Phase == velero.VolumeAccepted && c.moverCauseText(v) != "":
		return VolumeVerdict{Reason: PreparingVolume, Cause: c.moverCauseText(v)}
	case v.Phase == velero.VolumeAccepted:
		limit := c.Style.Duration(cmp.Or(c.PrepareTimeout, DefaultPrepareTimeout))
		return VolumeVerdict{
			Reason: PreparingVolume,
			Cause:  "its snapshot, claim or pod has been in the making for " + quiet + " of " + limit,
		}
	case c.WaitsForPod(v) && c.FindSlotHolder(v) == nil:
		return VolumeVerdict{Reason: PreparingVolume, Cause: "waits for its restored pod to start"}
	case v.IsWaiting():
		return VolumeVerdict{Reason: WaitingForSlot, Cause: c.slotWaitText(v)}
	case v.QuietDuration(c.Now) > normalByteSilence:
		return VolumeVerdict{Reason: VolumeSilent, Cause: "no new bytes for " + quiet}
	}
	return VolumeVerdict{Reason: BytesMoving}
}

func (c *VolumeContext) slotWaitText(v *job.Volume) string {
	slot, atOnce := "a slot", ""
	switch {
	case v.Phase != velero.VolumePrepared:
		slot = "its turn to be prepared"
		if n := c.Slots.PrepareQueueLength(c.Version); n > 0 {
			atOnce = fmt.Sprintf(" (%d at a time)", n)
		}
	case v.Node != "":
		slot = "a slot on " + v.Node
		if n := c.Slots.ByNode[v.Node]; n > 0 {
			atOnce = fmt.Sprintf(" (%d at a time)", n)
		}
	}
	behind := c.slotHoldersText(v)
	switch {
	case behind != "":
		return "waits for " + slot + " behind " + behind + atOnce
	case !c.AllVolumesKnown:
		return "waits for " + slot + "; not all volumes can be listed"
	}
	return "waits for " + slot + atOnce
}

func (c *VolumeContext) slotHoldersText(v *job.Volume) string {
	count, owners := map[string]int{}, []string(nil)
	for o := range c.findSlotHolders(v) {
		if count[o.JobRef]++; count[o.JobRef] == 1 {
			owners = append(owners, o.JobRef)
		}
	}
	slices.SortFunc(owners, func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	var named []string
	for _, owner := range owners {
		switch owner {
		case "", v.JobRef:
			named = append(named, human.Count(count[owner], "other volume"))
		default:
			named = append(named, human.Count(count[owner], "volume")+" of "+owner)
		}
	}
	return human.JoinNames(named, 1)
}

// moverCauseText says why a volume's pod does not run, empty if there is no cause.
func (c *VolumeContext) moverCauseText(v *job.Volume) string {
	m := c.MoverPods[v.Ref()]
	why := human.Prefixed(": ", moverReasonText(m))
	switch {
	case m.Phase == velero.MoverPending || m.Phase == velero.MoverUnschedulable:
		if m.Created.IsZero() {
			return "mover pod pending" + why
		}
		return "mover pod pending for " + c.Style.Duration(c.Now.Sub(m.Created)) + why
	case m.Phase == velero.MoverFailed:
		return "mover pod failed" + why
	case m.IsBlocked():
		return "mover pod does not run" + why
	}
	return ""
}

func (c *VolumeContext) blockedReason(v *job.Volume) Reason {
	switch {
	case c.MoverPods[v.Ref()].Phase == velero.MoverUnschedulable:
		return MoverUnschedulable
	case v.IsWaiting():
		return PreparingVolume
	}
	return VolumeSilent
}

// moverReasonText returns why a pod does not run. The scheduler repeats itself after "preemption".
func moverReasonText(m velero.Mover) string {
	message, _, _ := strings.Cut(m.Message, " preemption: ")
	message = human.Shorten(strings.TrimSuffix(strings.TrimSpace(message), "."), maxMoverReason)
	switch {
	case message == "":
		return m.Reason
	case m.Reason == corev1.PodReasonUnschedulable:
		return message
	}
	return m.Reason + ": " + message
}

const maxMoverReason = 120
