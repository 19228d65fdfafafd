package velero

import velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

// RestoresInto reports whether a restore may write into a namespace, as far as
// its own filter and mapping and its backup's filter tell. Backup may be nil.
func RestoresInto(r *velerov1.Restore, backup *velerov1.Backup, namespace string) bool {
	filters := []Namespaces{NamespacesOf(r)}
	if backup != nil {
		filters = append(filters, NamespacesOf(backup))
	}
	takes := func(source string) bool {
		for _, f := range filters {
			if !f.Takes(source) {
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
