package decode

import (
	"encoding/json"
	"fmt"

	"github.com/veltui/veltui/internal/sanitize"
)

// The bounds of what is told about one field, in runes.
const (
	maxField = 160
	maxValue = 60
)

// Malformed is a field whose value the API server accepted and Velero's Go
// type cannot hold. All its texts are harmless and bounded. It is comparable;
// the zero value stands for none.
type Malformed struct {
	// Field is the path, such as spec.hooks.resources[0].pre[0].exec.timeout;
	// empty where the object as a whole is meant.
	Field string `json:"field"`
	// Value is the value in JSON, shortened.
	Value string `json:"value"`
	// Error says what was expected instead.
	Error string `json:"error"`

	// patch is the JSON patch that mends the field, empty if there is none; see
	// [Patch].
	patch string
}

// String names the field, its value and what was expected.
func (m Malformed) String() string {
	if m.Field == "" {
		return "the object cannot be read: " + m.Error
	}
	return fmt.Sprintf("%s is %s: %s", m.Field, m.Value, m.Error)
}

// ServerWarning is what every malformed object means for Velero itself: its
// caches are typed informers, whose List fails as a whole
// (sigs.k8s.io/controller-runtime/pkg/cache; pkg/cmd/server/server.go, 1.8 and
// later).
const ServerWarning = "Velero's own server may fail on it too"

// problem describes the value that was found at a path.
func problem(at path, value any, t target) Malformed {
	return Malformed{
		Field: sanitize.Cut(at.String(), maxField),
		Value: sanitize.Cut(compact(value), maxValue),
		Error: "expected " + t.expected(),
		patch: patchFor(at, value, t),
	}
}

func compact(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	return string(data)
}
