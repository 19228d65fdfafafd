package action

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// failedJobVolumeGrace is how long a volume may continue after its job has failed.
const failedJobVolumeGrace = 2 * time.Minute

// cancelVolumesAction ends data movement that no longer moves.
type cancelVolumesAction struct{ baseApplicable }

func (cancelVolumesAction) actionKind() Kind { return CancelVolumes }

func (cancelVolumesAction) annotationPrefix() annotationPrefix { return cancelledPrefix }

func (cancelVolumesAction) buildChanges(
	*Plan,
	*unstructured.Unstructured,
	attemptStamp,
) ([]patchOperation, [][2]string) {
	return []patchOperation{{"add", "/spec/cancel", true}}, nil
}

func (cancelVolumesAction) eventReason() string { return "VolumesCancelled" }

func (cancelVolumesAction) doneText(p *Plan) string {
	return "cancelled " + volumeCountsText(p.Volumes)
}

func (cancelVolumesAction) doneByOtherText(*unstructured.Unstructured) string {
	return "cancelled some of its volumes"
}

func (cancelVolumesAction) waitsForVelero() bool { return true }

func (cancelVolumesAction) observeEffect(ctx context.Context, x *execution, late bool) error {
	open := 0
	for _, w := range x.writes {
		o, err := x.readOnce(ctx, w.targetObject())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		v, err := convertVolume(velero.VolumeKind(o.GetKind()), o)
		if err != nil {
			return err
		}
		if !v.HasEnded() {
			open++
		}
	}
	all := volumeCountsText(x.plan.Volumes)
	x.reportProgress(Progress{Step: StepObserve, Phase: fmt.Sprintf("%d of %d ended", len(x.writes)-open, len(x.writes))})
	switch {
	case open == 0:
		return x.endExecution(StateSettled, "%s: all ended", all)
	case late:
		return x.endExecution(
			StatePending,
			"%s: %d of %d did not end within %s; Velero marks them Canceled within an hour of the request",
			all,
			open,
			len(x.writes),
			human.Duration(x.observeTimeout()),
		)
	}
	return nil
}

