package action

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

const leftBehind = 2 * time.Minute // how long a volume may continue after its job has failed

// cancelVolumesAction ends data movement that no longer moves.
type cancelVolumesAction struct{ baseApplicable }

func (cancelVolumesAction) name() Name { return CancelVolumes }

func (cancelVolumesAction) marks() marks { return cancelled }

func (cancelVolumesAction) changes(*Plan, *unstructured.Unstructured, stamp) ([]operation, [][2]string) {
	return []operation{{"add", "/spec/cancel", true}}, nil
}

func (cancelVolumesAction) event() string { return "VolumesCancelled" }

func (cancelVolumesAction) did(p *Plan) string { return "cancelled " + volumesTitle(p.Volumes) }

func (cancelVolumesAction) othersDid(*unstructured.Unstructured) string {
	return "cancelled some of its volumes"
}

func (cancelVolumesAction) endedByVelero() bool { return true }

func (cancelVolumesAction) observe(ctx context.Context, x *execution, late bool) error {
	open := 0
	for _, w := range x.writes {
		o, err := x.once(ctx, w.object())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		v, err := volumeOf(velero.VolumeKind(o.GetKind()), o)
		if err != nil {
			return err
		}
		if !v.Ended() {
			open++
		}
	}
	all := volumesTitle(x.plan.Volumes)
	x.report(Progress{Step: StepObserve, Phase: fmt.Sprintf("%d of %d ended", len(x.writes)-open, len(x.writes))})
	switch {
	case open == 0:
		return x.stop(Settled, "%s: all ended", all)
	case late:
		return x.stop(
			Moving,
			"%s: %d of %d did not end within %s; Velero marks them Canceled within an hour of the request",
			all,
			open,
			len(x.writes),
			human.Duration(x.limit()),
		)
	}
	return nil
}

// fill ends data movement that is stalled for a known cause, or whose job has failed.
func (cancelVolumesAction) fill(e *Evidence, w *Plan) bool {
	var dead, forbidden []job.Volume
	cause, unwanted := "", e.unwanted()
	c, named := e.volumeContext(), w.request.Volume
	for _, v := range e.moving() {
		if named != "" && !isNamed(&v, named) {
			continue
		}
		why := c.Stalled(&v)
		if unwanted && e.At.Sub(v.Created) >= leftBehind && !c.LostTrack(&v) {
			why = "its " + e.Job.Kind.Word() + " has failed"
		}
		switch {
		case v.CancelAsked || why == "" || e.volumes[v.Ref()] == nil:
			continue
		case podVolumeRisk(e, v.Kind) != "":
			forbidden = append(forbidden, v)
		default:
			dead = append(dead, v)
		}
		if cause == "" {
			cause = why
		}
	}
	switch {
	case named != "" && len(dead)+len(forbidden) != 1:
		w.Title, w.Why = "cancel no volume", "it was asked for"
		w.Refusal, w.Advice = e.notCancelled(
			named,
		), "veltui cancels what has stalled for a known cause, or whose job has failed. Name it as KIND/NAME."
		return true
	case len(dead) > 0:
		describeCancel(e, w, dead)
	case len(forbidden) > 0:
		w.Refusal, w.Advice = podVolumeRisk(e, forbidden[0].Kind), podVolumeAdvice(e, forbidden[0].Kind)
	default:
		return false
	}
	all := slices.Concat(dead, forbidden)
	w.Title = "cancel " + volumesTitle(all)
	if named != "" {
		w.Title += ": " + someVolumes(all)
	}
	w.Why = fmt.Sprintf("%s: unchanged for %s; %s", volumesTitle(all), human.Duration(silence(e, all)), cause)
	if e.Job.Terminal() {
		w.Why = fmt.Sprintf(
			"the %s has ended, but %s not",
			e.Job.Kind.Word(),
			human.Plural(len(all), "of its volumes has", "of its volumes have"),
		)
	}
	if len(dead) > 0 && len(forbidden) > 0 {
		w.WillNot = append(
			w.WillNot,
			fmt.Sprintf("cancel %s: %s", volumesTitle(forbidden), podVolumeRisk(e, forbidden[0].Kind)),
		)
	}
	return true
}

