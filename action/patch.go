package action

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stamp says who makes a patch, when, and in which attempt.
type stamp struct {
	at      time.Time
	by      string
	attempt string
}

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch is a JSON patch of one resource: tests that it is as it was seen, then the
// changes. Velero's CRDs have no status subresource, so all of it goes to the main
// resource.
type patch struct {
	seen    *unstructured.Unstructured
	changes []operation
	data    []byte
	// mark is the annotation that names the attempt.
	mark, attempt string
}

func newPatch(seen *unstructured.Unstructured, mark, attempt string, changes []operation) (*patch, error) {
	data, err := json.Marshal(append(guards(seen), changes...))
	if err != nil {
		return nil, fmt.Errorf("writing the patch: %w", err)
	}
	return &patch{seen, changes, data, mark, attempt}, nil
}

// guards test that a resource is the one that was seen, and unchanged.
func guards(seen *unstructured.Unstructured) []operation {
	tests := []operation{
		{"test", "/metadata/uid", seen.GetUID()},
		{"test", "/metadata/resourceVersion", seen.GetResourceVersion()},
	}
	if phase, there, _ := unstructured.NestedString(seen.Object, "status", "phase"); there {
		tests = append(tests, operation{"test", "/status/phase", phase})
	}
	return tests
}

func (p *patch) object() *unstructured.Unstructured { return p.seen }

func (p *patch) body() []byte { return p.data }

func (p *patch) send(ctx context.Context, c client.Client, dryRun bool) (*unstructured.Unstructured, error) {
	options := []client.PatchOption{client.FieldOwner(fieldManager)}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	o := bare(p.seen.GroupVersionKind(), p.seen.GetNamespace(), p.seen.GetName())
	if err := c.Patch(ctx, o, client.RawPatch(types.JSONPatchType, p.data), options...); err != nil {
		return nil, err
	}
	return o, nil
}

func (p *patch) verify(answer *unstructured.Unstructured, dryRun bool) string {
	switch {
	case answer.GetUID() != p.seen.GetUID():
		return "answer with another object"
	case !dryRun && answer.GetResourceVersion() == p.seen.GetResourceVersion():
		return "leave the object as it is"
	}
	for i, c := range p.changes {
		if extended(c, p.changes[i+1:]) {
			continue // a map that is made for what follows
		}
		if value := valueAt(answer.Object, c.Path); !sameJSON(value, c.Value) {
			return fmt.Sprintf("set %s to %s, not %s: the CRD may not have it (or have a status subresource), or a webhook changes it",
				strings.ReplaceAll(c.Path[1:], "~1", "/"), quoteValue(value), quoteValue(c.Value))
		}
	}
	return ""
}

func (p *patch) find(now *unstructured.Unstructured) finding {
	if now == nil || now.GetUID() != p.seen.GetUID() {
		return obscured
	}
	before, _ := attemptsOf(p.seen, p.mark)
	attempts, complete := attemptsOf(now, p.mark)
	named := findAttempt(p.attempt, before, attempts, complete)
	if named != landed && now.GetResourceVersion() == p.seen.GetResourceVersion() {
		return pending
	}
	return named
}

// extended reports whether later operations write below the path of one.
func extended(c operation, later []operation) bool {
	for _, l := range later {
		if strings.HasPrefix(l.Path, c.Path+"/") {
			return true
		}
	}
	return false
}

// valueAt returns what stands at a JSON pointer through objects, nil for nothing.
func valueAt(content any, pointer string) any {
	for _, key := range strings.Split(pointer, "/")[1:] {
		object, _ := content.(map[string]any)
		content = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
	}
	return content
}

func sameJSON(a, b any) bool {
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

// phaseOf is the phase as the API server sent it.
func phaseOf(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}
