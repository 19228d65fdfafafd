package collector

import (
	"cmp"
	"encoding/binary"
	"sort"
	"strings"
)

// Index is what a backup holds: names, kinds, labels and the few facts that decide what a restore
// restores. It does not change after Read and may be used by several goroutines.
type Index struct{ indexData }

// indexData is an Index as the cache stores it.
type indexData struct {
	Format     string
	Incomplete bool
	NamesOnly  bool
	Noted      []string // problems

	Strings stringTable // resources, namespaces, label keys and values, references
	Names   stringTable // of items, in the order of items
	Sets    stringTable // label sets: pairs of string ids, four bytes each
	Buckets []bucket    // sorted by resource, then namespace
	SetOf   []uint32    // label set of each item
	Flags   []itemFlag  // of each item
	Refs    []reference // sorted by item
	Kinds   []definition

	Facts  stringTable // sets of what items need (needs.go)
	Needs  []needsOf   // sorted by item
	Stored []storedVersion
}

// bucket is all items of one resource in one namespace, sorted by name.
type bucket struct {
	Resource, Namespace uint32 // strings; the empty namespace is cluster scope
	First, End          uint32 // items
}

type itemFlag uint8

const (
	flagCompleted   itemFlag = 1 << iota // a pod or job that has run to its end
	flagMirror                           // a mirror pod: counted, but nothing follows from it
	flagUndecodable                      // Velero cannot read it and leaves it out
	flagUnread                           // its body was not looked at
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

// FormatVersion is the backup's metadata/version, such as "1.1.0"; empty if it has none.
func (x *Index) FormatVersion() string { return x.Format }

// Items is how many items the backup holds, each counted once.
func (x *Index) Items() int { return len(x.Flags) }

// Partial says that the archive could not be read to its end, or held items
// that could not be read. Problems says why.
func (x *Index) Partial() bool { return x.Incomplete }

// Problems are sentences about what is wrong with the archive or odd in it.
// They quote what comes from the archive and are safe to print.
func (x *Index) Problems() []string { return x.Noted }

// ResourceCount is how many items of one resource there are.
type ResourceCount struct {
	Resource   string         `json:"resource"` // plural and group, as "deployments.apps"
	Items      int            `json:"items"`
	Namespaces map[string]int `json:"namespaces,omitempty"` // none for cluster-scoped items
}

// Contents counts what is in the backup, by resource and namespace.
func (x *Index) Contents() []ResourceCount {
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

// Namespaces are those that hold items in the backup, sorted.
func (x *Index) Namespaces() []string {
	seen := map[uint32]bool{}
	var all []string
	for _, b := range x.Buckets {
		if len(x.Strings.bytes(b.Namespace)) > 0 && !seen[b.Namespace] {
			seen[b.Namespace] = true
			all = append(all, x.Strings.string(b.Namespace))
		}
	}
	sort.Strings(all)
	return all
}

func (x *Index) resourceBuckets(resource string) []bucket {
	first := sort.Search(len(x.Buckets), func(i int) bool {
		return string(x.Strings.bytes(x.Buckets[i].Resource)) >= resource
	})
	end := first
	for end < len(x.Buckets) && string(x.Strings.bytes(x.Buckets[end].Resource)) == resource {
		end++
	}
	return x.Buckets[first:end]
}

func (x *Index) find(resource, namespace, name string) (item uint32, ok bool) {
	i, found := sort.Find(len(x.Buckets), func(i int) int {
		b := x.Buckets[i]
		return cmp.Or(strings.Compare(resource, string(x.Strings.bytes(b.Resource))),
			strings.Compare(namespace, string(x.Strings.bytes(b.Namespace))))
	})
	if !found {
		return 0, false
	}
	b := x.Buckets[i]
	n, found := sort.Find(int(b.End-b.First), func(i int) int {
		return strings.Compare(name, string(x.Names.bytes(b.First+uint32(i))))
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

// Labels are most labels of items at most, as key=value, sorted; none where they were not read.
func (x *Index) Labels(most int) []string {
	seen := map[[2]uint32]bool{}
	for id := range uint32(x.Sets.len()) {
		for set := x.Sets.bytes(id); len(set) >= 8 && len(seen) < most; set = set[8:] {
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
