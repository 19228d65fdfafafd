package velero

import velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

// RestoresInto reports whether a restore may write into a namespace, as far as
// its own filter and mapping and its backup's filter tell. Backup may be nil.
func RestoresInto(r *velerov1.Restore, backup *velerov1.Backup, namespace string) bool {
	budget := newFilterBudget()
	filters := []*namespaceFilter{newNamespaceFilter(NamespacesOf(r), budget)}
	if backup != nil {
		filters = append(filters, newNamespaceFilter(NamespacesOf(backup), budget))
	}
	takes := func(source string) bool {
		for _, f := range filters {
			if !f.takes(source) {
				return false
			}
		}
		return true
	}
	for from, to := range r.Spec.NamespaceMapping {
		if to == namespace && takes(from) {
			return true
		}
	}
	_, movedAway := r.Spec.NamespaceMapping[namespace]
	return !movedAway && takes(namespace)
}
