package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// JobRow is one job of a list.
type JobRow struct {
	assess.JudgedJob
	Context string    // the kubeconfig context
	Now     time.Time // by the cluster's clock
	Deleted bool      // the job existed until now
}

// JobColumn is a column of lists of jobs.
type JobColumn = RowColumn[JobRow]

// JobOrder is the way in which the screen sorts jobs by a column. Without Compare it does not sort by the column.
type JobOrder struct {
	Name      string // if it differs from the column's name
	Ascending bool
	Compare   func(a, b *job.Job) int
}

// JobColumns are all columns of jobs, in their order on the screen. At 80 cells the columns up to ETA fit, without
// RATE; at 120 those up to AGE, at 160 all. Commands print the columns of -o wide last. The help of `get` documents
// their priorities.
var JobColumns = []JobColumn{
	{
		Column: Column{
			Name: "context", Priority: 1, MinWidth: 6, CutMiddle: true, TypicalWidth: 20,
			Screen: ScreenColumn{Title: "CLUSTER", Width: 10, Grow: 2, Limit: 40, Kept: true},
		},
		Cell: func(r JobRow) Cell { return TextCell(Dim, r.Context) },
	},
	{
		Column: Column{Name: "kind", Priority: 2, TypicalWidth: len("restore"), Screen: ScreenColumn{Width: 1, Kept: true}},
		Cell: func(r JobRow) Cell {
			return Cell{Text: Toned(Dim, KindLetter(r.Kind)), PrintedText: r.Kind.Noun(), SortKey: r.Kind.Noun()}
		},
	},
	{
		Column: Column{
			Name: "name", MinWidth: 6, CutMiddle: true, TypicalWidth: 40,
			Screen: ScreenColumn{Title: "NAME", Width: 22, Grow: 6, Limit: 63},
		},
		Cell: func(r JobRow) Cell { return TextCell(Plain, r.Name) },
		Sort: JobOrder{
			Ascending: true,
			Compare:   func(a, b *job.Job) int { return human.CompareNames(a.Name, b.Name) },
		},
	},
	{
		Column: Column{
			Name: "stage", MinWidth: 5, TypicalWidth: len("PartiallyFailed"),
			Screen: ScreenColumn{Title: "STAGE", Width: 16, Grow: 1, Limit: 26},
		},
		Cell: func(r JobRow) Cell {
			printed := printedStageText(r)
			return Cell{Text: StageText(r), PrintedText: printed, SortKey: printed}
		},
		Sort: JobOrder{Ascending: true, Compare: compareStages},
	},
	{
		Column: Column{Name: "phase", Wide: true, MinWidth: 5, TypicalWidth: len("PartiallyFailed")},
		Cell:   func(r JobRow) Cell { return TextCell(Plain, r.Phase) },
	},
	{
		Column: Column{
			Name: "progress", Priority: 3,
			Screen: ScreenColumn{Title: "PROGRESS", Width: 14, Grow: 1, Limit: 35, Kept: true},
		},
		Cell: progressCell,
		Sort: JobOrder{Compare: func(a, b *job.Job) int { return cmp.Compare(b.Fraction, a.Fraction) }},
	},
	{
		Column: Column{
			Name: "done", Priority: 5, TypicalWidth: len("10000/10000"),
			Screen: ScreenColumn{Title: "DONE", Width: 11, Right: true},
		},
		Cell: func(r JobRow) Cell {
			done, _, unit, known := r.Progress()
			text := Text{Text: r.ProgressText(), Estimated: IsEstimated(r.Job, unit)}
			return Cell{Text: text, PrintedText: r.ProgressText(), SortKey: numberOrNil(known, float64(done))}
		},
		Sort: JobOrder{
			Name:    "items",
			Compare: func(a, b *job.Job) int { return cmp.Compare(b.Items.Total, a.Items.Total) },
		},
	},
	{
		Column: Column{
			Name: "rate", Priority: 6, Wide: true, TypicalWidth: len("100.0 MiB/s"),
			Screen: ScreenColumn{Title: "RATE", Width: 8, Right: true},
		},
		Cell: func(r JobRow) Cell {
			text := r.Rate.String()
			return Cell{Text: Toned(Dim, text), PrintedText: text, SortKey: numberOrNil(r.Rate.Known, r.Rate.PerSecond)}
		},
	},
	{
		Column: Column{
			Name: "eta", Priority: 4, TypicalWidth: len("10 to 15m"),
			Screen: ScreenColumn{Title: "ETA", Width: 8, Right: true},
		},
		Cell: etaCell,
	},
	{
		Column: Column{
			Name: "errors", Priority: 8,
			Screen: ScreenColumn{Title: "ERR", Width: 5, Right: true},
		},
		Cell: func(r JobRow) Cell { return nonZeroCell(Bad, r.Errors) },
		Sort: JobOrder{Compare: func(a, b *job.Job) int {
			return cmp.Or(cmp.Compare(b.Errors, a.Errors), cmp.Compare(b.Warnings, a.Warnings))
		}},
	},
	{
		Column: Column{
			Name: "warnings", Priority: 9,
			Screen: ScreenColumn{Title: "WARN", Width: 5, Right: true},
		},
		Cell: func(r JobRow) Cell { return nonZeroCell(Waiting, r.Warnings) },
	},
	{
		Column: Column{Name: "verdict", MinWidth: 7, TypicalWidth: len("progressing")},
		Cell:   func(r JobRow) Cell { return StateCell(jobStateText(r.JudgedJob)) },
	},
	{
		Column: Column{
			Name: "age", Priority: 7, TypicalWidth: len("10h10m"),
			Screen: ScreenColumn{Title: "AGE", Width: 6, Right: true},
		},
		Cell: func(r JobRow) Cell {
			cell := AgeCell(Dim, r.AgeSince(), r.Now, "")
			cell.Text.Text = CoarseAge(r.AgeSince(), r.Now)
			return cell
		},
		Sort: JobOrder{
			Ascending: true,
			Compare:   CompareAges,
		},
	},
	{
		Column: Column{
			Name: "expires", Priority: 11, ScreenOnly: true,
			Screen: ScreenColumn{Title: "EXPIRES", Width: 7, Right: true},
		},
		Cell: func(r JobRow) Cell { return TextCell(Dim, expiryText(r.Job, r.Now)) },
	},
	{
		Column: Column{
			Name: "location", Priority: 12, ScreenOnly: true,
			Screen: ScreenColumn{Title: "LOCATION", Width: 10, Grow: 1, Limit: 24},
		},
		Cell: func(r JobRow) Cell { return TextCell(Dim, r.StorageLocation) },
	},
	{
		Column: Column{Name: "volumes", Wide: true},
		Cell: func(r JobRow) Cell {
			return NumberCell(Plain, len(r.Volumes), fmt.Sprint(len(r.Volumes)))
		},
	},
	{
		Column: Column{Name: "operations", Wide: true},
		Cell: func(r JobRow) Cell {
			ended := r.Operations.Completed + r.Operations.Failed
			cell := TextCell(Plain, fmt.Sprintf("%d/%d", ended, r.Operations.Attempted))
			cell.SortKey = float64(ended)
			return cell
		},
	},
	{
		Column: Column{
			Name: "from", Priority: 10, Wide: true, MinWidth: 6, CutMiddle: true, TypicalWidth: 40,
			Screen: ScreenColumn{Title: "FROM", Width: 20, Grow: 1, Limit: 63},
		},
		Cell: func(r JobRow) Cell {
			kind, name := JobOrigin(r.Job)
			if name == "" {
				return TextCell(Dim, "")
			}
			return Cell{Text: Toned(Dim, name), PrintedText: kind + "/" + name, SortKey: kind + "/" + name}
		},
	},
}

