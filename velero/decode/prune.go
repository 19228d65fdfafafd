package decode

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"
)

// MaxProblems bounds how many malformed fields of one object are named.
const MaxProblems = 16

// pruner walks a JSON document beside a Go type and takes out what the type
// cannot hold.
type pruner struct{ found []Malformed }

func (p *pruner) note(m Malformed) {
	if len(p.found) < MaxProblems {
		p.found = append(p.found, m)
	}
}

// fits reports whether t can hold the value, which is noted if it cannot.
// What is malformed inside of the value is taken out of it.
func (p *pruner) fits(value any, t target, at path) (pruned any, ok bool) {
	inner := t.elem()
	switch {
	case value == nil && t.Kind() == reflect.Pointer:
		return value, true
	case inner.readsItself() || inner.Type == bytesType:
		ok = readable(value, inner.Type)
	case value == nil || inner.Kind() == reflect.Interface:
		return value, true
	case inner.Kind() == reflect.Struct:
		var object map[string]any
		if object, ok = value.(map[string]any); ok {
			p.fields(object, inner.Type, at)
		}
	case inner.Kind() == reflect.Map:
		var object map[string]any
		if object, ok = value.(map[string]any); ok {
			p.entries(object, inner.Elem(), at)
		}
	case inner.Kind() == reflect.Slice:
		var list []any
		if list, ok = value.([]any); ok {
			value = p.items(list, inner.Elem(), at)
		}
	default:
		ok = readable(value, inner.Type)
	}
	if !ok {
		p.note(problem(at, value, t))
	}
	return value, ok
}

// fields prunes an object that is to become a struct.
func (p *pruner) fields(object map[string]any, t reflect.Type, at path) {
	for _, m := range members(t) {
		if value, there := object[m.name]; there {
			p.put(object, m.name, value, m.target, at)
		}
	}
}

// entries prunes an object that is to become a map.
func (p *pruner) entries(object map[string]any, t reflect.Type, at path) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		p.put(object, name, object[name], target{Type: t}, at)
	}
}

func (p *pruner) put(object map[string]any, name string, value any, t target, at path) {
	pruned, ok := p.fits(value, t, append(at, name))
	if ok {
		object[name] = pruned
	} else {
		delete(object, name)
	}
}

// items prunes a list. The paths have the indexes of the list as it was sent.
func (p *pruner) items(list []any, t reflect.Type, at path) []any {
	kept := make([]any, 0, len(list))
	for i, value := range list {
		if pruned, ok := p.fits(value, target{Type: t}, append(at, i)); ok {
			kept = append(kept, pruned)
		}
	}
	return kept
}

// readable tries to read a value as a type.
func readable(value any, t reflect.Type) bool {
	raw, err := json.Marshal(value)
	return err == nil && json.Unmarshal(raw, reflect.New(t).Interface()) == nil
}
