package ui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/watch"
)

// column is one column of a table. Columns are dropped from the highest
// priority number down when the table is too narrow; what is left over goes to
// the columns that grow.
type column struct {
	title    string
	width    int
	grow     int // share of what is left over, up to limit
	limit    int
	priority int // 0 is never dropped
	right    bool
}

// fitColumns gives each column its width, 0 for those that are dropped, with
// one cell between columns.
func fitColumns(columns []column, width int) []int {
	widths := make([]int, len(columns))
	kept := make([]bool, len(columns))
	used, shown := 0, 0
	for i, c := range columns {
		widths[i], kept[i] = c.width, true
		used += c.width
		shown++
	}
	for used+shown-1 > width {
		last := -1
		for i, c := range columns {
			if kept[i] && c.priority > 0 && (last < 0 || c.priority >= columns[last].priority) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		used -= widths[last]
		widths[last], kept[last] = 0, false
		shown--
	}
	if over := used + shown - 1 - width; over > 0 {
		shrinkWidest(widths, over)
		return widths
	}
	growColumns(columns, widths, width-used-shown+1)
	return widths
}

// shrinkWidest takes cells from the widest columns when even those that are
// never dropped do not fit.
func shrinkWidest(widths []int, over int) {
	for ; over > 0; over-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= 1 {
			return
		}
		widths[widest]--
	}
}

func growColumns(columns []column, widths []int, spare int) {
	for grown := true; spare > 0 && grown; {
		grown = false
		for i, c := range columns {
			for range c.grow {
				if spare > 0 && widths[i] > 0 && (c.limit == 0 || widths[i] < c.limit) {
					widths[i]++
					spare--
					grown = true
				}
			}
		}
	}
}

// row is one line of a table: a thing with an identity, or a heading.
type row struct {
	// key is the identity by which a row stays selected; empty for headings,
	// which cannot be selected.
	key     string
	heading string
	item    any
	// malformed is what is malformed of the thing, nil if nothing is.
	malformed *watch.Malformed
}

// table keeps a selection by key over rows that come and go, and a window of
// the rows that are visible. It does not know how rows are drawn.
type table struct {
	rows   []row
	cursor int // index of the selected row, -1 if there is none
	top    int // index of the first visible row
	height int
}

// selected is the row under the cursor.
func (t *table) selected() (row, bool) {
	if t.cursor < 0 || t.cursor >= len(t.rows) {
		return row{}, false
	}
	return t.rows[t.cursor], true
}

// setRows replaces the rows. The selected row stays selected, and where
// the table is scrolled at the same line of the screen, wherever it went; if it is gone, its neighbour is.
func (t *table) setRows(rows []row) {
	before, had := t.selected()
	line := t.cursor - t.top
	t.rows = rows
	found := -1
	if had {
		for i := range rows {
			if rows[i].key == before.key && rows[i].key != "" {
				found = i
				break
			}
		}
	}
	switch {
	case found >= 0:
		t.cursor = found
		if t.top > 0 { // at the top, what is new shall be seen
			t.top = found - line
		}
	default:
		t.cursor = t.nearest(max(t.cursor, 0))
	}
	t.scroll()
}

// nearest is the selectable row at i, or the next one after, or before it.
func (t *table) nearest(i int) int {
	i = min(i, len(t.rows)-1)
	for j := max(i, 0); j < len(t.rows); j++ {
		if t.rows[j].key != "" {
			return j
		}
	}
	for j := i; j >= 0; j-- {
		if t.rows[j].key != "" {
			return j
		}
	}
	return -1
}

// move goes n selectable rows down, or up if n is negative, and stops at the
// ends.
func (t *table) move(n int) {
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	for i := t.cursor + step; n > 0 && i >= 0 && i < len(t.rows); i += step {
		if t.rows[i].key != "" {
			t.cursor = i
			n--
		}
	}
	t.scroll()
}

func (t *table) home() { t.cursor = t.nearest(0); t.scroll() }
func (t *table) end()  { t.cursor = t.nearest(len(t.rows) - 1); t.scroll() }

func (t *table) setHeight(height int) {
	t.height = max(height, 0)
	t.scroll()
}

// scroll moves the window as little as needed to show the cursor, and shows
// the heading above the first row.
func (t *table) scroll() {
	if t.cursor >= 0 {
		t.top = min(t.top, t.cursor)
		if t.height > 0 {
			t.top = max(t.top, t.cursor-t.height+1)
		}
		for t.top > 0 && t.rows[t.top-1].key == "" && t.cursor-t.top+1 < t.height {
			t.top--
		}
	}
	t.top = max(min(t.top, len(t.rows)-t.height), 0)
}

// visible is the range of rows to draw.
func (t *table) visible() (from, to int) {
	return t.top, min(t.top+t.height, len(t.rows))
}

// joinCells puts cells that are already fitted next to each other, leaving out
// dropped columns.
func joinCells(cells []string, widths []int) string {
	var kept []string
	for i, cell := range cells {
		if widths[i] > 0 {
			kept = append(kept, cell)
		}
	}
	return strings.Join(kept, " ")
}

// titles is the header line of a table.
func (c canvas) titles(columns []column, widths []int, sorted string) string {
	cells := make([]string, len(columns))
	for i, col := range columns {
		title := col.title
		if sorted != "" && title == sorted {
			title += c.glyphs.arrow
		}
		cells[i] = c.cell(c.theme.dim, title, widths[i], col.right)
	}
	return joinCells(cells, widths)
}

// cell is one fitted and styled cell.
func (c canvas) cell(style lipgloss.Style, text string, width int, right bool) string {
	if right {
		return style.Render(c.fitRight(text, width))
	}
	return style.Render(c.fit(text, width))
}
