package finalize

import (
	"context"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
)

// fieldManager is our name in metadata.managedFields.
const fieldManager = "veltui"

// eventTimeout bounds the Event, which is only good to have.
const eventTimeout = 5 * time.Second

// writer is the only thing in this package that changes the cluster.
type writer struct{ access *access }

// patch sends the plan's JSON patch to the main resource and returns the object
// as the API server has it afterwards.
func (w *writer) patch(ctx context.Context, p *Plan, s stamp, dryRun bool) (*unstructured.Unstructured, error) {
	data, err := p.patch(s)
	if err != nil {
		return nil, err
	}
	options := []client.PatchOption{client.FieldOwner(fieldManager)}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	o := bare(p.Kind, p.Namespace, p.Name)
	c, _ := w.access.get()
	if err := c.Patch(ctx, o, client.RawPatch(types.JSONPatchType, data), options...); err != nil {
		return nil, err
	}
	return o, nil
}

func bare(kind job.Kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(velerov1.SchemeGroupVersion.WithKind(string(kind)))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// read reads the object afresh.
func (f *Finalizer) read(ctx context.Context, p *Plan) (*unstructured.Unstructured, error) {
	o := bare(p.Kind, p.Namespace, p.Name)
	c, _ := f.access.get()
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return nil, err
	}
	return o, nil
}

// event notes in the cluster what was done.
func (w *writer) event(ctx context.Context, p *Plan, s stamp) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	from := p.From
	if from == "" {
		from = "no phase"
	}
	at := metav1.NewTime(s.at)
	c, _ := w.access.get()
	return c.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "veltui-finalize-" + s.attempt},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: velerov1.SchemeGroupVersion.String(), Kind: string(p.Kind),
			Namespace: p.Namespace, Name: p.Name, UID: p.UID,
		},
		Type: corev1.EventTypeWarning, Reason: "Finalized", Action: "Finalize",
		Message:        fmt.Sprintf("%s moved it from %s to %s: %s", s.by, from, p.To, p.Reason),
		Source:         corev1.EventSource{Component: fieldManager},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}, client.FieldOwner(fieldManager))
}
