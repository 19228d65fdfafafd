package target

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/sanitize"
)

// wholePage is how many whole objects are asked for at once.
const wholePage = 250

// LookWhole visits the whole objects that are asked for, as the API server sends
// them: nothing is cleaned, and managed fields are there. version is the API version
// to read a resource in, empty for the one that the cluster prefers. visit and
// progress are called by one goroutine at a time, and visit may see an object twice.
// What could not be looked at is returned; the errors are those of [Reader.Look].
func (r *Reader) LookWhole(ctx context.Context, served *Served, q *Question, version func(resource string) string,
	visit func(resource string, object *unstructured.Unstructured), progress func(Progress)) ([]NotSeen, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := r.newLook(served, q, progress, cancel)
	l.visit, l.versions = visit, version
	state, err := l.look(ctx)
	if err != nil {
		return nil, err
	}
	return state.NotSeen, nil
}

// whole visits what was asked for out of one list.
func (l *look) whole(ctx context.Context, p place) error {
	k := l.served.kinds[p.resource]
	if version := l.versions(p.resource); version != "" {
		k.Version = version
	}
	from := metav1.NamespaceNone
	if k.namespaced {
		from = p.namespace
	}
	wanted := l.state.question.kinds[p.resource]
	return pages(ctx, p.options(min(wholePage, l.Page)), func(ctx context.Context, o metav1.ListOptions) (string, error) {
		page, err := l.dynamic.Resource(k.GroupVersionResource).Namespace(from).List(ctx, o)
		if err != nil {
			return "", err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for i := range page.Items {
			o := &page.Items[i]
			if _, ok := wanted[o.GetNamespace()][sanitize.String(o.GetName())]; ok {
				l.visit(p.resource, o)
			}
		}
		return page.GetContinue(), nil
	})
}
