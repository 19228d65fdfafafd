package decode

import (
	"encoding"
	gojson "encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// MaxMalformedFields bounds how many malformed fields of one object are named.
const MaxMalformedFields = 16

// pruner walks a JSON document along a Go type and removes what the type cannot hold.
type pruner struct{ found []MalformedField }

func (p *pruner) addMalformed(m MalformedField) {
	if len(p.found) < MaxMalformedFields {
		p.found = append(p.found, m)
	}
}

// pruneValue reports whether t can hold the value, and records it otherwise. It removes malformed parts inside the
// value.
func (p *pruner) pruneValue(value any, t fieldType, at path) (pruned any, ok bool) {
	inner := t.pointee()
	switch {
	case value == nil && t.Kind() == reflect.Pointer:
		return value, true
	case inner.hasCustomUnmarshaler() || inner.Type == bytesType:
		ok = isReadable(value, inner.Type)
	case value == nil || inner.Kind() == reflect.Interface:
		return value, true
	case inner.Kind() == reflect.Struct, inner.Kind() == reflect.Map:
		var object map[string]any
		if object, ok = value.(map[string]any); ok {
			p.pruneFields(object, inner.Type, at)
		}
	case inner.Kind() == reflect.Slice:
		var list []any
		if list, ok = value.([]any); ok {
			kept := make([]any, 0, len(list))
			for i, value := range list { // the paths have the indexes of the list as it was sent
				if pruned, ok := p.pruneValue(value, fieldType{Type: inner.Elem()}, append(at, i)); ok {
					kept = append(kept, pruned)
				}
			}
			value = kept
		}
	default:
		ok = isReadable(value, inner.Type)
	}
	if !ok {
		p.addMalformed(newMalformed(at, value, t))
	}
	return value, ok
}

// pruneFields prunes an object that will become a struct or a map.
func (p *pruner) pruneFields(object map[string]any, t reflect.Type, at path) {
	var all []structField
	if t.Kind() == reflect.Struct {
		all = listStructFields(t)
	} else {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			all = append(all, structField{name, fieldType{Type: t.Elem()}})
		}
	}
	for _, m := range all {
		value, there := object[m.name]
		if !there {
			continue
		}
		if pruned, ok := p.pruneValue(value, m.fieldType, append(at, m.name)); ok {
			object[m.name] = pruned
		} else {
			delete(object, m.name)
		}
	}
}

// isReadable reports whether a value can be read as a type.
func isReadable(value any, t reflect.Type) bool {
	raw, err := json.Marshal(value)
	return err == nil && json.Unmarshal(raw, reflect.New(t).Interface()) == nil
}

// fieldType is the Go type that will hold a value.
type fieldType struct {
	reflect.Type
	// required is true for a field that is always written.
	required bool
}

var (
	jsonUnmarshalerType = reflect.TypeFor[gojson.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	bytesType           = reflect.TypeFor[[]byte]()
	durationType        = reflect.TypeFor[metav1.Duration]()
)

// hasCustomUnmarshaler reports whether the type reads JSON in its own way, so that only trying shows what it accepts.
func (t fieldType) hasCustomUnmarshaler() bool {
	p := reflect.PointerTo(t.Type)
	return p.Implements(jsonUnmarshalerType) || p.Implements(textUnmarshalerType)
}

// pointee returns the type that a pointer points to, and other types unchanged.
func (t fieldType) pointee() fieldType {
	for t.Kind() == reflect.Pointer {
		t.Type = t.Elem()
	}
	return t
}

// expectedText returns in words what the type holds.
func (t fieldType) expectedText() string {
	t = t.pointee()
	switch t.Type {
	case durationType:
		return "a duration in hours, minutes and seconds, such as 720h0m0s"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time such as 2026-11-21T03:15:00Z"
	case reflect.TypeFor[resource.Quantity]():
		return "a quantity such as 10Gi"
	case bytesType:
		return "text in base64"
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of at most %d bits", t.Bits())
	}
	return "a " + t.Name()
}

// structField is a field of a struct as JSON knows it.
type structField struct {
	name string
	fieldType
}

// listStructFields lists the fields of a struct, those of inlined structs included.
func listStructFields(t reflect.Type) []structField {
	var found []structField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inlined := f.Anonymous && name == ""
		switch {
		case name == "-" && options == "":
		case inlined && (fieldType{Type: f.Type}).pointee().Kind() == reflect.Struct:
			found = append(found, listStructFields(fieldType{Type: f.Type}.pointee().Type)...)
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			found = append(found, structField{name, fieldType{f.Type, !strings.Contains(","+options+",", ",omitempty,")}})
		}
	}
	return found
}
