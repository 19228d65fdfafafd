package action

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const eventTimeout = 5 * time.Second // limits the Event, which is optional

// writer is the only type in this package that changes the cluster.
type writer struct{ connection *connection }

func newObject(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func jobGVK(kind job.Kind) schema.GroupVersionKind {
	return veleroapi.GroupVersion.WithKind(string(kind))
}

func (w *writer) createEvent(
	ctx context.Context,
	subject *unstructured.Unstructured,
	s attemptStamp,
	action, reason, message string,
) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	at := metav1.NewTime(s.at)
	return w.connection.currentClient().Create(ctx, &corev1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Namespace: subject.GetNamespace(), Name: "veltui-finalize-" + s.attempt},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: subject.GetAPIVersion(), Kind: subject.GetKind(),
			Namespace: subject.GetNamespace(), Name: subject.GetName(), UID: subject.GetUID(),
		},
		Type: corev1.EventTypeWarning, Reason: reason, Action: action,
		Message:        s.by + " " + message,
		Source:         corev1.EventSource{Component: fieldManager},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}, metav1.CreateOptions{FieldManager: fieldManager})
}

const fieldManager = "veltui" // our name in metadata.managedFields

func (f *Engine) readObject(ctx context.Context, seen *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := newObject(seen.GroupVersionKind(), seen.GetNamespace(), seen.GetName())
	if err := f.connection.currentClient().Get(ctx, o); err != nil {
		return nil, err
	}
	return o, nil
}
