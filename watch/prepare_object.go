package watch

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/velero/decode"
)

// prepare makes an object fit to be kept, in place: it drops what nobody looks
// at, makes every string harmless and notes the kind, which typed clients leave
// out. It returns false for an object that is of no interest.
func prepare(o client.Object, k *kind) bool {
	if k.strip != nil && !k.strip(o) {
		return false
	}
	if fields := o.GetManagedFields(); len(fields) > 0 {
		// Who wrote last, and when, is the only clock that Velero's resources
		// carry; what was written is not needed.
		kept := make([]metav1.ManagedFieldsEntry, len(fields))
		for i, f := range fields {
			kept[i] = metav1.ManagedFieldsEntry{Manager: f.Manager, Operation: f.Operation, Time: f.Time}
		}
		o.SetManagedFields(kept)
	}
	// Deleting from a nil map is allowed.
	delete(o.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	sanitize.Object(o)
	o.GetObjectKind().SetGroupVersionKind(k.gvk)
	return true
}

// stripPod keeps what [velero.Server], [velero.Agent] and [velero.Mover] are made from,
// and returns false for pods that are none of these.
func stripPod(o client.Object) bool {
	p := o.(*corev1.Pod)
	if _, moves := velero.MoverOf(p); !moves && !velero.IsServer(p) && !velero.IsNodeAgent(p) {
		return false
	}
	p.Spec = corev1.PodSpec{NodeName: p.Spec.NodeName, Containers: stripContainers(p.Spec.Containers)}
	p.Status = corev1.PodStatus{
		Phase:             p.Status.Phase,
		Reason:            p.Status.Reason,
		Message:           p.Status.Message,
		Conditions:        p.Status.Conditions,
		ContainerStatuses: p.Status.ContainerStatuses,
	}
	p.Annotations = nil
	return true
}

func stripContainers(full []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, len(full))
	for i, c := range full {
		kept[i] = corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args}
		for _, e := range c.Env {
			if e.Name == velero.TimeZoneVariable {
				kept[i].Env = append(kept[i].Env, corev1.EnvVar{Name: e.Name, Value: e.Value})
			}
		}
	}
	return kept
}

// Malformed is a resource with fields that Velero's types cannot hold. It is in
// the snapshot like any other, with these fields left empty.
type Malformed struct {
	Resource  string // the plural with its group, such as [Schedules]
	Kind      string
	Namespace string
	Name      string
	UID       types.UID
	Fields    []decode.Malformed // never empty
}

// Ref names the resource as KIND/NAME, in lower case.
func (m Malformed) Ref() string { return strings.ToLower(m.Kind) + "/" + m.Name }

func (s *Store) putMalformed(k *kind, o client.Object, fields []decode.Malformed) {
	uid := uidOf(o)
	if len(fields) == 0 {
		s.malformed.drop(uid)
		return
	}
	s.malformed.put(uid, Malformed{k.resource, k.gvk.Kind, o.GetNamespace(), o.GetName(), uid, fields})
}

func compareMalformed(a, b Malformed) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
