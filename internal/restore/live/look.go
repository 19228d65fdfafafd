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

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
)

// Progress is how far a look is.
type Progress struct {
	Done, Total int    // Done of Total lists have been read; a refused list is replaced by one for each namespace
	Resource    string // the one that was read last
}

// Look looks for what is asked for. progress, if it is not nil, is called by one goroutine at a
// time. It is an error if ctx ends, or if the API server rejects the credentials; what else cannot
// be looked at is in [State.NotSeen]. The question belongs to the State from then on.
func (r *Reader) Look(ctx context.Context, served *Served, q *Question, progress func(Progress)) (*State, error) {
	return r.look(ctx, served, q, progress, (*look).listMetadata)
}

// look reads each list with list.
func (r *Reader) look(
	ctx context.Context,
	served *Served,
	q *Question,
	progress func(Progress),
	list func(*look, context.Context, place) error,
) (*State, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &look{
		Lists: r.Lists(served, nil), progress: progress, giveUp: cancel, list: list,
		state: &State{question: q, notServed: map[string]bool{}, unseen: map[[2]string]string{}, At: r.Clock()},
	}
	l.mu.Lock()
	l.start(ctx, l.servedPlaces(q))
	l.mu.Unlock()
	if err := l.Wait(ctx); err != nil {
		return nil, err
	}
	for at, why := range l.state.unseen {
		l.state.NotSeen = append(l.state.NotSeen, NotSeen{at[0], at[1], why})
	}
	slices.SortFunc(l.state.NotSeen, func(x, y NotSeen) int {
		return cmp.Or(cmp.Compare(x.Resource, y.Resource), cmp.Compare(x.Namespace, y.Namespace))
	})
	return l.state, nil
}

// look is one of many lists; its lock is that of Lists.
type look struct {
	*Lists
	progress func(Progress)
	giveUp   context.CancelCauseFunc
	list     func(*look, context.Context, place) error

	at    Progress
	state *State
	gone  error // why nothing more is asked
}

// LookWhole visits the whole objects that are asked for, as the API server sends them: nothing is cleaned, and
// managed fields are there. version is the API version to read a resource in, empty for the one that the
// cluster prefers. visit and progress are called by one goroutine at a time, and visit may see an object twice.
// What could not be looked at is returned; the errors are those of [Reader.Look].
func (r *Reader) LookWhole(ctx context.Context, served *Served, q *Question, version func(resource string) string,
	visit func(resource string, object *unstructured.Unstructured), progress func(Progress)) ([]NotSeen, error) {
	state, err := r.look(ctx, served, q, progress, func(l *look, ctx context.Context, p place) error {
		resource, from := l.where(p)
		resource.Version = cmp.Or(version(p.resource), resource.Version)
		return l.visitWanted(ctx, p, min(wholePage, l.Page),
			func(ctx context.Context, o metav1.ListOptions) (objectList, error) {
				page := &unstructured.UnstructuredList{}
				return page, l.client.ListAny(ctx, resource, from, o, page)
			},
			func(o metav1.Object) { visit(p.resource, o.(*unstructured.Unstructured)) })
	})
	if err != nil {
		return nil, err
	}
	return state.NotSeen, nil
}

const wholePage = 250

// where is what to list for a place, and in which namespace.
func (l *look) where(p place) (resource schema.GroupVersionResource, namespace string) {
	k := l.Served.kinds[p.resource]
	if k.namespaced {
		namespace = p.namespace
	}
	return k.GroupVersionResource, namespace
}

// servedPlaces leaves out what the cluster does not serve, or does not tell.
func (l *look) servedPlaces(q *Question) []place {
	return slices.DeleteFunc(q.places(), func(p place) bool {
		serves, known := l.Served.Serves(p.resource)
		switch {
		case !known:
			_, group, _ := strings.Cut(p.resource, ".")
			l.notSeen(p, fmt.Errorf("the cluster does not tell its kinds of %s: %s", group, l.Served.Silent[group]))
		case !serves:
			l.state.notServed[p.resource] = true
		}
		return !serves
	})
}

