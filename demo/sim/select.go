package sim

import (
	"cmp"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// restoreFirst and restoreLast are the server's default priorities
// (defaultRestorePriorities in pkg/cmd/server/config/config.go), as far as the
// demo's cluster has such resources.
var restoreFirst = []string{
	definitionsResource, "namespaces", "storageclasses.storage.k8s.io",
	"volumesnapshotcontents.snapshot.storage.k8s.io", "volumesnapshots.snapshot.storage.k8s.io", uploadsResource,
	"persistentvolumes", "persistentvolumeclaims", "clusterroles.rbac.authorization.k8s.io",
	"roles.rbac.authorization.k8s.io", "serviceaccounts", "clusterrolebindings.rbac.authorization.k8s.io",
	"rolebindings.rbac.authorization.k8s.io", "secrets", "configmaps", "limitranges",
	"priorityclasses.scheduling.k8s.io", "pods", "replicasets.apps", "endpoints", "services",
}

const uploadsResource = "datauploads.velero.io"

// neverRestored are added to a restore's excluded resources at its start
// (nonRestorableResources in pkg/controller/restore_controller.go).
var neverRestored = []string{
	"nodes", "events", "events.events.k8s.io", "backups.velero.io", "restores.velero.io",
	"resticrepositories.velero.io", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io",
	"backuprepositories.velero.io",
}

// restoreFilter says which items of a backup a restore takes.
type restoreFilter struct {
	namespaces, resources names
	selected              selectors
	cluster               *bool
}

func newRestoreFilter(c *Cluster, spec *velerov1.RestoreSpec) (restoreFilter, error) {
	selected, err := newSelectors(spec.LabelSelector, spec.OrLabelSelectors)
	return restoreFilter{
		namespaces: names{spec.IncludedNamespaces, spec.ExcludedNamespaces},
		resources:  names{c.resourceNames(spec.IncludedResources), c.resourceNames(spec.ExcludedResources)},
		selected:   selected,
		cluster:    spec.IncludeClusterResources,
	}, err
}

// lists reports whether an item is counted from the start: DataUploads pass
// every filter but that on cluster scope, and cluster-scoped items count only
// if asked for or if no namespace is filtered out.
func (f restoreFilter) lists(item *Item) bool {
	if item.GroupResource() == uploadsResource {
		return true
	}
	if !f.resources.match(item.GroupResource()) || !f.selected.match(item) {
		return false
	}
	switch {
	case item.Namespace != "":
		return f.namespaces.match(item.Namespace)
	case f.cluster != nil:
		return *f.cluster
	default:
		return f.namespaces.everything()
	}
}

// admits reports whether an item may join as an additional one: labels are not
// asked for, and cluster-scoped ones are refused only by an explicit no.
func (f restoreFilter) admits(item *Item) bool {
	if !f.resources.match(item.GroupResource()) {
		return false
	}
	if item.Namespace == "" {
		return f.cluster == nil || *f.cluster
	}
	return f.namespaces.match(item.Namespace)
}

// inRestoreOrder sorts by priority, then resource, namespace and name.
func inRestoreOrder(items []*Item) {
	slices.SortStableFunc(items, func(a, b *Item) int {
		return cmp.Or(cmp.Compare(rank(restoreFirst, a), rank(restoreFirst, b)),
			strings.Compare(a.GroupResource(), b.GroupResource()),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}
