package diff

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	MaxObjects   = 100_000  // how many objects are compared
	maxKeptBytes = 64 << 20 // how many bytes of their items in the backup are kept
	maxPathBytes = 512      // beyond a longer path everything is one field: each leaf has its whole path
)

// FieldTable names the fields of many objects, and hashes their values.
type FieldTable struct {
	seed        maphash.Seed
	paths       map[string]uint32
	names       []string // of paths
	keptBytes   int
	UnkeptCount int // objects beyond what is kept
}

// FieldHash is the hash of one field; the value [Absent] stands for a missing field.
type FieldHash struct {
	Path  uint32
	Value uint64
}

// Absent is the value of a field that is not there.
const Absent = 0

// NewFieldTable returns an empty Table.
func NewFieldTable() *FieldTable {
	return &FieldTable{seed: maphash.MakeSeed(), paths: map[string]uint32{}}
}

// UnkeptReason is why an object beyond what is kept is not compared.
var UnkeptReason = fmt.Sprintf("veltui keeps at most %d MiB of what the backup holds", maxKeptBytes>>20)

// ReadItem reads an item of the backup, or says why it cannot be compared. A nil body stands for a body that is too
// large; sources counts the items that the restore maps to the same name, and versions are the API versions in which
// the backup holds the resource.
func (t *FieldTable) ReadItem(body []byte, sources int, versions []string) (*unstructured.Unstructured, string) {
	switch {
	case sources > 1:
		return nil, "the restore gives several items its name, and Velero takes the first"
	case len(versions) > 1:
		return nil, "the backup holds it in several API versions"
	case t.keptBytes > maxKeptBytes:
		t.UnkeptCount++
		return nil, UnkeptReason
	case body == nil:
		return nil, "its body in the backup is too large"
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return nil, "its body in the backup cannot be read"
	}
	return object, ""
}

// IsFull reports whether no more objects of the cluster are to be read: they bring further paths.
func (t *FieldTable) IsFull() bool { return t.keptBytes > 2*maxKeptBytes }

// AddKept counts the fields that are kept.
func (t *FieldTable) AddKept(fields ...[]FieldHash) {
	for _, f := range fields {
		t.keptBytes += 16 * len(f)
	}
}

// HashFields hashes the fields of an object, one level deep: spec.replicas, data.level, metadata.labels.app. Velero
// considers two objects equal if all these fields are (k8s.io/apimachinery/pkg/api/equality: an empty field differs
// from a missing one).
func (t *FieldTable) HashFields(object map[string]any) []FieldHash {
	var all []FieldHash
	add := func(path string, value any) { all = append(all, t.newField(path, value)) }
	for name, value := range object {
		below, isMap := value.(map[string]any)
		if !isMap || len(below) == 0 {
			add(name, value)
			continue
		}
		for key, value := range below {
			pairs, isMap := value.(map[string]any)
			if name != "metadata" || key != "labels" && key != "annotations" || !isMap ||
				len(pairs) == 0 && key == "annotations" {
				add(name+"."+key, value)
				continue
			}
			for pair, value := range pairs {
				add(name+"."+key+"."+pair, value)
			}
		}
	}
	return all
}

// LengthSuffix follows the path of a list of objects in the field that holds the list's length.
const LengthSuffix = "[]"

// EmptySuffix follows the path of an empty map in the field that stands for it: an empty selector selects everything.
const EmptySuffix = "{}"

// HashDeep hashes each value of an object, and the length of each list: spec.template.spec.containers[web].image. An
// empty value counts as missing: the API server drops it, or fills it in. Empty maps below the metadata have a field
// with the suffix [EmptySuffix].
func (t *FieldTable) HashDeep(object map[string]any) (all []FieldHash) {
	walk("", object, nil, func(path string, value any, _ []ownedNode) {
		all = append(all, t.newField(path, value))
	})
	return all
}

// walk visits the fields of an object, with what writers own of them.
func walk(path string, value any, nodes []ownedNode, visit func(path string, value any, nodes []ownedNode)) {
	switch v := value.(type) {
	case nil:
	case string:
		if v != "" {
			visit(path, v, nodes)
		}
	case map[string]any:
		walkMap(path, v, nodes, visit)
	case []any:
		names := elementNames(v)
		switch {
		case len(v) == 0:
		case names == nil, len(path) > maxPathBytes:
			visit(path, v, nodes)
		default:
			visit(path+LengthSuffix, len(v), nodes)
			elements := findOwnedElements(nodes)
			for i, below := range v {
				walk(path+"["+names[i]+"]", below, elements.below(i, below), visit)
			}
		}
	default:
		visit(path, v, nodes)
	}
}