// FindJobColumn returns the column with a name, which must exist.
func FindJobColumn(name string) JobColumn {
	return JobColumns[slices.IndexFunc(JobColumns, func(c JobColumn) bool { return c.Name == name })]
}

// CompareAges orders jobs by their age, the newest first.
func CompareAges(a, b *job.Job) int { return b.AgeSince().Compare(a.AgeSince()) }

func progressCell(r JobRow) Cell {
	if !r.FractionKnown || r.IsEmpty() { // 100 % of nothing would look like a success
		return Cell{}
	}
	percent := JobPercent(r.JudgedJob)
	return Cell{Text: percent, PrintedText: percent.Text, SortKey: r.Fraction}
}

// etaCell returns the time left; on the screen it shows the state of a job in trouble instead.
func etaCell(r JobRow) Cell {
	left := r.ETA.String()
	cell := TextCell(Plain, left)
	cell.SortKey = numberOrNil(r.ETA.Known, r.ETA.Left.Seconds())
	if short := strings.Replace(left, " to ", "-", 1); short != left { // a range
		cell.Narrow = []string{short}
	}
	if r.IsTroubled() {
		cell.Text = Toned(Bad, string(r.State))
	}
	return cell
}

func expiryText(j *job.Job, now time.Time) string {
	b, ok := j.Object.(*veleroapi.Backup)
	switch {
	case !ok || b.Status.Expiration == nil:
		return ""
	case velero.IsExpired(b, now):
		return "expired"
	}
	return human.Duration(b.Status.Expiration.Sub(now))
}

// stageOrder is the order of stages: running, waiting, ended.
var stageOrder = []job.Stage{
	job.StageUnknown,
	job.StageItems,
	job.StageVolumes,
	job.StageOperations,
	job.StageFinalizing,
	job.StageQueued,
	job.StageDeleting,
	job.StageDone,
}

func compareStages(a, b *job.Job) int {
	rank := func(j *job.Job) int { return slices.Index(stageOrder, j.Stage) }
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(a.QueuePosition, b.QueuePosition),
		strings.Compare(a.Phase, b.Phase),
		a.BeganAt().Compare(b.BeganAt()),
	)
}

// KindLetter returns one letter for the kind, for narrow columns.
func KindLetter(k job.Kind) string {
	if k == job.Restore {
		return "R"
	}
	return "B"
}

// JobOrigin returns a restore's backup or a backup's schedule; the name may be empty.
func JobOrigin(j *job.Job) (kind, name string) {
	if j.Kind == job.Restore && j.BackupName != "" {
		return "backup", j.BackupName
	}
	return "schedule", j.ScheduleName
}
