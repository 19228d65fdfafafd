package velero

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

type VolumeRef struct {
	Kind VolumeKind
	Name string
}

func (r VolumeRef) String() string { return strings.ToLower(string(r.Kind)) + "/" + r.Name }

// moverLabels are the labels of the pods that move volumes (pkg/apis/velero/v1/labels_annotations.go).
var moverLabels = map[string]VolumeKind{
	veleroapi.DataUploadLabel: DataUpload, veleroapi.DataDownloadLabel: DataDownload,
	veleroapi.PVBLabel: PodVolumeBackup, veleroapi.PVRLabel: PodVolumeRestore,
}

// VolumeMovedBy returns the volume that a pod moves, identified by the pod's owner: the label may be cut (pkg/exposer,
// pkg/label GetValidName).
func VolumeMovedBy(p *corev1.Pod) (VolumeRef, bool) {
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

// The phases of a mover, as Kubernetes names them, and one for a pending pod that fits no node.
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
	// Node is the node of the pod, empty if it was not scheduled.
	Node  string
	Phase MoverPhase
	// Created is when the pod was created, in the API server's clock.
	Created time.Time
	// Reason is why the pod does not run, as Kubernetes names it, empty if unknown; Message is what Kubernetes adds.
	Reason  string
	Message string
}

// IsAlive reports whether the pod may still move its volume.
func (m *Mover) IsAlive() bool {
	return m.Phase != "" && m.Phase != MoverSucceeded && m.Phase != MoverFailed
}

// FindMovers returns the pods that move volumes, by volume. A volume without an entry has none.
func FindMovers(pods []*corev1.Pod) map[VolumeRef]Mover {
	movers := map[VolumeRef]Mover{}
	for _, p := range pods {
		if of, moves := VolumeMovedBy(p); moves {
			movers[of] = readMover(p)
		}
	}
	return movers
}

func readMover(p *corev1.Pod) Mover {
	pod := ReadPodState(p)
	m := Mover{
		Pod:     pod.Name,
		Node:    pod.Node,
		Phase:   MoverPhase(pod.Phase),
		Created: pod.Created,
		Reason:  pod.Reason,
		Message: pod.Message,
	}
	if m.Phase == MoverSucceeded || m.Reason != "" { // such as Evicted
		return m
	}
	runs := func(c ContainerState) bool { return c.IsRunning }
	if m.Phase == MoverRunning && slices.ContainsFunc(pod.Containers, runs) {
		return m // what else ended is another's, such as a proxy
	}
	if m.Reason, m.Message = pod.UnscheduledReason, pod.UnscheduledMessage; m.Reason != "" {
		if m.Phase == MoverPending && m.Reason == corev1.PodReasonUnschedulable && !waitsForClaim(m.Message) {
			m.Phase = MoverUnschedulable
		}
		return m
	}
	m.Reason, m.Message = containerFailure(pod.Containers)
	return m
}

// waitsForClaim: a pod whose claim is still being bound is unschedulable only until then.
func waitsForClaim(message string) bool {
	return strings.Contains(message, "unbound immediate PersistentVolumeClaims")
}

// containerFailure is why one of the containers does not run. A failure counts before a container that is being
// created.
func containerFailure(containers []ContainerState) (reason, message string) {
	for i := range containers {
		switch c := &containers[i]; {
		case c.HasFailed():
			return cmp.Or(c.End.Reason, "Error"), c.End.Message
		case c.WaitingReason != "" && c.LastEnd != nil:
			return c.WaitingReason, "it last ended with " + c.LastEnd.ReasonText()
		case c.WaitingReason != "" && (reason == "" || isCreating(reason)):
			reason, message = c.WaitingReason, c.WaitingMessage
		}
	}
	return reason, message
}

// IsBlocked reports whether the pod does not run for a cause that waiting may not mend, unlike a claim that is
// not bound yet.
func (m Mover) IsBlocked() bool {
	switch m.Phase {
	case MoverUnschedulable, MoverFailed:
		return true
	case MoverSucceeded:
		return false
	}
	return m.Reason != "" && !isCreating(m.Reason) && !waitsForClaim(m.Message)
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

// IsPodVolume reports whether the volume is moved in a pod's file system while its job is InProgress, not as an
// operation.
func (k VolumeKind) IsPodVolume() bool { return k == PodVolumeBackup || k == PodVolumeRestore }

func (k VolumeKind) GroupVersionKind() schema.GroupVersionKind {
	if k.IsPodVolume() {
		return veleroapi.GroupVersion.WithKind(string(k))
	}
	return veleroapi.GroupVersionV2Alpha1.WithKind(string(k))
}

// Resource returns the plural under which the API server serves the kind.
func (k VolumeKind) Resource() string { return strings.ToLower(string(k)) + "s" }
