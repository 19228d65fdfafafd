package velero

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
)

// VolumeRef names a volume's resource in Velero's namespace.
type VolumeRef struct {
	Kind VolumeKind
	Name string
}

// moverLabels are the labels of the pods that move volumes
// (pkg/apis/velero/v1/labels_annotations.go).
var moverLabels = map[string]VolumeKind{
	velerov1.DataUploadLabel: DataUpload, velerov1.DataDownloadLabel: DataDownload,
	velerov1.PVBLabel: PodVolumeBackup, velerov1.PVRLabel: PodVolumeRestore,
}

// MoverOf is the volume that a pod moves. Its owner names it in full; the label
// may be shortened (pkg/exposer, pkg/label GetValidName).
func MoverOf(p *corev1.Pod) (VolumeRef, bool) {
	for label, kind := range moverLabels {
		name, labelled := p.Labels[label]
		if !labelled {
			continue
		}
		for _, o := range p.OwnerReferences {
			if o.Kind == string(kind) {
				return VolumeRef{kind, o.Name}, true
			}
		}
		return VolumeRef{kind, name}, true
	}
	return VolumeRef{}, false
}

// MoverPhase is the phase of the pod that moves a volume's data.
type MoverPhase string

// The phases, as Kubernetes names them, and a pending pod that no node can take.
const (
	MoverPending       MoverPhase = "Pending"
	MoverUnschedulable MoverPhase = "Unschedulable"
	MoverRunning       MoverPhase = "Running"
	MoverSucceeded     MoverPhase = "Succeeded"
	MoverFailed        MoverPhase = "Failed"
)

// MoversOf reads the pods that move volumes. A volume without an entry has none.
func MoversOf(pods []*corev1.Pod) map[VolumeRef]MoverPhase {
	movers := map[VolumeRef]MoverPhase{}
	for _, p := range pods {
		if of, moves := MoverOf(p); moves {
			movers[of] = moverPhase(p)
		}
	}
	return movers
}

func moverPhase(p *corev1.Pod) MoverPhase {
	// A claim whose volume is still being made makes a pod unschedulable too.
	unschedulable := func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable &&
			!strings.Contains(c.Message, "unbound immediate PersistentVolumeClaims")
	}
	if p.Status.Phase == corev1.PodPending && slices.ContainsFunc(p.Status.Conditions, unschedulable) {
		return MoverUnschedulable
	}
	return MoverPhase(p.Status.Phase)
}
