package decode

import (
	"bytes"
	gojson "encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/veltui/veltui/internal/sanitize"
)

// Object reads the JSON of one object into a typed one. Fields that the type cannot hold are left
// empty and named in the answer, in the type's order, up to [MaxProblems]. An error means that
// raw is no object. The texts of into are as they were sent.
func Object(raw []byte, into any) ([]Malformed, error) {
	err := json.Unmarshal(raw, into)
	switch {
	case err == nil && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")):
		return nil, nil
	case err == nil:
		err = errors.New("it is null")
	}
	tree, treeErr := treeOf(raw)
	if treeErr != nil || tree == nil {
		return nil, fmt.Errorf("reading a resource: %w", err)
	}
	return prune(tree, into, err)
}

// treeOf reads JSON with its numbers as they are written.
func treeOf(raw []byte) (tree map[string]any, err error) {
	if !gojson.Valid(raw) {
		return nil, errors.New("it is no JSON")
	}
	d := gojson.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// Unstructured is [Object] for an object that was read without a type.
func Unstructured(o *unstructured.Unstructured, into any) ([]Malformed, error) {
	raw, err := json.Marshal(o.Object)
	if err != nil {
		return nil, fmt.Errorf("reading a resource: %w", err)
	}
	return Object(raw, into)
}

// prune takes out of the tree what into cannot hold, and reads the rest. cause is why the whole could not be read.
func prune(tree map[string]any, into any, cause error) ([]Malformed, error) {
	v := reflect.ValueOf(into).Elem()
	p := pruner{}
	p.fields(tree, v.Type(), nil)
	if read(tree, v) == nil {
		return p.found, nil
	}
	// Something cannot be read that the pruner takes for sound. What names the object is kept: it still has its row.
	for name := range tree {
		if name != "metadata" && name != "apiVersion" && name != "kind" {
			delete(tree, name)
		}
	}
	p.note(Malformed{Value: "{...}", Error: sanitize.Cut(cause.Error(), maxField)})
	if err := read(tree, v); err != nil {
		return p.found, fmt.Errorf("reading a resource: %w", err)
	}
	return p.found, nil
}

// read fills v, and nothing else, with the tree.
func read(tree map[string]any, v reflect.Value) error {
	raw, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	v.SetZero()
	return json.Unmarshal(raw, v.Addr().Interface())
}

// The bounds of what is told about one field, in runes.
const (
	maxField = 160
	maxValue = 60
)

// Malformed is a field whose value the API server accepted and Velero's Go type cannot hold. All
// its texts are harmless and bounded. It is comparable; the zero value stands for none.
type Malformed struct {
	// Field is the path, such as spec.hooks.resources[0].pre[0].exec.timeout;
	// empty where the object as a whole is meant.
	Field string `json:"field"`
	// Value is the value in JSON, shortened.
	Value string `json:"value"`
	// Error says what was expected instead.
	Error string `json:"error"`

	// patch is the JSON patch that mends the field, empty if there is none; see [Patch].
	patch string
}

// String names the field, its value and what was expected.
func (m Malformed) String() string {
	if m.Field == "" {
		return "the object cannot be read: " + m.Error
	}
	return fmt.Sprintf("%s is %s: %s", m.Field, m.Value, m.Error)
}

// ServerWarning is what a malformed object means for Velero itself: the List of its typed informers
// fails as a whole (sigs.k8s.io/controller-runtime/pkg/cache; pkg/cmd/server/server.go, since 1.8).
const ServerWarning = "Velero's own server may fail on it too"

// problem describes the value that was found at a path.
func problem(at path, value any, t target) Malformed {
	text, err := gojson.Marshal(value)
	if err != nil {
		text = []byte("unreadable")
	}
	return Malformed{
		Field: sanitize.Cut(at.String(), maxField),
		Value: sanitize.Cut(string(text), maxValue),
		Error: "expected " + t.expected(),
		patch: patchFor(at, value, t),
	}
}
