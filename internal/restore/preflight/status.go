package preflight

import (
	"fmt"
	"slices"

	"github.com/veltui/veltui/collector"
)

// checkStatus finds objects whose status the restore is to bring, and whose kind has no subresource for the status.
// Velero creates an object without its status, and then writes the status to the subresource
// (pkg/restore/restore.go, restoreItem, UpdateStatus).
func (c *checker) checkStatus() error {
	status := c.Restore.RestoreStatus
	if status == nil || c.Served == nil {
		return nil
	}
	words := c.Fates.NewWordMatcher()
	names := func(all []string, resource string) bool {
		return slices.ContainsFunc(all, func(word string) bool {
			return word == "*" || word == resource || words.ResolveResource(word) == resource
		})
	}
	var lost groups
	err := c.Fates.EachItemNeeds(func(i collector.Item, needs []collector.Need) {
		if slices.ContainsFunc(needs, func(n collector.Need) bool { return n.Kind == collector.NeedStatus }) &&
			isRestored(i) && c.willCreate(i) && !c.Served.KeepsStatus(i.Resource) {
			lost.addItem(i.Resource, i.TargetNamespace, i.Name)
		}
	})
	for resource, g := range lost.sortedByKey() {
		if len(status.IncludedResources) > 0 && !names(status.IncludedResources, resource) ||
			names(status.ExcludedResources, resource) {
			continue
		}
		c.addFinding(g.fillFinding(Finding{
			Severity: Doubt,
			Reason:   StatusLost,
			Resource: resource,
			Sentence: fmt.Sprintf("The restore is to bring the status of %s, and the cluster's %s has no subresource for the "+
				"status. Velero restores them without, with a warning for each.", countText(g.count, resource), resource),
			Remedy: "Leave the kind out of --status-include-resources, or have its operator write the status again.",
		}))
	}
	return err
}