// fillPlan plans to cancel data movement that is stalled for a known cause, that an ended job has left behind, or whose
// job has failed.
func (cancelVolumesAction) fillPlan(e *Evidence, w *Plan) bool {
	var dead, forbidden []job.Volume
	cause, unwanted := "", e.isDataUnwanted()
	c, named := e.buildVolumeContext(), w.request.Volume
	for _, v := range e.unendedVolumes() {
		if named != "" && !matchesVolumeName(&v, named) {
			continue
		}
		why := c.StallCause(&v)
		if unwanted && e.Now.Sub(v.Created) >= failedJobVolumeGrace && !c.HasAgentLostTrack(&v) {
			why = "its " + e.Job.Kind.Noun() + " has failed"
		}
		if l, left := c.FindLeftover(&v); left && l.Reason != diagnosis.MoverForgotten {
			why = cmp.Or(why, l.Cause)
		}
		switch {
		case v.CancelRequested || why == "" || e.volumeObjects[v.Ref()] == nil:
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
		w.Title, w.EvidenceText = "cancel no volume", "it was asked for"
		w.Refusal, w.Advice = e.notCancelledReason(
			named,
		), "veltui cancels what has stalled for a known cause, or what a job that has ended left behind. "+
			"Name it as KIND/NAME."
		return true
	case len(dead) > 0:
		describeCancel(e, w, dead)
	case len(forbidden) > 0:
		w.Refusal, w.Advice = podVolumeRisk(e, forbidden[0].Kind), podVolumeAdvice(e, forbidden[0].Kind)
	default:
		return false
	}
	all := slices.Concat(dead, forbidden)
	w.Title = "cancel " + volumeCountsText(all)
	if named != "" {
		w.Title += ": " + volumeNamesText(all)
	}
	w.EvidenceText = fmt.Sprintf(
		"%s: unchanged for %s; %s",
		volumeCountsText(all),
		human.Duration(unchangedDuration(e, all)),
		cause,
	)
	if e.Job.IsTerminal() {
		w.EvidenceText = fmt.Sprintf(
			"the %s has ended, but %s not",
			e.Job.Kind.Noun(),
			human.CountForms(len(all), "of its volumes has", "of its volumes have"),
		)
	}
	if len(dead) > 0 && len(forbidden) > 0 {
		w.WillNot = append(
			w.WillNot,
			fmt.Sprintf("cancel %s: %s", volumeCountsText(forbidden), podVolumeRisk(e, forbidden[0].Kind)),
		)
	}
	return true
}

// matchesVolumeName reports whether name, as NAME or KIND/NAME, means the volume.
func matchesVolumeName(v *job.Volume, name string) bool {
	return name == v.Name || strings.EqualFold(name, v.Ref().String())
}

// notCancelledReason says why the named volume is not cancelled.
func (e *Evidence) notCancelledReason(name string) string {
	i := slices.IndexFunc(e.Job.Volumes, func(v job.Volume) bool { return matchesVolumeName(&v, name) })
	switch {
	case e.VolumesListed != Yes:
		return cannotTellText("which volumes it has", e.VolumesUnchecked)
	case i < 0:
		return fmt.Sprintf("the %s has no volume %s", e.Job.Kind.Noun(), sanitize.String(name))
	case e.Job.Volumes[i].HasEnded():
		return fmt.Sprintf("%s has ended: it is %s", e.Job.Volumes[i].Name, e.Job.Volumes[i].Phase)
	case e.Job.Volumes[i].CancelRequested:
		return "somebody has requested to cancel " + e.Job.Volumes[i].Name + " already"
	}
	v := e.Job.Volumes[i]
	return fmt.Sprintf(
		"%s is %s and last changed %s ago: nothing proves that it alone has stalled",
		v.Name,
		phaseOrNone(v.Phase),
		human.Duration(max(0, e.Now.Sub(v.LastChanged))),
	)
}

// isDataUnwanted reports whether Velero itself marked the job Failed. Velero may still work on a job that a person
// set to Failed; data of a job that ended otherwise may still be wanted (Velero issue 9365).
func (e *Evidence) isDataUnwanted() bool {
	j := e.Job
	if j.Phase != velero.PhaseFailed || e.Now.Sub(job.LatestTime(j.Completed, j.Created)) < failedJobVolumeGrace ||
		e.Object == nil {
		return false
	}
	o := e.findJobOwner()
	byHand := j.Object.GetAnnotations()[string(finalizedPrefix)+"-to"] != "" || !e.isFailedByVelero()
	return o != ownerUnknown && !isStillRunning(e.Object, e.Now) && !(byHand && o == ownerAlive)
}

// isFailedByVelero reports whether a server wrote the phase, or no writer is recorded.
func (e *Evidence) isFailedByVelero() bool {
	by, _ := findPhaseWriter(e.Object)
	return by == "" || strings.HasSuffix(by, "-server")
}

func unchangedDuration(e *Evidence, volumes []job.Volume) time.Duration {
	var newest time.Time
	for _, v := range volumes {
		newest = job.LatestTime(newest, v.LastChanged)
	}
	return max(0, e.Now.Sub(newest))
}

// podVolumeRisk says why pod volumes of a kind are not cancelled, empty if they may be. Only backups wait for pod
// volumes (issue 9464).
func podVolumeRisk(e *Evidence, kind velero.VolumeKind) string {
	if !kind.IsPodVolume() {
		return ""
	}
	v, known := e.serverVersion()
	switch {
	case !known:
		return "veltui cancels pod volumes only if it knows the server's version: some versions cannot cancel them, " +
			"some wait for hours for a cancelled one (Velero issue 9464)"
	case !v.CancelsPodVolumes():
		return "Velero " + v.String() + " cannot cancel pod volumes"
	case kind == velero.PodVolumeBackup && !e.Job.IsTerminal() && v.HangsOnCancelledVolume():
		return "Velero " + v.String() + " waits for hours for a cancelled pod volume backup (Velero issue 9464)"
	}
	return ""
}

// podVolumeAdvice names the alternative to cancelling pod volumes. From 1.16 to 1.18.2 the fs-backup time-out stores
// an empty list of pod volume backups, so that those that did end are lost too (pkg/podvolume/backupper.go
// WaitAllPodVolumesProcessed; pull request 9999).
func podVolumeAdvice(e *Evidence, kind velero.VolumeKind) string {
	v, known := e.serverVersion()
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
		w.targets = append(w.targets, e.volumeObjects[v.Ref()])
	}
	w.Will = []string{
		fmt.Sprintf(
			"set spec.cancel on %s, each only if nothing has changed it since: %s",
			volumeCountsText(volumes),
			volumeNamesText(volumes),
		),
		"record in their annotations who did it, when and why",
	}
	w.WillNot = []string{"save the data of these volumes, or remove what was moved so far"}
	switch {
	case e.Job.IsTerminal():
		w.WillNot = append(w.WillNot, "change the "+e.Job.Kind.Noun()+", which has ended")
	case e.Job.Kind == job.Backup:
		w.Afterwards = append(
			w.Afterwards,
			"Velero counts them as failed and continues; the backup ends PartiallyFailed at best",
		)
	default:
		w.Afterwards = append(
			w.Afterwards,
			"Velero counts them as failed and continues; the restore ends PartiallyFailed at best, and their claims stay "+
				"without data",
		)
	}
	w.Afterwards = append(w.Afterwards, cancelTiming(e, volumes))
	c := e.buildVolumeContext()
	foreign := slices.ContainsFunc(volumes, isNotBuiltIn)
	switch {
	case !e.Server.Visible:
		w.WillNot = append(w.WillNot, "help if no node-agent is running; veltui cannot tell: "+serverUncheckedReason(e))
	case !slices.ContainsFunc(e.Agents, func(a velero.NodeAgent) bool { return a.Ready }) && !foreign:
		w.Refusal = "no node-agent is running to cancel them"
		w.Advice = "Get the node-agent DaemonSet running. " +
			"Without it Velero gives up on them at the item operation timeout."
		if !e.Job.IsTerminal() {
			// Offer no command either: it would end the volume once a node-agent is back.
			w.targets = nil
		}
	}
	for _, v := range volumes {
		if ref := c.HidingResources[v.Kind]; ref != "" && w.Refusal == "" {
			w.Refusal = "no node-agent would hear it: Velero cannot read " + ref
			w.Advice = "Correct or delete " + ref + " with kubectl first."
			// Offer no command either.
			w.targets = nil
		}
		if w.Refusal != "" {
			break
		}
		w.applyRefusal(
			checkPermission(
				e.MayCancel[v.Kind],
				newAccessRight("patch", v.Kind.GroupVersionKind().GroupVersion(), v.Kind.Resource(), w.Namespace),
				"",
			),
		)
	}
}

