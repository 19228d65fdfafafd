package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Writer is an entry of an object's managed fields: who wrote some of the fields, and when last.
type Writer struct {
	Manager, Operation, Subresource string
	Time                            time.Time
	fields                          map[string]any // FieldsV1
}

// maxWriters is how many entries of an object are read. The API server keeps ten for updates, and one for each applier
// (k8s.io/apimachinery/pkg/util/managedfields, capmanagers.go).
const maxWriters = 64

// ReadWriters returns the entries of an object's managed fields.
func ReadWriters(o *unstructured.Unstructured) (all []Writer) {
	entries, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	for _, entry := range list[:min(len(list), maxWriters)] {
		m, _ := entry.(map[string]any)
		text := func(name string) string {
			s, _ := m[name].(string)
			return s
		}
		w := Writer{Manager: text("manager"), Operation: text("operation"), Subresource: text("subresource")}
		w.Time, _ = time.Parse(time.RFC3339, text("time"))
		w.fields, _ = m["fieldsV1"].(map[string]any)
		if w.Manager != "" {
			all = append(all, w)
		}
	}
	return all
}

// Key returns what an entry and its copy in a backup have in common as long as its manager writes nothing else: each
// write that changes a field sets the time.
func (w Writer) Key() string {
	return strings.Join([]string{w.Manager, w.Operation, w.Subresource, w.Time.UTC().Format(time.RFC3339)}, "\x00")
}

// OwnsOnly reports whether is returns true for each field that a writer owns, by a path with [] for an element of a
// list.
func (w Writer) OwnsOnly(is func(path string) bool) bool { return ownsOnly("", w.fields, is) }

func ownsOnly(path string, fields map[string]any, is func(path string) bool) bool {
	for key, child := range fields {
		below := path + LengthSuffix
		if name, isField := strings.CutPrefix(key, "f:"); isField {
			below = strings.TrimPrefix(path+"."+name, ".")
		}
		deeper, _ := child.(map[string]any)
		switch {
		case key == ".": // the list or map itself
		case len(deeper) == 0 && !is(below), len(deeper) > 0 && !ownsOnly(below, deeper, is):
			return false
		}
	}
	return true
}

// Owners maps the paths of an object's fields to the writers that own them, by their index.
type Owners map[uint32]uint64

// Find returns the index of a writer that owns a field and that is returns true for, -1 if there is none.
func (o Owners) Find(path uint32, is func(writer int) bool) int {
	for at := range maxWriters {
		if o[path]&(1<<at) != 0 && is(at) {
			return at
		}
	}
	return -1
}

// FindOwners returns who owns the fields that [FieldTable.HashDeep] returns of an object.
func (t *FieldTable) FindOwners(object map[string]any, writers []Writer) Owners {
	owners, roots := Owners{}, make([]ownedNode, 0, len(writers))
	for i, w := range writers {
		roots = append(roots, ownedNode{writer: i, fields: w.fields})
	}
	walk("", object, roots, func(path string, _ any, nodes []ownedNode) {
		var mask uint64
		for _, n := range nodes {
			mask |= 1 << n.writer
		}
		if mask != 0 {
			owners[t.pathID(path)] |= mask
		}
	})
	return owners
}

// ownedNode is what a writer owns at a place in an object, and below it. Nothing listed below means all of it: lists
// and maps that are replaced as a whole (sigs.k8s.io/structured-merge-diff, fieldpath/serialize.go).
type ownedNode struct {
	writer  int
	fields  map[string]any
	isWhole bool
}

func (n ownedNode) below(child any) ownedNode {
	fields, _ := child.(map[string]any)
	return ownedNode{writer: n.writer, fields: fields, isWhole: len(fields) == 0}
}

// descendKey returns what the writers own of a field of a map.
func descendKey(nodes []ownedNode, key string) (below []ownedNode) {
	for _, n := range nodes {
		if n.isWhole {
			below = append(below, n)
		} else if child, ok := n.fields["f:"+key]; ok {
			below = append(below, n.below(child))
		}
	}
	return below
}

// ownedElements is what the writers own of the elements of a list.
type ownedElements struct {
	whole []ownedNode // of all elements
	parts []*ownedParts
}

func findOwnedElements(nodes []ownedNode) (o ownedElements) {
	for _, n := range nodes {
		if n.isWhole {
			o.whole = append(o.whole, n)
		} else {
			o.parts = append(o.parts, newOwnedParts(n))
		}
	}
	return o
}

// below returns what the writers own of an element.
func (o ownedElements) below(index int, element any) []ownedNode {
	below := slices.Clone(o.whole)
	for _, p := range o.parts {
		if child, ok := p.node.fields[fmt.Sprint("i:", index)]; ok {
			below = append(below, p.node.below(child))
		}
		if object, isMap := element.(map[string]any); isMap {
			below = append(below, p.findKeyed(object)...)
		}
	}
	return below
}

// ownedParts are the elements that one writer owns. FieldsV1 names an element by the values of the list's keys.
type ownedParts struct {
	node     ownedNode
	keySets  [][]string // the names of the keys, sorted
	elements []ownedElement
	// byValues are the elements by the names and values of keys, for each set of names that was asked for.
	byValues map[string]map[string][]ownedNode
}

// ownedElement is an element by the values of its keys.
type ownedElement struct {
	names  []string
	values map[string]any
	node   ownedNode
}

// maxKeySets is how many sets of keys are read of one list. A list has one: those of its schema.
const maxKeySets = 4

func newOwnedParts(n ownedNode) *ownedParts {
	p := &ownedParts{node: n, byValues: map[string]map[string][]ownedNode{}}
	for key, child := range n.fields {
		text, named := strings.CutPrefix(key, "k:")
		values := map[string]any{}
		if !named || json.Unmarshal([]byte(text), &values) != nil {
			continue
		}
		names := slices.Sorted(maps.Keys(values))
		isKnown := slices.ContainsFunc(p.keySets, func(set []string) bool { return slices.Equal(set, names) })
		if !isKnown && len(p.keySets) == maxKeySets {
			continue
		}
		if !isKnown {
			p.keySets = append(p.keySets, names)
		}
		p.elements = append(p.elements, ownedElement{names, values, n.below(child)})
	}
	return p
}

// findKeyed returns what the writer owns of the element whose keys have the values of an object. A key that the object
// lacks has its default value, and says nothing.
func (p *ownedParts) findKeyed(object map[string]any) (below []ownedNode) {
	for _, set := range p.keySets {
		var has []string
		for _, name := range set {
			if _, ok := object[name]; ok {
				has = append(has, name)
			}
		}
		at := fmt.Sprintf("%q %q", set, has)
		if p.byValues[at] == nil {
			p.byValues[at] = map[string][]ownedNode{}
			for _, e := range p.elements {
				if slices.Equal(e.names, set) {
					key := keyValues(has, e.values)
					p.byValues[at][key] = append(p.byValues[at][key], e.node)
				}
			}
		}
		below = append(below, p.byValues[at][keyValues(has, object)]...)
	}
	return below
}

// keyValues returns the values of keys as one text.
func keyValues(names []string, values map[string]any) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%q ", fmt.Sprint(values[name]))
	}
	return b.String()
}
