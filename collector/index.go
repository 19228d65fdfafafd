package collector

import (
	"cmp"
	"encoding/binary"
	"sort"
	"strings"
)

// Index is what a backup holds: names, kinds, labels and the few facts that
// decide what a restore restores. It does not change after Read and may be
// used by several goroutines.
type Index struct {
	formatVersion string
	partial       bool
	namesOnly     bool
	problems      []string

	strings stringTable // resources, namespaces, label keys and values, references
	names   stringTable // of items, in the order of items
	sets    stringTable // label sets: pairs of string ids, four bytes each
	buckets []bucket    // sorted by resource, then namespace
	setOf   []uint32    // label set of each item
	flags   []itemFlag  // of each item
	refs    []reference // sorted by item
	kinds   []definition

	facts    stringTable // sets of what items need (needs.go)
	needs    []needsOf   // sorted by item
	versions []storedVersion
}

// bucket is all items of one resource in one namespace, sorted by name.
type bucket struct {
	resource, namespace uint32 // strings; the empty namespace is cluster scope
	first, end          uint32 // items
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
	item      uint32
	kind      refKind
	namespace uint32 // string, of a secret
	name      uint32 // string
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

// definition is what a CustomResourceDefinition in the backup says.
type definition struct {
	item     uint32
	resource Resource
}

// FormatVersion is the backup's metadata/version, such as "1.1.0"; empty if
// it has none.
func (x *Index) FormatVersion() string { return x.formatVersion }

// Items is how many items the backup holds, each counted once.
func (x *Index) Items() int { return len(x.flags) }

// Partial says that the archive could not be read to its end, or held items
// that could not be read. Problems says why.
func (x *Index) Partial() bool { return x.partial }

// Problems are sentences about what is wrong with the archive or odd in it.
// They quote what comes from the archive and are safe to print.
func (x *Index) Problems() []string { return x.problems }

// HasLabels says whether labels were read; without them an Estimate with a
// label selector is partial.
func (x *Index) HasLabels() bool { return !x.namesOnly }

// ResourceCount is how many items of one resource there are.
type ResourceCount struct {
	Resource   string         `json:"resource"` // plural and group, as "deployments.apps"
	Items      int            `json:"items"`
	Namespaces map[string]int `json:"namespaces,omitempty"` // none for cluster-scoped items
}

// Contents counts what is in the backup, by resource and namespace.
func (x *Index) Contents() []ResourceCount {
	var all []ResourceCount
	for _, b := range x.buckets {
		resource := x.strings.string(b.resource)
		if len(all) == 0 || all[len(all)-1].Resource != resource {
			all = append(all, ResourceCount{Resource: resource})
		}
		count := &all[len(all)-1]
		n := int(b.end - b.first)
		count.Items += n
		if namespace := x.strings.string(b.namespace); namespace != "" {
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
	for _, b := range x.buckets {
		if len(x.strings.bytes(b.namespace)) > 0 && !seen[b.namespace] {
			seen[b.namespace] = true
			all = append(all, x.strings.string(b.namespace))
		}
	}
	sort.Strings(all)
	return all
}

// resourceBuckets are the buckets of one resource directory.
func (x *Index) resourceBuckets(resource string) []bucket {
	first := sort.Search(len(x.buckets), func(i int) bool {
		return string(x.strings.bytes(x.buckets[i].resource)) >= resource
	})
	end := first
	for end < len(x.buckets) && string(x.strings.bytes(x.buckets[end].resource)) == resource {
		end++
	}
	return x.buckets[first:end]
}

// find looks an item up.
func (x *Index) find(resource, namespace, name string) (item uint32, ok bool) {
	i, found := sort.Find(len(x.buckets), func(i int) int {
		b := x.buckets[i]
		return cmp.Or(strings.Compare(resource, string(x.strings.bytes(b.resource))),
			strings.Compare(namespace, string(x.strings.bytes(b.namespace))))
	})
	if !found {
		return 0, false
	}
	b := x.buckets[i]
	n, found := sort.Find(int(b.end-b.first), func(i int) int {
		return strings.Compare(name, string(x.names.bytes(b.first+uint32(i))))
	})
	return b.first + uint32(n), found
}

// refsOf are the references of one item.
func (x *Index) refsOf(item uint32) []reference {
	first := sort.Search(len(x.refs), func(i int) bool { return x.refs[i].item >= item })
	end := first
	for end < len(x.refs) && x.refs[end].item == item {
		end++
	}
	return x.refs[first:end]
}

// Labels are the labels that items have, as key=value, sorted: most of them at
// most. There are none where labels were not read.
func (x *Index) Labels(most int) []string {
	seen := map[[2]uint32]bool{}
	for id := range uint32(x.sets.len()) {
		for set := x.sets.bytes(id); len(set) >= 8 && len(seen) < most; set = set[8:] {
			seen[[2]uint32{binary.LittleEndian.Uint32(set), binary.LittleEndian.Uint32(set[4:])}] = true
		}
	}
	labels := make([]string, 0, len(seen))
	for pair := range seen {
		labels = append(labels, x.strings.string(pair[0])+"="+x.strings.string(pair[1]))
	}
	sort.Strings(labels)
	return labels
}
