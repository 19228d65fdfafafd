package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Progress says how far a check of the cluster is.
type Progress struct {
	Done, Total int    // Done of Total lists have been read; a refused list is replaced by one for each namespace
	Resource    string // the resource that was read last
}

// FetchState looks up the items of a query. progress, if not nil, is called by one goroutine at a time. FetchState
// returns an error if ctx ends, or if the API server rejects the credentials; what else cannot be checked is in
// [State.Unchecked]. The query belongs to the State from then on.
func (r *Reader) FetchState(
	ctx context.Context,
	served *ServedKinds,
	q *Query,
	progress func(Progress),
) (*State, error) {
	return r.fetchState(ctx, served, q, progress, (*stateReader).listMetadata)
}

// fetchState reads each target with list.
func (r *Reader) fetchState(
	ctx context.Context,
	served *ServedKinds,
	q *Query,
	progress func(Progress),
	list func(*stateReader, context.Context, listTarget) error,
) (*State, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &stateReader{
		ListPool: r.NewListPool(served, nil), progress: progress, giveUp: cancel, list: list,
		state: &State{query: q, notServed: map[string]bool{}, uncheckedReasons: map[[2]string]string{}, CheckedAt: r.Clock()},
	}
	l.mu.Lock()
	l.startTargets(ctx, l.servedTargets(q))
	l.mu.Unlock()
	if err := l.Wait(ctx); err != nil {
		return nil, err
	}
	for at, why := range l.state.uncheckedReasons {
		l.state.Unchecked = append(l.state.Unchecked, Unchecked{at[0], at[1], why})
	}
	slices.SortFunc(l.state.Unchecked, func(x, y Unchecked) int {
		return cmp.Or(cmp.Compare(x.Resource, y.Resource), cmp.Compare(x.Namespace, y.Namespace))
	})
	return l.state, nil
}

// stateReader reads the lists of a query; its lock is that of the ListPool.
type stateReader struct {
	*ListPool
	progress func(Progress)
	giveUp   context.CancelCauseFunc
	list     func(*stateReader, context.Context, listTarget) error

	current    Progress
	state      *State
	stopReason error // why nothing more is requested
}

// FetchObjects visits the whole objects that a query names, as the API server sends them: nothing is cleaned, and
// managed fields are there. version returns the API version to read a resource in, empty for the version that the
// cluster prefers. visit and progress are called by one goroutine at a time, and visit may see an object twice.
// FetchObjects returns what could not be checked; its errors are those of [Reader.FetchState].
func (r *Reader) FetchObjects(ctx context.Context, served *ServedKinds, q *Query, version func(resource string) string,
	visit func(resource string, object *unstructured.Unstructured), progress func(Progress)) ([]Unchecked, error) {
	state, err := r.fetchState(ctx, served, q, progress, func(l *stateReader, ctx context.Context, p listTarget) error {
		resource, from := l.listResource(p)
		resource.Version = cmp.Or(version(p.resource), resource.Version)
		return l.visitWanted(ctx, p, min(wholeObjectPageSize, l.PageSize),
			func(ctx context.Context, o metav1.ListOptions) (objectList, error) {
				page := &unstructured.UnstructuredList{}
				return page, l.client.ListInto(ctx, resource, from, o, page)
			},
			func(o metav1.Object) { visit(p.resource, o.(*unstructured.Unstructured)) })
	})
	if err != nil {
		return nil, err
	}
	return state.Unchecked, nil
}

const wholeObjectPageSize = 250

// listResource returns the resource to list for a target, and the namespace to list it in.
func (l *stateReader) listResource(p listTarget) (resource schema.GroupVersionResource, namespace string) {
	k := l.Served.kinds[p.resource]
	if k.namespaced {
		namespace = p.namespace
	}
	return k.GroupVersionResource, namespace
}

// servedTargets returns the targets of a query without those that the cluster does not serve, or does not tell about.
func (l *stateReader) servedTargets(q *Query) []listTarget {
	return slices.DeleteFunc(q.listTargets(), func(p listTarget) bool {
		serves, known := l.Served.IsServed(p.resource)
		switch {
		case !known:
			_, group, _ := strings.Cut(p.resource, ".")
			l.addUnchecked(p, fmt.Errorf("the cluster does not tell its kinds of %s: %s", group, l.Served.SilentReasons[group]))
		case !serves:
			l.state.notServed[p.resource] = true
		}
		return !serves
	})
}

// startTargets starts to read lists. The caller holds the lock.
func (l *stateReader) startTargets(ctx context.Context, places []listTarget) {
	l.current.Total += len(places)
	for _, p := range places {
		l.StartList(ctx, p.resource, p.namespace, func() (func(), error) {
			l.mu.Lock()
			err := l.stopReason
			l.mu.Unlock()
			if err == nil {
				err = l.list(l, ctx, p)
			}
			return func() { l.finishTarget(ctx, p, err) }, nil
		})
	}
}

