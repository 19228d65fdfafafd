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

// write is one request to change the cluster. However often it is sent, the API server carries it out once or
// not at all.
type write interface {
	// object is what is written to as it was seen, or what is created.
	object() *unstructured.Unstructured
	// send sends it once; dryRun is nil for good.
	send(ctx context.Context, c *client.Client, dryRun []string) (*unstructured.Unstructured, error)
	// verify compares an answer with the request. It returns what is wrong, to follow "the API server would accept it
	// but"; empty if nothing is.
	verify(answer *unstructured.Unstructured, dryRun bool) string
	// stored reports whether an answer to a dry run shows that something was stored.
	stored(answer *unstructured.Unstructured) bool
	// ours reports whether an answer is about the object of the request, with the mark of this attempt where there is one.
	ours(answer *unstructured.Unstructured) bool
	// madeAt is a time that the API server noted for this request in its answer; zero if there is none.
	madeAt(answer *unstructured.Unstructured) time.Time
	// find tells from the object as it is now, nil if it does not exist, what became of sends without an answer.
	find(now *unstructured.Unstructured) finding
	// excludes reports whether an object proves that the only request, sent at that time by the API server's clock and
	// answered with a Status of 409, was not carried out.
	excludes(now *unstructured.Unstructured, sent time.Time, margin time.Duration) bool
	// deed says what a request that was carried out has done, and undo is the kubectl command that takes it back, nil
	// for none.
	deed() string
	undo(after *unstructured.Unstructured) []string
	// record notes the request in an entry of the audit log.
	record(*Entry)
}

// creation creates an object under a name that was chosen before: sent again, it meets the object that it made.
type creation struct {
	wanted        *unstructured.Unstructured
	mark, attempt string
	began         time.Time // before it was sent first
	data          []byte
}

func newCreation(wanted *unstructured.Unstructured, m marks, s stamp, reason string) (*creation, error) {
	o := wanted.DeepCopy()
	notes := map[string]string{}
	maps.Copy(notes, o.GetAnnotations())
	maps.DeleteFunc(
		notes,
		func(name, _ string) bool { return strings.HasPrefix(name, "veltui.io/") },
	) // of what it is a copy of
	o.SetAnnotations(notes)
	for _, n := range m.notes(o, s, reason) {
		if n[1] != "" {
			notes[string(m)+n[0]] = n[1]
		}
	}
	o.SetAnnotations(notes)
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return &creation{o, m.attempt(), s.attempt, s.at, data}, nil
}

func (c *creation) object() *unstructured.Unstructured { return c.wanted }

