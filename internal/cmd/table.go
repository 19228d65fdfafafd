package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/tabs"
)

type column struct {
	title string
	text  func(row) string
	order func(row) any // a number or a text for --sort-by, or nil; without it, that is the text
	wide  bool          // only in -o wide

	rank   int  // orders the columns that a narrow terminal drops, highest first; 0 stays
	least  int  // cells that suffice on a narrow terminal; 0 for a text that is never cut
	middle bool // a name, cut in the middle
	usual  int  // the width of a long text, kept free in a table that grows
}

// chooseColumns leaves out wide columns, or has none dropped if they are wanted; nor ever the kept one.
func chooseColumns(all []column, wide bool, kept string) []column {
	columns := slices.DeleteFunc(slices.Clone(all), func(c column) bool { return c.wide && !wide })
	for i, c := range columns {
		if wide || c.title == kept {
			columns[i].rank = 0
		}
	}
	return columns
}

const (
	columnGap    = 3  // between two columns, as in kubectl's tables
	narrowGap    = 2  // where the terminal is narrower than the table
	readableCell = 30 // a column whose texts would be shorter is dropped
)

// table aligns rows. On a narrow terminal it drops columns and shortens texts, by its first rows.
type table struct {
	w         io.Writer
	width     int // the terminal's, or 0: then columns grow with their text
	glyphs    *draw.Glyphs
	noHeaders bool
	grows     bool // more rows may come: a column that is empty now may not stay so

	shown  []int // indices of the columns that are printed, nil before the first rows
	widths []int // of all columns
	gap    int
}

