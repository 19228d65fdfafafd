package ui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

type clusterGroup struct {
	cluster *clusterState
	view.Group
}

func groupsOf(clusters []*clusterState, tab *view.Tab) []clusterGroup {
	var groups []clusterGroup
	for _, c := range known(clusters) {
		if tab.There != nil && !tab.There(c.assessed) {
			continue
		}
		for _, group := range tab.Groups(c.assessed) {
			if len(clusters) > 1 {
				group.Heading = strings.TrimSuffix(c.Context+": "+group.Heading, ": ")
			}
			groups = append(groups, clusterGroup{c, group})
		}
	}
	return groups
}

// otherRows are the rows of a tab of what is no job, that the filter lets through.
func otherRows(groups []clusterGroup, f filter) []row {
	var rows []row
	for n, group := range groups {
		first := true
		for i := range group.Rows {
			other := &group.Rows[i]
			if !f.matches(other.Words...) {
				continue
			}
			if first && group.Heading != "" {
				rows = append(rows, row{heading: group.Heading})
			}
			if first && n > 0 {
				rows = append(rows, row{group: n})
			}
			first = false
			rows = append(rows, row{key: group.cluster.key(other.Key), cluster: group.cluster, item: other, group: n})
		}
		if group.Note != "" && len(group.Rows) == 0 && f.empty() {
			if group.Heading != "" {
				rows = append(rows, row{heading: group.Heading})
			}
			rows = append(rows, row{group: n, note: group.Note})
		}
	}
	return rows
}

// columnsOf are the columns of a group with that of the cursor and the sign.
func columnsOf(groups []clusterGroup, n int) []view.ScreenColumn {
	columns := []view.ScreenColumn{{Width: 2}}
	if n < len(groups) {
		columns = append(columns, groups[n].Columns...)
	}
	return columns
}

func headingLine(c draw.Canvas, groups []clusterGroup, r row) string {
	switch {
	case r.heading != "":
		return c.Heading(r.heading)
	case r.note != "":
		return c.Theme.Dim.Render(c.Cut("   "+r.note, c.Width))
	}
	columns := columnsOf(groups, r.group)
	return c.Titles(columns, view.FitColumns(columns, c.Width), draw.Sorting{})
}

func otherRow(c draw.Canvas, r *view.Row, f *clusterFinding, columns []view.ScreenColumn, selected bool) string {
	widths := view.FitColumns(columns, c.Width)
	if r.Malformed != nil {
		name, _ := r.Short(c.Now)
		return malformedRow(c, name, r.Malformed, widths, selected)
	}
	return signed(c, r, f, selected, widths[0]) + " " + detail.DrawRow(c, r, columns[1:], widths[1:])
}

func shortRow(c draw.Canvas, r *view.Row, f *clusterFinding, selected bool) string {
	name, state := r.Short(c.Now)
	tail := " " + c.Theme.Tone(state.Tone).Render(state.Text)
	if r.Malformed != nil {
		tail = " " + malformedText(c, r.Malformed.Fields[0], 22)
	}
	return signed(c, r, f, selected, 2) + " " + c.Fit(name, max(c.Width-3-lipgloss.Width(tail), 4)) + tail
}

// signed is the sign of the selected row, and of one that wants attention.
func signed(c draw.Canvas, r *view.Row, f *clusterFinding, selected bool, width int) string {
	sign := " "
	switch {
	case f != nil:
		sign, _, _ = f.look(c)
	case r.Alarm || r.Malformed != nil:
		sign = c.Theme.Bad.Render(c.Glyphs.Attention)
	}
	return c.Fit(pointer(c, selected)+sign, width)
}

func pointer(c draw.Canvas, selected bool) string {
	if selected {
		return c.Theme.Accent.Render(c.Glyphs.Cursor)
	}
	return " "
}

// malformedRow draws the name, and one text about the field behind the first two cells.
func malformedRow(c draw.Canvas, name string, m *watch.Malformed, widths []int, selected bool) string {
	cells := make([]string, len(widths))
	cells[0] = c.Fit(pointer(c, selected)+c.Theme.Bad.Render(c.Glyphs.Attention), widths[0])
	cells[1] = c.Cell(c.Theme.Text, name, widths[1], false)
	last := len(widths) - 1
	widths = spanned(c, cells, widths, 2, last, malformedText(c, m.Fields[0], spanWidth(widths, 2, last)))
	return draw.JoinCells(cells, widths)
}

// malformedText names a field and its value. Of a long path the end is kept.
func malformedText(c draw.Canvas, m decode.Malformed, width int) string {
	value := c.Cut(m.Value, max(width/2, 1))
	field := []rune(m.Field)
	room := width - lipgloss.Width(value) - 1
	if len(field) > room {
		field = append([]rune(c.Glyphs.Ellipsis), field[min(max(len(field)-room+1, 0), len(field)):]...)
	}
	text := string(field) + " " + value
	if title := "malformed: "; lipgloss.Width(title+text) <= width {
		text = title + text
	}
	return c.Theme.Bad.Render(text)
}

func aboutMalformed(m *watch.Malformed) string {
	return m.Ref() + ": " + m.Fields[0].String() + ". " + decode.ServerWarning + "."
}
