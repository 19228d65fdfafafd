package resource

import (
	"cmp"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// DeletionsTab lists the requests to delete backups, if there are any: Velero removes requests that succeeded.
func DeletionsTab() view.Tab {
	return view.Tab{
		Name: "Deletions", ShortName: "Del", Kinds: []string{watch.DeleteRequests},
		Exists: func(a *assess.Assessment) bool { return len(a.Snapshot.DeleteRequests) > 0 },
		Groups: func(a *assess.Assessment) []view.Group { return []view.Group{deletionKind.buildGroup(a)} },
		EmptyText: func(snap *watch.Snapshot) string {
			return "There are no requests to delete backups in namespace " + snap.Namespace + "."
		},
	}
}

var deletionKind = Kind{
	Kind:        "DeleteBackupRequest",
	Aliases:     []string{"deletions", "deletion", "deletebackuprequests", "deletebackuprequest"},
	Resource:    watch.DeleteRequests,
	NeededKinds: []string{watch.Backups, watch.Restores, watch.Pods},
	Columns: []view.Column{
		{
			Name: "deletes backup", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "DELETES BACKUP", Width: 24, Grow: 2, Limit: 63},
		},
		{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 11}},
		{Name: "backup", Priority: 1},
		{Name: "age", Priority: 2, Screen: view.ScreenColumn{Title: "AGE", Width: 6, Right: true}, ScreenOnly: true},
		{Name: "errors", Priority: 3, Screen: view.ScreenColumn{Title: "ERR", Width: 4, Right: true}},
		{
			Name: "backup is", Priority: 4, ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "BACKUP IS", Width: 12, Grow: 1, Limit: 20},
		},
		{Name: "restores", Priority: 5, Screen: view.ScreenColumn{Title: "RESTORES", Width: 8, Right: true}},
		{
			Name: "request", Priority: 6, ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "REQUEST", Width: 24, Grow: 1, Limit: 63},
		},
	},
	JudgeEntries: func(a *assess.Assessment) []Entry {
		return newEntries(a, a.JudgeDeletions(), func(d assess.Deletion, _ bool) Entry {
			return Entry{
				Object:        d.DeleteBackupRequest,
				Notes:         d.Notes,
				ChangeKey:     d.State(),
				filterWords:   []string{d.Name, d.Spec.BackupName, d.State()},
				pageHead:      view.Page{Kind: "deletion of backup", Name: d.Spec.BackupName, State: deletionState(d)},
				Cells:         func(now time.Time) []view.Cell { return deletionCells(d, a.IsUnchecked(watch.Backups), now) },
				Document:      func() document.Placed { return document.NewDeletion(d, a) },
				Describe:      func() []describe.Section { return describe.Deletion(d, a) },
				buildSections: func() []view.PageSection { return deletionSections(a, d) },
			}
		})
	},
}

func deletionState(d assess.Deletion) view.Text {
	styles := map[string]view.Tone{
		assess.DeletionFailed:                               view.Bad,
		assess.DeletionHangs:                                view.Bad,
		string(veleroapi.DeleteBackupRequestPhaseProcessed): view.Good,
	}
	return view.Toned(cmp.Or(styles[d.State()], view.Running), d.State())
}

func deletionCells(d assess.Deletion, unseen bool, now time.Time) []view.Cell {
	backup := view.Toned(view.Dim, "gone")
	switch {
	case unseen:
		backup = view.Toned(view.Waiting, "not seen")
	case d.Backup != nil:
		backup = phaseText(d.Backup)
	}
	return []view.Cell{
		view.TextCell(
			view.Plain,
			cmp.Or(d.Spec.BackupName, d.Name),
		),
		view.StateCell(deletionState(d)),
		view.TextCell(view.Plain, d.Spec.BackupName),
		view.AgeCell(
			view.Plain,
			d.CreationTimestamp.Time,
			now,
			"",
		),
		view.NumberCell(view.Bad, len(d.Status.Errors), view.NonZeroText(len(d.Status.Errors))),
		{Text: backup},
		view.NumberCell(view.Dim, d.Restores, view.NonZeroText(d.Restores)),
		view.TextCell(view.Dim, d.Name),
	}
}

func deletionSections(a *assess.Assessment, d assess.Deletion) []view.PageSection {
	errors := view.PageSection{Title: "Errors"}
	for i, e := range d.Status.Errors {
		if i == maxListedErrors {
			errors.Lines = append(
				errors.Lines,
				view.Toned(view.Dim, human.Count(len(d.Status.Errors)-i, "more error")+" not shown."),
			)
			break
		}
		errors.Lines = append(errors.Lines, view.Toned(view.Bad, e))
	}
	described := pageSections(describe.Deletion(d, a), view.Text{})
	request, left := described[0], described[1]
	if d.Backup != nil {
		left.Fields[0].Text = phaseText(d.Backup)
		left.Columns = []view.ScreenColumn{
			{Title: "BACKUP", Width: 24, Grow: 1, Limit: 63},
			{Title: "PHASE", Width: 15, Grow: 1, Limit: 24},
		}
		left.Rows = []view.TableRow{
			{JobUID: d.Backup.UID, Cells: []view.Text{{Text: d.Backup.Name}, phaseText(d.Backup)}},
		}
	}
	return []view.PageSection{request, errors, left}
}

// maxListedErrors is the largest number of a request's errors on its page.
const maxListedErrors = 100
