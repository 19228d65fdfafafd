package inspect

import (
	"cmp"
	"strings"

	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/stored/outcome"
)

// SourceItem names an item of a job as its backup does, from its place in the target and from, its place in the backup
// if that is another. ok is false if its resource is not known.
func SourceItem(resource, namespace, name, from string) (item restorespec.Item, ok bool) {
	if resource == target.Namespaces {
		return restorespec.Item{Resource: resource, Name: cmp.Or(from, name)}, true
	}
	return restorespec.Item{Resource: resource, Namespace: cmp.Or(from, namespace), Name: name}, !strings.Contains(resource, "/")
}

// FailedItems are the items that a restore lost, without those that exist and differ.
func FailedItems(of outcome.Items) (failed []restorespec.Item) {
	for _, k := range of.Kinds {
		for _, i := range k.Items {
			if item, ok := SourceItem(k.Name, i.Namespace, i.Name, i.From); ok && !i.Differs() && (i.Did == outcome.Failed || i.Did == outcome.Missing) {
				failed = append(failed, item)
			}
		}
	}
	return failed
}
