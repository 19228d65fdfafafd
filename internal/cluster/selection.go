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

// SourceItem names an item of a job as its backup does, from its place in the target and from, its place in the backup
// if that is another. It returns none if the item's resource is not known.
func SourceItem(resource, namespace, name, from string) []restorespec.Item {
	switch {
	case resource == live.Namespaces:
		return []restorespec.Item{{Resource: resource, Name: cmp.Or(from, name)}}
	case strings.Contains(resource, "/"):
		return nil
	}
	return []restorespec.Item{{Resource: resource, Namespace: cmp.Or(from, namespace), Name: name}}
}

// FailedItems are the items that a restore lost, without those that exist and differ.
func FailedItems(of results.Items) (failed []restorespec.Item) {
	for _, k := range of.Kinds {
		for _, i := range k.Items {
			if !i.Differs() && (i.Did == results.Failed || i.Did == results.Missing) {
				failed = append(failed, SourceItem(k.Name, i.Namespace, i.Name, i.From)...)
			}
		}
	}
	return failed
}

// SelectedBy is the policy of a restore that tells its selection, nil for others.
func SelectedBy(j *job.Job) *velero.FilterPolicy {
	return (&restorespec.Draft{Only: restorespec.Selection(j.Object)}).Policy()
}
