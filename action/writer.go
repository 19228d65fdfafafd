package action

import (
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
)

// fieldManager is our name in metadata.managedFields.
const fieldManager = "veltui"

// eventTimeout bounds the Event, which is only good to have.
const eventTimeout = 5 * time.Second

// writer is the only thing in this package that changes the cluster.
type writer struct{ access *access }

// bare is a resource of which only the name is known.
func bare(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func jobKind(kind job.Kind) schema.GroupVersionKind {
	return velerov1.SchemeGroupVersion.WithKind(string(kind))
}

// read reads a resource afresh.
func (f *Engine) read(ctx context.Context, seen *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := bare(seen.GroupVersionKind(), seen.GetNamespace(), seen.GetName())
	c, _ := f.access.get()
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return nil, err
	}
	return o, nil
}

// event notes in the cluster what was done to a job.
func (w *writer) event(ctx context.Context, subject *unstructured.Unstructured, s stamp, action, reason, message string) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	at := metav1.NewTime(s.at)
	c, _ := w.access.get()
	return c.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: subject.GetNamespace(), Name: "veltui-finalize-" + s.attempt},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: subject.GetAPIVersion(), Kind: subject.GetKind(),
			Namespace: subject.GetNamespace(), Name: subject.GetName(), UID: subject.GetUID(),
		},
		Type: corev1.EventTypeWarning, Reason: reason, Action: action,
		Message:        s.by + " " + message,
		Source:         corev1.EventSource{Component: fieldManager},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}, client.FieldOwner(fieldManager))
}
