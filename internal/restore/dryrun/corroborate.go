package dryrun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/retry"
)

// What drops dryRun may change the answers, too: take out a resourceVersion, or reject what was stored. So a few reads
// check the answers: [dispatcher.confirm] for the first accepted object of a gate, [run.corroborate] for the first
// rejected object of a resource, and at the end [run.findMarked] and [run.readUnmarked] for all others.

// corroborate reads back the first rejected object of each resource, and the first whose answer proves nothing. Others
// wait for that, so that little more is sent if the object was stored.
func (r *run) corroborate(ctx context.Context, i *item, e evidence, err error) evidence {
	key := reading{i.resource, i == r.first, e.proof}
	switch {
	case e.proof == carriedOut, e.proof == notStored && err == nil, isNoAnswer(err), retry.Unsent(err):
		return e
	}
	once, _ := r.readings.LoadOrStore(key, &sync.Once{})
	once.(*sync.Once).Do(func() { e = r.readDoubtful(ctx, i, e, err) })
	return e
}

// reading is what is read back once.
type reading struct {
	resource string
	madeUp   bool
	proof    proof
}

// readDoubtful reads the object of a request that was rejected, or whose answer proves nothing. After a
// rejection, an object without the mark of this dry run was there before. Where reading is denied, the denied
// right to write shows that the rejection is true.
func (r *run) readDoubtful(ctx context.Context, i *item, e evidence, answer error) evidence {
	within, cancel := context.WithTimeout(ctx, readBackSilent)
	defer cancel()
	found, err := r.readBack(within, i)
	created := found.object.Metadata.CreationTimestamp
	switch {
	case found.proof == carriedOut:
		return found
	case e.proof == unproven, found.proof == notStored,
		err == nil && i.send.before == nil && i.send.marked && (r.began.IsZero() || !created.After(r.began)),
		isUnserved(err) && isUnserved(answer),
		apierrors.IsForbidden(err) && isStatus(err) && r.isDenied(within, i):
		return e
	}
	return evidence{why: fmt.Sprintf("it was rejected (%s), and %s", answer, found.why)}
}

func isUnserved(err error) bool {
	return apierrors.IsNotFound(err) && strings.HasPrefix(err.Error(), errUnserved.Error())
}

// isDenied reports whether the API server says that the sender may not write an object.
func (r *run) isDenied(ctx context.Context, i *item) bool {
	right := authorizationv1.ResourceAttributes{Verb: "create", Group: i.send.at.Group, Version: i.send.at.Version,
		Resource: i.send.at.Resource, Namespace: i.send.namespace}
	if i.send.before != nil {
		right.Verb, right.Name = "patch", i.send.name
	}
	answer, err := r.client.May(ctx, right)
	return err == nil && !answer.Allowed
}

// scope is where objects of a resource were sent; the empty namespace stands for several.
type scope struct {
	at        schema.GroupVersionResource
	namespace string
}

// sentScopes returns where objects with the mark were sent.
func (r *run) sentScopes() []scope {
	scopes := map[schema.GroupVersionResource]scope{}
	for _, i := range r.items {
		if !i.asked || !i.send.marked {
			continue
		}
		s, known := scopes[i.send.at]
		if !known {
			s = scope{i.send.at, i.send.namespace}
		} else if s.namespace != i.send.namespace {
			s.namespace = ""
		}
		scopes[i.send.at] = s
	}
	return slices.SortedFunc(
		maps.Values(scopes),
		func(a, b scope) int { return cmp.Compare(a.at.String(), b.at.String()) },
	)
}

// findMarked looks for objects that bear the mark of this dry run, one request for each resource that was sent. A list
// that may not be read changes nothing: the answers have their own proof.
func (r *run) findMarked(ctx context.Context) {
	for _, s := range r.sentScopes() {
		within, cancel := context.WithTimeout(ctx, readBackSilent)
		list, err := r.listLabelled(within, s.at, s.namespace, velerov1.RestoreNameLabel, r.mark)
		cancel()
		if isNoAnswer(err) {
			return
		}
		if err != nil {
			continue
		}
		for n := range list.Items {
			live := &list.Items[n]
			if i := r.itemAt(s.at, live.GetNamespace(), live.GetName()); r.isMarked(live) && i.verdict != stored {
				r.report(i, r.markedEvidence(live), nil)
			}
		}
	}
}

func (r *run) markedEvidence(live *unstructured.Unstructured) evidence {
	return evidence{carriedOut, "it bears the mark " + r.mark + " of this dry run", replyOf(live), live}
}

// readUnmarked reads back the accepted objects that bear no mark, such as Namespaces: a few of them.
func (r *run) readUnmarked(ctx context.Context) {
	var accepts []*item
	for _, i := range r.items {
		if i.asked && !i.send.marked && i.proven && i.unproven == "" {
			accepts = append(accepts, i)
		}
	}
	r.sort(accepts)
	r.readBackSome(ctx, accepts, func(*item, evidence) {}) // their answers have proven them
}

// itemAt returns the item that was sent as an object, a new one if none was.
func (r *run) itemAt(at schema.GroupVersionResource, namespace, name string) *item {
	for _, i := range r.items {
		if i.asked && i.send.at == at && i.send.namespace == namespace && i.send.name == name {
			return i
		}
	}
	place := place{at.GroupResource().String(), namespace, name}
	return &item{place: place, send: request{at: at, namespace: namespace, name: name, marked: true}}
}
