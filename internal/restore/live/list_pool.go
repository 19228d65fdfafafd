package live

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListPool reads several lists at once, up to a limit. It reports objects and failures one at a time.
type ListPool struct {
	*Reader
	Served  *ServedKinds
	OnStart func(resource string) // nil for none
	OnError func(resource, namespace string, err error)

	slots   chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
}

// NewListPool returns a ListPool for what a cluster serves.
func (r *Reader) NewListPool(served *ServedKinds, failed func(resource, namespace string, err error)) *ListPool {
	return &ListPool{Reader: r, Served: served, OnError: failed, slots: make(chan struct{}, r.Parallelism)}
}

// StartList runs read, which reads something of a resource, and then the function that read returns.
func (l *ListPool) StartList(ctx context.Context, resource, namespace string, read func() (func(), error)) {
	l.running.Go(func() {
		l.slots <- struct{}{}
		defer func() { <-l.slots }()
		if l.OnStart != nil {
			l.OnStart(resource)
		}
		done, err := read()
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			l.OnError(resource, namespace, err)
		default:
			done()
		}
	})
}

// StartVisit starts to visit the objects of a resource that a selector selects, as [VisitObjects] does.
func StartVisit[O any, P interface {
	*O
	metav1.Object
}](ctx context.Context, l *ListPool, resource, namespace, selector string, visit func(P)) {
	l.StartList(ctx, resource, namespace, func() (func(), error) {
		return func() {}, VisitObjects(ctx, l.Reader, l.Served, resource, namespace, selector, func(o P) {
			l.mu.Lock()
			defer l.mu.Unlock()
			visit(o)
		})
	})
}

// Wait waits for all lists that were started. Its error is ctx's.
func (l *ListPool) Wait(ctx context.Context) error {
	l.running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
