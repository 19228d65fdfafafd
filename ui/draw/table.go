package draw

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/view"
)

// JoinCells joins fitted cells without dropped columns.
func JoinCells(cells []string, widths []int) string {
	var kept []string
	for i, cell := range cells {
		if widths[i] > 0 {
			kept = append(kept, cell)
		}
	}
	return strings.Join(kept, " ")
}

// Span is a part of a line: the cells from From on, up to To, which is not in it.
type Span struct{ From, To int }

// SpanAt is the one of some spans that a cell is in, -1 if it is in none.
func SpanAt(spans []Span, x int) int {
	return slices.IndexFunc(spans, func(s Span) bool { return x >= s.From && x < s.To })
}

// Labels joins drawn labels to a line, and says where each is.
func Labels(labels []string) (line string, at []Span) {
	for _, label := range labels {
		line += " "
		from := lipgloss.Width(line)
		line += label
		at = append(at, Span{from, lipgloss.Width(line)})
	}
	return line, at
}

// Sorting says by which column a table is sorted, by none if it has no title.
type Sorting struct {
	Column    string
	Ascending bool
}

func (c Canvas) Titles(columns []view.ScreenColumn, widths []int, sorted Sorting) string {
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
		cells[i] = c.Cell(c.Theme.Dim, title, widths[i], col.Right)
	}
	return JoinCells(cells, widths)
}

func (c Canvas) Cell(style lipgloss.Style, text string, width int, right bool) string {
	if right {
		return style.Render(c.FitRight(text, width))
	}
	return style.Render(c.Fit(text, width))
}
