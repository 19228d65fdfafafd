package dryrun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/retry"
)

// What drops dryRun may change the answers, too: remove a resourceVersion, or reject what was stored. So a few reads
// check the answers: [dispatcher.confirmGate] for the first accepted object of a gate, [runner.corroborateAnswer] for
// the first rejected object of a resource, and at the end [runner.findMarked] and [runner.readUnmarked] for all
// others.

// corroborateAnswer reads back the first rejected object of each resource, and the first whose answer proves nothing.
// Other items wait for that, and if the object was stored nothing more is sent once they go on: each worker has sent
// at most one object by then.
func (r *runner) corroborateAnswer(ctx context.Context, i *item, e evidence, err error) evidence {
	key := readingKey{i.resource, i == r.firstItem, e.proof}
	switch {
	case e.proof == carriedOut, e.proof == notStored && err == nil, lacksAnswer(err), retry.IsUnsent(err):
		return e
	}
	once, _ := r.readings.LoadOrStore(key, &sync.Once{})
	once.(*sync.Once).Do(func() {
		if e = r.readDoubtful(ctx, i, e, err); e.proof == carriedOut {
			r.stop(errCarriedOut)
		}
	})
	return e
}

// readingKey identifies what is read back only once.
type readingKey struct {
	resource string
	madeUp   bool
	proof    proof
}

// readDoubtful reads the object of a request that was rejected, or whose answer proves nothing. After a
// rejection, an object without the mark of this dry run was there before. Where reading is denied, the denied
// right to write shows that the rejection is true.
func (r *runner) readDoubtful(ctx context.Context, i *item, e evidence, answer error) evidence {
	within, cancel := context.WithTimeout(ctx, readBackTimeout)
	defer cancel()
	found, err := r.readBack(within, i)
	created := found.object.Metadata.CreationTimestamp
	switch {
	case found.proof == carriedOut:
		return found
	case e.proof == unproven, found.proof == notStored,
		err == nil && i.lastRequest.before == nil && i.lastRequest.marked &&
			(r.serverStart.IsZero() || !created.After(r.serverStart)),
		isUnserved(err) && isUnserved(answer),
		apierrors.IsForbidden(err) && isStatus(err) && r.isDenied(within, i):
		return e
	}
	return evidence{reason: fmt.Sprintf("it was rejected (%s), and %s", answer, found.reason)}
}

func isUnserved(err error) bool {
	return apierrors.IsNotFound(err) && strings.HasPrefix(err.Error(), errUnserved.Error())
}

// isDenied reports whether the API server says that the sender may not write an object.
func (r *runner) isDenied(ctx context.Context, i *item) bool {
	right := authorizationv1.ResourceAttributes{
		Verb:      "create",
		Group:     i.lastRequest.resource.Group,
		Version:   i.lastRequest.resource.Version,
		Resource:  i.lastRequest.resource.Resource,
		Namespace: i.lastRequest.namespace,
	}
	if i.lastRequest.before != nil {
		right.Verb, right.Name = "patch", i.lastRequest.name
	}
	answer, err := r.client.CheckAccess(ctx, right)
	return err == nil && !answer.Allowed
}

// sentScope is where objects of a resource were sent; an empty namespace stands for several.
type sentScope struct {
	resource  schema.GroupVersionResource
	namespace string
}

// sentScopes returns where objects with the mark were sent.
func (r *runner) sentScopes() []sentScope {
	scopes := map[schema.GroupVersionResource]sentScope{}
	for _, i := range r.items {
		if !i.wasSent || !i.lastRequest.marked {
			continue
		}
		s, known := scopes[i.lastRequest.resource]
		if !known {
			s = sentScope{i.lastRequest.resource, i.lastRequest.namespace}
		} else if s.namespace != i.lastRequest.namespace {
			s.namespace = ""
		}
		scopes[i.lastRequest.resource] = s
	}
	return slices.SortedFunc(
		maps.Values(scopes),
		func(a, b sentScope) int { return cmp.Compare(a.resource.String(), b.resource.String()) },
	)
}

// findMarked looks for objects that bear the mark of this dry run, with one request for each resource that was sent.
// If the user may not list a resource, nothing changes: the answers have their own proof.
func (r *runner) findMarked(ctx context.Context) {
	for _, s := range r.sentScopes() {
		within, cancel := context.WithTimeout(ctx, readBackTimeout)
		list, err := r.listLabelled(within, s.resource, s.namespace, veleroapi.RestoreNameLabel, r.markLabel)
		cancel()
		if lacksAnswer(err) {
			return
		}
		if err != nil {
			continue
		}
		for n := range list.Items {
			live := &list.Items[n]
			if i := r.itemForObject(s.resource, live.GetNamespace(), live.GetName()); r.isMarked(live) && i.verdict != stored {
				r.reportStored(i, r.markedEvidence(live), nil)
			}
		}
	}
}

func (r *runner) markedEvidence(live *unstructured.Unstructured) evidence {
	return evidence{carriedOut, "it bears the mark " + r.markLabel + " of this dry run", newReply(live), live}
}

// readUnmarked reads back a few of the accepted objects that bear no mark, such as Namespaces.
func (r *runner) readUnmarked(ctx context.Context) {
	var accepts []*item
	for _, i := range r.items {
		if i.wasSent && !i.lastRequest.marked && i.proven && i.unprovenReason == "" {
			accepts = append(accepts, i)
		}
	}
	r.sortItems(accepts)
	r.readBackSome(ctx, accepts, func(*item, evidence) {}) // the answers of the other items have proven them
}

// itemForObject returns the item that was sent as an object, or a new item if none was.
func (r *runner) itemForObject(at schema.GroupVersionResource, namespace, name string) *item {
	for _, i := range r.items {
		if i.wasSent && i.lastRequest.resource == at && i.lastRequest.namespace == namespace && i.lastRequest.name == name {
			return i
		}
	}
	place := itemKey{at.GroupResource().String(), namespace, name}
	return &item{itemKey: place, lastRequest: sentRequest{resource: at, namespace: namespace, name: name, marked: true}}
}
