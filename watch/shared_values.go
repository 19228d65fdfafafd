package watch

import (
	"hash/maphash"
	"maps"
	"slices"
	"unique"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// sharedValues keeps one copy of each value that many objects have in common. Objects in the store never change.
type sharedValues struct {
	sets  map[uint64]map[string]string
	lists map[uint64][]string
}

const maxSharedValues = 4096 // bounds each table: sharing gains nothing for values that differ from object to object

var internSeed = maphash.MakeSeed()

// internString returns the shared copy of a text.
func internString[T ~string](text T) T { return unique.Make(text).Value() }

func (s *sharedValues) internMap(m map[string]string) map[string]string {
	var sum uint64
	for k, v := range m {
		sum += maphash.String(internSeed, k)*31 + maphash.String(internSeed, v)
	}
	return internValue(&s.sets, sum, m, maps.Equal)
}

func (s *sharedValues) internList(l []string) []string {
	var sum uint64
	for _, text := range l {
		sum = sum*31 + maphash.String(internSeed, text)
	}
	return internValue(&s.lists, sum, slices.Clip(l), slices.Equal)
}

// internValue returns the table's copy of a value, or adds the value to the table.
func internValue[T ~[]string | ~map[string]string](table *map[uint64]T, sum uint64, value T, equal func(T, T) bool) T {
	if len(value) == 0 {
		return value
	}
	old, ok := (*table)[sum]
	switch {
	case ok && equal(old, value):
		return old
	case *table == nil:
		*table = map[uint64]T{}
	}
	if !ok && len(*table) < maxSharedValues {
		(*table)[sum] = value
	}
	return value
}

// shareMetadata replaces the object's metadata with shared values. The caller holds the store's lock.
func (s *sharedValues) shareMetadata(o client.Object) {
	o.SetLabels(s.internMap(o.GetLabels()))
	o.SetAnnotations(s.internMap(o.GetAnnotations()))
	o.SetNamespace(internString(o.GetNamespace()))
	o.SetFinalizers(s.internList(o.GetFinalizers()))
	writers := o.GetManagedFields()
	for i := range writers {
		writers[i].Manager, writers[i].Operation = internString(writers[i].Manager), internString(writers[i].Operation)
	}
}

func shareBackup(s *sharedValues, b *veleroapi.Backup) {
	s.shareMetadata(b)
	spec, status := &b.Spec, &b.Status
	s.internLists(
		&spec.IncludedNamespaces,
		&spec.ExcludedNamespaces,
		&spec.IncludedResources,
		&spec.ExcludedResources,
		&spec.VolumeSnapshotLocations,
		&spec.IncludedClusterScopedResources,
		&spec.ExcludedClusterScopedResources,
		&spec.IncludedNamespaceScopedResources,
		&spec.ExcludedNamespaceScopedResources,
	)
	spec.StorageLocation, status.FormatVersion, status.Phase = internString(
		spec.StorageLocation,
	), internString(
		status.FormatVersion,
	), internString(
		status.Phase,
	)
}

func shareRestore(s *sharedValues, r *veleroapi.Restore) {
	s.shareMetadata(r)
	spec := &r.Spec
	s.internLists(&spec.IncludedNamespaces, &spec.ExcludedNamespaces, &spec.IncludedResources, &spec.ExcludedResources)
	spec.NamespaceMapping, r.Status.Phase = s.internMap(spec.NamespaceMapping), internString(r.Status.Phase)
}

func (s *sharedValues) internLists(lists ...*[]string) {
	for _, l := range lists {
		*l = s.internList(*l)
	}
}