func (t *table) print(columns []column, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	for _, cells := range rows {
		for i := range cells {
			cells[i] = cmp.Or(cells[i], "-")
		}
	}
	first := t.shown == nil
	if first && !t.noHeaders {
		rows = slices.Insert(rows, 0, mapSlice(columns, func(c column) string { return c.title }))
	}
	if first {
		t.layOut(columns, rows)
	} else if t.width <= 0 {
		t.widen(rows)
	}
	canvas := draw.Canvas{Glyphs: t.glyphs}
	var text strings.Builder
	for _, cells := range rows {
		padding := 0
		for _, i := range t.shown {
			cell := cells[i]
			switch {
			case t.width <= 0: // it fits
			case columns[i].middle:
				cell = canvas.CutMiddle(cell, t.widths[i])
			default:
				cell = canvas.Cut(cell, t.widths[i])
			}
			text.WriteString(strings.Repeat(" ", padding))
			text.WriteString(cell)
			padding = t.widths[i] - ansi.StringWidth(cell) + t.gap
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(t.w, text.String())
	return err
}

func (t *table) widen(rows [][]string) {
	for _, cells := range rows {
		for i, cell := range cells {
			t.widths[i] = max(t.widths[i], ansi.StringWidth(cell))
		}
	}
}

func (t *table) layOut(columns []column, rows [][]string) {
	t.gap, t.widths = columnGap, make([]int, len(columns))
	for i, c := range columns {
		t.shown = append(t.shown, i)
		if t.grows {
			t.widths[i] = max(c.usual, len(c.title))
		}
	}
	t.widen(rows)
	whole := columnGap * (len(columns) - 1)
	for _, width := range t.widths {
		whole += width
	}
	if t.width <= 0 || whole <= t.width {
		return
	}
	t.gap = narrowGap
	if t.fit(columns, rows, func(column) int { return readableCell }) {
		return
	}
	t.shown = slices.DeleteFunc(t.shown, func(i int) bool { return columns[i].rank > 0 })
	t.fit(columns, rows, func(c column) int { return c.least }) // else the terminal wraps the lines
}

// fit drops and shortens columns, none below its floor. If that is not enough, it changes nothing.
func (t *table) fit(columns []column, rows [][]string, floor func(column) int) bool {
	const gap = narrowGap - 1 // FitColumns has a gap of one
	fitted := make([]draw.Column, len(columns))
	for _, i := range t.shown {
		c, width := columns[i], t.widths[i]
		fitted[i] = draw.Column{Width: width + gap, Grow: 1, Limit: width + gap, Priority: c.rank}
		if c.least > 0 {
			fitted[i].Width = min(width, floor(c)) + gap
		}
		if c.rank > 0 && !t.grows && t.isEmpty(rows, i) {
			fitted[i].Priority += len(columns) // it says nothing
		}
	}
	widths := draw.FitColumns(fitted, t.width+gap)
	tooNarrow := func(i int) bool { return widths[i] > 0 && widths[i] < fitted[i].Width }
	if slices.ContainsFunc(t.shown, tooNarrow) {
		return false
	}
	t.shown = slices.DeleteFunc(t.shown, func(i int) bool { return widths[i] == 0 })
	for _, i := range t.shown {
		t.widths[i] = widths[i] - gap
	}
	return true
}

func (t *table) isEmpty(rows [][]string, column int) bool {
	if !t.noHeaders {
		rows = rows[1:]
	}
	return !slices.ContainsFunc(rows, func(cells []string) bool { return cells[column] != "-" })
}

// tableColumns are those of `get`. The ranks are documented in its help.
var tableColumns = []column{
	{title: "KIND", rank: 2, usual: len("restore"), text: func(r row) string { return r.Kind.Word() }},
	nameColumn,
	{title: "STAGE", least: 5, usual: len("PartiallyFailed"), text: row.stage},
	{title: "PROGRESS", rank: 3, text: func(r row) string {
		if !r.FractionKnown {
			return ""
		}
		return human.Percent(r.Fraction)
	}, order: func(r row) any { return known(r.FractionKnown, r.Fraction) }},
	{
		title: "DONE",
		rank:  8,
		usual: len("10000/10000"),
		text:  func(r row) string { return r.Amount() },
		order: func(r row) any {
			done, _, _, is := r.Progress()
			return known(is, float64(done))
		},
	},
	{
		title: "ETA",
		rank:  5,
		usual: len("10 to 15m"),
		text:  func(r row) string { return r.ETA.String() },
		order: func(r row) any { return known(r.ETA.Known, r.ETA.Left.Seconds()) },
	},
	{
		title: "ERRORS",
		rank:  4,
		text:  func(r row) string { return draw.NonZero(r.Errors) },
		order: func(r row) any { return float64(r.Errors) },
	},
	{
		title: "WARNINGS",
		rank:  7,
		text:  func(r row) string { return draw.NonZero(r.Warnings) },
		order: func(r row) any { return float64(r.Warnings) },
	},
	{title: "VERDICT", least: 7, usual: len("progressing"), text: row.verdict},
	ageColumn(6, len("10h10m")),
	{title: "PHASE", wide: true, least: 5, usual: len("PartiallyFailed"), text: func(r row) string { return r.Phase }},
	{
		title: "RATE",
		wide:  true,
		usual: len("100.0 MiB/s"),
		text:  func(r row) string { return r.Rate.String() },
		order: func(r row) any { return known(r.Rate.Known, r.Rate.PerSecond) },
	},
	{
		title: "VOLUMES",
		wide:  true,
		text:  func(r row) string { return fmt.Sprint(len(r.Volumes)) },
		order: func(r row) any { return float64(len(r.Volumes)) },
	},
	{title: "OPERATIONS", wide: true, text: func(r row) string {
		return fmt.Sprintf("%d/%d", r.Operations.Completed+r.Operations.Failed, r.Operations.Attempted)
	}, order: func(r row) any { return float64(r.Operations.Completed + r.Operations.Failed) }},
	{title: "FROM", wide: true, least: 6, middle: true, usual: 40, text: func(r row) string { return from(r.Job) }},
}

func known(is bool, n float64) any {
	if !is {
		return nil
	}
	return n
}

func (r row) stage() string {
	switch {
	case r.deleted:
		return "Deleted"
	case r.Stage == job.StageDeleting:
		return string(r.Stage)
	case !r.DeletionAt.IsZero():
		return r.PhaseOrStage() + ",deleting"
	}
	return r.PhaseOrStage()
}

func (r row) verdict() string {
	if len(r.Malformed) > 0 {
		return fmt.Sprintf("malformed: %s %s", r.Malformed[0].Field, r.Malformed[0].Value)
	}
	return string(r.Verdict.State())
}

type tablePrinter struct {
	table
	wide   bool
	sorted string     // the column of --sort-by, which is not dropped
	things *tabs.Kind // nil for jobs
}

func (p *tablePrinter) columns(several bool) []column {
	all := sortColumns(p.things)
	if !several {
		all = all[1:]
	}
	return chooseColumns(all, p.wide, p.sorted)
}

func (p *tablePrinter) list(rows []row, _ []document.Malformed, several bool) error {
	columns := p.columns(several)
	return p.print(columns, mapSlice(rows, func(r row) []string {
		return mapSlice(columns, func(c column) string { return c.text(r) })
	}))
}

func from(j *job.Job) string {
	switch {
	case j.BackupName != "":
		return "backup/" + j.BackupName
	case j.ScheduleName != "":
		return "schedule/" + j.ScheduleName
	}
	return ""
}

func dash(s string) string { return cmp.Or(s, "-") }
