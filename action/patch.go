package action

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// phaseOf is the phase as the API server sent it.
func phaseOf(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}
