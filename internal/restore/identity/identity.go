package identity

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/modifier"
)

const (
	snapshots        = "volumesnapshots.snapshot.storage.k8s.io"
	snapshotContents = "volumesnapshotcontents.snapshot.storage.k8s.io"
)

// Object names an object of the target. Resource is plural and group, as "deployments.apps".
type Object struct{ Resource, Namespace, Name string }

// Resolver names the items of a backup as a restore does.
type Resolver struct {
	// Modifier are the rules of the restore's resource modifier, nil for none.
	Modifier *modifier.Rules
	// RenamesContents is true if Velero's CSI actions restore volume snapshots under new names.
	RenamesContents bool
	// FindName returns the name that the body of an item gives the object, where somebody has read the body; nil for
	// nobody. Namespace and name are those in the backup.
	FindName func(resource, namespace, name string) (renamed string, known bool)
}

// Labels returns the labels of an item, and false if they are unknown.
type Labels func() (map[string]string, bool)

// Identify returns the object that Velero makes of an item: in the namespace that the restore maps the item's to
// (pkg/restore/restore.go, restoreItem, 1.18.3), under the name that the resource modifier gives it, which Velero
// applies last. known is false where the name depends on the body of the item. The new names of volume snapshots, and
// of volumes from native snapshots, contain what is unique in a restore: Identify keeps their old names.
func (r *Resolver) Identify(i collector.Item, labels Labels) (o Object, known bool) {
	o = Object{i.Resource, i.TargetNamespace, i.Name}
	if i.Resource == live.Namespaces { // neither an action nor a modifier changes it (getNamespace)
		return Object{i.Resource, "", i.TargetNamespace}, true
	}
	if r.Modifier == nil || !r.Modifier.MayRename(i.Resource) {
		return o, true
	}
	if r.FindName != nil {
		if name, known := r.FindName(i.Resource, i.Namespace, i.Name); known {
			o.Name = name
			return o, true
		}
	}
	o.Name, known = r.Modifier.Rename(i.Resource, i.Namespace, i.Name, labels)
	return o, known
}

// Cause says why items become one object.
type Cause int

// The causes.
const (
	// Mapped: the namespaces of the items become one. Velero takes the second for an item that it has already
	// restored, and skips it without a word (pkg/restore/restore.go, restoreItem, restoredItems).
	Mapped Cause = iota
	// Renamed: the resource modifier gives the items one name. Velero finds the first as an object that exists when it
	// comes to the second, and treats that as the policy for existing objects says.
	Renamed
	// SharedContent: the items are volume snapshots with one name. Velero names the content of a snapshot, which has no
	// namespace, after the restore's uid and the name of the snapshot alone
	// (pkg/restore/actions/csi/volumesnapshotcontent_action.go, Execute, since 1.16). Somebody else made them: the names
	// of Velero's own are generated, and no claim comes from others (pkg/backup/actions/csi/pvc_action.go).
	SharedContent
)

// Merged are the items of a backup of which Velero makes one object.
type Merged struct {
	Object
	Cause Cause
	Items []collector.Item // at least two; in Velero's order if Ordered is true
	// Ordered is false where chance decides which item Velero comes to first: Velero goes through the namespaces of a
	// resource in no order (pkg/restore/restore.go, processSelectedResource).
	Ordered bool
}

// FindMerged returns the items that become one object, sorted by object, and those of which only the body tells under
// which name Velero restores them. Namespaces that become one are no such items: they come, with the labels of one of
// them. Its error is the cause of the fates' context.
func (r *Resolver) FindMerged(fates *collector.Fates) (all []Merged, unknown []collector.Item, err error) {
	shared, err := sharedNamespaces(fates)
	if err != nil {
		return nil, nil, err
	}
	found := map[Object][]collector.Item{}
	contents := map[string][]collector.Item{}
	mayRename := map[string]bool{}
	err = fates.EachLabelledItem(func(i collector.Item, labels func() (map[string]string, bool)) {
		if !isRestored(i) || i.Resource == live.Namespaces {
			return
		}
		if _, asked := mayRename[i.Resource]; !asked {
			mayRename[i.Resource] = r.Modifier != nil && r.Modifier.MayRename(i.Resource)
		}
		if r.RenamesContents && i.Resource == snapshots {
			contents[i.Name] = append(contents[i.Name], i)
		}
		if !mayRename[i.Resource] && !shared[i.TargetNamespace] {
			return
		}
		o, known := r.Identify(i, labels)
		if !known {
			unknown = append(unknown, i)
			return
		}
		found[o] = append(found[o], i)
	})
	for o, items := range found {
		if len(items) > 1 {
			all = append(all, newMerged(o, items))
		}
	}
	for name, items := range contents {
		if len(items) > 1 && !isMapped(items) {
			all = append(all, Merged{Object{snapshotContents, "", name}, SharedContent, items, false})
		}
	}
	slices.SortFunc(all, func(a, b Merged) int {
		return cmp.Or(
			strings.Compare(a.Resource, b.Resource),
			strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name),
		)
	})
	return all, unknown, err
}

func newMerged(o Object, items []collector.Item) Merged {
	m := Merged{Object: o, Cause: Renamed, Items: items}
	if isMapped(items) {
		m.Cause = Mapped
	}
	// os.ReadDir sorts the files of a backup, which are named after the items (pkg/archive/parser.go).
	slices.SortStableFunc(items, func(a, b collector.Item) int { return strings.Compare(a.Name+".json", b.Name+".json") })
	m.Ordered = !slices.ContainsFunc(items, func(i collector.Item) bool { return i.Namespace != items[0].Namespace })
	return m
}

// isMapped reports whether all items have one name in the backup and go into one namespace: Velero has one key for
// them.
func isMapped(items []collector.Item) bool {
	return !slices.ContainsFunc(items, func(i collector.Item) bool {
		return i.Name != items[0].Name || i.TargetNamespace != items[0].TargetNamespace
	})
}

// isRestored reports whether Velero makes an object of an item: a mirror pod takes its key, and nothing more.
func isRestored(i collector.Item) bool { return i.Fate == collector.ToRestore }

// sharedNamespaces returns the target namespaces into which items of several namespaces go.
func sharedNamespaces(fates *collector.Fates) (map[string]bool, error) {
	shared, sources := map[string]bool{}, map[string]string{}
	err := fates.EachItem(func(i collector.Item) {
		if !isRestored(i) || i.TargetNamespace == "" {
			return
		}
		from := i.Namespace
		if i.Resource == live.Namespaces {
			from = i.Name
		}
		if before, found := sources[i.TargetNamespace]; found && before != from {
			shared[i.TargetNamespace] = true
		}
		sources[i.TargetNamespace] = from
	})
	return shared, err
}
