package collector

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Index is the content of a backup: names, kinds, labels and the few facts that decide what a restore restores. It
// does not change after Read, and several goroutines may use it.
type Index struct{ indexData }

// indexData is an Index as the cache stores it.
type indexData struct {
	Format     string   // the backup's metadata/version, such as "1.1.0"; empty if it has none
	Incomplete bool     // the archive could not be read to its end, or has items that could not be read
	NamesOnly  bool     // needs and most labels were not read
	Noted      []string // sentences about what is wrong or odd in the archive; safe to print

	Strings stringTable // resources, namespaces, label keys and values, references
	Names   stringTable // the items' names, in the order of items
	Sets    stringTable // label sets: pairs of string ids, four bytes each
	Buckets []bucket    // sorted by resource, then namespace
	SetOf   []uint32    // the label set of each item
	Flags   []itemFlag  // of each item
	Refs    []reference // sorted by item
	Kinds   []definition

	Facts  stringTable // sets of the items' needs (needs.go)
	Needs  []needsOf   // sorted by item
	Stored []storedVersion
}

// bucket holds all items of one resource in one namespace, sorted by name.
type bucket struct {
	Resource, Namespace uint32 // strings; the empty namespace is cluster scope
	First, End          uint32 // items
}

type itemFlag uint8

const (
	flagCompleted   itemFlag = 1 << iota // a completed pod or job
	flagMirror                           // a mirror pod: it is counted, but brings nothing along
	flagUndecodable                      // Velero cannot decode it and leaves it out
	flagUnchecked                        // its body was not read
	flagCleanedUp                        // a job that the cluster deletes once it has ended
)

// reference is another item that an item brings along when it is restored.
type reference struct {
	Item      uint32
	Kind      refKind
	Namespace uint32 // string, of a secret
	Name      uint32 // string
}

type refKind uint8

const (
	refClaim    refKind = iota // pod -> persistentvolumeclaim
	refPriority                // pod -> priorityclass
	refVolume                  // bound claim -> persistentvolume
	refSnapshot                // claim -> volumesnapshot
	refContent                 // volumesnapshot -> volumesnapshotcontent
	refSecret                  // volumesnapshotcontent or -class -> secret
	refKinds
)

type definition struct {
	Item     uint32
	Resource Resource
}

// ItemCount returns how many items the backup holds, each counted once.
func (x *Index) ItemCount() int { return len(x.Flags) }

// ResourceCount is how many items of one resource there are.
type ResourceCount struct {
	Resource   string         `json:"resource"` // plural and group, as "deployments.apps"
	Items      int            `json:"items"`
	Namespaces map[string]int `json:"namespaces,omitempty"` // none for cluster-scoped items
}

// CountResources returns the number of items in the backup, by resource and namespace.
func (x *Index) CountResources() []ResourceCount {
	var all []ResourceCount
	for _, b := range x.Buckets {
		resource := x.Strings.string(b.Resource)
		if len(all) == 0 || all[len(all)-1].Resource != resource {
			all = append(all, ResourceCount{Resource: resource})
		}
		count := &all[len(all)-1]
		n := int(b.End - b.First)
		count.Items += n
		if namespace := x.Strings.string(b.Namespace); namespace != "" {
			if count.Namespaces == nil {
				count.Namespaces = map[string]int{}
			}
			count.Namespaces[namespace] += n
		}
	}
	return all
}

