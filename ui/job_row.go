package ui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/ui/draw"
)

// At 80 cells the columns fit up to ETA, without RATE; at 120 up to AGE, at 160 all do.
var jobColumns = []draw.Column{
	colMark:     {Width: 2},                    // cursor and mark
	colCluster:  {Title: "CLUSTER", Limit: 40}, // only where there are several
	colKind:     {Width: 1},
	colName:     {Title: "NAME", Width: 22, Grow: 6, Limit: 63},
	colStage:    {Title: "STAGE", Width: 16, Grow: 1, Limit: 26},
	colProgress: {Title: "PROGRESS", Width: 14, Grow: 1, Limit: 35},
	colDone:     {Title: "DONE", Width: 11, Priority: 2, Right: true},
	colRate:     {Title: "RATE", Width: 8, Priority: 3, Right: true},
	colETA:      {Title: "ETA", Width: 8, Priority: 1, Right: true},
	colErrors:   {Title: "ERR", Width: 5, Priority: 5, Right: true},
	colWarnings: {Title: "WARN", Width: 5, Priority: 6, Right: true},
	colAge:      {Title: "AGE", Width: 6, Priority: 4, Right: true},
	colExpires:  {Title: "EXPIRES", Width: 7, Priority: 8, Right: true},
	colLocation: {Title: "LOCATION", Width: 10, Grow: 1, Limit: 24, Priority: 9},
	colFrom:     {Title: "FROM", Width: 20, Grow: 1, Limit: 63, Priority: 7},
}

const (
	colMark = iota
	colCluster
	colKind
	colName
	colStage
	colProgress
	colDone
	colRate
	colETA
	colErrors
	colWarnings
	colAge
	colExpires
	colLocation
	colFrom
)

// columnNames are those that the user can choose. The others, up to the name, come first.
var columnNames = []string{
	colStage:    "stage",
	colProgress: "progress",
	colDone:     "done",
	colRate:     "rate",
	colETA:      "eta",
	colErrors:   "errors",
	colWarnings: "warnings",
	colAge:      "age",
	colExpires:  "expires",
	colLocation: "location",
	colFrom:     "from",
}

// Columns are the names of the columns that can be chosen, in their usual order.
func Columns() []string { return slices.Clone(columnNames[colStage:]) }

// columnOrder is that of the chosen columns, or all. From the bar to the warnings they stay
// together in their usual order: one text takes their place where a job has ended or waits.
func columnOrder(chosen []string) []int {
	if len(chosen) == 0 {
		chosen = Columns()
	}
	order := []int{colMark, colCluster, colKind, colName}
	together := func(column int) bool { return column >= colProgress && column <= colWarnings }
	var group []int
	for _, name := range chosen {
		if column := slices.Index(columnNames, name); together(column) {
			group = append(group, column)
		}
	}
	slices.Sort(group)
	for _, name := range chosen {
		switch column := slices.Index(columnNames, name); {
		case !together(column):
			order = append(order, column)
		case !slices.ContainsFunc(order, together):
			order = append(order, group...)
		}
	}
	return order
}

func ordered[T any](of []T, order []int) []T {
	shown := make([]T, len(order))
	for i, column := range order {
		shown[i] = of[column]
	}
	return shown
}

// columnsFor gives names no more room than the longest needs, so that others can grow.
func columnsFor(rows []row, several bool, order []int) []draw.Column {
	columns := slices.Clone(jobColumns)
	for i := range columns {
		if !slices.Contains(order, i) {
			columns[i].Width = 0
		}
	}
	if several {
		columns[colCluster].Width, columns[colCluster].Grow = 10, 2
		columns[colName].Width = 18
	}
	name, from, location, in := 0, 0, 0, 0
	for _, r := range rows {
		if j, ok := r.item.(*job.Job); ok {
			_, origin := draw.Origin(j)
			name, from, location = max(name, len(j.Name)), max(from, len(origin)), max(location, len(j.StorageLocation))
			in = max(in, len(r.cluster.Context))
		}
	}
	for column, longest := range map[int]int{colCluster: in, colName: name, colFrom: from, colLocation: location} {
		columns[column].Limit = min(max(longest, columns[column].Width), columns[column].Limit)
	}
	return columns
}

