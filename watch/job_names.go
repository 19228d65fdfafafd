package watch

import (
	"context"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/client"
)

// JobNames reads the names of at most limit jobs of a kind, [Backups] or [Restores],
// and nothing else of them: two requests, one if the namespace was asked for. It
// gives up when ctx ends.
func JobNames(ctx context.Context, o Options, resource string, limit int64) (names []string, err error) {
	err = look(ctx, o, func(ctx context.Context, c *client.Client) error {
		p := installation{namespace: o.Namespace}
		if p.namespace == "" {
			p.namespace = o.EnvNamespace
		}
		if p.namespace == "" {
			if p, err = findInstallation(ctx, c, requested{context: o.ContextNamespace}); err != nil {
				return err
			}
		}
		list := &metav1.PartialObjectMetadataList{}
		k, _ := kindNamed(resource)
		list.SetGroupVersionKind(velerov1.SchemeGroupVersion.WithKind(k.gvk.Kind + "List"))
		if err := c.List(ctx, list, p.namespace, metav1.ListOptions{Limit: limit}); err != nil {
			return err
		}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return nil
	})
	return names, err
}

// Namespaces reads in which namespaces Velero may be: those with a storage location,
// velero first.
func Namespaces(ctx context.Context, o Options) (found []string, err error) {
	err = look(ctx, o, func(ctx context.Context, c *client.Client) error {
		found, _, err = searchLocations(ctx, c)
		return err
	})
	return slices.Clip(found), err
}

// look asks the API server something on the side, without trying again.
func look(ctx context.Context, o Options, ask func(context.Context, *client.Client) error) error {
	o = o.withDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	line := newLine(o.Clock, time.Minute, cancel)
	defer line.stop()
	c, err := line.open(o)
	if err != nil {
		return err
	}
	return ask(ctx, c.client)
}
