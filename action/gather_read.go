package action

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/velero/decode"
)

// read reads one resource of Velero's namespace into a typed one, as far as its
// type can hold it.
func (g *gathering) read(kind schema.GroupVersionKind, name string, into client.Object) error {
	o := bare(kind, g.namespace, name)
	if err := g.client.Get(g.ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	_, err := convert(o, into)
	return err
}

// convert makes a typed resource with harmless texts, and names what its type
// could not hold.
func convert(o *unstructured.Unstructured, into any) ([]decode.Malformed, error) {
	malformed, err := decode.Unstructured(o, into)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	sanitize.Object(into)
	return malformed, nil
}

// listRaw lists resources of Velero's namespace as the API server sends them.
func (g *gathering) listRaw(kind schema.GroupVersionKind, options ...client.ListOption) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := g.client.List(g.ctx, list, append(options, client.InNamespace(g.namespace))...)
	return list.Items, err
}

// list lists typed resources. One that is malformed is left with what its type
// can hold, and takes nothing from the others.
func list[T any](g *gathering, kind schema.GroupVersionKind) ([]T, error) {
	raw, err := g.listRaw(kind)
	if err != nil {
		return nil, err
	}
	typed := make([]T, len(raw))
	for i := range raw {
		if _, err := convert(&raw[i], &typed[i]); err != nil {
			return nil, err
		}
	}
	return typed, nil
}
