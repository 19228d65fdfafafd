package finalize

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The annotations that say who finalized a job. Attempt tells our own patch
// from anybody else's after an answer that never came.
const (
	AnnotationBy      = "veltui.io/finalized-by"
	AnnotationAt      = "veltui.io/finalized-at"
	AnnotationFrom    = "veltui.io/finalized-from"
	AnnotationTo      = "veltui.io/finalized-to"
	AnnotationReason  = "veltui.io/finalized-reason"
	AnnotationAttempt = "veltui.io/finalized-attempt"
)

// stamp is what a patch says of the moment at which it is made.
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

// edit is one JSON patch of one resource: tests that it is as it was seen, then
// the changes. Velero's CRDs have no status subresource, so all of it goes to
// the main resource.
type edit struct {
	seen *unstructured.Unstructured
	data []byte
	// mark is the annotation that holds the attempt.
	mark string
}

func newEdit(seen *unstructured.Unstructured, mark string, changes []operation) (edit, error) {
	data, err := json.Marshal(append(guards(seen), changes...))
	if err != nil {
		return edit{}, fmt.Errorf("writing the patch: %w", err)
	}
	return edit{seen, data, mark}, nil
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

// annotate sets annotations, in their order; those without a value are left out.
func annotate(seen *unstructured.Unstructured, notes [][2]string) []operation {
	var ops []operation
	if seen.GetAnnotations() == nil {
		ops = append(ops, operation{"add", "/metadata/annotations", map[string]string{}})
	}
	for _, n := range notes {
		if n[1] != "" {
			ops = append(ops, operation{"add", "/metadata/annotations/" + strings.ReplaceAll(n[0], "/", "~1"), n[1]})
		}
	}
	return ops
}

// edit is the plan's patch.
func (p *Plan) edit(s stamp) (edit, error) {
	object := p.evidence.Object
	var ops []operation
	if status, _, _ := unstructured.NestedMap(object.Object, "status"); status == nil {
		ops = append(ops, operation{"add", "/status", map[string]any{}})
	}
	ops = append(ops, operation{"add", "/status/phase", p.To})
	for _, f := range p.Set {
		ops = append(ops, operation{"add", "/status/" + f.Name, f.Value})
	}
	at := s.at.UTC().Format(time.RFC3339)
	if p.Action == End {
		ops = append(ops,
			operation{"add", "/status/completionTimestamp", at},
			operation{"add", "/status/failureReason", failureReason(p.Reason, s.by, at)})
	}
	return newEdit(object, AnnotationAttempt, append(ops, annotate(object, [][2]string{
		{AnnotationBy, s.by}, {AnnotationAt, at}, {AnnotationFrom, p.From}, {AnnotationTo, p.To},
		{AnnotationReason, p.Reason}, {AnnotationAttempt, s.attempt},
	})...))
}

func failureReason(reason, by, at string) string {
	if by == "" {
		by = "an unknown user"
	}
	return fmt.Sprintf("%s (finalized by %s with veltui at %s)", reason, by, at)
}

// command is the kubectl command that sends the same patch.
func (p *Plan) command(at time.Time) string {
	e, err := p.edit(stamp{at: at, by: p.evidence.By})
	if err != nil {
		return ""
	}
	return kubectlCommand(p.request, p.Namespace, "patch", resource(p.Kind), p.Name, "--type=json", "-p", string(e.data))
}

// phaseOf is the phase as the API server sent it.
func phaseOf(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}
