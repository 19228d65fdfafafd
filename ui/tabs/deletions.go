package tabs

import (
	"cmp"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// Deletions lists requests to delete backups, if any: Velero removes those that went well.
func Deletions() detail.Tab {
	return detail.Tab{
		Name: "Deletions", Short: "Del", Kinds: []string{watch.Deletions},
		There:  func(a *assess.Assessment) bool { return len(a.Snapshot.Deletions) > 0 },
		Groups: func(a *assess.Assessment) []detail.Group { return []detail.Group{deletionKind.group(a)} },
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
	Columns: []Column{
		{Column: draw.Column{Title: "DELETES BACKUP", Width: 24, Grow: 2, Limit: 63}},
		{Column: draw.Column{Title: "STATE", Width: 11}, Get: "STATE"},
		{Get: "BACKUP", Rank: 1},
		{Column: draw.Column{Title: "AGE", Width: 6, Priority: 1, Right: true}},
		{Column: draw.Column{Title: "ERR", Width: 4, Priority: 2, Right: true}, Get: "ERRORS", Rank: 2},
		{Column: draw.Column{Title: "BACKUP IS", Width: 12, Grow: 1, Limit: 20, Priority: 3}},
		{Column: draw.Column{Title: "RESTORES", Width: 8, Priority: 4, Right: true}, Get: "RESTORES", Rank: 3},
		{Column: draw.Column{Title: "REQUEST", Width: 24, Grow: 1, Limit: 63, Priority: 5}},
	},
	List: func(a *assess.Assessment) []Thing {
		return things(a, a.Deletions(), func(d assess.Deletion, _ bool) Thing {
			return Thing{
				Object:   d.DeleteBackupRequest,
				Notes:    d.Notes,
				Change:   d.State(),
				words:    []string{d.Name, d.Spec.BackupName, d.State()},
				page:     detail.Page{Kind: "deletion of backup", Name: d.Spec.BackupName, State: deletionState(d)},
				Cells:    func(now time.Time) []Cell { return deletionCells(d, a.Unseen(watch.Backups), now) },
				Document: func() document.Placed { return document.NewDeletion(d, a) },
				Describe: func() []describe.Section { return describe.Deletion(d, a) },
				sections: func() []detail.Section { return deletionSections(a, d) },
			}
		})
	},
}

func deletionState(d assess.Deletion) detail.Text {
	styles := map[string]detail.Style{
		assess.DeletionFailed:                              detail.Bad,
		assess.DeletionHangs:                               detail.Bad,
		string(velerov1.DeleteBackupRequestPhaseProcessed): detail.Good,
	}
	return detail.Styled(cmp.Or(styles[d.State()], detail.Running), d.State())
}

func deletionCells(d assess.Deletion, unseen bool, now time.Time) []Cell {
	backup := detail.Styled(detail.Dim, "gone")
	switch {
	case unseen:
		backup = detail.Styled(detail.Waiting, "not seen")
	case d.Backup != nil:
		backup = phaseText(d.Backup)
	}
	return []Cell{
		text(
			detail.Plain,
			cmp.Or(d.Spec.BackupName, d.Name),
		),
		stateCell(deletionState(d)),
		text(detail.Plain, d.Spec.BackupName),
		ago(
			detail.Plain,
			d.CreationTimestamp.Time,
			now,
			"",
		),
		number(detail.Bad, len(d.Status.Errors), draw.NonZero(len(d.Status.Errors))),
		{Text: backup},
		number(detail.Dim, d.Restores, draw.NonZero(d.Restores)),
		text(detail.Dim, d.Name),
	}
}

func deletionSections(a *assess.Assessment, d assess.Deletion) []detail.Section {
	errors := detail.Section{Title: "Errors"}
	for i, e := range d.Status.Errors {
		if i == shownErrors {
			errors.Lines = append(
				errors.Lines,
				detail.Styled(detail.Dim, human.Count(len(d.Status.Errors)-i, "more error")+" not shown."),
			)
			break
		}
		errors.Lines = append(errors.Lines, detail.Styled(detail.Bad, e))
	}
	described := sections(describe.Deletion(d, a), detail.Text{})
	request, left := described[0], described[1]
	if d.Backup != nil {
		left.Fields[0].Text = phaseText(d.Backup)
		left.Columns = []draw.Column{
			{Title: "BACKUP", Width: 24, Grow: 1, Limit: 63},
			{Title: "PHASE", Width: 15, Grow: 1, Limit: 24},
		}
		left.Rows = []detail.Cells{
			{Job: d.Backup.UID, Cells: []detail.Text{{Text: d.Backup.Name}, phaseText(d.Backup)}},
		}
	}
	return []detail.Section{request, errors, left}
}

// shownErrors is how many errors of a request a page lists.
const shownErrors = 100
