package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	crdsv1 "github.com/vmware-tanzu/velero/config/crd/v1/crds"
	crdsv2alpha1 "github.com/vmware-tanzu/velero/config/crd/v2alpha1/crds"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MalformedField is a field of one of Velero's kinds for which there are values
// that its Go type cannot hold and its CRD may let through.
type MalformedField struct {
	Kind   schema.GroupVersionKind
	Plural string
	// Path is as kubectl explain writes it, with index 0 for lists and key k
	// for maps, such as spec.hooks.resources[0].pre[0].exec.timeout.
	Path string
	// Values are tried in their order.
	Values []any

	steps  []any
	schema *apiextensionsv1.JSONSchemaProps
}

// malformedValues is what is put into a field that cannot hold it: what people write, and
// what programs of other languages write.
var malformedValues = []any{
	"30d",
	"junk",
	"",
	"2026-11-21t00:00:00z",
	"2026-11-21T00:00:00.5+25:00",
	"=",
	"YQ",
	json.Number(
		"1e30",
	),
	json.Number("1e19"),
	json.Number("-9223372036854775809"),
	json.Number("9223372036854775808"),
	json.Number("1.5"),
	json.Number("7"),
	true,
	[]any{json.Number("1")},
	map[string]any{"a": "b"},
	nil,
}

// MalformedFields holds the CRDs that ship in the Velero module against its Go
// types, and lists the fields that may be malformed.
func MalformedFields() ([]MalformedField, error) {
	var found []MalformedField
	scheme := Scheme()
	for _, crd := range slices.Concat(crdsv1.CRDs, crdsv2alpha1.CRDs) {
		for _, version := range crd.Spec.Versions {
			kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			typed, err := scheme.New(kind)
			if runtime.IsNotRegisteredError(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("finding the type of %s: %w", kind.Kind, err)
			}
			w := fieldWalk{
				MalformedField{Kind: kind, Plural: crd.Spec.Names.Plural, schema: version.Schema.OpenAPIV3Schema},
				&found,
			}
			for _, part := range []string{"spec", "status"} {
				if s, ok := version.Schema.OpenAPIV3Schema.Properties[part]; ok {
					w.visitField([]any{part}, &s, fieldNamed(reflect.TypeOf(typed).Elem(), part))
				}
			}
		}
	}
	return found, nil
}

// fieldWalk walks a schema beside a Go type.
type fieldWalk struct {
	root  MalformedField
	found *[]MalformedField
}

func (w fieldWalk) visitField(at []any, s *apiextensionsv1.JSONSchemaProps, t reflect.Type) {
	if t == nil {
		return
	}
	f := w.root
	f.steps = slices.Clone(at)
	for _, value := range malformedValues {
		if schemaMayAllow(value, s) && !canHold(t, value) {
			f.Values = append(f.Values, value)
		}
	}
	if len(f.Values) > 0 {
		f.Path = formatPath(at)
		*w.found = append(*w.found, f)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			inner := s.Properties[name]
			w.visitField(append(at, name), &inner, fieldNamed(t, name))
		}
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		w.visitField(append(at, "k"), s.AdditionalProperties.Schema, t.Elem())
	case t.Kind() == reflect.Slice && s.Items != nil && s.Items.Schema != nil:
		w.visitField(append(at, 0), s.Items.Schema, t.Elem())
	}
}

// fieldNamed is the type of a struct's field by its JSON name, nil if it has
// none.
func fieldNamed(t reflect.Type, name string) reflect.Type {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f.Type
		}
		if f.Anonymous && tag == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if found := fieldNamed(inner, name); found != nil {
				return found
			}
		}
	}
	return nil
}

func canHold(t reflect.Type, value any) bool {
	data, err := json.Marshal(value)
	return err == nil && json.Unmarshal(data, reflect.New(t).Interface()) == nil
}

// schemaMayAllow reports whether a schema may let a value through: its type does. The
// API server has the last word.
func schemaMayAllow(value any, s *apiextensionsv1.JSONSchemaProps) bool {
	if value == nil {
		return s.Nullable
	}
	if s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields && s.Type == "" || s.XIntOrString {
		return true
	}
	switch v := value.(type) {
	case string:
		return s.Type == "string"
	case bool:
		return s.Type == "boolean"
	case json.Number:
		return s.Type == "number" || s.Type == "integer" && v != "1.5"
	case []any:
		return s.Type == "array"
	}
	return s.Type == "object"
}

