package resource

import (
	"cmp"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// Deletions lists requests to delete backups, if any: Velero removes those that went well.
func Deletions() view.Tab {
	return view.Tab{
		Name: "Deletions", Short: "Del", Kinds: []string{watch.Deletions},
		There:  func(a *assess.Assessment) bool { return len(a.Snapshot.Deletions) > 0 },
		Groups: func(a *assess.Assessment) []view.Group { return []view.Group{deletionKind.group(a)} },
		Empty: func(snap *watch.Snapshot) string {
			return "There are no requests to delete backups in namespace " + snap.Namespace + "."
		},
	}
}

var deletionKind = Kind{
	Kind:     "DeleteBackupRequest",
	Words:    []string{"deletions", "deletion", "deletebackuprequests", "deletebackuprequest"},
	Resource: watch.Deletions,
	Needs:    []string{watch.Backups, watch.Restores, watch.Pods},
	Columns: []view.Column{
		{
			Name: "deletes backup", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "DELETES BACKUP", Width: 24, Grow: 2, Limit: 63},
		},
		{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 11}},
		{Name: "backup", Rank: 1},
		{Name: "age", Screen: view.ScreenColumn{Title: "AGE", Width: 6, Priority: 1, Right: true}, ScreenOnly: true},
		{Name: "errors", Screen: view.ScreenColumn{Title: "ERR", Width: 4, Priority: 2, Right: true}, Rank: 2},
		{
			Name: "backup is", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "BACKUP IS", Width: 12, Grow: 1, Limit: 20, Priority: 3},
		},
		{Name: "restores", Screen: view.ScreenColumn{Title: "RESTORES", Width: 8, Priority: 4, Right: true}, Rank: 3},
		{
			Name: "request", ScreenOnly: true,
			Screen: view.ScreenColumn{Title: "REQUEST", Width: 24, Grow: 1, Limit: 63, Priority: 5},
		},
	},
	List: func(a *assess.Assessment) []Thing {
		return things(a, a.Deletions(), func(d assess.Deletion, _ bool) Thing {
			return Thing{
				Object:   d.DeleteBackupRequest,
				Notes:    d.Notes,
				Change:   d.State(),
				words:    []string{d.Name, d.Spec.BackupName, d.State()},
				page:     view.Page{Kind: "deletion of backup", Name: d.Spec.BackupName, State: deletionState(d)},
				Cells:    func(now time.Time) []view.Cell { return deletionCells(d, a.Unseen(watch.Backups), now) },
				Document: func() document.Placed { return document.NewDeletion(d, a) },
				Describe: func() []describe.Section { return describe.Deletion(d, a) },
				sections: func() []view.Section { return deletionSections(a, d) },
			}
		})
	},
}

func deletionState(d assess.Deletion) view.Text {
	styles := map[string]view.Tone{
		assess.DeletionFailed:                              view.Bad,
		assess.DeletionHangs:                               view.Bad,
		string(velerov1.DeleteBackupRequestPhaseProcessed): view.OK,
	}
	return view.Toned(cmp.Or(styles[d.State()], view.Busy), d.State())
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
		view.NumberCell(view.Bad, len(d.Status.Errors), view.NonZero(len(d.Status.Errors))),
		{Text: backup},
		view.NumberCell(view.Dim, d.Restores, view.NonZero(d.Restores)),
		view.TextCell(view.Dim, d.Name),
	}
}

func deletionSections(a *assess.Assessment, d assess.Deletion) []view.Section {
	errors := view.Section{Title: "Errors"}
	for i, e := range d.Status.Errors {
		if i == shownErrors {
			errors.Lines = append(
				errors.Lines,
				view.Toned(view.Dim, human.Count(len(d.Status.Errors)-i, "more error")+" not shown."),
			)
			break
		}
		errors.Lines = append(errors.Lines, view.Toned(view.Bad, e))
	}
	described := sections(describe.Deletion(d, a), view.Text{})
	request, left := described[0], described[1]
	if d.Backup != nil {
		left.Fields[0].Text = phaseText(d.Backup)
		left.Columns = []view.ScreenColumn{
			{Title: "BACKUP", Width: 24, Grow: 1, Limit: 63},
			{Title: "PHASE", Width: 15, Grow: 1, Limit: 24},
		}
		left.Rows = []view.Cells{
			{Job: d.Backup.UID, Cells: []view.Text{{Text: d.Backup.Name}, phaseText(d.Backup)}},
		}
	}
	return []view.Section{request, errors, left}
}

// shownErrors is how many errors of a request a page lists.
const shownErrors = 100
