package action

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// write is one request to change the cluster. However often it is sent, the API server carries it out once or not at
// all.
type write interface {
	// targetObject returns the object to write to, as it was seen, or the object to create.
	targetObject() *unstructured.Unstructured
	// sendRequest sends the write once; dryRun is nil for a real request.
	sendRequest(ctx context.Context, c *client.Client, dryRun []string) (*unstructured.Unstructured, error)
	// verifyAnswer compares an answer with the request. It returns what is wrong, to follow "the API server would accept
	// it but"; empty if nothing is wrong.
	verifyAnswer(answer *unstructured.Unstructured, dryRun bool) string
	// isStored reports whether an answer to a dry run shows that something was stored.
	isStored(answer *unstructured.Unstructured) bool
	// isOwnAnswer reports whether an answer is about the object of the request, and has the mark of this attempt if it
	// has a mark.
	isOwnAnswer(answer *unstructured.Unstructured) bool
	// answerTime returns a time that the API server recorded for this request in its answer; zero for none.
	answerTime(answer *unstructured.Unstructured) time.Time
	// judgeFate tells from the present object, nil if it does not exist, what became of requests without an answer.
	judgeFate(now *unstructured.Unstructured) writeFate
	// excludesOwnWrite reports whether an object proves that the only request, which was sent at that time by the API
	// server's clock and answered with a Status of 409, was not carried out.
	excludesOwnWrite(now *unstructured.Unstructured, sent time.Time, margin time.Duration) bool
	// doneText says what a request that was carried out has done, and undoArgs returns the arguments of the kubectl
	// command that undoes it, nil for none.
	doneText() string
	undoArgs(after *unstructured.Unstructured) []string
	// recordRequest records the request in an entry of the audit log.
	recordRequest(*AuditEntry)
}

// creation creates an object under a name that was chosen before: sent again, it finds the object that it created.
type creation struct {
	wanted              *unstructured.Unstructured
	attemptKey, attempt string
	startedAt           time.Time // before it was first sent
	data                []byte
}

func newCreation(
	wanted *unstructured.Unstructured,
	m annotationPrefix,
	s attemptStamp,
	reason string,
) (*creation, error) {
	o := wanted.DeepCopy()
	notes := map[string]string{}
	maps.Copy(notes, o.GetAnnotations())
	// Drop the notes of the object that wanted is a copy of.
	maps.DeleteFunc(
		notes,
		func(name, _ string) bool { return strings.HasPrefix(name, "veltui.io/") },
	)
	o.SetAnnotations(notes)
	for _, n := range m.buildNotes(o, s, reason) {
		if n[1] != "" {
			notes[string(m)+n[0]] = n[1]
		}
	}
	o.SetAnnotations(notes)
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return &creation{o, m.attemptKey(), s.attempt, s.at, data}, nil
}

func (c *creation) targetObject() *unstructured.Unstructured { return c.wanted }

// sendRequest asks for strict validation: an older CRD would drop a field that it does not have, and perhaps a filter
// with it.
func (c *creation) sendRequest(
	ctx context.Context,
	api *client.Client,
	dryRun []string,
) (*unstructured.Unstructured, error) {
	options := metav1.CreateOptions{
		DryRun:          dryRun,
		FieldManager:    fieldManager,
		FieldValidation: metav1.FieldValidationStrict,
	}
	o := c.wanted.DeepCopy()
	if err := api.Create(ctx, o, options); err != nil {
		return nil, err
	}
	return o, nil
}

// isStored checks for a resourceVersion: a dry run's answer has none (k8s.io/apiserver
// pkg/registry/generic/registry/dryrun.go Create, 1.36).
func (c *creation) isStored(answer *unstructured.Unstructured) bool {
	return answer.GetResourceVersion() != ""
}

func (c *creation) isOwnAnswer(answer *unstructured.Unstructured) bool {
	attempts, _ := markedAttempts(answer, c.attemptKey)
	return answer.GetKind() == c.wanted.GetKind() && answer.GetName() == c.wanted.GetName() &&
		slices.Contains(attempts, c.attempt)
}

func (c *creation) answerTime(answer *unstructured.Unstructured) time.Time {
	return newestOwnWrite(c.wanted, answer)
}

// newestOwnWrite returns when veltui last wrote an object, by an entry of managedFields that the object did not have
// when it was seen: an older entry tells the object's age, not the time of this request.
func newestOwnWrite(seen, answer *unstructured.Unstructured) time.Time {
	isKnown := func(m *metav1.ManagedFieldsEntry) bool {
		return slices.ContainsFunc(seen.GetManagedFields(), func(old metav1.ManagedFieldsEntry) bool {
			return old.Manager == m.Manager && old.Time.Equal(m.Time)
		})
	}
	return job.LastWrittenBy(
		answer,
		func(m *metav1.ManagedFieldsEntry) bool { return m.Manager == fieldManager && !isKnown(m) },
	)
}

