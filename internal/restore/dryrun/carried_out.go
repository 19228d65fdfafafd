package dryrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const (
	maxReadBack     = 20               // objects without a proof that are read once more
	readBackTimeout = 10 * time.Second // for each of them
	maxUndoLength   = 4000             // characters of a patch that undoes another patch
)

// judgeAnswer records what an answer proves about an item, and ends the dry run if it was carried out.
func (r *runner) judgeAnswer(i *item, e evidence, answered []byte) {
	switch e.proof {
	case unproven:
		i.unprovenReason = sanitize.Truncate(e.reason, maxText)
	case notStored:
		if e.object.Kind != "" {
			i.proven, i.lastRequest.uid = true, e.object.Metadata.UID
		}
	case carriedOut:
		r.reportStored(i, e, answered)
	}
}

// reportStored reports an object that was stored, and ends the dry run.
func (r *runner) reportStored(i *item, e evidence, answered []byte) {
	r.stop(errCarriedOut)
	i.setVerdict(stored, e.reason)
	i.proven, i.unprovenReason = false, ""
	o := preflight.StoredObject{
		APIVersion: e.object.APIVersion,
		Kind:       e.object.Kind,
		Resource:   i.resource,
		Namespace:  i.lastRequest.namespace,
		Name:       i.lastRequest.name,
		UID:        e.object.Metadata.UID,
		Patched:    i.lastRequest.before != nil,
		Why:        e.reason,
	}
	args := []string{"delete", i.resource, i.lastRequest.name}
	if o.Patched {
		args = r.undoArgs(i, e.live, answered)
	}
	if args != nil {
		o.Command = r.ClusterAccess.KubectlCommand(i.lastRequest.namespace, args...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = append(r.stored, o)
}

// undoArgs returns the arguments of the kubectl command that restores a patched object; nil for a Secret, whose data
// they would show, and where the patch would be too long.
func (r *runner) undoArgs(i *item, live *unstructured.Unstructured, answered []byte) []string {
	after := &unstructured.Unstructured{}
	if live != nil {
		after = live.DeepCopy()
	} else if after.UnmarshalJSON(answered) != nil {
		return nil
	}
	if i.resource == secrets {
		return nil
	}
	before := i.lastRequest.before.DeepCopy()
	for _, o := range []*unstructured.Unstructured{before, after} {
		o.SetManagedFields(nil)
		for _, field := range []string{"resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		unstructured.RemoveNestedField(o.Object, "status")
	}
	patch, err := mergePatch(after, before)
	if err != nil || len(patch) > maxUndoLength {
		return nil
	}
	return []string{"patch", i.resource, i.lastRequest.name, "--type=merge", "-p", string(patch)}
}

// excludeOtherWriters withdraws the proof that a patch was carried out if someone else changed the object: then it
// lacks the mark of this dry run, which the patch would have set.
func (r *runner) excludeOtherWriters(ctx context.Context, i *item, e evidence) evidence {
	if e.proof != carriedOut || !i.lastRequest.marked {
		return e
	}
	live, err := r.getObject(ctx, i.lastRequest.resource, i.lastRequest.namespace, i.lastRequest.name)
	switch {
	case apierrors.IsNotFound(err) && isStatus(err):
		return evidence{reason: "somebody else deleted the object at the same time"}
	case err == nil && !r.isMarked(live):
		return evidence{reason: "somebody else changed the object at the same time"}
	}
	return e
}

func (r *runner) isMarked(live *unstructured.Unstructured) bool {
	return live.GetLabels()[veleroapi.RestoreNameLabel] == r.markLabel || live.GetName() == r.markLabel
}

// readBack reads the current object of a request. Its error is that of the read.
func (r *runner) readBack(ctx context.Context, i *item) (evidence, error) {
	live, err := r.getObject(ctx, i.lastRequest.resource, i.lastRequest.namespace, i.lastRequest.name)
	before := i.lastRequest.before
	switch {
	case before == nil && apierrors.IsNotFound(err) && isStatus(err):
		return evidence{proof: notStored, reason: "it was not there afterwards"}, nil
	case err != nil:
		return evidence{reason: "reading it back: " + err.Error()}, err
	}
	found := evidence{object: newReply(live), live: live}
	switch {
	case i.lastRequest.marked && r.isMarked(live):
		return r.markedEvidence(live), nil
	case i.lastRequest.uid != "" && string(live.GetUID()) == i.lastRequest.uid:
		found.proof, found.reason = carriedOut, "it has the uid that the answer to the dry run gave it"
	case before != nil && live.GetUID() == before.GetUID() && live.GetResourceVersion() == before.GetResourceVersion():
		found.proof, found.reason = notStored, "it was unchanged afterwards"
	case before != nil && i.lastRequest.marked && live.GetUID() == before.GetUID():
		found.proof, found.reason = notStored, "it was changed meanwhile, but lacks the mark of this dry run"
	case before != nil:
		found.reason = "it was changed meanwhile, and does not show by whom"
	default:
		found.reason = "an object of that name is there now, and does not show who made it"
	}
	return found, nil
}

func newReply(live *unstructured.Unstructured) (r reply) {
	r.APIVersion, r.Kind = live.GetAPIVersion(), live.GetKind()
	r.Metadata.Name, r.Metadata.Namespace = live.GetName(), live.GetNamespace()
	r.Metadata.UID, r.Metadata.ResourceVersion = string(live.GetUID()), live.GetResourceVersion()
	r.Metadata.CreationTimestamp = live.GetCreationTimestamp()
	return r
}

// readBackUnproven reads back a few objects for which no answer proved anything. A missing object still proves
// nothing: a request may arrive late.
func (r *runner) readBackUnproven(ctx context.Context) {
	r.readBackSome(ctx, r.findUnproven(), func(i *item, e evidence) {
		i.unprovenReason = sanitize.Truncate(
			fmt.Sprintf("%s; %s", strings.TrimSuffix(i.unprovenReason, "."), e.reason),
			maxText,
		)
	})
}

// readBackSome reads back the first maxReadBack items, until a read gets no answer. It reports the stored ones, and
// passes the evidence on the others to noteOther.
func (r *runner) readBackSome(ctx context.Context, items []*item, noteOther func(*item, evidence)) {
	for _, i := range items[:min(len(items), maxReadBack)] {
		within, cancel := context.WithTimeout(ctx, readBackTimeout)
		e, err := r.readBack(within, i)
		cancel()
		switch {
		case lacksAnswer(err):
			return
		case e.proof == carriedOut:
			r.reportStored(i, e, nil)
		default:
			noteOther(i, e)
		}
	}
}

// findUnproven returns the sent items for which nothing proves that they were not stored.
func (r *runner) findUnproven() (all []*item) {
	for _, i := range r.items {
		if i.unprovenReason != "" {
			all = append(all, i)
		}
	}
	r.sortItems(all)
	if r.firstItem != nil && r.firstItem.unprovenReason != "" {
		all = slices.Insert(all, 0, r.firstItem)
	}
	return all
}
