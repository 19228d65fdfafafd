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
			if is := part.answer[field]; !isSameJSON(is, part.want[field]) {
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
