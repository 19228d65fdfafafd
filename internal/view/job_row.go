package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// JobRow is one job of a list.
type JobRow struct {
	assess.Judged
	Context string    // the kubeconfig's
	Now     time.Time // by the cluster's clock
	Deleted bool      // it was there until now
}

// JobColumn is a column of lists of jobs.
type JobColumn struct {
	Column
	Cell func(JobRow) Cell
	Sort JobOrder // on the screen
}

// JobOrder is a way in which the screen sorts jobs by a column. Without Compare it does not.
type JobOrder struct {
	Name      string // if it is another than the column's
	Ascending bool
	Compare   func(a, b *job.Job) int
}

// JobColumns are all columns of jobs, in their order on the screen. At 80 cells they fit up to ETA, without RATE; at
// 120 up to AGE, at 160 all do. Commands print those of -o wide last. The help of `get` documents the ranks.
var JobColumns = []JobColumn{
	{
		Column: Column{
			Name: "context", Rank: 1, Least: 6, Middle: true, Usual: 20,
			Screen: ScreenColumn{Title: "CLUSTER", Width: 10, Grow: 2, Limit: 40},
		},
		Cell: func(r JobRow) Cell { return TextCell(Dim, r.Context) },
	},
	{
		Column: Column{Name: "kind", Rank: 2, Usual: len("restore"), Screen: ScreenColumn{Width: 1}},
		Cell: func(r JobRow) Cell {
			return Cell{Text: Toned(Dim, KindLetter(r.Kind)), Printed: r.Kind.Word(), Order: r.Kind.Word()}
		},
	},
	{
		Column: Column{
			Name: "name", Least: 6, Middle: true, Usual: 40,
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
			Name: "stage", Least: 5, Usual: len("PartiallyFailed"),
			Screen: ScreenColumn{Title: "STAGE", Width: 16, Grow: 1, Limit: 26},
		},
		Cell: func(r JobRow) Cell {
			printed := printedStage(r)
			return Cell{Text: JobStage(r), Printed: printed, Order: printed}
		},
		Sort: JobOrder{Ascending: true, Compare: compareStages},
	},
	{
		Column: Column{Name: "phase", Wide: true, Least: 5, Usual: len("PartiallyFailed")},
		Cell:   func(r JobRow) Cell { return TextCell(Plain, r.Phase) },
	},
	{
		Column: Column{
			Name: "progress", Rank: 3,
			Screen: ScreenColumn{Title: "PROGRESS", Width: 14, Grow: 1, Limit: 35},
		},
		Cell: progressCell,
		Sort: JobOrder{Compare: func(a, b *job.Job) int { return cmp.Compare(b.Fraction, a.Fraction) }},
	},
	{
		Column: Column{
			Name: "done", Rank: 8, Usual: len("10000/10000"),
			Screen: ScreenColumn{Title: "DONE", Width: 11, Priority: 2, Right: true},
		},
		Cell: func(r JobRow) Cell {
			done, _, unit, known := r.Progress()
			text := Text{Text: r.Amount(), Estimated: Estimated(r.Job, unit)}
			return Cell{Text: text, Printed: r.Amount(), Order: numberOrNil(known, float64(done))}
		},
		Sort: JobOrder{
			Name:    "items",
			Compare: func(a, b *job.Job) int { return cmp.Compare(b.Items.Total, a.Items.Total) },
		},
	},
	{
		Column: Column{
			Name: "rate", Wide: true, Usual: len("100.0 MiB/s"),
			Screen: ScreenColumn{Title: "RATE", Width: 8, Priority: 3, Right: true},
		},
		Cell: func(r JobRow) Cell {
			text := r.Rate.String()
			return Cell{Text: Toned(Dim, text), Printed: text, Order: numberOrNil(r.Rate.Known, r.Rate.PerSecond)}
		},
	},
	{
		Column: Column{
			Name: "eta", Rank: 5, Usual: len("10 to 15m"),
			Screen: ScreenColumn{Title: "ETA", Width: 8, Priority: 1, Right: true},
		},
		Cell: etaCell,
	},
	{
		Column: Column{
			Name: "errors", Rank: 4,
			Screen: ScreenColumn{Title: "ERR", Width: 5, Priority: 5, Right: true},
		},
		Cell: func(r JobRow) Cell { return countCell(Bad, r.Errors) },
		Sort: JobOrder{Compare: func(a, b *job.Job) int {
			return cmp.Or(cmp.Compare(b.Errors, a.Errors), cmp.Compare(b.Warnings, a.Warnings))
		}},
	},
	{
		Column: Column{
			Name: "warnings", Rank: 7,
			Screen: ScreenColumn{Title: "WARN", Width: 5, Priority: 6, Right: true},
		},
		Cell: func(r JobRow) Cell { return countCell(Waiting, r.Warnings) },
	},
	{
		Column: Column{Name: "verdict", Least: 7, Usual: len("progressing")},
		Cell:   verdictCell,
	},
	{
		Column: Column{
			Name: "age", Rank: 6, Usual: len("10h10m"),
			Screen: ScreenColumn{Title: "AGE", Width: 6, Priority: 4, Right: true},
		},
		Cell: func(r JobRow) Cell {
			cell := AgeCell(Dim, r.Began(), r.Now, "")
			cell.Text.Text = SteppedAge(r.Began(), r.Now)
			return cell
		},
		Sort: JobOrder{
			Ascending: true,
			Compare:   CompareAges,
		},
	},
	{
		Column: Column{
			Name: "expires", ScreenOnly: true,
			Screen: ScreenColumn{Title: "EXPIRES", Width: 7, Priority: 8, Right: true},
		},
		Cell: func(r JobRow) Cell { return TextCell(Dim, expires(r.Job, r.Now)) },
	},
	{
		Column: Column{
			Name: "location", ScreenOnly: true,
			Screen: ScreenColumn{Title: "LOCATION", Width: 10, Grow: 1, Limit: 24, Priority: 9},
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
			cell.Order = float64(ended)
			return cell
		},
	},
	{
		Column: Column{
			Name: "from", Wide: true, Least: 6, Middle: true, Usual: 40,
			Screen: ScreenColumn{Title: "FROM", Width: 20, Grow: 1, Limit: 63, Priority: 7},
		},
		Cell: func(r JobRow) Cell {
			kind, name := Origin(r.Job)
			if name == "" {
				return TextCell(Dim, "")
			}
			return Cell{Text: Toned(Dim, name), Printed: kind + "/" + name, Order: kind + "/" + name}
		},
	},
}

