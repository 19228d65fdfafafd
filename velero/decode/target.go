package decode

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// target is the Go type that a value is to go into.
type target struct {
	reflect.Type
	// required is true for a field that is always written.
	required bool
}

var (
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
	bytesType  = reflect.TypeFor[[]byte]()
	duration   = reflect.TypeFor[metav1.Duration]()
)

// readsItself reports whether the type reads JSON in its own way, so that only trying tells.
func (t target) readsItself() bool {
	p := reflect.PointerTo(t.Type)
	return p.Implements(jsonReader) || p.Implements(textReader)
}

// elem is what a pointer leads to; other types stay as they are.
func (t target) elem() target {
	for t.Kind() == reflect.Pointer {
		t.Type = t.Elem()
	}
	return t
}

// expected says in words what the type holds.
func (t target) expected() string {
	t = t.elem()
	switch t.Type {
	case duration:
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

// member is a field of a struct as JSON knows it.
type member struct {
	name string
	target
}

// members lists the fields of a struct, those of inlined structs included.
func members(t reflect.Type) []member {
	var found []member
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inlined := f.Anonymous && name == ""
		switch {
		case name == "-" && options == "":
		case inlined && (target{Type: f.Type}).elem().Kind() == reflect.Struct:
			found = append(found, members(target{Type: f.Type}.elem().Type)...)
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			found = append(found, member{name, target{f.Type, !strings.Contains(","+options+",", ",omitempty,")}})
		}
	}
	return found
}
