package diff

import (
	"encoding/json"
	"fmt"
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

// descendElement returns what the writers own of an element of a list.
func descendElement(nodes []ownedNode, index int, element any) (below []ownedNode) {
	for _, n := range nodes {
		if n.isWhole {
			below = append(below, n)
			continue
		}
		for key, child := range n.fields {
			if isElement(key, index, element) {
				below = append(below, n.below(child))
			}
		}
	}
	return below
}

// isElement reports whether a key of FieldsV1 is about an element of a list: k: names its keys, i: its index.
func isElement(key string, index int, element any) bool {
	if key == fmt.Sprint("i:", index) {
		return true
	}
	text, named := strings.CutPrefix(key, "k:")
	keys := map[string]any{}
	object, isMap := element.(map[string]any)
	if !named || !isMap || json.Unmarshal([]byte(text), &keys) != nil {
		return false
	}
	for name, value := range keys {
		if has, ok := object[name]; ok && fmt.Sprint(has) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}
