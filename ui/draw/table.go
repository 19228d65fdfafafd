package draw

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// Column is one of a table. The highest priority number is dropped first.
type Column struct {
	Title    string
	Width    int
	Grow     int // share of what is left over, up to limit
	Limit    int
	Priority int // 0 is never dropped
	Right    bool
}

// FitColumns gives each column its width, 0 for dropped ones, with one cell between.
func FitColumns(columns []Column, width int) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = c.Width
	}
	for spare(widths, width) < 0 {
		last := -1
		for i, c := range columns {
			if widths[i] > 0 && c.Priority > 0 && (last < 0 || c.Priority >= columns[last].Priority) {
				last = i
			}
		}
		if last < 0 {
			shrinkWidest(widths, -spare(widths, width))
			return widths
		}
		widths[last] = 0
	}
	growColumns(columns, widths, spare(widths, width))
	return widths
}

// spare is what columns leave of a width.
func spare(widths []int, width int) int {
	left := width + 1
	for _, w := range widths {
		if w > 0 {
			left -= w + 1
		}
	}
	return left
}

func shrinkWidest(widths []int, over int) {
	for ; over > 0; over-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= 1 {
			return
		}
		widths[widest]--
	}
}

func growColumns(columns []Column, widths []int, spare int) {
	for grown := true; spare > 0 && grown; {
		grown = false
		for i, c := range columns {
			for range c.Grow {
				if spare > 0 && widths[i] > 0 && (c.Limit == 0 || widths[i] < c.Limit) {
					widths[i]++
					spare--
					grown = true
				}
			}
		}
	}
}

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

func (c Canvas) Titles(columns []Column, widths []int, sorted Sorting) string {
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

// NonZero is a count, empty for none.
func NonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (c Canvas) Cell(style lipgloss.Style, text string, width int, right bool) string {
	if right {
		return style.Render(c.FitRight(text, width))
	}
	return style.Render(c.Fit(text, width))
}
