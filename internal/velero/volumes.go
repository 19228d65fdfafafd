package velero

import (
	"cmp"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type VolumeRef struct {
	Kind VolumeKind
	Name string
}

func (r VolumeRef) String() string { return strings.ToLower(string(r.Kind)) + "/" + r.Name }

// moverLabels are the labels of the pods that move volumes (pkg/apis/velero/v1/labels_annotations.go).
var moverLabels = map[string]VolumeKind{
	velerov1.DataUploadLabel: DataUpload, velerov1.DataDownloadLabel: DataDownload,
	velerov1.PVBLabel: PodVolumeBackup, velerov1.PVRLabel: PodVolumeRestore,
}

// MoverOf is the volume that a pod moves, by its owner: the label may be cut (pkg/exposer, pkg/label GetValidName).
func MoverOf(p *corev1.Pod) (VolumeRef, bool) {
	for label, kind := range moverLabels {
		if name, labelled := p.Labels[label]; labelled {
			for _, o := range p.OwnerReferences {
				if o.Kind == string(kind) {
					name = o.Name
				}
			}
			return VolumeRef{kind, name}, true
		}
	}
	return VolumeRef{}, false
}

type MoverPhase string

// The phases, as Kubernetes names them, and a pending pod that no node can take.
const (
	MoverPending       MoverPhase = "Pending"
	MoverUnschedulable MoverPhase = "Unschedulable"
	MoverRunning       MoverPhase = "Running"
	MoverSucceeded     MoverPhase = "Succeeded"
	MoverFailed        MoverPhase = "Failed"
)

// Mover is the pod that moves a volume's data. Its zero value stands for no pod.
type Mover struct {
	Pod string
	// Node is where it was scheduled, empty if it was not.
	Node  string
	Phase MoverPhase
	// Created is when the pod was, in the API server's clock.
	Created time.Time
	// Reason is why the pod does not run, as Kubernetes names it, empty if unknown; Message is what Kubernetes adds.
	Reason  string
	Message string
}

// Alive reports whether the pod may still move its volume.
func (m *Mover) Alive() bool {
	return m.Phase != "" && m.Phase != MoverSucceeded && m.Phase != MoverFailed
}

// MoversOf reads the pods that move volumes. A volume without an entry has none.
func MoversOf(pods []*corev1.Pod) map[VolumeRef]Mover {
	movers := map[VolumeRef]Mover{}
	for _, p := range pods {
		if of, moves := MoverOf(p); moves {
			movers[of] = readMover(p)
		}
	}
	return movers
}

func readMover(p *corev1.Pod) Mover {
	m := Mover{
		Pod:     p.Name,
		Node:    p.Spec.NodeName,
		Phase:   MoverPhase(p.Status.Phase),
		Created: p.CreationTimestamp.Time,
		Reason:  p.Status.Reason,
		Message: p.Status.Message,
	}
	if m.Phase == MoverSucceeded || m.Reason != "" { // such as Evicted
		return m
	}
	runs := func(c corev1.ContainerStatus) bool { return c.State.Running != nil }
	if m.Phase == MoverRunning && slices.ContainsFunc(p.Status.ContainerStatuses, runs) {
		return m // what else ended is another's, such as a proxy
	}
	if m.Reason, m.Message = unscheduled(p); m.Reason != "" {
		if m.Phase == MoverPending && m.Reason == corev1.PodReasonUnschedulable && !waitsForClaim(m.Message) {
			m.Phase = MoverUnschedulable
		}
		return m
	}
	m.Reason, m.Message = notRunning(p.Status.ContainerStatuses)
	return m
}

// unscheduled is why the scheduler found no node yet, empty if it found one.
func unscheduled(p *corev1.Pod) (reason, message string) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason, c.Message
		}
	}
	return "", ""
}

// waitsForClaim: a pod whose claim is still being bound is unschedulable only until then.
func waitsForClaim(message string) bool {
	return strings.Contains(message, "unbound immediate PersistentVolumeClaims")
}

// notRunning is why one of the containers does not run. A failure counts before a container that is being created.
func notRunning(containers []corev1.ContainerStatus) (reason, message string) {
	for i := range containers {
		c := &containers[i]
		switch ended, waits := c.State.Terminated, c.State.Waiting; {
		case ended != nil && (ended.ExitCode != 0 || ended.Reason == "OOMKilled"):
			return cmp.Or(ended.Reason, "Error"), ended.Message
		case waits != nil && c.LastTerminationState.Terminated != nil && waits.Reason != "":
			return waits.Reason, "it last ended with " + cmp.Or(
				c.LastTerminationState.Terminated.Reason,
				"no reason given",
			)
		case waits != nil && (reason == "" || creating(reason)) && waits.Reason != "":
			reason, message = waits.Reason, waits.Message
		}
	}
	return reason, message
}

func creating(reason string) bool {
	return reason == "ContainerCreating" || reason == "PodInitializing"
}

// Blocked reports whether the pod does not run for a cause that waiting may not mend, unlike a claim that is
// not bound yet.
func (m Mover) Blocked() bool {
	switch m.Phase {
	case MoverUnschedulable, MoverFailed:
		return true
	case MoverSucceeded:
		return false
	}
	return m.Reason != "" && !creating(m.Reason) && !waitsForClaim(m.Message)
}

// VolumeKind is a custom resource that moves one volume's data.
type VolumeKind string

const (
	PodVolumeBackup  VolumeKind = "PodVolumeBackup"
	PodVolumeRestore VolumeKind = "PodVolumeRestore"
	DataUpload       VolumeKind = "DataUpload"
	DataDownload     VolumeKind = "DataDownload"
)

var VolumeKinds = [...]VolumeKind{PodVolumeBackup, PodVolumeRestore, DataUpload, DataDownload}

// IsPodVolume reports whether it is moved in a pod's file system while its job is InProgress, not as an operation.
func (k VolumeKind) IsPodVolume() bool { return k == PodVolumeBackup || k == PodVolumeRestore }

func (k VolumeKind) GroupVersionKind() schema.GroupVersionKind {
	if k.IsPodVolume() {
		return velerov1.SchemeGroupVersion.WithKind(string(k))
	}
	return velerov2alpha1.SchemeGroupVersion.WithKind(string(k))
}

// Resource is the plural that the API server serves the kind under.
func (k VolumeKind) Resource() string { return strings.ToLower(string(k)) + "s" }
