package dryrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/sanitize"
)

const (
	maxReadBack    = 20               // objects without a proof that are read once more
	readBackSilent = 10 * time.Second // for each of them
	maxUndo        = 4000             // characters of a patch that takes another back
)

// judge notes what an answer proves of an item, and ends the dry run if it was carried out.
func (r *run) judge(i *item, e evidence, answered []byte) {
	switch e.proof {
	case unproven:
		i.unproven = sanitize.Cut(e.why, maxText)
	case notStored:
		if e.object.Kind != "" {
			i.proven, i.send.uid = true, e.object.Metadata.UID
		}
	case carriedOut:
		r.report(i, e, answered)
	}
}

// report names an object that was stored, and ends the dry run.
func (r *run) report(i *item, e evidence, answered []byte) {
	r.stop(errCarriedOut)
	i.decide(stored, e.why)
	i.proven, i.unproven = false, ""
	o := preflight.CarriedOut{
		APIVersion: e.object.APIVersion,
		Kind:       e.object.Kind,
		Resource:   i.resource,
		Namespace:  i.send.namespace,
		Name:       i.send.name,
		UID:        e.object.Metadata.UID,
		Patched:    i.send.before != nil,
		Why:        e.why,
	}
	args := []string{"delete", i.resource, i.send.name}
	if o.Patched {
		args = r.undo(i, e.live, answered)
	}
	if args != nil {
		o.Command = r.Reach.Kubectl(i.send.namespace, args...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = append(r.stored, o)
}

// undo returns the arguments of a kubectl that puts a patched object back, nil for a Secret, whose data it would show,
// and where it would be too long.
func (r *run) undo(i *item, live *unstructured.Unstructured, answered []byte) []string {
	after := &unstructured.Unstructured{}
	if live != nil {
		after = live.DeepCopy()
	} else if after.UnmarshalJSON(answered) != nil {
		return nil
	}
	if i.resource == secrets {
		return nil
	}
	before := i.send.before.DeepCopy()
	for _, o := range []*unstructured.Unstructured{before, after} {
		o.SetManagedFields(nil)
		for _, field := range []string{"resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		unstructured.RemoveNestedField(o.Object, "status")
	}
	patch, err := mergePatch(after, before)
	if err != nil || len(patch) > maxUndo {
		return nil
	}
	return []string{"patch", i.resource, i.send.name, "--type=merge", "-p", string(patch)}
}

// exceptOthers takes back that a patch was carried out where another hand moved the object: it lacks the mark of this
// dry run, which the patch would have set.
func (r *run) exceptOthers(ctx context.Context, i *item, e evidence) evidence {
	if e.proof != carriedOut || !i.send.marked {
		return e
	}
	live, err := r.get(ctx, i.send.at, i.send.namespace, i.send.name)
	switch {
	case apierrors.IsNotFound(err) && isStatus(err):
		return evidence{why: "somebody else deleted the object at the same time"}
	case err == nil && !r.isMarked(live):
		return evidence{why: "somebody else changed the object at the same time"}
	}
	return e
}

func (r *run) isMarked(live *unstructured.Unstructured) bool {
	return live.GetLabels()[velerov1.RestoreNameLabel] == r.mark || live.GetName() == r.mark
}

// readBack reads what there is of the object of a request. Its error is that of the reading.
func (r *run) readBack(ctx context.Context, i *item) (evidence, error) {
	live, err := r.get(ctx, i.send.at, i.send.namespace, i.send.name)
	before := i.send.before
	switch {
	case before == nil && apierrors.IsNotFound(err) && isStatus(err):
		return evidence{proof: notStored, why: "it was not there afterwards"}, nil
	case err != nil:
		return evidence{why: "reading it back: " + err.Error()}, err
	}
	found := evidence{object: replyOf(live), live: live}
	switch {
	case i.send.marked && r.isMarked(live):
		return r.markedEvidence(live), nil
	case i.send.uid != "" && string(live.GetUID()) == i.send.uid:
		found.proof, found.why = carriedOut, "it has the uid that the answer to the dry run gave it"
	case before != nil && live.GetUID() == before.GetUID() && live.GetResourceVersion() == before.GetResourceVersion():
		found.proof, found.why = notStored, "it was unchanged afterwards"
	case before != nil && i.send.marked && live.GetUID() == before.GetUID():
		found.proof, found.why = notStored, "it was changed meanwhile, but lacks the mark of this dry run"
	case before != nil:
		found.why = "it was changed meanwhile, and does not show by whom"
	default:
		found.why = "an object of that name is there now, and does not show who made it"
	}
	return found, nil
}

func replyOf(live *unstructured.Unstructured) (r reply) {
	r.APIVersion, r.Kind = live.GetAPIVersion(), live.GetKind()
	r.Metadata.Name, r.Metadata.Namespace = live.GetName(), live.GetNamespace()
	r.Metadata.UID, r.Metadata.ResourceVersion = string(live.GetUID()), live.GetResourceVersion()
	r.Metadata.CreationTimestamp = live.GetCreationTimestamp()
	return r
}

// readBackUnproven reads a few objects of which no answer proved anything. One that is not there is still not proven: a
// request may land late.
func (r *run) readBackUnproven(ctx context.Context) {
	r.readBackSome(ctx, r.withUnproven(), func(i *item, e evidence) {
		i.unproven = sanitize.Cut(fmt.Sprintf("%s; %s", strings.TrimSuffix(i.unproven, "."), e.why), maxText)
	})
}

// readBackSome reads back the first maxReadBack items, until there is no answer. It reports those that were stored, and
// has noteOther note what was found of the others.
func (r *run) readBackSome(ctx context.Context, items []*item, noteOther func(*item, evidence)) {
	for _, i := range items[:min(len(items), maxReadBack)] {
		within, cancel := context.WithTimeout(ctx, readBackSilent)
		e, err := r.readBack(within, i)
		cancel()
		switch {
		case isNoAnswer(err):
			return
		case e.proof == carriedOut:
			r.report(i, e, nil)
		default:
			noteOther(i, e)
		}
	}
}

// withUnproven returns the items that were sent and of which nothing proves that they were not stored.
func (r *run) withUnproven() (all []*item) {
	for _, i := range r.items {
		if i.unproven != "" {
			all = append(all, i)
		}
	}
	r.sort(all)
	if r.first != nil && r.first.unproven != "" {
		all = slices.Insert(all, 0, r.first)
	}
	return all
}
