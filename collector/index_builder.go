package collector

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sort"
	"strings"
)

// indexBuilder collects items in the order of the archive.
type indexBuilder struct {
	strings interner
	sets    interner
	names   stringTable
	bucket  []uint32 // index into places, by item
	setOf   []uint32
	flags   []itemFlag
	refs    []reference
	kinds   []definition
	facts   interner
	needs   []needsOf
	places  []struct{ resource, namespace uint32 }
	byPlace map[[2]uint32]uint32

	// The previous entry is mostly in the same place.
	lastResource, lastNamespace []byte
	lastPlace                   uint32
	lastWantedFacts             wantedFacts

	versions      []storedVersion
	knownVersions map[storedVersion]bool
	lastVersioned []byte // the resource and version directory of the previous entry

	packed []byte // a set being put together
}

func newIndexBuilder() *indexBuilder {
	b := &indexBuilder{
		strings:       newInterner(),
		sets:          newInterner(),
		facts:         newInterner(),
		byPlace:       map[[2]uint32]uint32{},
		knownVersions: map[storedVersion]bool{},
	}
	b.strings.internID(nil) // id 0 is the empty string
	b.sets.internID(nil)    // id 0 is no labels
	return b
}

// memorySize returns about how much memory the builder holds, in bytes.
func (b *indexBuilder) memorySize() int64 {
	return b.strings.memorySize() + b.sets.memorySize() + b.names.memorySize() + b.facts.memorySize() +
		int64(4*cap(b.bucket)+4*cap(b.setOf)+cap(b.flags)+16*cap(b.refs)) +
		int64(40*len(b.places)+200*len(b.kinds)+8*cap(b.needs)+80*len(b.versions))
}

// findPlace returns the place of an item and the facts to read from its kind.
func (b *indexBuilder) findPlace(p itemPath) (uint32, wantedFacts) {
	if len(b.places) > 0 && bytes.Equal(p.namespace, b.lastNamespace) && bytes.Equal(p.resource, b.lastResource) {
		return b.lastPlace, b.lastWantedFacts
	}
	key := [2]uint32{b.strings.internID(p.resource), b.strings.internID(p.namespace)}
	id, ok := b.byPlace[key]
	if !ok {
		id = uint32(len(b.places))
		b.places = append(b.places, struct{ resource, namespace uint32 }{key[0], key[1]})
		b.byPlace[key] = id
	}
	b.lastResource = append(b.lastResource[:0], p.resource...)
	b.lastNamespace = append(b.lastNamespace[:0], p.namespace...)
	b.lastPlace, b.lastWantedFacts = id, factsOfResource(string(p.resource))
	return id, b.lastWantedFacts
}

// factsOfResource returns the facts to read from the objects of a resource.
func factsOfResource(resource string) wantedFacts {
	want, known := factsByKind[resource]
	if _, group, _ := strings.Cut(resource, "."); !known && !IsBuiltIn(group) {
		return wantStatus
	}
	return want
}

// addItem adds an item. o is nil if its body was not or cannot be read.
func (b *indexBuilder) addItem(p itemPath, o *parsedObject, flags itemFlag) {
	where, want := b.findPlace(p)
	item := b.names.addString(p.name)
	set := uint32(0)
	if o != nil {
		set = b.labelSet(o)
		if o.hasCompleted(want) {
			flags |= flagCompleted
		}
		if o.isCleanedUp {
			flags |= flagCleanedUp
		}
		if want == wantPod && len(o.findAnnotation(annMirrorPod)) > 0 {
			flags |= flagMirror
		}
		b.addFacts(item, want, o)
		b.addNeeds(item, o)
	}
	b.bucket = append(b.bucket, where)
	b.setOf = append(b.setOf, set)
	b.flags = append(b.flags, flags)
}

func (b *indexBuilder) labelSet(o *parsedObject) uint32 {
	if o.badLabels {
		return 0
	}
	b.packed = b.packed[:0]
	for _, label := range o.labels {
		b.packed = binary.LittleEndian.AppendUint32(b.packed, b.strings.internID(label[0]))
		b.packed = binary.LittleEndian.AppendUint32(b.packed, b.strings.internID(label[1]))
	}
	return b.sets.internID(b.packed)
}

func (b *indexBuilder) addFacts(item uint32, want wantedFacts, o *parsedObject) {
	ref := func(kind refKind, namespace, name []byte) {
		if len(name) > 0 {
			b.refs = append(b.refs, reference{item, kind, b.strings.internID(namespace), b.strings.internID(name)})
		}
	}
	switch want {
	case wantPod:
		for _, claim := range o.claims {
			ref(refClaim, nil, claim)
		}
		ref(refPriority, nil, o.priorityClass)
	case wantClaim:
		if string(o.phase) == "Bound" {
			ref(refVolume, nil, o.volumeName)
		}
		ref(refSnapshot, nil, o.findAnnotation(annClaimSnapshot))
	case wantSnapshot:
		ref(refContent, nil, o.content)
	case wantContent, wantSnapshotClass:
		name, span := annDeleteSecret, annDeleteSecretNS
		if want == wantSnapshotClass {
			name, span = annListSecret, annListSecretNS
		}
		if namespace := o.findAnnotation(span); namespace != nil {
			ref(refSecret, namespace, o.findAnnotation(name))
		}
	case wantCRD:
		if o.definedResource.Name != "" {
			b.kinds = append(b.kinds, definition{item, o.definedResource})
		}
	}
}

