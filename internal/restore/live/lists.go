package live

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Lists reads lists beside each other, but not too many at once. What they visit, and what could not be read, comes one
// at a time.
type Lists struct {
	*Reader
	Served *Served
	Began  func(resource string) // nil for none
	Failed func(resource, namespace string, err error)

	slots   chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
}

// Lists returns one for what a cluster serves.
func (r *Reader) Lists(served *Served, failed func(resource, namespace string, err error)) *Lists {
	return &Lists{Reader: r, Served: served, Failed: failed, slots: make(chan struct{}, r.Parallel)}
}

// Start runs what reads something of a resource; it returns what to do with that.
func (l *Lists) Start(ctx context.Context, resource, namespace string, read func() (func(), error)) {
	l.running.Go(func() {
		l.slots <- struct{}{}
		defer func() { <-l.slots }()
		if l.Began != nil {
			l.Began(resource)
		}
		done, err := read()
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			l.Failed(resource, namespace, err)
		default:
			done()
		}
	})
}

// Each starts to read the objects of a resource that a selector selects, as [Visit] does.
func Each[O any, P interface {
	*O
	metav1.Object
}](ctx context.Context, l *Lists, resource, namespace, selector string, visit func(P)) {
	l.Start(ctx, resource, namespace, func() (func(), error) {
		return func() {}, Visit(ctx, l.Reader, l.Served, resource, namespace, selector, func(o P) {
			l.mu.Lock()
			defer l.mu.Unlock()
			visit(o)
		})
	})
}

// Wait waits for all that was started. Its error is ctx's.
func (l *Lists) Wait(ctx context.Context) error {
	l.running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
