package ui

// row is one line of a table: a thing with an identity, or a heading.
type row struct {
	// key is the identity by which a row stays selected; empty for headings,
	// which cannot be selected.
	key     string
	heading string
	item    any
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