func (c *creation) doneText() string {
	return c.wanted.GetKind() + " " + c.wanted.GetName() + " was created"
}

func (c *creation) undoArgs(*unstructured.Unstructured) []string {
	resource := "configmaps"
	if c.wanted.GroupVersionKind().Group != "" {
		resource = qualifiedResource(job.Kind(c.wanted.GetKind()))
	}
	return []string{"delete", resource, c.wanted.GetName()}
}

// maxHidingDelay is how soon after a request another object must have been created to rule out that it hides ours.
const maxHidingDelay = 5 * time.Second

// excludesOwnWrite reports whether the 409 proves that the request was not carried out. 409 says that the name was
// taken when the API server looked. This very request took it if a proxy sent the request twice. Then the object has
// this attempt's mark, unless somebody deleted the object and another took the name, all between our request and its
// answer. That is excluded if the object was there before the request. It is also taken as excluded if another
// veltui's complete mark is on the object, made at most a few seconds after our request left: two people asked for
// the same at the same time. For ours to be hidden there, a proxy would have to have repeated our request, somebody
// to have deleted our object, and the other veltui to have looked and created its own, all within maxHidingDelay. An
// object without a mark, or a later object, leaves a doubt.
func (c *creation) excludesOwnWrite(now *unstructured.Unstructured, sent time.Time, margin time.Duration) bool {
	if now == nil || sent.IsZero() {
		return false
	}
	made := now.GetCreationTimestamp().Time
	attempts, complete := markedAttempts(now, c.attemptKey)
	switch {
	case made.IsZero() || slices.Contains(attempts, c.attempt):
		return false
	case made.Before(sent.Add(-margin)):
		return true
	}
	return complete && len(attempts) > 0 && !made.After(sent.Add(maxHidingDelay))
}

func (c *creation) verifyAnswer(answer *unstructured.Unstructured, dryRun bool) string {
	if !dryRun && answer.GetResourceVersion() == "" {
		return "store nothing"
	}
	if answer.GetKind() != c.wanted.GetKind() || answer.GetNamespace() != c.wanted.GetNamespace() ||
		answer.GetName() != c.wanted.GetName() ||
		answer.GetUID() == "" {
		return "answer with another object"
	}
	for _, part := range []struct {
		name         string
		want, answer map[string]any
	}{
		{"spec", nestedMap(c.wanted, "spec"), nestedMap(answer, "spec")},
		{"data", nestedMap(c.wanted, "data"), nestedMap(answer, "data")},
		{
			"metadata/annotations",
			nestedMap(c.wanted, "metadata", "annotations"),
			nestedMap(answer, "metadata", "annotations"),
		},
		{"metadata/labels", nestedMap(c.wanted, "metadata", "labels"), nestedMap(answer, "metadata", "labels")},
	} {
		for _, field := range slices.Sorted(maps.Keys(part.want)) {
			if is := part.answer[field]; !sameJSON(is, part.want[field]) {
				return fmt.Sprintf(
					"set %s/%s to %s, not %s: a webhook changes it",
					part.name,
					field,
					quoteValue(is),
					quoteValue(part.want[field]),
				)
			}
		}
		for _, field := range slices.Sorted(maps.Keys(part.answer)) {
			if _, wanted := part.want[field]; !wanted && (part.name == "spec" || part.name == "data") {
				return fmt.Sprintf(
					"set %s/%s to %s, which was not asked for: a webhook changes it",
					part.name,
					field,
					quoteValue(part.answer[field]),
				)
			}
		}
	}
	return ""
}

func nestedMap(o *unstructured.Unstructured, fields ...string) map[string]any {
	m, _, _ := unstructured.NestedMap(o.Object, fields...)
	return m
}

func (c *creation) judgeFate(now *unstructured.Unstructured) writeFate {
	if now == nil {
		return fatePending
	}
	attempts, complete := markedAttempts(now, c.attemptKey)
	found := judgeMarkFate(c.attempt, nil, attempts, complete)
	switch made := now.GetCreationTimestamp(); {
	case found == fateLost && made.Time.Before(c.startedAt.Add(-velero.ClockMargin)):
		return fateNameTaken
	case found == fateLost: // our object may have been there, and have been deleted
		return fateObscured
	}
	return found
}

func (c *creation) recordRequest(e *AuditEntry) { e.Object = c.data }

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
