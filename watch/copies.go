package watch

import (
	"maps"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// copies keeps one copy of what thousands of objects of one kind have in common:
// the labels of a schedule's backups, their annotations, lists of namespaces, who
// wrote them. Objects are never changed once they are in the store.
type copies struct {
	texts map[string]string
	sets  map[string][]map[string]string
	lists map[string][][]string
}

// mostShared bounds each of the tables, and mostAlike what is compared to find a copy:
// what differs from object to object gains nothing.
const mostShared, mostAlike = 4096, 16

func (s *copies) text(t string) string {
	if len(t) > 64 {
		return t
	}
	if known, ok := s.texts[t]; ok {
		return known
	}
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	if len(s.texts) < mostShared {
		s.texts[t] = t
	}
	return t
}

func (s *copies) set(m map[string]string) map[string]string {
	if len(m) == 0 {
		return m
	}
	key := slices.Min(slices.Collect(maps.Keys(m)))
	key += "\x00" + m[key]
	for _, known := range s.sets[key] {
		if maps.Equal(known, m) {
			return known
		}
	}
	if s.sets == nil {
		s.sets = map[string][]map[string]string{}
	}
	if len(s.sets) < mostShared && len(s.sets[key]) < mostAlike {
		s.sets[key] = append(s.sets[key], m)
	}
	return m
}

func (s *copies) list(l []string) []string {
	if len(l) == 0 {
		return l
	}
	for _, known := range s.lists[l[0]] {
		if slices.Equal(known, l) {
			return known
		}
	}
	if s.lists == nil {
		s.lists = map[string][][]string{}
	}
	if len(s.lists) < mostShared && len(s.lists[l[0]]) < mostAlike {
		s.lists[l[0]] = append(s.lists[l[0]], slices.Clip(l))
	}
	return l
}

// share has the object use what others have too. The caller holds the store's lock.
func (s *copies) share(o client.Object) {
	if labels := o.GetLabels(); len(labels) > 0 {
		o.SetLabels(s.set(labels))
	}
	if annotations := o.GetAnnotations(); len(annotations) > 0 {
		o.SetAnnotations(s.set(annotations))
	}
	o.SetNamespace(s.text(o.GetNamespace()))
	o.SetFinalizers(s.list(o.GetFinalizers()))
	writers := o.GetManagedFields()
	for i := range writers {
		writers[i].Manager = s.text(writers[i].Manager)
		writers[i].Operation = metav1.ManagedFieldsOperationType(s.text(string(writers[i].Operation)))
	}
	switch o := o.(type) {
	case *velerov1.Backup:
		spec, status := &o.Spec, &o.Status
		for _, l := range []*[]string{&spec.IncludedNamespaces, &spec.ExcludedNamespaces, &spec.IncludedResources, &spec.ExcludedResources, &spec.VolumeSnapshotLocations,
			&spec.IncludedClusterScopedResources, &spec.ExcludedClusterScopedResources, &spec.IncludedNamespaceScopedResources, &spec.ExcludedNamespaceScopedResources} {
			*l = s.list(*l)
		}
		spec.StorageLocation, status.FormatVersion = s.text(spec.StorageLocation), s.text(status.FormatVersion)
		status.Phase = velerov1.BackupPhase(s.text(string(status.Phase)))
	case *velerov1.Restore:
		spec, status := &o.Spec, &o.Status
		for _, l := range []*[]string{&spec.IncludedNamespaces, &spec.ExcludedNamespaces, &spec.IncludedResources, &spec.ExcludedResources} {
			*l = s.list(*l)
		}
		spec.NamespaceMapping = s.set(spec.NamespaceMapping)
		status.Phase = velerov1.RestorePhase(s.text(string(status.Phase)))
	}
}
