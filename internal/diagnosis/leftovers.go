package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

const (
	// leftoverGrace is how long the volumes of an ended job may stay open: a server that starts cancels them after it
	// marks the job Failed, and a node-agent ends them CancelDelayOthers later.
	leftoverGrace = velero.CancelDelayOthers + ownerMargin
	// leftoverSilence is how long a volume in progress whose pod lives must be silent after its job's end. Velero gives
	// all volumes of a job that long by default (pkg/cmd/server/config/config.go defaultPodVolumeOperationTimeout and
	// DefaultItemOperationTimeout). A silent pod may still read directories, so this proves nothing.
	leftoverSilence = 4 * time.Hour
)

// Leftover is an open volume of a job that has ended, which does not end by itself. Volumes may go on for a while
// after their job's end, and a later restore in the same cluster uses what they saved: a backup's PodVolumeBackups
// are listed by label (pkg/controller/restore_controller.go runValidatedRestore). Such volumes are no leftovers.
type Leftover struct {
	*job.Volume
	// JobEnded is when the job ended, or a later time at which it had.
	JobEnded time.Time
	Reason   Reason
	// Cause is one phrase: why the volume does not end.
	Cause string
	// IsProven is false for a volume whose pod lives, and which is only silent.
	IsProven bool
	// Names are what the commands of a next step are about, if known.
	Names Names
	// CanCancel is false for a volume that a cancellation does not end.
	CanCancel bool
}

// FindLeftovers returns the volumes of an ended job that are left over, nil for a job that has not ended.
func FindLeftovers(j *job.Job, env World) []Leftover {
	if !j.IsTerminal() || j.ActiveVolumeCount() == 0 || !env.StaleSince.IsZero() {
		return nil
	}
	return NewVolumeContext(&env, j).findLeftovers(j.Volumes)
}

// FindAllLeftovers returns the leftovers of all jobs that have ended, also of those that are not shown.
func FindAllLeftovers(env World) []Leftover {
	if len(env.JobEnds) == 0 || !env.StaleSince.IsZero() {
		return nil
	}
	c := NewVolumeContext(&env, &job.Job{})
	found := c.findLeftovers(env.Volumes)
	for i := range found {
		env.nameVolume(&found[i].Names, found[i].Volume)
		_, action := c.leftoverAdvice(found[i])
		found[i].CanCancel = action == CancelVolumes
	}
	return found
}

// FindBlockingLeftover returns the leftover that holds a slot for which a volume of the job waits.
func FindBlockingLeftover(j *job.Job, env World) (l Leftover, ok bool) {
	c := NewVolumeContext(&env, j)
	for i := range j.Volumes {
		if v := &j.Volumes[i]; v.IsWaiting() && v.IsBuiltIn() && !ok {
			l, ok = c.findLeftoverHolder(v)
		}
	}
	return l, ok
}

func (c *VolumeContext) findLeftovers(volumes []job.Volume) (found []Leftover) {
	for i := range volumes {
		if l, ok := c.FindLeftover(&volumes[i]); ok {
			found = append(found, l)
		}
	}
	return found
}

// FindLeftover reports whether an open volume is left over.
func (c *VolumeContext) FindLeftover(v *job.Volume) (l Leftover, ok bool) {
	ended, known := c.JobEnds[v.Ref()]
	over := c.Now.Sub(ended)
	if !known || v.HasEnded() || !v.IsBuiltIn() || over < leftoverGrace {
		return Leftover{}, false
	}
	l = Leftover{Volume: v, JobEnded: ended}
	if l.Reason, l.Cause = c.findStall(v); l.Cause != "" {
		l.IsProven = true
		return l, true
	}
	silent := v.QuietDuration(c.Now)
	switch {
	case c.HasAgentLostTrack(v):
		l.Reason, l.Cause, l.IsProven = MoverForgotten, "its pod has moved it, but the node-agent lost track", true
	case !v.IsWaiting() && over >= leftoverSilence && silent >= leftoverSilence:
		l.Reason, l.Cause = VolumeSilent, "no new bytes for "+c.Style.Duration(silent)
	default:
		return c.findWaitingLeftover(l)
	}
	return l, true
}

// findWaitingLeftover reports whether a volume that waits for a slot waits for leftovers only.
func (c *VolumeContext) findWaitingLeftover(l Leftover) (_ Leftover, ok bool) {
	if l.Phase != velero.VolumePrepared || !c.AllVolumesKnown || !c.PodsChecked {
		return Leftover{}, false
	}
	for holder := range c.findSlotHolders(l.Volume) { // in progress, so this ends
		blocking, left := c.FindLeftover(holder)
		if !left {
			return Leftover{}, false
		}
		l.Reason, l.IsProven, ok = WaitingForSlot, blocking.IsProven, true
		l.Cause = "waits for a slot behind " + blocking.Target + ", which is left over, too"
	}
	return l, ok
}

