package preflight

import (
	"encoding/json"
	"hash/maphash"
	"slices"
)

// sign hashes the fields of an object, one level deep: spec.replicas, data.level,
// metadata.labels.app. Two objects are equal for Velero where all these are
// (k8s.io/apimachinery/pkg/api/equality: a field that is there and empty is not one
// that is not there).
func (c *Comparison) sign(object map[string]any) []field {
	var all []field
	add := func(path string, value any) {
		all = append(all, field{c.path(path), c.hash(value)})
	}
	for name, value := range object {
		below, isMap := value.(map[string]any)
		if !isMap || len(below) == 0 {
			add(name, value)
			continue
		}
		for key, value := range below {
			pairs, isMap := value.(map[string]any)
			if name != "metadata" || key != "labels" && key != "annotations" || !isMap || len(pairs) == 0 && key == "annotations" {
				add(name+"."+key, value)
				continue
			}
			for pair, value := range pairs {
				add(name+"."+key+"."+pair, value)
			}
		}
	}
	slices.SortFunc(all, func(x, y field) int { return int(x.path) - int(y.path) })
	return all
}

func (c *Comparison) path(name string) uint32 {
	id, known := c.paths[name]
	if !known {
		id = uint32(len(c.names))
		c.paths[name], c.names = id, append(c.names, name)
		c.kept += 2*len(name) + 64
	}
	return id
}

func (c *Comparison) hash(value any) uint64 {
	text, err := json.Marshal(value) // maps in the order of their keys
	if err != nil {
		text = []byte(err.Error())
	}
	if h := maphash.Bytes(c.seed, text); h != gone {
		return h
	}
	return gone + 1
}

func (c *Comparison) changes(before, after []field) (changed []field) {
	both(before, after, func(path uint32, x, y uint64) {
		if x != y {
			changed = append(changed, field{path, y})
		}
	})
	return changed
}

func (c *Comparison) differing(x, y []field) []string {
	var names []string
	for _, f := range c.changes(x, y) {
		names = append(names, c.names[f.path])
	}
	slices.Sort(names)
	return names
}

func overlay(fields, changed []field) (all []field) {
	if len(changed) == 0 {
		return fields
	}
	over := map[uint32]bool{}
	for _, f := range changed {
		if over[f.path] = true; f.value != gone {
			all = append(all, f)
		}
	}
	for _, f := range fields {
		if !over[f.path] {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(x, y field) int { return int(x.path) - int(y.path) })
	return all
}

// both goes through the fields of two objects, sorted by path.
func both(x, y []field, visit func(path uint32, x, y uint64)) {
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].path < y[0].path:
			visit(x[0].path, x[0].value, gone)
			x = x[1:]
		case len(x) == 0 || y[0].path < x[0].path:
			visit(y[0].path, gone, y[0].value)
			y = y[1:]
		default:
			visit(x[0].path, x[0].value, y[0].value)
			x, y = x[1:], y[1:]
		}
	}
}
