package cmd

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
)

type column struct {
	title string
	text  func(row) string
	// order is a number or a text for --sort-by, or nil; without it, that is the text.
	order func(row) any
	// wide columns are only in -o wide.
	wide bool

	// rank orders the columns that a narrow terminal drops, highest first; 0 stays.
	rank int
	// least is how many cells suffice on a narrow terminal; 0 for a text that is never cut.
	least int
	// middle is true for names, which are cut in the middle.
	middle bool
	// usual is the width of a long text, for which a table that grows keeps room.
	usual int
}

// chooseColumns leaves out wide columns, or has none dropped if they are wanted. The kept
// one is never dropped.
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
	// columnGap is how many spaces stand between two columns, as in kubectl's tables.
	columnGap = 3
	// narrowGap is how many there are where the terminal is narrower than the table.
	narrowGap = 2
	// readableCell is how short a text may become before a column is dropped instead.
	readableCell = 30
)

// table aligns rows. On a narrow terminal it drops columns and shortens texts; later rows keep
// to the columns of the first ones.
type table struct {
	w io.Writer
	// width is the terminal's, or 0: then columns grow with their text.
	width     int
	glyphs    *draw.Glyphs
	noHeaders bool
	// grows is true if more rows may come: a column that is empty now may not stay so.
	grows bool

	// shown are the indices of the columns that are printed, nil before the first rows.
	shown  []int
	widths []int // of all columns
	gap    int
}

// print writes rows, with the titles before the first.
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
		titles := make([]string, len(columns))
		for i, c := range columns {
			titles[i] = c.title
		}
		rows = slices.Insert(rows, 0, titles)
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

// layOut chooses the columns and their widths by the first rows.
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

// fit drops and shortens columns, none below its floor. It reports whether that is enough; else
// it changes nothing.
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

// isEmpty reports whether a column has no text but its title.
func (t *table) isEmpty(rows [][]string, column int) bool {
	if !t.noHeaders {
		rows = rows[1:]
	}
	return !slices.ContainsFunc(rows, func(cells []string) bool { return cells[column] != "-" })
}