// isNamed reports whether a volume is called NAME or KIND/NAME.
func isNamed(v *job.Volume, name string) bool {
	return name == v.Name || strings.EqualFold(name, v.Ref().String())
}

// notCancelled is why a volume is not cancelled.
func (e *Evidence) notCancelled(name string) string {
	i := slices.IndexFunc(e.Job.Volumes, func(v job.Volume) bool { return isNamed(&v, name) })
	switch {
	case e.Volumes != Yes:
		return cannotTell("which volumes it has", e.VolumesWhy)
	case i < 0:
		return fmt.Sprintf("the %s has no volume %s", e.Job.Kind.Word(), sanitize.String(name))
	case e.Job.Volumes[i].Ended():
		return fmt.Sprintf("%s has ended: it is %s", e.Job.Volumes[i].Name, e.Job.Volumes[i].Phase)
	case e.Job.Volumes[i].CancelAsked:
		return "somebody has requested to cancel " + e.Job.Volumes[i].Name + " already"
	}
	v := e.Job.Volumes[i]
	return fmt.Sprintf(
		"%s is %s and last changed %s ago: nothing proves that it alone has stalled",
		v.Name,
		orNone(v.Phase),
		human.Duration(max(0, e.At.Sub(v.Changed))),
	)
}

// unwanted reports whether Velero itself says that the job has failed. One that a person set to Failed may still be
// worked on; data of a job that ended otherwise may still be wanted (Velero issue 9365).
func (e *Evidence) unwanted() bool {
	j := e.Job
	if j.Phase != velero.PhaseFailed || e.At.Sub(job.Latest(j.Completed, j.Created)) < leftBehind || e.Object == nil {
		return false
	}
	o := e.owner()
	byHand := j.Object.GetAnnotations()[string(finalized)+"-to"] != "" || !e.failedByVelero()
	return o != ownerUnknown && !runsOn(e.Object, e.At) && !(byHand && o == ownerAlive)
}

// failedByVelero reports whether a server wrote the phase, or nobody is noted.
func (e *Evidence) failedByVelero() bool {
	by, _ := phaseOwner(e.Object)
	return by == "" || strings.HasSuffix(by, "-server")
}

func silence(e *Evidence, volumes []job.Volume) time.Duration {
	var newest time.Time
	for _, v := range volumes {
		newest = job.Latest(newest, v.Changed)
	}
	return max(0, e.At.Sub(newest))
}

// podVolumeRisk says why a kind of pod volumes is not cancelled, if so. Only backups wait for one (issue 9464).
func podVolumeRisk(e *Evidence, kind velero.VolumeKind) string {
	if !kind.IsPodVolume() {
		return ""
	}
	v, known := e.version()
	switch {
	case !known:
		return "veltui cancels pod volumes only if it knows the server's version: some versions cannot cancel them, " +
			"some wait for hours for a cancelled one (Velero issue 9464)"
	case !v.CancelsPodVolumes():
		return "Velero " + v.String() + " cannot cancel pod volumes"
	case kind == velero.PodVolumeBackup && !e.Job.Terminal() && v.HangsOnCancelledVolume():
		return "Velero " + v.String() + " waits for hours for a cancelled pod volume backup (Velero issue 9464)"
	}
	return ""
}

// podVolumeAdvice: from 1.16 to 1.18.2 the fs-backup time-out stores an empty list of pod volume backups, so that
// those that did end are lost too (pkg/podvolume/backupper.go WaitAllPodVolumesProcessed; pull request 9999).
func podVolumeAdvice(e *Evidence, kind velero.VolumeKind) string {
	v, known := e.version()
	if kind == velero.PodVolumeBackup && known && !v.Before(velero.Version{1, 16, 0}) &&
		v.Before(velero.Version{1, 18, 3}) {
		return "Get the node-agent that should move them running. Do not wait for Velero's timeout: Velero " +
			v.String() + " then loses the list of the volumes that did end."
	}
	return "Get the node-agent that should move them running, or wait for Velero's timeout."
}

