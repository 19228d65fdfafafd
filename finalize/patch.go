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

// patch is the JSON patch for the main resource (Velero's CRDs have no status
// subresource): tests that nothing has changed, then the changes.
func (p *Plan) patch(s stamp) ([]byte, error) {
	object := p.evidence.Object
	ops := []operation{
		{"test", "/metadata/uid", p.UID},
		{"test", "/metadata/resourceVersion", p.ResourceVersion},
	}
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	if _, there := status["phase"]; there {
		ops = append(ops, operation{"test", "/status/phase", p.From})
	}
	if status == nil {
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
	if object.GetAnnotations() == nil {
		ops = append(ops, operation{"add", "/metadata/annotations", map[string]string{}})
	}
	for _, a := range [][2]string{
		{AnnotationBy, s.by}, {AnnotationAt, at}, {AnnotationFrom, p.From}, {AnnotationTo, p.To},
		{AnnotationReason, p.Reason}, {AnnotationAttempt, s.attempt},
	} {
		if a[1] != "" {
			ops = append(ops, operation{"add", "/metadata/annotations/" + strings.ReplaceAll(a[0], "/", "~1"), a[1]})
		}
	}
	data, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("writing the patch: %w", err)
	}
	return data, nil
}

func failureReason(reason, by, at string) string {
	if by == "" {
		by = "an unknown user"
	}
	return fmt.Sprintf("%s (finalized by %s with veltui at %s)", reason, by, at)
}

// command is the kubectl command that sends the same patch.
func (p *Plan) command(at time.Time) string {
	data, err := p.patch(stamp{at: at, by: p.evidence.By})
	if err != nil {
		return ""
	}
	words := []string{"kubectl"}
	if p.request.Context != "" {
		words = append(words, "--context", quote(p.request.Context))
	}
	words = append(words, "-n", quote(p.Namespace), "patch", resource(p.Kind), quote(p.Name), "--type=json", "-p", quote(string(data)))
	return strings.Join(words, " ")
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@%+,", r))
	}
	if s != "" && !strings.ContainsFunc(s, plain) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// phaseOf is the phase as the API server sent it.
func phaseOf(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}
