package cmd

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/ui/draw"
)

// column is a column of what `get` prints, with what it says of a row.
type column struct {
	view.Column
	cell func(row) view.Cell
}

// chooseColumns leaves out wide columns unless they are wanted; then none is dropped, nor ever the kept one.
func chooseColumns(all []view.Column, wide bool, kept string) []view.Column {
	columns := slices.DeleteFunc(slices.Clone(all), func(c view.Column) bool { return c.Wide && !wide })
	for i, c := range columns {
		if wide || c.Name == kept {
			columns[i].Rank = 0
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

func (t *table) print(columns []view.Column, rows [][]string) error {
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
		rows = slices.Insert(rows, 0, mapSlice(columns, view.Column.Title))
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
			case columns[i].Middle:
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

func (t *table) layOut(columns []view.Column, rows [][]string) {
	t.gap, t.widths = columnGap, make([]int, len(columns))
	for i, c := range columns {
		t.shown = append(t.shown, i)
		if t.grows {
			t.widths[i] = max(c.Usual, len(c.Name))
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
	if t.fit(columns, rows, func(view.Column) int { return readableCell }) {
		return
	}
	t.shown = slices.DeleteFunc(t.shown, func(i int) bool { return columns[i].Rank > 0 })
	t.fit(columns, rows, func(c view.Column) int { return c.Least }) // else the terminal wraps the lines
}

// fit drops and shortens columns, none below its floor. If that is not enough, it changes nothing.
func (t *table) fit(columns []view.Column, rows [][]string, floor func(view.Column) int) bool {
	const gap = narrowGap - 1 // FitColumns has a gap of one
	fitted := make([]view.ScreenColumn, len(columns))
	for _, i := range t.shown {
		c, width := columns[i], t.widths[i]
		fitted[i] = view.ScreenColumn{Width: width + gap, Grow: 1, Limit: width + gap, Priority: c.Rank}
		if c.Least > 0 {
			fitted[i].Width = min(width, floor(c)) + gap
		}
		if c.Rank > 0 && !t.grows && t.isEmpty(rows, i) {
			fitted[i].Priority += len(columns) // it says nothing
		}
	}
	widths := view.FitColumns(fitted, t.width+gap)
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

type tablePrinter struct {
	table
	wide   bool
	sorted string         // the column of --sort-by, which is not dropped
	things *resource.Kind // nil for jobs
}

func (p *tablePrinter) columns(several bool) []column {
	all := sortColumns(p.things)
	if !several {
		all = all[1:]
	}
	columns := slices.DeleteFunc(all, func(c column) bool { return c.Wide && !p.wide })
	for i, layout := range chooseColumns(layouts(columns), p.wide, p.sorted) {
		columns[i].Column = layout
	}
	return columns
}

func layouts(columns []column) []view.Column {
	return mapSlice(columns, func(c column) view.Column { return c.Column })
}

func (p *tablePrinter) list(rows []row, _ []document.Malformed, several bool) error {
	columns := p.columns(several)
	return p.print(layouts(columns), mapSlice(rows, func(r row) []string {
		return mapSlice(columns, func(c column) string { return c.cell(r).Printed })
	}))
}

func dash(s string) string { return cmp.Or(s, "-") }