// JobColumnNamed returns the column of a name, which must be there.
func JobColumnNamed(name string) JobColumn {
	return JobColumns[slices.IndexFunc(JobColumns, func(c JobColumn) bool { return c.Name == name })]
}

// CompareAges orders jobs by when they began, the newest first.
func CompareAges(a, b *job.Job) int { return b.Began().Compare(a.Began()) }

// JobStage is the stage of a job and how long it lasts, or how long nothing moved.
func JobStage(r JobRow) Text {
	if !r.DeletionAt.IsZero() && r.Stage != job.StageDeleting {
		return deletionText(r)
	}
	if r.Terminal() {
		return Toned(EndTone(r.Phase), r.Phase)
	}
	stage, tone := string(r.Stage), StateTone(r.State)
	switch {
	case r.Queue.Waits && r.Queue.Position > 0:
		return Toned(tone, stage+" "+human.Ordinal(r.Queue.Position))
	case r.Stage == job.StageUnknown:
		stage = r.Phase
	}
	state := ""
	switch r.State {
	case diagnosis.Quiet, diagnosis.Stuck, diagnosis.Orphaned:
		state = "quiet " + SteppedAge(r.QuietSince(), r.Now)
	case diagnosis.Waiting:
		state = strings.TrimSpace("waits " + StageAge(r.Job, r.Now))
	case diagnosis.Unknown:
		state = strings.TrimSpace("unknown " + StageAge(r.Job, r.Now))
	default:
		return Toned(tone, strings.TrimSpace(stage+" "+StageAge(r.Job, r.Now)))
	}
	return Text{Text: stage + " " + state, Tone: tone, Narrow: []string{state}}
}

