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

// LostItem names an item as its backup does, if the restore lost it: one that exists and differs is not lost.
func LostItem(resource string, i outcome.Item) (item restorespec.Item, lost bool) {
	item, ok := SourceItem(resource, i.Namespace, i.Name, i.From)
	return item, ok && !i.Differs() && (i.Did == outcome.Failed || i.Did == outcome.Missing)
}

// FailedItems are the items that a restore lost.
func FailedItems(of outcome.Items) (failed []restorespec.Item) {
	for _, k := range of.Kinds {
		for _, i := range k.Items {
			if item, lost := LostItem(k.Name, i); lost {
				failed = append(failed, item)
			}
		}
	}
	return failed
}
