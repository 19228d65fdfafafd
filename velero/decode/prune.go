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

// fits reports whether t can hold the value, and notes it otherwise. What is malformed inside is
// taken out.
func (p *pruner) fits(value any, t target, at path) (pruned any, ok bool) {
	inner := t.elem()
	switch {
	case value == nil && t.Kind() == reflect.Pointer:
		return value, true
	case inner.readsItself() || inner.Type == bytesType:
		ok = readable(value, inner.Type)
	case value == nil || inner.Kind() == reflect.Interface:
		return value, true
	case inner.Kind() == reflect.Struct, inner.Kind() == reflect.Map:
		var object map[string]any
		if object, ok = value.(map[string]any); ok {
			p.fields(object, inner.Type, at)
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

// fields prunes an object that is to become a struct or a map.
func (p *pruner) fields(object map[string]any, t reflect.Type, at path) {
	var all []member
	if t.Kind() == reflect.Struct {
		all = members(t)
	} else {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			all = append(all, member{name, target{Type: t.Elem()}})
		}
	}
	for _, m := range all {
		value, there := object[m.name]
		if !there {
			continue
		}
		if pruned, ok := p.fits(value, m.target, append(at, m.name)); ok {
			object[m.name] = pruned
		} else {
			delete(object, m.name)
		}
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