func deletionText(r JobRow) Text {
	stage, tone := string(r.Stage), Waiting
	if r.Terminal() || r.Stage == job.StageUnknown {
		stage = r.Phase
	}
	if r.Troubled() {
		tone = StateTone(r.State)
	}
	since := "deleting " + SteppedAge(r.DeletionAt, r.Now)
	return Text{
		Text:   stage + " " + since,
		Tone:   tone,
		Narrow: []string{stage + " deleting", since, "deleting"},
	}
}

func printedStage(r JobRow) string {
	switch {
	case r.Deleted:
		return "Deleted"
	case r.Stage == job.StageDeleting:
		return string(r.Stage)
	case !r.DeletionAt.IsZero():
		return r.PhaseOrStage() + ",deleting"
	}
	return r.PhaseOrStage()
}

func progressCell(r JobRow) Cell {
	if !r.FractionKnown {
		return Cell{}
	}
	percent := human.Percent(r.Fraction)
	return Cell{
		Text:    Text{Text: percent, Estimated: Estimated(r.Job, job.UnitItems)},
		Printed: percent,
		Order:   r.Fraction,
	}
}

// etaCell is the time left; on the screen, for a job in trouble, its state.
func etaCell(r JobRow) Cell {
	left := r.ETA.String()
	cell := TextCell(Plain, left)
	cell.Order = numberOrNil(r.ETA.Known, r.ETA.Left.Seconds())
	if short := strings.Replace(left, " to ", "-", 1); short != left { // a range
		cell.Narrow = []string{short}
	}
	if r.Troubled() {
		cell.Text = Toned(Bad, string(r.State))
	}
	return cell
}

func verdictCell(r JobRow) Cell {
	if len(r.Malformed) > 0 {
		return TextCell(Bad, fmt.Sprintf("malformed: %s %s", r.Malformed[0].Field, r.Malformed[0].Value))
	}
	return TextCell(StateTone(r.Verdict.State()), string(r.Verdict.State()))
}

func expires(j *job.Job, now time.Time) string {
	b, ok := j.Object.(*velerov1.Backup)
	switch {
	case !ok || b.Status.Expiration == nil:
		return ""
	case velero.Expired(b, now):
		return "expired"
	}
	return human.Duration(b.Status.Expiration.Sub(now))
}

// stages are sorted: what runs, what waits, what has ended.
var stages = []job.Stage{
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
	rank := func(j *job.Job) int { return slices.Index(stages, j.Stage) }
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(a.QueuePosition, b.QueuePosition),
		strings.Compare(a.Phase, b.Phase),
		a.Began().Compare(b.Began()),
	)
}

// Estimated reports whether figures in a unit are veltui's own estimate.
func Estimated(j *job.Job, unit job.Unit) bool {
	return unit == job.UnitItems && j.Items.Estimated && (j.Stage == job.StageItems || j.Stage == job.StageQueued)
}

// KindLetter stands for the kind where there is little room.
func KindLetter(k job.Kind) string {
	if k == job.Restore {
		return "R"
	}
	return "B"
}

// Origin is a restore's backup or a backup's schedule; the name may be empty.
func Origin(j *job.Job) (kind, name string) {
	if j.Kind == job.Restore && j.BackupName != "" {
		return "backup", j.BackupName
	}
	return "schedule", j.ScheduleName
}

// SteppedAge is how long ago t was, in steps that spare redrawing every row each second; empty if not known.
func SteppedAge(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch age := now.Sub(t); {
	case age >= time.Minute:
		return human.Duration(age.Truncate(time.Minute))
	case age >= 10*time.Second:
		return human.Duration(age.Truncate(10 * time.Second))
	}
	return "<10s"
}

// StageAge is how long the present stage lasts, empty if that is not known.
func StageAge(j *job.Job, now time.Time) string {
	for _, record := range j.Stages {
		if record.Stage == j.Stage {
			return SteppedAge(record.Began, now)
		}
	}
	return ""
}
