package draw

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/view"
)

// JoinCells joins fitted cells, without the dropped columns.
func JoinCells(cells []string, widths []int) string {
	var kept []string
	for i, cell := range cells {
		if widths[i] > 0 {
			kept = append(kept, cell)
		}
	}
	return strings.Join(kept, " ")
}

// Span is a part of a line: the cells from From up to, but not including, To.
type Span struct{ From, To int }

// SpanAt returns the index of the span that contains a cell, -1 if none does.
func SpanAt(spans []Span, x int) int {
	return slices.IndexFunc(spans, func(s Span) bool { return x >= s.From && x < s.To })
}

// JoinLabels joins drawn labels to a line, and returns the span of each.
func JoinLabels(labels []string) (line string, at []Span) {
	for _, label := range labels {
		line += " "
		from := lipgloss.Width(line)
		line += label
		at = append(at, Span{from, lipgloss.Width(line)})
	}
	return line, at
}

// SortOrder is the column that a table is sorted by; without a title, the table is not sorted.
type SortOrder struct {
	Column    string
	Ascending bool
}

func (c Canvas) RenderTableHeader(columns []view.ScreenColumn, widths []int, sorted SortOrder) string {
	cells := make([]string, len(columns))
	for i, col := range columns {
		title := col.Title
		switch {
		case title == "" || title != sorted.Column:
		case sorted.Ascending:
			title += c.Glyphs.Ascending
		default:
			title += c.Glyphs.Descending
		}
		cells[i] = c.RenderCell(c.Theme.Dim, title, widths[i], col.Right)
	}
	return JoinCells(cells, widths)
}

// RenderCells draws the cells of a table's row. A cell without a text is blank.
func (c Canvas) RenderCells(columns []view.ScreenColumn, widths []int, texts []view.Text) string {
	cells := make([]string, len(columns))
	for i, col := range columns {
		var text view.Text
		if i < len(texts) {
			text = texts[i]
		}
		if len(text.Phases) > 0 {
			signs := c.RenderPhaseSigns(text.Phases[max(len(text.Phases)-widths[i], 0):])
			cells[i] = c.FitLeft(signs, widths[i])
			continue
		}
		shown := text.FitWidth(widths[i])
		if col.CutMiddle {
			shown = c.TruncateMiddle(shown, widths[i])
		}
		cells[i] = c.RenderCell(c.Theme.ToneStyle(text.Tone), shown, widths[i], col.Right)
	}
	return JoinCells(cells, widths)
}

func (c Canvas) RenderCell(style lipgloss.Style, text string, width int, right bool) string {
	if right {
		return style.Render(c.FitRight(text, width))
	}
	return style.Render(c.FitLeft(text, width))
}
