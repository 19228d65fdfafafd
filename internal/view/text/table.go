package text

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/view"
)

// ChooseColumns leaves out wide columns unless wide is set. If it is set, no column may be dropped; the kept column
// may never be dropped.
func ChooseColumns(all []view.Column, wide bool, kept string) []view.Column {
	columns := slices.DeleteFunc(slices.Clone(all), func(c view.Column) bool { return c.Wide && !wide })
	for i, c := range columns {
		if wide || c.Name == kept {
			columns[i].Priority = 0
		}
	}
	return columns
}

const (
	columnGap        = 3  // between two columns, as in kubectl's tables
	narrowGap        = 2  // on a terminal narrower than the table
	minReadableWidth = 30 // a column is dropped if its texts would be shorter
)

// Table aligns rows. On a narrow terminal it drops columns and shortens texts, depending on the first rows.
type Table struct {
	Writer    io.Writer
	Width     int    // of the terminal, or 0: then columns grow with their text
	Ellipsis  string // marks where a text is cut
	NoHeaders bool
	Grows     bool // more rows may come, so that an empty column may get texts

	shownColumns []int // indices of the printed columns, nil before the first rows
	widths       []int // of all columns
	gap          int
}

// PrintCells prints the columns that commands print; see [ChooseColumns] for wide and kept.
func (t *Table) PrintCells(columns []view.Column, rows [][]view.Cell, wide bool, kept string) error {
	printed, lines := selectPrintedColumns(columns, rows, wide)
	return t.Print(ChooseColumns(printed, wide, kept), lines)
}

// selectPrintedColumns returns the columns that commands print, wide columns only if wide is set, with the printed
// texts of each row.
func selectPrintedColumns(
	columns []view.Column,
	rows [][]view.Cell,
	wide bool,
) (printed []view.Column, lines [][]string) {
	lines = make([][]string, len(rows))
	for i, c := range columns {
		if c.ScreenOnly || c.Wide && !wide {
			continue
		}
		printed = append(printed, c)
		for n, cells := range rows {
			lines[n] = append(lines[n], cells[i].PrintedText)
		}
	}
	return printed, lines
}

// Print prints rows, the first time with the titles. It replaces empty cells with a dash, in place.
func (t *Table) Print(columns []view.Column, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	for _, cells := range rows {
		for i := range cells {
			cells[i] = cmp.Or(cells[i], "-")
		}
	}
	first := t.shownColumns == nil
	if first && !t.NoHeaders {
		rows = slices.Insert(rows, 0, columnTitles(columns))
	}
	if first {
		t.layOutColumns(columns, rows)
	} else if t.Width <= 0 {
		t.widenColumns(rows)
	}
	var text strings.Builder
	for _, cells := range rows {
		padding := 0
		for _, i := range t.shownColumns {
			cell := cells[i]
			switch {
			case t.Width <= 0: // it fits
			case columns[i].CutMiddle:
				cell = TruncateMiddle(cell, t.widths[i], t.Ellipsis)
			default:
				cell = Truncate(cell, t.widths[i], t.Ellipsis)
			}
			spare := t.widths[i] - displayWidth(cell)
			if columns[i].Right {
				padding, spare = padding+spare, 0
			}
			for range padding {
				text.WriteByte(' ')
			}
			text.WriteString(cell)
			padding = spare + t.gap
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(t.Writer, text.String())
	return err
}

// displayWidth returns [ansi.StringWidth], faster for printable ASCII, which nearly all cells of a long table are.
func displayWidth(cell string) int {
	for i := range len(cell) {
		if cell[i] < 0x20 || cell[i] >= 0x7f {
			return ansi.StringWidth(cell)
		}
	}
	return len(cell)
}

func columnTitles(columns []view.Column) []string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.Title()
	}
	return cells
}

func (t *Table) widenColumns(rows [][]string) {
	for _, cells := range rows {
		for i, cell := range cells {
			t.widths[i] = max(t.widths[i], displayWidth(cell))
		}
	}
}

func (t *Table) layOutColumns(columns []view.Column, rows [][]string) {
	t.gap, t.widths = columnGap, make([]int, len(columns))
	for i, c := range columns {
		t.shownColumns = append(t.shownColumns, i)
		if t.Grows {
			t.widths[i] = max(c.TypicalWidth, len(c.Name))
		}
	}
	t.widenColumns(rows)
	whole := columnGap * (len(columns) - 1)
	for _, width := range t.widths {
		whole += width
	}
	if t.Width <= 0 || whole <= t.Width {
		return
	}
	t.gap = narrowGap
	if t.fitColumns(columns, rows, func(view.Column) int { return minReadableWidth }) {
		return
	}
	t.shownColumns = slices.DeleteFunc(t.shownColumns, func(i int) bool { return columns[i].Priority > 0 })
	t.fitColumns(
		columns,
		rows,
		func(c view.Column) int { return c.MinWidth },
	) // if it does not fit, the terminal wraps the lines
}

// fitColumns drops and shortens columns, but none below its floor. If that is not enough, it changes nothing.
func (t *Table) fitColumns(columns []view.Column, rows [][]string, floor func(view.Column) int) bool {
	const gap = narrowGap - 1 // FitColumns has a gap of one
	fitted := make([]view.ScreenColumn, len(columns))
	for _, i := range t.shownColumns {
		c, width := columns[i], t.widths[i]
		fitted[i] = view.ScreenColumn{Width: width + gap, Grow: 1, Limit: width + gap, Priority: c.Priority}
		if c.MinWidth > 0 {
			fitted[i].Width = min(width, floor(c)) + gap
		}
		if c.Priority > 0 && !t.Grows && t.isColumnEmpty(rows, i) {
			fitted[i].Priority += len(columns) // an empty column is dropped first
		}
	}
	widths := view.FitColumns(fitted, t.Width+gap)
	tooNarrow := func(i int) bool { return widths[i] > 0 && widths[i] < fitted[i].Width }
	if slices.ContainsFunc(t.shownColumns, tooNarrow) {
		return false
	}
	t.shownColumns = slices.DeleteFunc(t.shownColumns, func(i int) bool { return widths[i] == 0 })
	for _, i := range t.shownColumns {
		t.widths[i] = widths[i] - gap
	}
	return true
}

func (t *Table) isColumnEmpty(rows [][]string, column int) bool {
	if !t.NoHeaders {
		rows = rows[1:]
	}
	return !slices.ContainsFunc(rows, func(cells []string) bool { return cells[column] != "-" })
}
