package sanitize

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

const maxDepth = 64 // Kubernetes' own types are far less deep

// Object cleans every string behind the pointer p, in place, as [String] does: fields, elements, map keys and values,
// and the JSON of a [runtime.RawExtension], which stays JSON. Other byte slices (certificates) stay as they are:
// encoders write them in base64. Nothing is allocated for a struct of clean strings.
func Object(p any) {
	v := reflect.ValueOf(p)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		cleanValue(v.Elem(), maxDepth)
	}
}

// IsPlainJSON reports whether every string in a JSON text is clean for certain, so that [Object] would change nothing
// in what is decoded from it: the text is short and consists of printable ASCII without escapes.
func IsPlainJSON(text []byte) bool {
	if len(text) > MaxLineRunes {
		return false
	}
	for _, c := range text {
		if c < 0x20 || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

func cleanValue(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		if clean := String(s); clean != s {
			v.SetString(clean)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			cleanValue(v.Elem(), depth-1)
		}
	case reflect.Interface:
		cleanInterface(v, depth)
	case reflect.Struct:
		if raw, ok := v.Addr().Interface().(*runtime.RawExtension); ok && raw.Raw != nil {
			if json.Valid(raw.Raw) {
				raw.Raw = JSON(raw.Raw)
			} else {
				raw.Raw = quoteJSON(String(string(raw.Raw)))
			}
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				cleanValue(f, depth-1)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() < reflect.Array {
			return // numbers, possibly many
		}
		for i := range v.Len() {
			cleanValue(v.Index(i), depth-1)
		}
	case reflect.Map:
		cleanMap(v, depth)
	}
}

// cleanInterface cleans the value in v in place if it is a pointer, else replaces it by a clean copy.
func cleanInterface(v reflect.Value, depth int) {
	if v.IsNil() {
		return
	}
	if v.Elem().Kind() == reflect.Pointer {
		if !v.Elem().IsNil() {
			cleanValue(v.Elem().Elem(), depth-1)
		}
		return
	}
	held := reflect.New(v.Elem().Type()).Elem()
	held.Set(v.Elem())
	cleanValue(held, depth-1)
	v.Set(held)
}

// cleanMap cleans keys and values. If two keys become the same, the one that was clean is kept.
func cleanMap(m reflect.Value, depth int) {
	if m.Len() == 0 {
		return
	}
	if strs, ok := m.Interface().(map[string]string); ok {
		cleanStringMap(strs)
		return
	}
	t := m.Type()
	key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	for it := m.MapRange(); it.Next(); {
		old := it.Key()
		key.Set(old)
		cleanValue(key, depth-1)
		value.Set(it.Value())
		cleanValue(value, depth-1)
		if key.Equal(old) {
			m.SetMapIndex(old, value)
			continue
		}
		m.SetMapIndex(old, reflect.Value{})
		if !m.MapIndex(key).IsValid() {
			m.SetMapIndex(key, value)
		}
	}
}

// cleanStringMap is the fast path of cleanMap for labels and annotations.
func cleanStringMap(m map[string]string) {
	for k, v := range m {
		ck, cv := String(k), String(v)
		if ck == k {
			if cv != v {
				m[k] = cv
			}
			continue
		}
		delete(m, k)
		if _, taken := m[ck]; !taken {
			m[ck] = cv
		}
	}
}
