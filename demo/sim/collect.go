package sim

import (
	"cmp"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// collection is what a backup finds before it begins to store items.
type collection struct {
	// listed are the items that the filters select, in Velero's order.
	listed []*Item
	// volumes (by claim) and definitions (by group-resource) are cluster-scoped
	// items that join while others are stored: the PersistentVolume of a bound
	// claim, the CustomResourceDefinition of a custom resource.
	volumes     map[string]*Item
	definitions map[string]*Item
}

// backupFirst are the resources that a backup takes before all others
// (pkg/backup/item_collector.go).
var backupFirst = []string{"pods", "persistentvolumeclaims", "persistentvolumes"}

const definitionsResource = "customresourcedefinitions.apiextensions.k8s.io"

// collect applies a backup's filters to the cluster. Of the cluster-scoped
// items only the namespaces themselves are listed unless the spec asks for all.
func (c *Cluster) collect(spec *velerov1.BackupSpec) (collection, error) {
	match, err := c.backupFilter(spec)
	if err != nil {
		return collection{}, err
	}
	found := collection{volumes: map[string]*Item{}, definitions: map[string]*Item{}}
	for _, item := range c.Items {
		switch item.GroupResource() {
		case "persistentvolumes":
			found.volumes[item.Name] = item
		case definitionsResource:
			found.definitions[item.Name] = item
		}
		if match(item) {
			found.listed = append(found.listed, item)
		}
	}
	slices.SortStableFunc(found.listed, func(a, b *Item) int {
		return cmp.Or(cmp.Compare(rank(backupFirst, a), rank(backupFirst, b)), cmp.Compare(a.key(), b.key()))
	})
	return found, nil
}

func (c *Cluster) backupFilter(spec *velerov1.BackupSpec) (func(*Item) bool, error) {
	namespaces := names{spec.IncludedNamespaces, spec.ExcludedNamespaces}
	resources := names{c.resourceNames(spec.IncludedResources), c.resourceNames(spec.ExcludedResources)}
	scoped := names{c.resourceNames(spec.IncludedNamespaceScopedResources), c.resourceNames(spec.ExcludedNamespaceScopedResources)}
	clusterScoped := names{c.resourceNames(spec.IncludedClusterScopedResources), c.resourceNames(spec.ExcludedClusterScopedResources)}
	selected, err := newSelectors(spec.LabelSelector, spec.OrLabelSelectors)
	if err != nil {
		return nil, err
	}
	allCluster := spec.IncludeClusterResources != nil && *spec.IncludeClusterResources ||
		len(spec.IncludedClusterScopedResources) > 0
	noCluster := spec.IncludeClusterResources != nil && !*spec.IncludeClusterResources
	return func(item *Item) bool {
		resource := item.GroupResource()
		if !resources.match(resource) || !selected.match(item) {
			return false
		}
		if item.Namespace != "" {
			return namespaces.match(item.Namespace) && scoped.match(resource)
		}
		if noCluster || !clusterScoped.match(resource) {
			return false
		}
		if resource == "namespaces" {
			return namespaces.match(item.Name)
		}
		return allCluster
	}, nil
}

// rank is the place of an item's resource in a list of priorities.
func rank(order []string, item *Item) int {
	if at := slices.Index(order, item.GroupResource()); at >= 0 {
		return at
	}
	return len(order)
}