// start begins to read lists. The caller holds the lock.
func (l *look) start(ctx context.Context, places []place) {
	l.at.Total += len(places)
	for _, p := range places {
		l.Start(ctx, p.resource, p.namespace, func() (func(), error) {
			l.mu.Lock()
			err := l.gone
			l.mu.Unlock()
			if err == nil {
				err = l.list(l, ctx, p)
			}
			return func() { l.took(ctx, p, err) }, nil
		})
	}
}

// took notes that a list was read, and begins to read those in its stead.
func (l *look) took(ctx context.Context, p place, err error) {
	var instead []place
	switch {
	case apierrors.IsUnauthorized(err):
		l.giveUp(fmt.Errorf("the API server rejects your credentials: %w", err))
		return
	case apierrors.IsForbidden(err) && len(p.within) > 0:
		ask := p.within[:min(len(p.within), mostOneByOne)]
		instead = l.state.question.oneByOne(p.resource, ask)
		if rest := p.within[len(ask):]; len(rest) > 0 {
			l.notSeen(place{resource: p.resource, within: rest}, errTooMany)
		}
	case err != nil:
		l.notSeen(p, err)
		// Each of the other lists would take as long.
		var slowness session.SlownessError
		if l.meter.Silence() >= l.Silence || errors.As(err, &slowness) {
			l.gone = err
		}
	}
	l.start(ctx, instead)
	l.at.Done++
	l.at.Resource = p.resource
	if l.progress != nil {
		l.progress(l.at)
	}
}

func (l *look) listMetadata(ctx context.Context, p place) error {
	resource, from := l.where(p)
	return l.visitWanted(ctx, p, l.Page,
		func(ctx context.Context, o metav1.ListOptions) (objectList, error) {
			page := &metav1.PartialObjectMetadataList{}
			return page, l.client.ListAny(ctx, resource, from, o, page)
		},
		func(o metav1.Object) {
			l.state.question.kinds[p.resource][o.GetNamespace()][sanitize.String(o.GetName())] = objectOf(
				o.(*metav1.PartialObjectMetadata),
			)
		})
}

type objectList interface {
	runtime.Object
	metav1.ListInterface
}

// visitWanted reads a list in pages of at most size objects, and visits those that are asked for, one at a time.
func (l *look) visitWanted(
	ctx context.Context,
	p place,
	size int64,
	list func(context.Context, metav1.ListOptions) (objectList, error),
	visit func(metav1.Object),
) error {
	wanted := l.state.question.kinds[p.resource]
	return pages(ctx, p.options(size), func(ctx context.Context, o metav1.ListOptions) (string, error) {
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

func objectOf(o *metav1.PartialObjectMetadata) *Object {
	found := &Object{
		Created: o.CreationTimestamp.Time,
		Restore: shared(o.Labels[velerov1.RestoreNameLabel]),
		Backup:  shared(o.Labels[velerov1.BackupNameLabel]),
	}
	if o.DeletionTimestamp != nil {
		found.Deleting = o.DeletionTimestamp.Time
	}
	_, found.Token = o.Annotations[corev1.ServiceAccountNameKey]
	var last time.Time
	for _, m := range o.ManagedFields {
		// The manager is what stands before the slash of the user agent (pkg/client/config.go, buildUserAgent).
		if m.Subresource != "status" && m.Time != nil && !m.Time.Time.Before(last) {
			last, found.ByVelero = m.Time.Time, m.Manager == "velero-server"
		}
	}
	if owner := metav1.GetControllerOf(o); owner != nil {
		found.Owner = shared(owner.Kind)
	}
	return found
}

// shared cleans a text that many objects have in common, and keeps one copy of it.
func shared(s string) string { return unique.Make(sanitize.String(s)).Value() }

func (l *look) notSeen(p place, err error) {
	namespaces := p.within
	if len(namespaces) == 0 {
		namespaces = []string{p.namespace}
	}
	why := words(err)
	l.Log.Info("looking at the target", "resource", p.resource, "namespace", p.namespace, "error", why)
	for _, namespace := range namespaces {
		l.state.unseen[[2]string{p.resource, namespace}] = why
	}
}

var errTooMany = fmt.Errorf(
	"you may not list it in the whole cluster, and veltui lists at most %d namespaces one by one",
	mostOneByOne,
)