// cancelTiming says when cancelled volumes end: New volumes at once, a volume in progress at once through the
// node-agent on its node, else after an hour; all others after 5 minutes (cancelDelayOthers and cancelDelayInProgress
// in data_upload_controller.go; the same for the other kinds).
func cancelTiming(e *Evidence, volumes []job.Volume) string {
	alone := slices.ContainsFunc(volumes, func(v job.Volume) bool {
		return v.Phase == velero.VolumeInProgress && !e.hasAgent(v.Node)
	})
	switch {
	case slices.ContainsFunc(volumes, isNotBuiltIn):
		return "their data mover ends them, if it supports cancelling"
	case alone:
		return "those in progress on a node without a node-agent end after an hour, the others within 5 minutes"
	}
	return "they end within 5 minutes, most of them at once"
}

func isNotBuiltIn(v job.Volume) bool { return !v.IsBuiltIn() }

func volumeCountsText(volumes []job.Volume) string {
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
			parts = append(parts, human.CountForms(n, k.one, k.many))
		}
	}
	return strings.Join(parts, " and ")
}

func volumeNamesText(volumes []job.Volume) string {
	var names []string
	for _, v := range volumes {
		names = append(names, fmt.Sprintf("%s (%s)", v.Name, v.Target))
	}
	return human.JoinNames(names, 5)
}
