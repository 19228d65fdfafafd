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
	MaxObjects = 100_000  // how many objects are compared
	maxKept    = 64 << 20 // how many bytes are kept of what the backup holds of them
	maxPath    = 512      // behind a longer path, all is one field: each leaf has its whole path
)

// Table names the fields of many objects, and hashes their values.
type Table struct {
	seed   maphash.Seed
	paths  map[string]uint32
	names  []string // of paths
	kept   int
	Unkept int // how many objects were beyond what is kept
}

// Field is the hash of one field; Gone stands for none.
type Field struct {
	Path  uint32
	Value uint64
}

// Gone is the value of a field that is not there.
const Gone = 0

// NewTable returns an empty one.
func NewTable() *Table { return &Table{seed: maphash.MakeSeed(), paths: map[string]uint32{}} }

// WhyUnkept is why an object is not compared that is beyond what is kept.
var WhyUnkept = fmt.Sprintf("veltui keeps at most %d MiB of what the backup holds", maxKept>>20)

// Read reads an item of the backup, or says why it cannot be compared. A nil body is one that is too large;
// sources counts the items that the restore maps to the same name, and versions are the API versions in which
// the backup holds it.
func (t *Table) Read(body []byte, sources int, versions []string) (*unstructured.Unstructured, string) {
	switch {
	case sources > 1:
		return nil, "the restore maps several namespaces to its namespace, and Velero takes the first"
	case len(versions) > 1:
		return nil, "the backup holds it in several API versions"
	case t.kept > maxKept:
		t.Unkept++
		return nil, WhyUnkept
	case body == nil:
		return nil, "its body in the backup is too large"
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return nil, "its body in the backup cannot be read"
	}
	return object, ""
}

// Full reports whether no more objects of the cluster are to be read, which bring further paths.
func (t *Table) Full() bool { return t.kept > 2*maxKept }

// Keep counts fields that are kept.
func (t *Table) Keep(fields ...[]Field) {
	for _, f := range fields {
		t.kept += 16 * len(f)
	}
}

// Sign hashes the fields of an object, one level deep: spec.replicas, data.level, metadata.labels.app. Two
// objects are equal for Velero where all these are (k8s.io/apimachinery/pkg/api/equality: a field that is there
// and empty is not one that is not there).
func (t *Table) Sign(object map[string]any) []Field {
	var all []Field
	add := func(path string, value any) { all = append(all, t.field(path, value)) }
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

// Length stands behind the path of a list of objects, for how many they are.
const Length = "[]"

// SignDeep hashes each value of an object, and how long each list is: spec.template.spec.containers[web].image. What
// is empty counts as not there: the API server drops it, or fills it in.
func (t *Table) SignDeep(object map[string]any) []Field { return t.deep(nil, "", object) }

func (t *Table) deep(all []Field, path string, value any) []Field {
	switch v := value.(type) {
	case nil:
	case string:
		if v != "" {
			all = append(all, t.field(path, v))
		}
	case map[string]any:
		if len(path) > maxPath && len(v) > 0 {
			return append(all, t.field(path, v))
		}
		quantities := slices.Contains(ofQuantities, path[strings.LastIndexByte(path, '.')+1:]) ||
			strings.HasPrefix(path, "spec.limits[")
		for key, below := range v {
			if quantities || slices.Contains(ofQuantities, key) {
				below = canonical(below)
			}
			if path != "" {
				key = path + "." + key
			}
			all = t.deep(all, key, below)
		}
	case []any:
		names := elements(v)
		switch {
		case len(v) == 0:
		case names == nil, len(path) > maxPath:
			all = append(all, t.field(path, v))
		default:
			all = append(all, t.field(path+Length, len(v)))
			for i, below := range v {
				all = t.deep(all, path+"["+names[i]+"]", below)
			}
		}
	default:
		all = append(all, t.field(path, v))
	}
	return all
}

// ofQuantities are fields of Kubernetes that are quantities, or hold some by their names; limit ranges have more.
var ofQuantities = []string{
	"limits",
	"requests",
	"hard",
	"podFixed",
	"capacity",
	"sizeLimit",
	"divisor",
	"averageValue",
}

// Quantity reads a quantity, but for those with an exponent, which may take long to parse.
func Quantity(value any) (q resource.Quantity, ok bool) {
	text := fmt.Sprint(value)
	if len(text) > 32 || strings.ContainsAny(text, "eE") {
		return q, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// canonical writes a quantity as the API server does, 1000m as 1; another value stays.
func canonical(value any) any {
	switch value.(type) {
	case string, int64, float64:
		if q, ok := Quantity(value); ok {
			return q.String()
		}
	}
	return value
}

// elements names the elements of a list of objects, by their names if each has its own; nil for another list.
func elements(list []any) []string {
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

func (t *Table) field(path string, value any) Field { return Field{t.path(path), t.hash(value)} }

func (t *Table) path(name string) uint32 {
	id, known := t.paths[name]
	if !known {
		id = uint32(len(t.names))
		t.paths[name], t.names = id, append(t.names, name)
		t.kept += 2*len(name) + 64
	}
	return id
}

func (t *Table) hash(value any) uint64 {
	text, err := json.Marshal(value) // maps in the order of their keys
	if err != nil {
		text = []byte(err.Error())
	}
	if h := maphash.Bytes(t.seed, text); h != Gone {
		return h
	}
	return Gone + 1
}

// Has reports whether a field of that path is among fields.
func (t *Table) Has(path string, fields []Field) bool {
	id, known := t.paths[path]
	return known && slices.ContainsFunc(fields, func(f Field) bool { return f.Path == id })
}

// Changes are the fields of after that before has otherwise or not at all, and those that are gone.
func Changes(before, after []Field) (changed []Field) {
	left := ByPath(before)
	for _, f := range after {
		if left[f.Path] != f.Value {
			changed = append(changed, f)
		}
		delete(left, f.Path)
	}
	for path := range left {
		changed = append(changed, Field{path, Gone})
	}
	return changed
}

// ByPath are the values of fields by their paths.
func ByPath(fields []Field) map[uint32]uint64 {
	values := make(map[uint32]uint64, len(fields))
	for _, f := range fields {
		values[f.Path] = f.Value
	}
	return values
}

// Name is the path of a field.
func (t *Table) Name(f Field) string { return t.names[f.Path] }

// Names names fields, sorted.
func (t *Table) Names(fields []Field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, t.Name(f))
	}
	slices.Sort(names)
	return names
}