// findLeftoverHolder returns a leftover that holds the slot that v waits for. ok is false if there is none, or if
// another volume that goes on holds a slot for which v waits, too.
func (c *VolumeContext) findLeftoverHolder(v *job.Volume) (l Leftover, ok bool) {
	for holder := range c.findSlotHolders(v) {
		blocking, left := c.FindLeftover(holder)
		if !left {
			return Leftover{}, false
		}
		if !ok || blocking.IsProven {
			l, ok = blocking, true
		}
	}
	return l, ok && c.AllVolumesKnown
}

// leftoverAdvice says what ends a leftover, and which action does.
func (c *VolumeContext) leftoverAdvice(l Leftover) (advice string, action Action) {
	version, known := velero.ParseVersion(c.Version)
	where := cmp.Or(l.Node, noNode)
	switch {
	case c.hasNoAgent(""):
		return "Get the node-agent DaemonSet to run: nothing else ends them.", ""
	case l.CancelRequested:
		return "A cancel was requested and had no effect: restart the node-agent on node " + where + ".", ""
	case l.Kind.IsPodVolume() && !(known && version.CancelsPodVolumes()):
		return "Restart the node-agent on node " + where + ", or delete the " + string(l.Kind) + " with kubectl.", ""
	}
	return "Cancel what is left: the job has ended, and its volumes only hold slots, pods and claims.", CancelVolumes
}

// judgeBehindLeftover judges a job whose volume waits for a slot that a leftover holds: that slot does not come free
// by itself.
func (a *jobJudge) judgeBehindLeftover(c *VolumeContext, v *job.Volume, what, until string) (Verdict, bool) {
	l, ok := c.findLeftoverHolder(v)
	if !ok {
		return Verdict{}, false
	}
	over := a.world.Style.Duration(a.Now.Sub(l.JobEnded))
	fact := a.AddSupport(
		SourceWatch,
		l.LastChanged,
		"%s %s of %s is %s on %s although %s ended %s ago: %s",
		l.Kind, l.Name, l.Target, l.Phase, cmp.Or(l.Node, "an unknown node"), l.jobText(), over, l.Cause,
	)
	a.noteSlots(c.Slots)
	advice, _ := c.leftoverAdvice(l)
	if name, isBackup := strings.CutPrefix(l.JobRef, "backup/"); isBackup {
		a.Names.Backup = name
	}
	advice = "Look at " + l.jobText() + ", which left the volume behind. " + advice
	text := fmt.Sprintf(
		"%s; %s holds the slot on %s with a volume left over since it ended %s ago%s",
		what, l.jobText(), cmp.Or(l.Node, "an unknown node"), over, until,
	)
	if l.IsProven {
		return a.proveStuck(ProveOwnerGone(fact), BehindLeftover, advice, "%s", text), true
	}
	return a.Conclude(Quiet, BehindLeftover, advice, "%s", text), true
}

// jobText names the job of a leftover.
func (l *Leftover) jobText() string { return cmp.Or(l.JobRef, "a job") }

// noteLeftovers says what an ended job has left behind, and returns what ends it.
func (a *jobJudge) noteLeftovers(found []Leftover) (advice string, action Action) {
	c := NewVolumeContext(a.world, a.j)
	for i, l := range found {
		if i == maxNamedLeftovers {
			a.AddSupport(SourceWatch, l.LastChanged, "and %s more", human.Count(len(found)-i, "volume"))
			break
		}
		a.AddSupport(SourceWatch, l.LastChanged, "%s %s is left over: it is %s%s%s; %s", l.Kind, l.Target,
			cmp.Or(l.Phase, velero.VolumeNew), human.Prefixed(" on ", l.Node), c.leftoverPodText(l.Volume), l.Cause)
	}
	// What cannot be cancelled again needs another remedy, and comes last.
	i := slices.IndexFunc(found, func(l Leftover) bool {
		_, action := c.leftoverAdvice(l)
		return action != ""
	})
	return c.leftoverAdvice(found[max(i, 0)])
}

const maxNamedLeftovers = 5

// leftoverPodText names the pod that still runs for a volume.
func (c *VolumeContext) leftoverPodText(v *job.Volume) string {
	if m := c.MoverPods[v.Ref()]; m.IsAlive() {
		return ", its pod " + m.Pod + " is " + string(m.Phase)
	}
	return ""
}
