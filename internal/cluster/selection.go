package cluster

import (
	"cmp"
	"strings"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
)

// SourceItems returns an item of a job as its backup names it, from its place in the target and from, its place in
// the backup if that differs. It returns none if the item's resource is unknown.
func SourceItems(resource, namespace, name, from string) []restorespec.Item {
	switch {
	case resource == live.Namespaces:
		return []restorespec.Item{{Resource: resource, Name: cmp.Or(from, name)}}
	case strings.Contains(resource, "/"):
		return nil
	}
	return []restorespec.Item{{Resource: resource, Namespace: cmp.Or(from, namespace), Name: name}}
}

// FailedItems returns the items that a restore lost, without those that exist and differ.
func FailedItems(of results.Items) (failed []restorespec.Item) {
	for _, k := range of.Kinds {
		for _, i := range k.Items {
			if !i.HasDifferences() && (i.Status == results.Failed || i.Status == results.Missing) {
				failed = append(failed, SourceItems(k.Name, i.Namespace, i.Name, i.BackupNamespace)...)
			}
		}
	}
	return failed
}

// SelectionPolicy returns the policy of a restore with its selection, nil for restores without a selection.
func SelectionPolicy(j *job.Job) *velero.FilterPolicy {
	return (&restorespec.Draft{Selected: restorespec.SelectedItems(j.Object)}).BuildPolicy()
}