func describeCancel(e *Evidence, w *Plan, volumes []job.Volume) {
	w.Volumes = volumes
	for _, v := range volumes {
		w.targets = append(w.targets, e.volumes[v.Ref()])
	}
	w.Will = []string{
		fmt.Sprintf(
			"set spec.cancel on %s, each only if nothing has changed it since: %s",
			volumesTitle(volumes),
			someVolumes(volumes),
		),
		"record in their annotations who did it, when and why",
	}
	w.WillNot = []string{"save the data of these volumes, or remove what was moved so far"}
	switch {
	case e.Job.Terminal():
		w.WillNot = append(w.WillNot, "change the "+e.Job.Kind.Word()+", which has ended")
	case e.Job.Kind == job.Backup:
		w.Then = append(w.Then, "Velero counts them as failed and continues; the backup ends PartiallyFailed at best")
	default:
		w.Then = append(
			w.Then,
			"Velero counts them as failed and continues; the restore ends PartiallyFailed at best, and their claims stay "+
				"without data",
		)
	}
	w.Then = append(w.Then, cancelTiming(e, volumes))
	c := e.volumeContext()
	foreign := slices.ContainsFunc(volumes, notBuiltIn)
	switch {
	case !e.Server.Visible:
		w.WillNot = append(w.WillNot, "help if no node-agent is running; veltui cannot tell: "+unseen(e))
	case !slices.ContainsFunc(e.Agents, func(a velero.Agent) bool { return a.Ready }) && !foreign:
		w.Refusal = "no node-agent is running to cancel them"
		w.Advice = "Get the node-agent DaemonSet running. " +
			"Without it Velero gives up on them at the item operation timeout."
		if !e.Job.Terminal() {
			w.targets = nil // no command either: it would end the volume once one is back
		}
	}
	for _, v := range volumes {
		if ref := c.Blinding[v.Kind]; ref != "" && w.Refusal == "" {
			w.Refusal = "no node-agent would hear it: Velero cannot read " + ref
			w.Advice = "Correct or delete " + ref + " with kubectl first."
			w.targets = nil // no command either
		}
		if w.Refusal != "" {
			break
		}
		w.refuse(
			permission(
				e.MayCancel[v.Kind],
				rightTo("patch", v.Kind.GroupVersionKind().GroupVersion(), v.Kind.Resource(), w.Namespace),
				"",
			),
		)
	}
}

// cancelTiming says when cancelled volumes end: New ones at once, one in progress at once through the node-agent on
// its node, else after an hour; all others after 5 minutes (cancelDelayOthers and cancelDelayInProgress in
// data_upload_controller.go; the same for the other kinds).
func cancelTiming(e *Evidence, volumes []job.Volume) string {
	alone := slices.ContainsFunc(volumes, func(v job.Volume) bool {
		return v.Phase == velero.VolumeInProgress && !e.hasAgent(v.Node)
	})
	switch {
	case slices.ContainsFunc(volumes, notBuiltIn):
		return "their data mover ends them, if it supports cancelling"
	case alone:
		return "those in progress on a node without a node-agent end after an hour, the others within 5 minutes"
	}
	return "they end within 5 minutes, most of them at once"
}

func notBuiltIn(v job.Volume) bool { return !v.BuiltIn() }

func volumesTitle(volumes []job.Volume) string {
	var parts []string
	for _, k := range []struct {
		kind      velero.VolumeKind
		one, many string
	}{
		{velero.DataUpload, "data upload", "data uploads"},
		{velero.DataDownload, "data download", "data downloads"},
		{velero.PodVolumeBackup, "pod volume backup", "pod volume backups"},
		{velero.PodVolumeRestore, "pod volume restore", "pod volume restores"},
	} {
		n := 0
		for _, v := range volumes {
			if v.Kind == k.kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, human.Plural(n, k.one, k.many))
		}
	}
	return strings.Join(parts, " and ")
}

func someVolumes(volumes []job.Volume) string {
	var names []string
	for _, v := range volumes {
		names = append(names, fmt.Sprintf("%s (%s)", v.Name, v.Target))
	}
	return human.List(names, 5)
}
