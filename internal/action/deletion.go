package action

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
)

// deletion deletes an object as it was seen. It can leave no mark: a repeated deletion finds that somebody deleted
// the object.
type deletion struct{ seen *unstructured.Unstructured }

// isStored compares the versions: after a dry run, an answer with the object has its old version. An answer without
// the object cannot tell.
func (d *deletion) isStored(answer *unstructured.Unstructured) bool {
	version := answer.GetResourceVersion()
	return version != "" && version != d.seen.GetResourceVersion()
}

func (d *deletion) isOwnAnswer(answer *unstructured.Unstructured) bool {
	return answer.GetUID() == d.seen.GetUID() && answer.GetDeletionTimestamp() != nil
}

// answerTime returns the time of deletion in an answer to a dry run. The entries in managedFields are older.
func (d *deletion) answerTime(answer *unstructured.Unstructured) time.Time {
	if answer.GetResourceVersion() == "" || d.seen.GetDeletionTimestamp() != nil {
		return time.Time{} // the time would be this machine's own
	}
	return job.TimeOrZero(answer.GetDeletionTimestamp())
}

// excludesOwnWrite reports whether the object was already being deleted before the request, so that somebody else
// deleted it.
func (d *deletion) excludesOwnWrite(now *unstructured.Unstructured, sent time.Time, margin time.Duration) bool {
	if now == nil || now.GetUID() != d.seen.GetUID() || now.GetDeletionTimestamp() == nil || sent.IsZero() {
		return false
	}
	return now.GetDeletionTimestamp().Time.Before(sent.Add(-margin))
}

func (d *deletion) doneText() string {
	return d.seen.GetKind() + " " + d.seen.GetName() + " was deleted"
}

func (d *deletion) undoArgs(*unstructured.Unstructured) []string { return nil }

func (d *deletion) targetObject() *unstructured.Unstructured { return d.seen }

func (d *deletion) recordRequest(e *AuditEntry) { e.DeletePreconditions = d.preconditions() }

func (d *deletion) preconditions() *metav1.Preconditions {
	uid, version := d.seen.GetUID(), d.seen.GetResourceVersion()
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
}

func (d *deletion) sendRequest(
	ctx context.Context,
	c *client.Client,
	dryRun []string,
) (*unstructured.Unstructured, error) {
	options := metav1.DeleteOptions{DryRun: dryRun, Preconditions: d.preconditions()}
	answer, err := c.Delete(ctx, newObject(d.seen.GroupVersionKind(), d.seen.GetNamespace(), d.seen.GetName()), options)
	if err != nil {
		return nil, err
	}
	after := &unstructured.Unstructured{Object: answer}
	uid, _, _ := unstructured.NestedString(answer, "details", "uid")
	if answer["status"] == metav1.StatusSuccess && uid == string(d.seen.GetUID()) { // no finalizer holds the object
		after = d.seen.DeepCopy()
		after.SetResourceVersion("")
		after.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	}
	return after, nil
}

func (d *deletion) verifyAnswer(answer *unstructured.Unstructured, dryRun bool) string {
	switch {
	case answer.GetUID() != d.seen.GetUID():
		return "answer with another object"
	case answer.GetDeletionTimestamp() == nil, !dryRun && answer.GetResourceVersion() == d.seen.GetResourceVersion():
		return "leave the object as it is"
	}
	return ""
}

// isDeleted reports whether an object, as it was seen, no longer exists or is being deleted.
func isDeleted(seen, now *unstructured.Unstructured) bool {
	return now == nil || now.GetUID() != seen.GetUID() || now.GetDeletionTimestamp() != nil
}

// judgeFate cannot distinguish our deletion from somebody else's.
func (d *deletion) judgeFate(now *unstructured.Unstructured) writeFate {
	if isDeleted(d.seen, now) {
		return fateObscured
	}
	return judgeObjectFate(now, d.seen.GetResourceVersion(), "", "", nil)
}