// buildIndex returns the Index of the collected items, sorted. If the archive holds an item twice, the later one
// counts: it would overwrite the earlier one when extracted.
func (b *indexBuilder) buildIndex() *Index {
	x := &Index{
		indexData{
			Strings: b.strings.stringTable,
			Sets:    b.sets.stringTable,
			Facts:   b.facts.stringTable,
			Stored:  b.versions,
		},
	}
	places := make([]uint32, len(b.places))
	for i := range places {
		places[i] = uint32(i)
	}
	slices.SortFunc(places, func(i, j uint32) int {
		p, q := b.places[i], b.places[j]
		return cmp.Or(bytes.Compare(x.Strings.bytesOf(p.resource), x.Strings.bytesOf(q.resource)),
			bytes.Compare(x.Strings.bytesOf(p.namespace), x.Strings.bytesOf(q.namespace)))
	})
	rank := make([]uint32, len(places))
	for r, p := range places {
		rank[p] = uint32(r)
	}

	order := b.sortItems(rank)
	now := make([]uint32, len(order)) // new number of each item
	x.SetOf = make([]uint32, 0, len(order))
	x.Flags = make([]itemFlag, 0, len(order))
	x.Names.Data = make([]byte, 0, len(b.names.Data))
	x.Names.End = make([]uint32, 0, len(order))
	for n, i := range order {
		where := b.bucket[i]
		if n+1 < len(order) && b.bucket[order[n+1]] == where &&
			bytes.Equal(b.names.bytesOf(order[n+1]), b.names.bytesOf(i)) {
			now[i] = replacedItem
			continue
		}
		item := x.Names.addString(b.names.bytesOf(i))
		now[i] = item
		x.SetOf = append(x.SetOf, b.setOf[i])
		x.Flags = append(x.Flags, b.flags[i])
		p := b.places[where]
		if k := len(
			x.Buckets,
		); k == 0 || x.Buckets[k-1].Resource != p.resource ||
			x.Buckets[k-1].Namespace != p.namespace {
			x.Buckets = append(x.Buckets, bucket{p.resource, p.namespace, item, item})
		}
		x.Buckets[len(x.Buckets)-1].End = item + 1
	}
	x.Refs = renumberItems(b.refs, func(r *reference) *uint32 { return &r.Item }, now)
	x.Kinds = renumberItems(b.kinds, func(d *definition) *uint32 { return &d.Item }, now)
	x.Needs = renumberItems(b.needs, func(n *needsOf) *uint32 { return &n.Item }, now)
	return x
}

// replacedItem is the new number of an item that a later one replaces.
const replacedItem = ^uint32(0)

// renumberItems replaces the item numbers in a list by the new ones, and sorts the list by them.
func renumberItems[T any](all []T, item func(*T) *uint32, now []uint32) []T {
	kept := all[:0]
	for i := range all {
		if at := item(&all[i]); now[*at] != replacedItem {
			*at = now[*at]
			kept = append(kept, all[i])
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return *item(&kept[i]) < *item(&kept[j]) })
	return kept
}

// sortItems returns the items ordered by the rank of their place, then by name, then by their order in the archive.
func (b *indexBuilder) sortItems(rank []uint32) []uint32 {
	// A counting sort by place leaves little to compare.
	start := make([]int, len(rank)+1)
	for _, where := range b.bucket {
		start[rank[where]+1]++
	}
	for r := range rank {
		start[r+1] += start[r]
	}
	order := make([]uint32, len(b.bucket))
	next := slices.Clone(start)
	for item, where := range b.bucket {
		r := rank[where]
		order[next[r]] = uint32(item)
		next[r]++
	}
	byName := func(i, j uint32) int {
		return cmp.Or(bytes.Compare(b.names.bytesOf(i), b.names.bytesOf(j)), cmp.Compare(i, j))
	}
	for r := range rank {
		if place := order[start[r]:start[r+1]]; !slices.IsSortedFunc(place, byName) {
			slices.SortFunc(place, byName)
		}
	}
	return order
}

// stringTable stores byte strings back to back and gives each an id.
type stringTable struct {
	Data []byte
	End  []uint32 // End[i] is the end of string i
}

func (t *stringTable) countStrings() int { return len(t.End) }

func (t *stringTable) bytesOf(id uint32) []byte {
	start := uint32(0)
	if id > 0 {
		start = t.End[id-1]
	}
	return t.Data[start:t.End[id]]
}

func (t *stringTable) string(id uint32) string { return string(t.bytesOf(id)) }

func (t *stringTable) addString(b []byte) uint32 {
	t.Data = append(t.Data, b...)
	t.End = append(t.End, uint32(len(t.Data)))
	return uint32(len(t.End) - 1)
}

func (t *stringTable) memorySize() int64 { return int64(cap(t.Data)) + 4*int64(cap(t.End)) }

// interner gives equal strings the same id.
type interner struct {
	stringTable
	seed  maphash.Seed
	slots []uint32 // id+1, or 0; open addressing, at most half full
}

func newInterner() interner {
	return interner{seed: maphash.MakeSeed(), slots: make([]uint32, 1<<10)}
}

func (t *interner) internID(b []byte) uint32 {
	if 2*t.countStrings() >= len(t.slots) {
		t.growSlots()
	}
	mask := uint64(len(t.slots) - 1)
	for i := maphash.Bytes(t.seed, b) & mask; ; i = (i + 1) & mask {
		switch slot := t.slots[i]; {
		case slot == 0:
			id := t.addString(b)
			t.slots[i] = id + 1
			return id
		case bytes.Equal(t.bytesOf(slot-1), b):
			return slot - 1
		}
	}
}

func (t *interner) growSlots() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for id := range uint32(t.countStrings()) {
		i := maphash.Bytes(t.seed, t.bytesOf(id)) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = id + 1
	}
}

func (t *interner) memorySize() int64 { return t.stringTable.memorySize() + 4*int64(len(t.slots)) }
