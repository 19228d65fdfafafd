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

// Object reads the JSON of one object into a typed one. Fields that the type
// cannot hold are left empty there and named in the answer, in their order in
// the type; there are never more than [MaxProblems]. An error means that raw is
// no object at all. The texts of into are as they were sent.
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

// prune takes out of the tree what into cannot hold, and reads the rest. Cause
// is why the whole could not be read.
func prune(tree map[string]any, into any, cause error) ([]Malformed, error) {
	v := reflect.ValueOf(into).Elem()
	p := pruner{}
	p.fields(tree, v.Type(), nil)
	if read(tree, v) == nil {
		return p.found, nil
	}
	// Something cannot be read that the pruner takes for sound. What names the
	// object is kept: it still has its row.
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
