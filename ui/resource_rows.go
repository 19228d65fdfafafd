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

func buildGroups(clusters []*clusterState, tab *view.Tab) []clusterGroup {
	var groups []clusterGroup
	for _, c := range knownClusters(clusters) {
		if tab.Exists != nil && !tab.Exists(c.assessment) {
			continue
		}
		for _, group := range tab.Groups(c.assessment) {
			if len(clusters) > 1 {
				group.Heading = strings.TrimSuffix(c.Context+": "+group.Heading, ": ")
			}
			groups = append(groups, clusterGroup{c, group})
		}
	}
	return groups
}

// buildResourceRows returns the rows of a tab of resources other than jobs that match the filter.
func buildResourceRows(groups []clusterGroup, f rowFilter) []tableRow {
	var rows []tableRow
	for n, group := range groups {
		first := true
		for i := range group.Rows {
			other := &group.Rows[i]
			if !f.matchesFields(other.FilterWords...) {
				continue
			}
			if first && group.Heading != "" {
				rows = append(rows, tableRow{heading: group.Heading})
			}
			if first && n > 0 {
				rows = append(rows, tableRow{group: n})
			}
			first = false
			rows = append(rows, tableRow{key: group.cluster.rowKey(other.Key), cluster: group.cluster, item: other, group: n})
		}
		if group.Note != "" && len(group.Rows) == 0 && f.isEmpty() {
			if group.Heading != "" {
				rows = append(rows, tableRow{heading: group.Heading})
			}
			rows = append(rows, tableRow{group: n, note: group.Note})
		}
	}
	return rows
}

// groupColumns returns the columns of a group, after the column of the cursor and the sign.
func groupColumns(groups []clusterGroup, n int) []view.ScreenColumn {
	columns := []view.ScreenColumn{{Width: 2}}
	if n < len(groups) {
		columns = append(columns, groups[n].Columns...)
	}
	return columns
}

func renderHeading(c draw.Canvas, groups []clusterGroup, r tableRow) string {
	switch {
	case r.heading != "":
		return c.RenderHeading(r.heading)
	case r.note != "":
		return c.Theme.Dim.Render(c.Truncate("   "+r.note, c.Width))
	}
	columns := groupColumns(groups, r.group)
	return c.RenderTableHeader(columns, view.FitColumns(columns, c.Width), draw.SortOrder{})
}

func renderResourceRow(
	c draw.Canvas,
	r *view.Row,
	f *clusterFinding,
	columns []view.ScreenColumn,
	selected bool,
) string {
	widths := view.FitColumns(columns, c.Width)
	if r.Malformed != nil {
		name, _ := r.NameAndState(c.Now)
		return renderMalformedRow(c, name, r.Malformed, widths, selected)
	}
	return renderResourceSign(c, r, f, selected, widths[0]) + " " + detail.RenderRow(c, r, columns[1:], widths[1:])
}

func renderCompactResourceRow(c draw.Canvas, r *view.Row, f *clusterFinding, selected bool) string {
	name, state := r.NameAndState(c.Now)
	tail := " " + c.Theme.ToneStyle(state.Tone).Render(state.Text)
	if r.Malformed != nil {
		tail = " " + renderMalformedField(c, r.Malformed.Fields[0], 22)
	}
	return renderResourceSign(c, r, f, selected, 2) + " " + c.FitLeft(name, max(c.Width-3-lipgloss.Width(tail), 4)) + tail
}

// renderResourceSign draws the cursor of the selected row, and the sign of a row that needs attention.
func renderResourceSign(c draw.Canvas, r *view.Row, f *clusterFinding, selected bool, width int) string {
	sign := " "
	switch {
	case f != nil:
		sign, _, _ = f.signAndStyles(c)
	case r.NeedsAttention || r.Malformed != nil:
		sign = c.Theme.Bad.Render(c.Glyphs.Attention)
	}
	return c.FitLeft(renderCursor(c, selected)+sign, width)
}

func renderCursor(c draw.Canvas, selected bool) string {
	if selected {
		return c.Theme.Accent.Render(c.Glyphs.Cursor)
	}
	return " "
}

// renderMalformedRow draws the name and, across all further cells, the malformed field.
func renderMalformedRow(c draw.Canvas, name string, m *watch.MalformedObject, widths []int, selected bool) string {
	cells := make([]string, len(widths))
	cells[0] = c.FitLeft(renderCursor(c, selected)+c.Theme.Bad.Render(c.Glyphs.Attention), widths[0])
	cells[1] = c.RenderCell(c.Theme.Text, name, widths[1], false)
	last := len(widths) - 1
	widths = spanCells(c, cells, widths, 2, last, renderMalformedField(c, m.Fields[0], spanWidth(widths, 2, last)))
	return draw.JoinCells(cells, widths)
}

// renderMalformedField draws a field and its value. A long path keeps its end.
func renderMalformedField(c draw.Canvas, m decode.MalformedField, width int) string {
	value := c.Truncate(m.Value, max(width/2, 1))
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

func malformedSentence(m *watch.MalformedObject) string {
	return m.Ref() + ": " + m.Fields[0].String() + ". " + decode.ServerWarning + "."
}