// send asks for strict validation: an older CRD would drop a field that it does not have, and with it perhaps a filter.
func (c *creation) send(ctx context.Context, api *client.Client, dryRun []string) (*unstructured.Unstructured, error) {
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

// stored: a dry run's answer has no resourceVersion (k8s.io/apiserver pkg/registry/generic/registry/dryrun.go Create,
// 1.36).
func (c *creation) stored(answer *unstructured.Unstructured) bool {
	return answer.GetResourceVersion() != ""
}

func (c *creation) ours(answer *unstructured.Unstructured) bool {
	attempts, _ := attemptsOf(answer, c.mark)
	return answer.GetKind() == c.wanted.GetKind() && answer.GetName() == c.wanted.GetName() &&
		slices.Contains(attempts, c.attempt)
}

func (c *creation) madeAt(answer *unstructured.Unstructured) time.Time {
	return newOwnWrite(c.wanted, answer)
}

// newOwnWrite is when veltui wrote an object last, by an entry that the object did not have as it was seen: an entry
// from before tells the object's age, not the time of this request.
func newOwnWrite(seen, answer *unstructured.Unstructured) time.Time {
	isKnown := func(m *metav1.ManagedFieldsEntry) bool {
		return slices.ContainsFunc(seen.GetManagedFields(), func(old metav1.ManagedFieldsEntry) bool {
			return old.Manager == m.Manager && old.Time.Equal(m.Time)
		})
	}
	return job.WrittenBy(
		answer,
		func(m *metav1.ManagedFieldsEntry) bool { return m.Manager == fieldManager && !isKnown(m) },
	)
}

func (c *creation) deed() string {
	return c.wanted.GetKind() + " " + c.wanted.GetName() + " was created"
}

func (c *creation) undo(*unstructured.Unstructured) []string {
	resource := "configmaps"
	if c.wanted.GroupVersionKind().Group != "" {
		resource = qualified(job.Kind(c.wanted.GetKind()))
	}
	return []string{"delete", resource, c.wanted.GetName()}
}

// hidingTime is how soon after a request another's object must have been made for the request not to be hidden by it.
const hidingTime = 5 * time.Second

// excludes: 409 says that the name was taken when the API server looked. It was taken by this very request if a proxy
// sent that twice. Then the object has this attempt's mark, unless somebody deleted the object and another took the
// name, all between our request and its answer. That is excluded where the object was there before the request. It is
// also taken as excluded where another veltui's complete mark is on the object, made at most a few seconds after our
// request left: two people asked for the same at the same time. For ours to be hidden there, a proxy would have to have
// repeated our request, somebody to have deleted our object, and that veltui to have looked and created its own, all
// within hidingTime. An object without a mark, or a later one, leaves a doubt.
func (c *creation) excludes(now *unstructured.Unstructured, sent time.Time, margin time.Duration) bool {
	if now == nil || sent.IsZero() {
		return false
	}
	made := now.GetCreationTimestamp().Time
	attempts, complete := attemptsOf(now, c.mark)
	switch {
	case made.IsZero() || slices.Contains(attempts, c.attempt):
		return false
	case made.Before(sent.Add(-margin)):
		return true
	}
	return complete && len(attempts) > 0 && !made.After(sent.Add(hidingTime))
}

func (c *creation) verify(answer *unstructured.Unstructured, dryRun bool) string {
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
		{"spec", mapOf(c.wanted, "spec"), mapOf(answer, "spec")},
		{"data", mapOf(c.wanted, "data"), mapOf(answer, "data")},
		{"metadata/annotations", mapOf(c.wanted, "metadata", "annotations"), mapOf(answer, "metadata", "annotations")},
		{"metadata/labels", mapOf(c.wanted, "metadata", "labels"), mapOf(answer, "metadata", "labels")},
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

func mapOf(o *unstructured.Unstructured, fields ...string) map[string]any {
	m, _, _ := unstructured.NestedMap(o.Object, fields...)
	return m
}

func (c *creation) find(now *unstructured.Unstructured) finding {
	if now == nil {
		return pending
	}
	attempts, complete := attemptsOf(now, c.mark)
	found := findAttempt(c.attempt, nil, attempts, complete)
	switch made := now.GetCreationTimestamp(); {
	case found == lost && made.Time.Before(c.began.Add(-velero.ClockMargin)):
		return taken
	case found == lost: // ours may have been there, and have been deleted
		return obscured
	}
	return found
}

func (c *creation) record(e *Entry) { e.Object = c.data }

// deletion deletes an object as it was seen. It can leave no mark: whoever asks again finds that somebody deleted it.
type deletion struct{ seen *unstructured.Unstructured }

// stored: an answer with the object has its old version after a dry run. An answer without it cannot tell.
func (d *deletion) stored(answer *unstructured.Unstructured) bool {
	version := answer.GetResourceVersion()
	return version != "" && version != d.seen.GetResourceVersion()
}

func (d *deletion) ours(answer *unstructured.Unstructured) bool {
	return answer.GetUID() == d.seen.GetUID() && answer.GetDeletionTimestamp() != nil
}

// madeAt is the time of deletion in an answer to a dry run. The entries in managedFields are from before.
func (d *deletion) madeAt(answer *unstructured.Unstructured) time.Time {
	if answer.GetResourceVersion() == "" || d.seen.GetDeletionTimestamp() != nil {
		return time.Time{} // the time would be this machine's own
	}
	return job.TimeOf(answer.GetDeletionTimestamp())
}

// excludes: the object was being deleted before the request, so that somebody else deleted it.
func (d *deletion) excludes(now *unstructured.Unstructured, sent time.Time, margin time.Duration) bool {
	if now == nil || now.GetUID() != d.seen.GetUID() || now.GetDeletionTimestamp() == nil || sent.IsZero() {
		return false
	}
	return now.GetDeletionTimestamp().Time.Before(sent.Add(-margin))
}

func (d *deletion) deed() string { return d.seen.GetKind() + " " + d.seen.GetName() + " was deleted" }

func (d *deletion) undo(*unstructured.Unstructured) []string { return nil }

func (d *deletion) object() *unstructured.Unstructured { return d.seen }

func (d *deletion) record(e *Entry) { e.Delete = d.guards() }

func (d *deletion) guards() *metav1.Preconditions {
	uid, version := d.seen.GetUID(), d.seen.GetResourceVersion()
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
}

func (d *deletion) send(ctx context.Context, c *client.Client, dryRun []string) (*unstructured.Unstructured, error) {
	options := metav1.DeleteOptions{DryRun: dryRun, Preconditions: d.guards()}
	answer, err := c.Delete(ctx, bare(d.seen.GroupVersionKind(), d.seen.GetNamespace(), d.seen.GetName()), options)
	if err != nil {
		return nil, err
	}
	after := &unstructured.Unstructured{Object: answer}
	uid, _, _ := unstructured.NestedString(answer, "details", "uid")
	if answer["status"] == metav1.StatusSuccess && uid == string(d.seen.GetUID()) { // no finalizer holds it
		after = d.seen.DeepCopy()
		after.SetResourceVersion("")
		after.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	}
	return after, nil
}

func (d *deletion) verify(answer *unstructured.Unstructured, dryRun bool) string {
	switch {
	case answer.GetUID() != d.seen.GetUID():
		return "answer with another object"
	case answer.GetDeletionTimestamp() == nil, !dryRun && answer.GetResourceVersion() == d.seen.GetResourceVersion():
		return "leave the object as it is"
	}
	return ""
}

// isDeleted reports whether an object as it was seen is gone, or on its way.
func isDeleted(seen, now *unstructured.Unstructured) bool {
	return now == nil || now.GetUID() != seen.GetUID() || now.GetDeletionTimestamp() != nil
}

// find cannot tell our deletion from somebody else's.
func (d *deletion) find(now *unstructured.Unstructured) finding {
	if isDeleted(d.seen, now) {
		return obscured
	}
	return findIn(now, d.seen.GetResourceVersion(), "", "", nil)
}