// Namespaces returns the namespaces that hold items in the backup, sorted.
func (x *Index) Namespaces() []string {
	all := map[string]bool{}
	for _, b := range x.Buckets {
		if namespace := x.Strings.string(b.Namespace); namespace != "" {
			all[namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (x *Index) resourceBuckets(resource string) []bucket {
	first := sort.Search(len(x.Buckets), func(i int) bool {
		return string(x.Strings.bytesOf(x.Buckets[i].Resource)) >= resource
	})
	end := first
	for end < len(x.Buckets) && string(x.Strings.bytesOf(x.Buckets[end].Resource)) == resource {
		end++
	}
	return x.Buckets[first:end]
}

func (x *Index) findItem(resource, namespace, name string) (item uint32, ok bool) {
	i, found := sort.Find(len(x.Buckets), func(i int) int {
		b := x.Buckets[i]
		return cmp.Or(strings.Compare(resource, string(x.Strings.bytesOf(b.Resource))),
			strings.Compare(namespace, string(x.Strings.bytesOf(b.Namespace))))
	})
	if !found {
		return 0, false
	}
	b := x.Buckets[i]
	n, found := sort.Find(int(b.End-b.First), func(i int) int {
		return strings.Compare(name, string(x.Names.bytesOf(b.First+uint32(i))))
	})
	return b.First + uint32(n), found
}

func (x *Index) refsOf(item uint32) []reference {
	first := sort.Search(len(x.Refs), func(i int) bool { return x.Refs[i].Item >= item })
	end := first
	for end < len(x.Refs) && x.Refs[end].Item == item {
		end++
	}
	return x.Refs[first:end]
}

// LabelPairs returns up to most labels of the items, as key=value, sorted; none if labels were not read.
func (x *Index) LabelPairs(most int) []string {
	seen := map[[2]uint32]bool{}
	for id := range uint32(x.Sets.countStrings()) {
		for set := x.Sets.bytesOf(id); len(set) >= 8 && len(seen) < most; set = set[8:] {
			seen[[2]uint32{binary.LittleEndian.Uint32(set), binary.LittleEndian.Uint32(set[4:])}] = true
		}
	}
	labels := make([]string, 0, len(seen))
	for pair := range seen {
		labels = append(labels, x.Strings.string(pair[0])+"="+x.Strings.string(pair[1]))
	}
	sort.Strings(labels)
	return labels
}

// These are the errors of UnmarshalBinary.
var (
	ErrIndexVersion = errors.New("index was written by another version")
	ErrIndexCorrupt = errors.New("index is damaged")
)

// indexMagic starts an encoded Index; its last byte is the encoding's version.
const indexMagic = "veltui-index\x07"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MarshalBinary encodes the Index for a cache: a version, the content, and a checksum over both.
func (x *Index) MarshalBinary() ([]byte, error) {
	w := bytes.NewBufferString(indexMagic)
	if err := gob.NewEncoder(w).Encode(x.indexData); err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint32(w.Bytes(), crc32.Checksum(w.Bytes(), castagnoli)), nil
}

// UnmarshalBinary decodes the output of MarshalBinary. It returns ErrIndexVersion for another version's encoding and
// ErrIndexCorrupt for damaged data, which it always notices. On error x is unchanged.
func (x *Index) UnmarshalBinary(data []byte) error {
	name := len(indexMagic) - 1
	if len(data) < len(indexMagic)+4 || string(data[:name]) != indexMagic[:name] {
		return fmt.Errorf("decoding index: %w: no index", ErrIndexCorrupt)
	}
	if data[name] != indexMagic[name] {
		return fmt.Errorf("decoding index: %w (%d, this is %d)", ErrIndexVersion, data[name], indexMagic[name])
	}
	body, sum := data[:len(data)-4], data[len(data)-4:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return fmt.Errorf("decoding index: %w: wrong checksum", ErrIndexCorrupt)
	}
	var decoded indexData
	if err := gob.NewDecoder(bytes.NewReader(body[len(indexMagic):])).Decode(&decoded); err != nil {
		return fmt.Errorf("decoding index: %w: %w", ErrIndexCorrupt, err)
	}
	if !decoded.isConsistent() {
		return fmt.Errorf("decoding index: %w: inconsistent content", ErrIndexCorrupt)
	}
	x.indexData = decoded
	return nil
}

// isConsistent reports whether all references are valid and all lists are sorted.
func (x *indexData) isConsistent() bool {
	items, names := x.Names.countStrings(), x.Strings.countStrings()
	sets, facts := x.Sets.countStrings(), x.Facts.countStrings()
	for _, t := range []*stringTable{&x.Strings, &x.Names, &x.Sets, &x.Facts} {
		if n := len(t.End); !slices.IsSorted(t.End) || n > 0 && int64(t.End[n-1]) > int64(len(t.Data)) {
			return false
		}
	}
	within := func(n int, ids ...uint32) bool {
		return !slices.ContainsFunc(ids, func(id uint32) bool { return int64(id) >= int64(n) })
	}
	for id := range uint32(sets) {
		set := x.Sets.bytesOf(id)
		for ; len(set) >= 4; set = set[4:] {
			if !within(names, binary.LittleEndian.Uint32(set)) {
				return false
			}
		}
		if len(x.Sets.bytesOf(id))%8 != 0 {
			return false
		}
	}
	for id := range uint32(facts) {
		if !eachFact(x.Facts.bytesOf(id), func(_ NeedKind, name uint32, _ int64) bool { return within(names, name) }) {
			return false
		}
	}
	next := uint32(0)
	for _, b := range x.Buckets {
		if b.First != next || b.End < next || !within(names, b.Resource, b.Namespace) {
			return false
		}
		next = b.End
	}
	return int64(next) == int64(items) && len(x.SetOf) == items && len(x.Flags) == items && within(sets, x.SetOf...) &&
		slices.IsSortedFunc(x.Refs, func(a, b reference) int { return cmp.Compare(a.Item, b.Item) }) &&
		slices.IsSortedFunc(x.Needs, func(a, b needsOf) int { return cmp.Compare(a.Item, b.Item) }) &&
		!slices.ContainsFunc(x.Refs, func(r reference) bool {
			return !within(items, r.Item) || r.Kind >= refKinds || !within(names, r.Namespace, r.Name)
		}) &&
		!slices.ContainsFunc(x.Kinds, func(d definition) bool { return !within(items, d.Item) }) &&
		!slices.ContainsFunc(
			x.Needs,
			func(n needsOf) bool { return !within(items, n.Item) || !within(facts, n.Set) },
		) &&
		!slices.ContainsFunc(x.Stored, func(v storedVersion) bool { return !within(names, v.Resource, v.Version) })
}
