package action

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

type attemptStamp struct {
	at      time.Time
	by      string
	attempt string
}

// patchOperation is one step of a JSON patch (RFC 6902).
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch is a JSON patch: it tests that the resource is unchanged, then changes it. Velero's CRDs have no subresource.
type patch struct {
	seen    *unstructured.Unstructured
	changes []patchOperation
	data    []byte
	// attemptKey is the annotation that lists the attempts.
	attemptKey, attempt string
}

func newPatch(seen *unstructured.Unstructured, mark, attempt string, changes []patchOperation) (*patch, error) {
	data, err := json.Marshal(append(preconditionTests(seen), changes...))
	if err != nil {
		return nil, fmt.Errorf("writing the patch: %w", err)
	}
	return &patch{seen, changes, data, mark, attempt}, nil
}

func preconditionTests(seen *unstructured.Unstructured) []patchOperation {
	tests := []patchOperation{
		{"test", "/metadata/uid", seen.GetUID()},
		{"test", "/metadata/resourceVersion", seen.GetResourceVersion()},
	}
	if phase, there, _ := unstructured.NestedString(seen.Object, "status", "phase"); there {
		tests = append(tests, patchOperation{"test", "/status/phase", phase})
	}
	return tests
}

func (p *patch) targetObject() *unstructured.Unstructured { return p.seen }

func (p *patch) recordRequest(e *AuditEntry) { e.Patch = p.data }

// sendRequest sends the patch once. The API server carries it out only if the resource is unchanged.
func (p *patch) sendRequest(
	ctx context.Context,
	c *client.Client,
	dryRun []string,
) (*unstructured.Unstructured, error) {
	options := metav1.PatchOptions{DryRun: dryRun, FieldManager: fieldManager}
	o := newObject(p.seen.GroupVersionKind(), p.seen.GetNamespace(), p.seen.GetName())
	if err := c.Patch(ctx, o, types.JSONPatchType, p.data, options); err != nil {
		return nil, err
	}
	return o, nil
}

// verifyAnswer ignores the version after a dry run: the answer to a dry run has the resource's old version.
func (p *patch) verifyAnswer(answer *unstructured.Unstructured, dryRun bool) string {
	switch {
	case answer.GetUID() != p.seen.GetUID():
		return "answer with another object"
	case !dryRun && answer.GetResourceVersion() == p.seen.GetResourceVersion():
		return "leave the object as it is"
	}
	for i, c := range p.changes {
		if hasLaterChild(c, p.changes[i+1:]) {
			continue // a map created for the changes that follow
		}
		if value := valueAt(answer.Object, c.Path); !isSameJSON(value, c.Value) {
			return fmt.Sprintf(
				"set %s to %s, not %s: the CRD may not have it (or have a status subresource), or a webhook changes it",
				strings.ReplaceAll(c.Path[1:], "~1", "/"),
				quoteValue(value),
				quoteValue(c.Value),
			)
		}
	}
	return ""
}

// isStored compares the versions: the answer to a dry run has the resource's old version.
func (p *patch) isStored(answer *unstructured.Unstructured) bool {
	return answer.GetResourceVersion() != p.seen.GetResourceVersion()
}

func (p *patch) isOwnAnswer(answer *unstructured.Unstructured) bool {
	attempts, _ := markedAttempts(answer, p.attemptKey)
	return answer.GetUID() == p.seen.GetUID() && slices.Contains(attempts, p.attempt)
}

func (p *patch) answerTime(answer *unstructured.Unstructured) time.Time {
	return newestOwnWrite(p.seen, answer)
}

// excludesOwnWrite always returns false: judgeFate finds out from the mark.
func (p *patch) excludesOwnWrite(*unstructured.Unstructured, time.Time, time.Duration) bool {
	return false
}

func (p *patch) doneText() string { return p.seen.GetKind() + " " + p.seen.GetName() + " was changed" }

// undoArgs returns the kubectl arguments that restore what the patch replaced, if nobody has changed the resource
// since.
func (p *patch) undoArgs(after *unstructured.Unstructured) []string {
	type removal struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}
	all := []any{patchOperation{"test", "/metadata/uid", after.GetUID()},
		patchOperation{"test", "/metadata/resourceVersion", after.GetResourceVersion()}}
	var undone []string
	for _, c := range p.changes {
		if slices.ContainsFunc(
			undone,
			func(path string) bool { return strings.HasPrefix(c.Path, path+"/") || c.Path == path },
		) {
			continue // is removed with the map that was created for it
		}
		undone = append(undone, c.Path)
		if before := valueAt(p.seen.Object, c.Path); before != nil {
			all = append(all, patchOperation{"replace", c.Path, before})
		} else {
			all = append(all, removal{"remove", c.Path})
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	resource := qualifiedResource(job.Kind(p.seen.GetKind()))
	if i := slices.IndexFunc(
		velero.VolumeKinds[:],
		func(k velero.VolumeKind) bool { return string(k) == p.seen.GetKind() },
	); i >= 0 {
		resource = qualifiedResource(velero.VolumeKinds[i])
	}
	return []string{"patch", resource, p.seen.GetName(), "--type=json", "-p", string(data)}
}

func (p *patch) judgeFate(now *unstructured.Unstructured) writeFate {
	if now == nil || now.GetUID() != p.seen.GetUID() {
		return fateObscured
	}
	before, _ := markedAttempts(p.seen, p.attemptKey)
	return judgeObjectFate(now, p.seen.GetResourceVersion(), p.attemptKey, p.attempt, before)
}

func hasLaterChild(c patchOperation, later []patchOperation) bool {
	return slices.ContainsFunc(later, func(l patchOperation) bool { return strings.HasPrefix(l.Path, c.Path+"/") })
}

// valueAt returns the value at a JSON pointer through objects, nil for none.
func valueAt(content any, pointer string) any {
	for _, key := range strings.Split(pointer, "/")[1:] {
		object, _ := content.(map[string]any)
		content = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
	}
	return content
}

func isSameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}

func quoteValue(v any) string {
	if v == nil {
		return "nothing"
	}
	text := fmt.Sprintf("%q", fmt.Sprint(v))
	return text[:min(len(text), 80)]
}

func phaseOf(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}