func formatPath(steps []any) string {
	var b strings.Builder
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// NewObject is a resource that is sound but for the value in the field.
func (f MalformedField) NewObject(namespace, name string, value any) *unstructured.Unstructured {
	root, _ := minimalValue(f.schema).(map[string]any)
	root["metadata"] = map[string]any{"namespace": namespace, "name": name}
	setAtPath(root, f.schema, f.steps, value)
	o := &unstructured.Unstructured{Object: root}
	o.SetGroupVersionKind(f.Kind)
	return o
}

// setAtPath sets a value and makes what leads to it.
func setAtPath(in any, s *apiextensionsv1.JSONSchemaProps, steps []any, value any) any {
	if len(steps) == 0 {
		return value
	}
	switch step := steps[0].(type) {
	case int:
		return []any{setAtPath(minimalValue(s.Items.Schema), s.Items.Schema, steps[1:], value)}
	case string:
		object, _ := in.(map[string]any)
		inner := schemaOf(s, step)
		was, there := object[step]
		if !there {
			was = minimalValue(inner)
		}
		object[step] = setAtPath(was, inner, steps[1:], value)
	}
	return in
}

func schemaOf(s *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	if p, ok := s.Properties[name]; ok {
		return &p
	}
	return s.AdditionalProperties.Schema
}

// minimalValue is a value with no more in it than the schema requires.
func minimalValue(s *apiextensionsv1.JSONSchemaProps) any {
	switch s.Type {
	case "object":
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = minimalValue(schemaOf(s, name))
		}
		return object
	case "array":
		list := []any{}
		for s.MinItems != nil && int64(len(list)) < *s.MinItems {
			list = append(list, minimalValue(s.Items.Schema))
		}
		return list
	case "integer", "number":
		return int64(0)
	case "boolean":
		return false
	}
	switch {
	case len(s.Enum) > 0:
		return strings.Trim(string(s.Enum[0].Raw), `"`)
	case s.Format == "date-time":
		return "2026-11-21T00:00:00Z"
	}
	return "1h" // a string that is a duration too
}

// CreatedMalformed is an object that was created with a value that its Go type cannot
// hold.
type CreatedMalformed struct {
	MalformedField
	Value  any
	Object *unstructured.Unstructured
}

// CreateMalformed creates one object for each of the fields, with the first of
// its values that the API server takes. Those of which it takes none are left
// out. Each may be changed before it is created.
func CreateMalformed(
	ctx context.Context,
	api client.Client,
	namespace string,
	fields []MalformedField,
	change func(*unstructured.Unstructured),
) ([]CreatedMalformed, error) {
	var created []CreatedMalformed
	for i, f := range fields {
		for _, value := range f.Values {
			o := f.NewObject(namespace, fmt.Sprintf("bad-%s-%d", strings.ToLower(f.Kind.Kind), i), value)
			if change != nil {
				change(o)
			}
			err := api.Create(ctx, o)
			switch {
			case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
				continue
			case err != nil:
				return created, fmt.Errorf("creating a %s with a malformed %s: %w", f.Kind.Kind, f.Path, err)
			}
			if isStored(o, f.steps) {
				created = append(created, CreatedMalformed{f, value, o})
				break
			}
			if err := api.Delete(ctx, o); err != nil {
				return created, fmt.Errorf("deleting %s: %w", o.GetName(), err)
			}
		}
	}
	return created, nil
}

// isStored reports whether the API server has stored the value: it leaves out nulls
// where they say nothing.
func isStored(o *unstructured.Unstructured, steps []any) bool {
	var at any = o.Object
	for _, step := range steps {
		switch step := step.(type) {
		case int:
			list, _ := at.([]any)
			if step >= len(list) {
				return false
			}
			at = list[step]
		case string:
			object, _ := at.(map[string]any)
			inner, there := object[step]
			if !there {
				return false
			}
			at = inner
		}
	}
	return true
}