func jobRow(c draw.Canvas, j assess.Judged, cluster string, widths, order []int, selected bool) string {
	cells := make([]string, len(jobColumns))
	set := func(column int, style lipgloss.Style, text string) {
		cells[column] = c.Cell(style, c.CutMiddle(text, widths[column]), widths[column], jobColumns[column].Right)
	}
	t := c.Theme
	_, from := draw.Origin(j.Job)
	style, stage := stageCell(c, j, widths[colStage])
	cells[colMark] = mark(c, j, selected, widths[colMark])
	set(colCluster, t.Dim, cluster)
	set(colKind, t.Dim, draw.KindLetter(j.Kind))
	set(colName, t.Text, j.Name)
	set(colStage, style, stage)
	set(colErrors, t.Bad, draw.NonZero(j.Errors))
	set(colWarnings, t.Waiting, draw.NonZero(j.Warnings))
	set(colAge, t.Dim, draw.Age(j.Began(), c.Now))
	set(colExpires, t.Dim, expires(j.Job, c.Now))
	set(colLocation, t.Dim, j.StorageLocation)
	set(colFrom, t.Dim, from)
	span := func(last int, text string) string {
		joined := spanned(c, cells, widths, colProgress, last, text)
		return draw.JoinCells(ordered(cells, order), ordered(joined, order))
	}
	switch {
	case len(j.Malformed) > 0:
		return span(colWarnings, malformedText(c, j.Malformed[0], spanWidth(widths, colProgress, colWarnings)))
	case j.Terminal():
		return span(colETA, outcome(c, j.Job, spanWidth(widths, colProgress, colETA), widths[colErrors] == 0))
	case j.Queue.Waits:
		return span(colWarnings, t.Waiting.Render(j.Queue.Reason))
	}
	cells[colProgress] = progressCell(c, j.Job, widths[colProgress])
	set(colDone, t.Text, c.Amount(j))
	set(colRate, t.Dim, j.Rate.String())
	left := j.ETA.String()
	if len(left) > widths[colETA] {
		left = strings.Replace(left, " to ", "-", 1) // a range
	}
	set(colETA, t.Text, left)
	if j.Troubled() {
		set(colETA, t.Bad, string(j.State))
	}
	return draw.JoinCells(ordered(cells, order), ordered(widths, order))
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

// spanned puts one text in place of the cells from first to last, and returns the widths then.
func spanned(c draw.Canvas, cells []string, widths []int, first, last int, text string) []int {
	width := spanWidth(widths, first, last)
	widths = slices.Clone(widths)
	for column := first; column <= last; column++ {
		if widths[column] > 0 {
			cells[column], widths[column] = c.Fit(text, width), width
			width = 0 // one of them has it all
		}
	}
	return widths
}

func spanWidth(widths []int, first, last int) int {
	width := -1
	for _, w := range widths[first : last+1] {
		if w > 0 {
			width += w + 1
		}
	}
	return width
}

func mark(c draw.Canvas, j assess.Judged, selected bool, width int) string {
	sign := " "
	switch {
	case j.Troubled(), len(j.Malformed) > 0:
		sign = c.Theme.Bad.Render(c.Glyphs.Attention)
	case j.Terminal():
		glyph, style := c.Ending(j.Phase)
		sign = style.Render(glyph)
	}
	return c.Fit(pointer(c, selected)+sign, width)
}

// stageCell is the stage and how long it lasts, or how long nothing moved.
func stageCell(c draw.Canvas, j assess.Judged, width int) (lipgloss.Style, string) {
	if !j.DeletionAt.IsZero() && j.Stage != job.StageDeleting {
		return deletionCell(c, j, width)
	}
	if j.Terminal() {
		_, style := c.Ending(j.Phase)
		return style, j.Phase
	}
	stage, style := string(j.Stage), c.Mood(j.State)
	switch {
	case j.Queue.Waits && j.Queue.Position > 0:
		return style, stage + " " + human.Ordinal(j.Queue.Position)
	case j.Stage == job.StageUnknown:
		stage = j.Phase
	}
	state := ""
	switch j.State {
	case diagnosis.Quiet, diagnosis.Stuck, diagnosis.Orphaned:
		state = "quiet " + draw.Age(j.QuietSince(), c.Now)
	case diagnosis.Waiting:
		state = strings.TrimSpace("waits " + draw.StageAge(j.Job, c.Now))
	case diagnosis.Unknown:
		state = strings.TrimSpace("unknown " + draw.StageAge(j.Job, c.Now))
	default:
		return style, strings.TrimSpace(stage + " " + draw.StageAge(j.Job, c.Now))
	}
	if text := stage + " " + state; len(text) <= width {
		return style, text
	}
	return style, state
}

func deletionCell(c draw.Canvas, j assess.Judged, width int) (lipgloss.Style, string) {
	stage, style := string(j.Stage), c.Theme.Waiting
	if j.Terminal() || j.Stage == job.StageUnknown {
		stage = j.Phase
	}
	if j.Troubled() {
		style = c.Mood(j.State)
	}
	since := "deleting " + draw.Age(j.DeletionAt, c.Now)
	for _, text := range []string{stage + " " + since, stage + " deleting", since} {
		if len(text) <= width {
			return style, text
		}
	}
	return style, "deleting"
}

func progressCell(c draw.Canvas, j *job.Job, width int) string {
	if !j.FractionKnown {
		return c.NoBar(width)
	}
	label := c.FitRight(c.Estimated(j, job.UnitItems)+human.Percent(j.Fraction), 5)
	if width < 8 {
		return c.FitRight(label, width)
	}
	return c.Bar(wholePercent(j.Fraction), width-5) + label
}

// wholePercent rounds as the percentage beside its bar, so that both change in one frame.
func wholePercent(fraction float64) float64 {
	if whole := math.Floor(fraction*100+1e-9) / 100; whole > 0 { // as human.Percent rounds
		return whole
	}
	return fraction
}

// endedAt is when a job ended. Velero gives no time to one that failed validation.
func endedAt(j *job.Job) time.Time {
	if j.Completed.IsZero() {
		return j.QuietSince()
	}
	return j.Completed
}

// outcome tells in fixed places how a job ended; wrong adds what went wrong.
func outcome(c draw.Canvas, j *job.Job, width int, wrong bool) string {
	took, items := "", ""
	if !j.Started.IsZero() && !j.Completed.IsZero() {
		took = human.Duration(j.Took())
	}
	if j.Items.Known {
		items = human.Count(j.Items.Done, "item")
		if j.Items.Done < j.Items.Total {
			items = fmt.Sprintf("%d/%d", j.Items.Done, j.Items.Total)
		}
	}
	text := c.Theme.Dim.Render(fmt.Sprintf("%-6s %-6s %-10s", human.Day(endedAt(j), c.Now), took, items))
	for _, part := range []struct {
		holds bool
		style lipgloss.Style
		text  string
	}{
		{wrong && j.Errors > 0, c.Theme.Bad, fmt.Sprintf(" %d err", j.Errors)},
		{wrong && j.Warnings > 0, c.Theme.Waiting, fmt.Sprintf(" %d warn", j.Warnings)},
		{len(j.ValidationErrors) > 0 && j.Errors == 0, c.Theme.Bad, " invalid"},
	} {
		if part.holds && lipgloss.Width(text+part.text) <= width {
			text += part.style.Render(part.text)
		}
	}
	return text
}
