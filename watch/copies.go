package watch

import (
	"hash/maphash"
	"maps"
	"slices"
	"unique"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/client"
)

// copies keeps one copy of what many objects have in common. Objects in the store never change.
type copies struct {
	sets  map[uint64]map[string]string
	lists map[uint64][]string
}

const mostShared = 4096 // bounds each table: values that differ from object to object gain nothing

var copiesSeed = maphash.MakeSeed()

// intern returns the one copy of a text.
func intern[T ~string](text T) T { return unique.Make(text).Value() }

func (s *copies) set(m map[string]string) map[string]string {
	var sum uint64
	for k, v := range m {
		sum += maphash.String(copiesSeed, k)*31 + maphash.String(copiesSeed, v)
	}
	return known(&s.sets, sum, m, maps.Equal)
}

func (s *copies) list(l []string) []string {
	var sum uint64
	for _, text := range l {
		sum = sum*31 + maphash.String(copiesSeed, text)
	}
	return known(&s.lists, sum, slices.Clip(l), slices.Equal)
}

// known returns the equal of a value from a table, or puts the value there.
func known[T ~[]string | ~map[string]string](table *map[uint64]T, sum uint64, value T, equal func(T, T) bool) T {
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
	if !ok && len(*table) < mostShared {
		(*table)[sum] = value
	}
	return value
}

// share makes the object use shared values. The caller holds the store's lock.
func (s *copies) share(o client.Object) {
	o.SetLabels(s.set(o.GetLabels()))
	o.SetAnnotations(s.set(o.GetAnnotations()))
	o.SetNamespace(intern(o.GetNamespace()))
	o.SetFinalizers(s.list(o.GetFinalizers()))
	writers := o.GetManagedFields()
	for i := range writers {
		writers[i].Manager, writers[i].Operation = intern(writers[i].Manager), intern(writers[i].Operation)
	}
}

func shareBackup(s *copies, b *velerov1.Backup) {
	s.share(b)
	spec, status := &b.Spec, &b.Status
	s.shareLists(
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
	spec.StorageLocation, status.FormatVersion, status.Phase = intern(
		spec.StorageLocation,
	), intern(
		status.FormatVersion,
	), intern(
		status.Phase,
	)
}

func shareRestore(s *copies, r *velerov1.Restore) {
	s.share(r)
	spec := &r.Spec
	s.shareLists(&spec.IncludedNamespaces, &spec.ExcludedNamespaces, &spec.IncludedResources, &spec.ExcludedResources)
	spec.NamespaceMapping, r.Status.Phase = s.set(spec.NamespaceMapping), intern(r.Status.Phase)
}

func (s *copies) shareLists(lists ...*[]string) {
	for _, l := range lists {
		*l = s.list(*l)
	}
}
