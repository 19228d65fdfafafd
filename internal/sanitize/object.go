package sanitize

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

const maxDepth = 64 // Kubernetes' own types are far below

// Object cleans every string behind the pointer p, in place, as [String] does: fields, elements, map keys
// and values, and the JSON of a [runtime.RawExtension], which stays JSON. Other byte slices (certificates)
// stay: encoders write them in base64. Nothing is allocated for a struct of clean strings.
func Object(p any) {
	v := reflect.ValueOf(p)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		walk(v.Elem(), maxDepth)
	}
}

func walk(v reflect.Value, depth int) {
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
			walk(v.Elem(), depth-1)
		}
	case reflect.Interface:
		walkInterface(v, depth)
	case reflect.Struct:
		if raw, ok := v.Addr().Interface().(*runtime.RawExtension); ok && raw.Raw != nil {
			if json.Valid(raw.Raw) {
				raw.Raw = JSON(raw.Raw)
			} else {
				raw.Raw = quoted(String(string(raw.Raw)))
			}
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				walk(f, depth-1)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() < reflect.Array {
			return // numbers, of which there may be many
		}
		for i := range v.Len() {
			walk(v.Index(i), depth-1)
		}
	case reflect.Map:
		walkMap(v, depth)
	}
}

// walkInterface cleans what v holds, or a copy of it if that is no pointer.
func walkInterface(v reflect.Value, depth int) {
	if v.IsNil() {
		return
	}
	if v.Elem().Kind() == reflect.Pointer {
		if !v.Elem().IsNil() {
			walk(v.Elem().Elem(), depth-1)
		}
		return
	}
	held := reflect.New(v.Elem().Type()).Elem()
	held.Set(v.Elem())
	walk(held, depth-1)
	v.Set(held)
}

// walkMap cleans keys and values. Of two keys that become the same, the clean one is kept.
func walkMap(m reflect.Value, depth int) {
	if m.Len() == 0 {
		return
	}
	if strs, ok := m.Interface().(map[string]string); ok {
		cleanStrings(strs)
		return
	}
	t := m.Type()
	key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	for it := m.MapRange(); it.Next(); {
		old := it.Key()
		key.Set(old)
		walk(key, depth-1)
		value.Set(it.Value())
		walk(value, depth-1)
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

// cleanStrings is the quick way for labels and annotations.
func cleanStrings(m map[string]string) {
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
