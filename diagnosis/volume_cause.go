package diagnosis

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// VolumeVerdict says what one volume does or waits for.
type VolumeVerdict struct {
	// Stuck is true for a volume that cannot move any more.
	Stuck bool
	// Reason is empty for a volume that has ended.
	Reason Reason
	// Cause is one phrase for display, empty where the phase says it all.
	Cause string
}

// JudgeVolumes judges each of the job's volumes, in their order.
func JudgeVolumes(j *job.Job, env Environment) []VolumeVerdict {
	c := newVolumeContext(&env)
	verdicts := make([]VolumeVerdict, len(j.Volumes))
	for i := range j.Volumes {
		verdicts[i] = c.verdict(&j.Volumes[i])
	}
	return verdicts
}

// bytesSettled is how long a volume in progress may show no new bytes before that
// is worth a word: node-agents write every ten seconds.
const bytesSettled = 45 * time.Second

func (c *VolumeContext) verdict(v *job.Volume) VolumeVerdict {
	if v.Ended() {
		return VolumeVerdict{}
	}
	if reason, cause := c.stalled(v); cause != "" {
		return VolumeVerdict{Stuck: true, Reason: reason, Cause: cause}
	}
	quiet := human.Duration(v.Quiet(c.Now))
	switch {
	case c.LostTrack(v):
		return VolumeVerdict{Stuck: true, Reason: MoverForgotten, Cause: "its pod has moved it, but the node-agent lost track"}
	case v.CancelAsked:
		return VolumeVerdict{Reason: VolumeSilent, Cause: "a cancel was requested; the node-agent has not ended it yet"}
	case !v.BuiltIn():
		return VolumeVerdict{Reason: WaitingForOperations, Cause: "moved by the data mover " + human.Shorten(v.DataMover, 40)}
	case c.Movers[v.Ref()] == velero.MoverUnschedulable:
		return VolumeVerdict{Reason: MoverUnschedulable, Cause: "no node can take its pod"}
	case v.Phase == velero.VolumeAccepted:
		limit := human.Duration(cmp.Or(c.PrepareTimeout, DefaultPrepareTimeout))
		return VolumeVerdict{Reason: PreparingVolume, Cause: "its snapshot, claim or pod has been in the making for " + quiet + " of " + limit}
	case c.WaitsForPod(v) && c.SlotHolder(v) == nil:
		return VolumeVerdict{Reason: PreparingVolume, Cause: "waits for its restored pod to start"}
	case v.Waiting():
		return VolumeVerdict{Reason: WaitingForSlot, Cause: c.waits(v)}
	case v.Quiet(c.Now) > bytesSettled:
		return VolumeVerdict{Reason: VolumeSilent, Cause: "no new bytes for " + quiet}
	}
	return VolumeVerdict{Reason: BytesMoving}
}

// waits says what a volume in New or Prepared waits for.
func (c *VolumeContext) waits(v *job.Volume) string {
	slot := "a slot"
	switch {
	case v.Phase != velero.VolumePrepared:
		slot = "its turn to be prepared"
	case v.Node != "":
		slot = "a slot on " + v.Node
	}
	behind := c.behind(v)
	switch {
	case behind != "":
		return "waits for " + slot + " behind " + behind
	case !c.Complete:
		return "waits for " + slot + "; not all volumes can be listed"
	}
	return "waits for " + slot
}

// behind names the volumes that may hold what v waits for, by their job.
func (c *VolumeContext) behind(v *job.Volume) string {
	count, owners := map[string]int{}, []string(nil)
	for _, o := range c.holders(v) {
		if count[o.Owner]++; count[o.Owner] == 1 {
			owners = append(owners, o.Owner)
		}
	}
	slices.SortFunc(owners, func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	var named []string
	for _, owner := range owners {
		switch owner {
		case "", v.Owner:
			named = append(named, human.Count(count[owner], "other volume"))
		default:
			named = append(named, human.Count(count[owner], "volume")+" of "+owner)
		}
	}
	return human.List(named, 1)
}