// finishTarget notes that a list was read, and starts to read the lists that replace it.
func (l *stateReader) finishTarget(ctx context.Context, p listTarget, err error) {
	var instead []listTarget
	switch {
	case apierrors.IsUnauthorized(err):
		l.giveUp(fmt.Errorf("the API server rejects your credentials: %w", err))
		return
	case apierrors.IsForbidden(err) && len(p.namespaces) > 0:
		ask := p.namespaces[:min(len(p.namespaces), maxNamespaces)]
		instead = l.state.query.namespacedTargets(p.resource, ask)
		if rest := p.namespaces[len(ask):]; len(rest) > 0 {
			l.addUnchecked(listTarget{resource: p.resource, namespaces: rest}, errClusterListForbidden)
		}
	case err != nil:
		l.addUnchecked(p, err)
		// Each of the other lists would take as long.
		var slowness session.SlowAnswerError
		if l.meter.SilentFor() >= l.IdleTimeout || errors.As(err, &slowness) {
			l.stopReason = err
		}
	}
	l.startTargets(ctx, instead)
	l.current.Done++
	l.current.Resource = p.resource
	if l.progress != nil {
		l.progress(l.current)
	}
}

func (l *stateReader) listMetadata(ctx context.Context, p listTarget) error {
	resource, from := l.listResource(p)
	return l.visitWanted(ctx, p, l.PageSize,
		func(ctx context.Context, o metav1.ListOptions) (objectList, error) {
			page := &metav1.PartialObjectMetadataList{}
			return page, l.client.ListInto(ctx, resource, from, o, page)
		},
		func(o metav1.Object) {
			l.state.query.wantedItems[p.resource][o.GetNamespace()][sanitize.String(o.GetName())] = newObject(
				o.(*metav1.PartialObjectMetadata),
			)
		})
}

type objectList interface {
	runtime.Object
	metav1.ListInterface
}

// visitWanted reads a list in pages of at most size objects, and visits the wanted objects one at a time.
func (l *stateReader) visitWanted(
	ctx context.Context,
	p listTarget,
	size int64,
	list func(context.Context, metav1.ListOptions) (objectList, error),
	visit func(metav1.Object),
) error {
	wanted := l.state.query.wantedItems[p.resource]
	return readPages(ctx, p.listOptions(size), func(ctx context.Context, o metav1.ListOptions) (string, error) {
		page, err := list(ctx, o)
		if err != nil {
			return "", err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		err = meta.EachListItem(page, func(item runtime.Object) error {
			o := item.(metav1.Object)
			if _, ok := wanted[o.GetNamespace()][sanitize.String(o.GetName())]; ok {
				visit(o)
			}
			return nil
		})
		return page.GetContinue(), err
	})
}

func newObject(o *metav1.PartialObjectMetadata) *Object {
	found := &Object{
		Created:     o.CreationTimestamp.Time,
		RestoreName: internText(o.Labels[veleroapi.RestoreNameLabel]),
		BackupName:  internText(o.Labels[veleroapi.BackupNameLabel]),
	}
	if o.DeletionTimestamp != nil {
		found.DeletingSince = o.DeletionTimestamp.Time
	}
	_, found.HasTokenAnnotation = o.Annotations[corev1.ServiceAccountNameKey]
	var last time.Time
	for _, m := range o.ManagedFields {
		byVelero := m.Manager == velero.ServerManager
		found.WrittenByVelero = found.WrittenByVelero || byVelero
		if m.Time != nil && (found.FirstWritten.IsZero() || m.Time.Time.Before(found.FirstWritten)) {
			found.FirstWritten = m.Time.Time
		}
		if m.Subresource != "status" && m.Time != nil && !m.Time.Time.Before(last) {
			last, found.LastWrittenByVelero = m.Time.Time, byVelero
		}
	}
	if owner := metav1.GetControllerOf(o); owner != nil {
		found.OwnerKind = internText(owner.Kind)
	}
	return found
}

// internText cleans a text that many objects share, and keeps one copy of it.
func internText(s string) string { return unique.Make(sanitize.String(s)).Value() }

func (l *stateReader) addUnchecked(p listTarget, err error) {
	namespaces := p.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{p.namespace}
	}
	why := errorText(err)
	l.Log.Info("looking at the target", "resource", p.resource, "namespace", p.namespace, "error", why)
	for _, namespace := range namespaces {
		l.state.uncheckedReasons[[2]string{p.resource, namespace}] = why
	}
}

var errClusterListForbidden = fmt.Errorf(
	"you may not list it in the whole cluster, and veltui lists at most %d namespaces one by one",
	maxNamespaces,
)
