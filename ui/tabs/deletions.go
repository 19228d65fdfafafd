package tabs

import (
	"cmp"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// Deletions lists requests to delete backups, if any: Velero removes those that went well.
func Deletions() detail.Tab {
	return detail.Tab{
		Name: "Deletions", Short: "Del", Kinds: []string{watch.Deletions},
		There: func(a *assess.Assessment) bool { return len(a.Snapshot.Deletions) > 0 },
		Groups: func(a *assess.Assessment) []detail.Group {
			malformed := malformedByUID(a.Snapshot.Malformed)
			group := detail.Group{Columns: deletionColumns}
			for _, d := range a.Deletions() {
				row := rowOf(d, d.Notes, malformed, "", d.Name, d.Spec.BackupName, deletionState(d).Text)
				row.Cells = func(now time.Time) []detail.Text { return deletionCells(d, a.Unseen(watch.Backups), now) }
				row.Page = func() detail.Page { return deletionPage(a, d, row.Malformed) }
				group.Rows = append(group.Rows, row)
			}
			return []detail.Group{group}
		},
		Empty: func(snap *watch.Snapshot) string {
			return "There are no requests to delete backups in namespace " + snap.Namespace + "."
		},
	}
}

var deletionColumns = []draw.Column{
	{Title: "DELETES BACKUP", Width: 24, Grow: 2, Limit: 63},
	{Title: "STATE", Width: 11},
	{Title: "AGE", Width: 6, Priority: 1, Right: true},
	{Title: "ERR", Width: 4, Priority: 2, Right: true},
	{Title: "BACKUP IS", Width: 12, Grow: 1, Limit: 20, Priority: 3},
	{Title: "RESTORES", Width: 8, Priority: 4, Right: true},
	{Title: "REQUEST", Width: 24, Grow: 1, Limit: 63, Priority: 5},
}

func deletionState(d assess.Deletion) detail.Text {
	phase := cmp.Or(string(d.Status.Phase), velero.PhaseNew)
	switch {
	case len(d.Status.Errors) > 0:
		return detail.Styled(detail.Bad, "failed")
	case assess.Alarmed(d.Notes):
		return detail.Styled(detail.Bad, "hangs")
	case d.Status.Phase == velerov1.DeleteBackupRequestPhaseProcessed:
		return detail.Styled(detail.Good, phase)
	}
	return detail.Styled(detail.Running, phase)
}

func deletionCells(d assess.Deletion, unseen bool, now time.Time) []detail.Text {
	backup := detail.Styled(detail.Dim, "gone")
	switch {
	case unseen:
		backup = detail.Styled(detail.Waiting, "not seen")
	case d.Backup != nil:
		backup = phaseText(d.Backup)
	}
	return []detail.Text{
		{Text: cmp.Or(d.Spec.BackupName, d.Name)}, deletionState(d), {Text: human.Age(d.CreationTimestamp.Time, now)},
		detail.Styled(detail.Bad, draw.NonZero(len(d.Status.Errors))), backup,
		detail.Styled(detail.Dim, draw.NonZero(d.Restores)), detail.Styled(detail.Dim, d.Name),
	}
}

func deletionPage(a *assess.Assessment, d assess.Deletion, malformed *watch.Malformed) detail.Page {
	now := a.Environment.Now
	page := detail.Page{Kind: "deletion of backup", Name: d.Spec.BackupName, State: deletionState(d), Notes: notes(d.Notes, malformed)}
	request := detail.Section{Title: "Request", Fields: []detail.Field{
		plain("name", d.Name),
		plain("phase", cmp.Or(string(d.Status.Phase), velero.PhaseNew)),
		plain("created", moment(d.CreationTimestamp.Time, now, "")),
	}}
	errors := detail.Section{Title: "Errors"}
	for i, e := range d.Status.Errors {
		if i == shownErrors {
			errors.Lines = append(errors.Lines, detail.Styled(detail.Dim, human.Count(len(d.Status.Errors)-i, "more error")+" not shown."))
			break
		}
		errors.Lines = append(errors.Lines, detail.Styled(detail.Bad, e))
	}
	left := detail.Section{Title: "What is still there"}
	if d.Backup == nil {
		gone := "gone from the cluster"
		if a.Incomplete(watch.Backups) {
			gone = "gone, or it ended too long ago to be shown (--ended-within)"
		}
		left.Fields = []detail.Field{plain("backup", cmp.Or(detail.Unseen(a.Snapshot, watch.Backups), gone))}
	} else {
		left.Fields = []detail.Field{
			{Label: "backup", Text: phaseText(d.Backup)},
			plain("location", cmp.Or(d.Backup.StorageLocation, "none: Velero refuses to delete it")),
			plain("volumes", fmt.Sprint(d.Backup.VolumeCount())),
		}
		left.Columns = []draw.Column{{Title: "BACKUP", Width: 24, Grow: 1, Limit: 63}, {Title: "PHASE", Width: 15, Grow: 1, Limit: 24}}
		left.Rows = []detail.Cells{{Job: d.Backup.UID, Cells: []detail.Text{{Text: d.Backup.Name}, phaseText(d.Backup)}}}
	}
	restores := fmt.Sprint(d.Restores)
	if d.Restores > 0 {
		restores += ", which Velero deletes, too"
	}
	if n := a.Snapshot.LeftRestores; n > 0 {
		restores += fmt.Sprintf("; %s of this or other backups ended too long ago to be shown (--ended-within)", human.Count(n, "restore"))
	}
	left.Fields = append(left.Fields, plain("restores of it", cmp.Or(detail.Unseen(a.Snapshot, watch.Restores), restores)))
	page.Sections = []detail.Section{request, errors, left}
	return page
}

// shownErrors is how many errors of a request a page lists.
const shownErrors = 100
