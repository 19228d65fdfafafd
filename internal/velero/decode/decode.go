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

// Object reads the JSON of one object into a typed object. Fields that the type cannot hold are left empty and
// returned, in the type's order, up to [MaxMalformedFields]. An error means that raw is not an object. The texts in
// into are as they were sent.
func Object(raw []byte, into any) ([]MalformedField, error) {
	err := json.Unmarshal(raw, into)
	switch {
	case err == nil && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")):
		return nil, nil
	case err == nil:
		err = errors.New("it is null")
	}
	tree, treeErr := parseTree(raw)
	if treeErr != nil || tree == nil {
		return nil, fmt.Errorf("reading a resource: %w", err)
	}
	return pruneTree(tree, into, err)
}

// parseTree reads JSON and keeps its numbers as they are written.
func parseTree(raw []byte) (tree map[string]any, err error) {
	if !gojson.Valid(raw) {
		return nil, errors.New("it is no JSON")
	}
	d := gojson.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// Unstructured does what [Object] does, for an object that was read without a type.
func Unstructured(o *unstructured.Unstructured, into any) ([]MalformedField, error) {
	raw, err := json.Marshal(o.Object)
	if err != nil {
		return nil, fmt.Errorf("reading a resource: %w", err)
	}
	return Object(raw, into)
}

// pruneTree removes from the tree what into cannot hold, and reads the rest. cause is why the whole could not be
// read.
func pruneTree(tree map[string]any, into any, cause error) ([]MalformedField, error) {
	v := reflect.ValueOf(into).Elem()
	p := pruner{}
	p.pruneFields(tree, v.Type(), nil)
	if readTree(tree, v) == nil {
		return p.found, nil
	}
	// Something that the pruner accepts cannot be read. The object keeps its name, so that it still has its row.
	for name := range tree {
		if name != "metadata" && name != "apiVersion" && name != "kind" {
			delete(tree, name)
		}
	}
	p.addMalformed(MalformedField{Value: "{...}", Error: sanitize.Truncate(cause.Error(), maxField)})
	if err := readTree(tree, v); err != nil {
		return p.found, fmt.Errorf("reading a resource: %w", err)
	}
	return p.found, nil
}

// readTree sets v to the tree and to nothing else.
func readTree(tree map[string]any, v reflect.Value) error {
	raw, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	v.SetZero()
	return json.Unmarshal(raw, v.Addr().Interface())
}

// The limits of the texts about one field, in runes.
const (
	maxField = 160
	maxValue = 60
)

// MalformedField is a field whose value the API server accepted and Velero's Go type cannot hold. All
// its texts are harmless and bounded. It is comparable; the zero value stands for none.
type MalformedField struct {
	// Field is the path, such as spec.hooks.resources[0].pre[0].exec.timeout;
	// empty where the object as a whole is meant.
	Field string `json:"field"`
	// Value is the value in JSON, shortened.
	Value string `json:"value"`
	// Error says what was expected instead.
	Error string `json:"error"`

	// patch is the JSON patch that mends the field, empty if there is none; see [BuildPatch].
	patch string
}

// String names the field, its value and what was expected.
func (m MalformedField) String() string {
	if m.Field == "" {
		return "the object cannot be read: " + m.Error
	}
	return fmt.Sprintf("%s is %s: %s", m.Field, m.Value, m.Error)
}

// ServerWarning says what a malformed object means for Velero itself: the List of its typed informers fails as a
// whole (sigs.k8s.io/controller-runtime/pkg/cache; pkg/cmd/server/server.go, since 1.8).
const ServerWarning = "Velero's own server may fail on it too"

// newMalformed describes the value that was found at a path.
func newMalformed(at path, value any, t fieldType) MalformedField {
	text, err := gojson.Marshal(value)
	if err != nil {
		text = []byte("unreadable")
	}
	return MalformedField{
		Field: sanitize.Truncate(at.String(), maxField),
		Value: sanitize.Truncate(string(text), maxValue),
		Error: "expected " + t.expectedText(),
		patch: patchFor(at, value, t),
	}
}