func walkMap(path string, v map[string]any, nodes []ownedNode, visit func(string, any, []ownedNode)) {
	switch {
	case len(v) == 0 && path != "" && path != "metadata" && !strings.HasPrefix(path, "metadata."):
		visit(path+EmptySuffix, true, nodes)
		return
	case len(v) > 0 && len(path) > maxPathBytes:
		visit(path, v, nodes)
		return
	}
	quantities := slices.Contains(quantityFields, path[strings.LastIndexByte(path, '.')+1:]) ||
		strings.HasPrefix(path, "spec.limits[")
	for key, below := range v {
		if quantities || slices.Contains(quantityFields, key) {
			below = canonicalQuantity(below)
		}
		var owned []ownedNode
		if len(nodes) > 0 {
			owned = descendKey(nodes, key)
		}
		if path != "" {
			key = path + "." + key
		}
		walk(key, below, owned, visit)
	}
}

// quantityFields are fields of Kubernetes that are quantities, or maps of names to quantities; limit ranges have
// more.
var quantityFields = []string{
	"limits",
	"requests",
	"hard",
	"podFixed",
	"capacity",
	"sizeLimit",
	"divisor",
	"averageValue",
}

// ParseQuantity reads a quantity. It refuses quantities with an exponent, which may take long to parse.
func ParseQuantity(value any) (q resource.Quantity, ok bool) {
	text := fmt.Sprint(value)
	if len(text) > 32 || strings.ContainsAny(text, "eE") {
		return q, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// canonicalQuantity writes a quantity as the API server does, 1000m as 1. It returns other values unchanged.
func canonicalQuantity(value any) any {
	switch value.(type) {
	case string, int64, float64:
		if q, ok := ParseQuantity(value); ok {
			return q.String()
		}
	}
	return value
}

// elementNames returns names for the elements of a list of objects: their own names if all differ; nil for other
// lists.
func elementNames(list []any) []string {
	byName, byIndex := make([]string, len(list)), make([]string, len(list))
	seen := map[string]bool{"": true}
	named := true
	for i, e := range list {
		object, isMap := e.(map[string]any)
		if !isMap {
			return nil
		}
		name, _ := object["name"].(string)
		byName[i], byIndex[i] = name, fmt.Sprint(i)
		named = named && !seen[name]
		seen[name] = true
	}
	if named {
		return byName
	}
	return byIndex
}

func (t *FieldTable) newField(path string, value any) FieldHash {
	return FieldHash{t.pathID(path), t.hashValue(value)}
}

// PathID returns the number of a path.
func (t *FieldTable) PathID(name string) uint32 { return t.pathID(name) }

func (t *FieldTable) pathID(name string) uint32 {
	id, known := t.paths[name]
	if !known {
		id = uint32(len(t.names))
		t.paths[name], t.names = id, append(t.names, name)
		t.keptBytes += 2*len(name) + 64
	}
	return id
}

func (t *FieldTable) hashValue(value any) uint64 {
	text, err := json.Marshal(value) // maps are written in the order of their keys
	if err != nil {
		text = []byte(err.Error())
	}
	if h := maphash.Bytes(t.seed, text); h != Absent {
		return h
	}
	return Absent + 1
}

// HasPath reports whether fields contains a field with a path.
func (t *FieldTable) HasPath(path string, fields []FieldHash) bool {
	id, known := t.paths[path]
	return known && slices.ContainsFunc(fields, func(f FieldHash) bool { return f.Path == id })
}

// ChangedFields returns the fields of after that are missing or different in before, and those that are missing in
// after.
func ChangedFields(before, after []FieldHash) (changed []FieldHash) {
	left := ValuesByPath(before)
	for _, f := range after {
		if left[f.Path] != f.Value {
			changed = append(changed, f)
		}
		delete(left, f.Path)
	}
	for path := range left {
		changed = append(changed, FieldHash{path, Absent})
	}
	return changed
}

// ValuesByPath returns the values of fields by their paths.
func ValuesByPath(fields []FieldHash) map[uint32]uint64 {
	values := make(map[uint32]uint64, len(fields))
	for _, f := range fields {
		values[f.Path] = f.Value
	}
	return values
}

// FieldName returns the path of a field.
func (t *FieldTable) FieldName(f FieldHash) string { return t.names[f.Path] }

// FieldNames returns the paths of fields, sorted.
func (t *FieldTable) FieldNames(fields []FieldHash) []string {
	var names []string
	for _, f := range fields {
		names = append(names, t.FieldName(f))
	}
	slices.Sort(names)
	return names
}
