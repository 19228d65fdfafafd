package view

import (
	"fmt"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/results"
)

// ItemStatuses are the statuses that the columns of a restore count, in their order.
var ItemStatuses = []results.ItemStatus{
	results.Created,
	results.Updated,
	results.Skipped,
	results.Failed,
	results.Missing,
	results.LeftOut,
}

var restoredItemColumns = []ScreenColumn{
	{Width: 1},
	{Width: 1},
	{Title: "RESOURCE", Width: 22, Grow: 1, Limit: 60},
	{Title: "CREATED", Width: 7, Right: true},
	{Title: "UPDATED", Width: 7, Right: true, Priority: 3},
	{Title: "SKIPPED", Width: 7, Right: true, Priority: 2},
	{Title: "FAILED", Width: 7, Right: true},
	{Title: "MISSING", Width: 7, Right: true, Priority: 1},
	{Title: "LEFT OUT", Width: 8, Right: true, Priority: 1},
	{Width: 1},
}

var backedUpItemColumns = []ScreenColumn{
	{Width: 1},
	{Width: 1},
	{Title: "IN THE BACKUP", Width: 22, Grow: 1, Limit: 60},
	{Title: "ITEMS", Width: 8, Right: true},
	{Width: 1},
}

// ItemColumns returns the columns of the kinds of a job's items, between the sign of a group and a margin: a restore
// counts [ItemStatuses], a backup all items.
func ItemColumns(kind job.Kind) []ScreenColumn {
	if kind == job.Restore {
		return restoredItemColumns
	}
	return backedUpItemColumns
}

// ItemStatusTone returns the tone of an item's status.
func ItemStatusTone(s results.ItemStatus) Tone {
	switch s {
	case results.Failed, results.Missing:
		return Bad
	case results.LeftOut, results.Skipped, results.InBackup:
		return Dim
	}
	return Good
}

// ItemDetails returns the text after an item's name: its namespace in the backup, and the reason for its status.
func ItemDetails(i *results.Item) string {
	return human.Prefixed(" from ", i.BackupNamespace) + human.Prefixed(": ", i.Why)
}

// ItemCounts counts the items of a restore by status, and those of a backup by kind.
func ItemCounts(kind job.Kind, items *results.Items) []Text {
	if kind == job.Backup {
		return []Text{Toned(Strong, ItemsOfKinds(items.CountItems(), len(items.Kinds)))}
	}
	count := map[results.ItemStatus]int{}
	for _, k := range items.Kinds {
		for status, n := range k.CountByStatus {
			count[status] += n
		}
	}
	var counts []Text
	for _, status := range ItemStatuses {
		if n := count[status]; n > 0 {
			counts = append(counts, Toned(ItemStatusTone(status), fmt.Sprintf("%d %s", n, status)))
		}
	}
	if len(counts) == 0 {
		return []Text{Toned(Dim, "Velero worked on no item.")}
	}
	return counts
}

// ItemNotes returns what a list of a job's items does not tell.
func ItemNotes(j *job.Job, items *results.Items) (notes []Text) {
	if items.CompareUnavailable != "" {
		notes = append(notes,
			Toned(Waiting, "Which items of the backup did not come back is unknown: "+items.CompareUnavailable))
	}
	if items.ReasonsUnavailable != "" {
		notes = append(notes, Toned(Waiting, "Why items failed is unknown: "+items.ReasonsUnavailable))
	}
	if items.UnnamedCount > 0 {
		notes = append(notes, Toned(Dim, human.Count(items.UnnamedCount, "more item")+" without a name here."))
	}
	if !j.IsTerminal() {
		notes = append(notes, Toned(Dim, "Velero may write some items anew until the backup has ended."))
	}
	return notes
}

// ItemsUnavailable says why a job's items are not listed.
func ItemsUnavailable(err error) Text {
	return Toned(Bad, "The list of the items cannot be read: "+err.Error())
}
