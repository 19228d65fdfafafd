package finalize

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// leftBehind is how long a volume may go on after its job has failed.
const leftBehind = 2 * time.Minute

// cancelVolumes: data movement that has stood still for longer than anything
// explains, or that goes on although its job has ended.
func cancelVolumes(e *Evidence, w *Way) bool {
	var dead, forbidden []job.Volume
	for _, v := range e.moving() {
		switch {
		case v.CancelAsked || !idle(e, &v):
		case isPodVolume(v.Kind) && podVolumeRisk(e) != "":
			forbidden = append(forbidden, v)
		case e.volumes[volumeKey{v.Kind, v.Name}] != nil:
			dead = append(dead, v)
		}
	}
	switch {
	case len(dead) > 0:
		describeCancel(e, w, dead)
	case len(forbidden) > 0:
		w.Refusal, w.Advice = podVolumeRisk(e), "Wait for Velero's time-out, or see to the node-agent that should move them."
	default:
		return false
	}
	named := slices.Concat(dead, forbidden)
	w.Action, w.Title = CancelVolumes, "cancel "+volumesTitle(named)
	w.Why = fmt.Sprintf("%s: no change for %s", volumesTitle(named), words(silence(e, named)))
	if e.Job.Terminal() {
		w.Why = fmt.Sprintf("the %s has ended, but %s not", word(e.Job.Kind), count(len(named), "volume of it has", "volumes of it have"))
	}
	if len(dead) > 0 && len(forbidden) > 0 {
		w.WillNot = append(w.WillNot, fmt.Sprintf("cancel %s: %s", volumesTitle(forbidden), podVolumeRisk(e)))
	}
	return true
}

// idle reports whether a volume may be cancelled: nobody wants what it moves,
// or it stands still. Of a job that ended otherwise its data may still be wanted
// (Velero issue 9365).
func idle(e *Evidence, v *job.Volume) bool {
	if e.Job.Phase == velero.PhaseFailed {
		return e.At.Sub(latest(e.Job.Completed, v.Created)) >= leftBehind
	}
	return standsStill(v, e.At)
}

// standsStill reports whether a volume that has not ended has been silent for
// longer than preparing (35 minutes) or uploading it (45) can explain.
func standsStill(v *job.Volume, now time.Time) bool {
	switch {
	case v.Ended():
		return false
	case v.Waiting():
		return v.Quiet(now) >= 35*time.Minute
	}
	return v.Quiet(now) >= 45*time.Minute
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func silence(e *Evidence, volumes []job.Volume) time.Duration {
	newest := time.Time{}
	for _, v := range volumes {
		newest = latest(newest, v.Changed)
	}
	return max(0, e.At.Sub(newest))
}

func isPodVolume(kind velero.VolumeKind) bool {
	return kind == velero.PodVolumeBackup || kind == velero.PodVolumeRestore
}

// podVolumeRisk is why pod volumes are not cancelled, empty if they may be.
func podVolumeRisk(e *Evidence) string {
	v, known := velero.ParseVersion(e.Server.Version)
	switch {
	case !known:
		return "pod volumes are only cancelled where the server's version is known: some wait for hours for a cancelled one (Velero issue 9464)"
	case !v.CancelsPodVolumes():
		return "Velero " + v.String() + " cannot cancel pod volumes"
	case v.HangsOnCancelledVolume():
		return "Velero " + v.String() + " waits for hours for a cancelled pod volume (Velero issue 9464)"
	}
	return ""
}

func describeCancel(e *Evidence, w *Way, volumes []job.Volume) {
	w.Volumes = volumes
	for _, v := range volumes {
		o := e.volumes[volumeKey{v.Kind, v.Name}]
		w.targets = append(w.targets, o)
		w.Commands = append(w.Commands, cancelCommand(w, o))
	}
	w.Will = []string{fmt.Sprintf("write spec.cancel on %s, each only if nothing has changed it since: %s", volumesTitle(volumes), someVolumes(volumes)),
		"note in their annotations who did it and when"}
	w.WillNot = []string{"bring back the data of these volumes, nor remove what was moved so far"}
	switch {
	case e.Job.Terminal():
		w.WillNot = append(w.WillNot, "change the "+word(e.Job.Kind)+", which has ended")
	case e.Job.Kind == job.Backup:
		w.Then = append(w.Then, "Velero counts them as failed and goes on; the backup ends PartiallyFailed at best")
	default:
		w.Then = append(w.Then, "Velero counts them as failed and goes on; the restore ends PartiallyFailed at best, and their claims stay without data")
	}
	w.Then = append(w.Then, "the node-agent marks them Canceled in seconds; if it does not answer, after 5 minutes (1 hour for those in progress)")
	switch {
	case !e.Server.Visible:
		w.WillNot = append(w.WillNot, "help if no node-agent runs that hears it, which could not be found out: "+unseen(e))
	case len(e.NodeAgents) == 0 && !slices.ContainsFunc(w.targets, foreignMover):
		w.Refusal, w.Advice = "no node-agent runs that would hear it", "Get the node-agent DaemonSet to run. Without it Velero gives up on them at the item operation time-out."
	}
	for _, v := range volumes {
		if e.MayCancel[v.Kind] == No {
			w.Refusal = fmt.Sprintf("you may not patch %s in namespace %s", v.Kind.Resource(), w.Namespace)
			w.Advice = fmt.Sprintf("Ask for the verb patch on %s in namespace %s.", v.Kind.Resource(), w.Namespace)
		} else if e.MayCancel[v.Kind] == Unknown {
			w.Refusal = "whether you may patch " + v.Kind.Resource() + " could not be found out"
		}
	}
}

// foreignMover tells a volume that another data mover than Velero's moves.
func foreignMover(o *unstructured.Unstructured) bool {
	mover, _, _ := unstructured.NestedString(o.Object, "spec", "datamover")
	return mover != "" && mover != "velero"
}

func cancelCommand(w *Way, o *unstructured.Unstructured) string {
	e, err := newEdit(o, "", []operation{{"add", "/spec/cancel", true}})
	if err != nil {
		return ""
	}
	return kubectl(w.request, o.GetNamespace(), "patch", strings.ToLower(o.GetKind())+"s.velero.io", o.GetName(), "--type=json", "-p", string(e.data))
}

// volumesTitle counts volumes by kind.
func volumesTitle(volumes []job.Volume) string {
	var parts []string
	for _, k := range []struct {
		kind      velero.VolumeKind
		one, many string
	}{
		{velero.DataUpload, "data upload", "data uploads"}, {velero.DataDownload, "data download", "data downloads"},
		{velero.PodVolumeBackup, "pod volume backup", "pod volume backups"}, {velero.PodVolumeRestore, "pod volume restore", "pod volume restores"},
	} {
		n := 0
		for _, v := range volumes {
			if v.Kind == k.kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, count(n, k.one, k.many))
		}
	}
	return strings.Join(parts, " and ")
}

func someVolumes(volumes []job.Volume) string {
	var names []string
	for _, v := range volumes {
		names = append(names, fmt.Sprintf("%s (%s)", v.Name, v.Target))
	}
	return some(names, 5)
}
