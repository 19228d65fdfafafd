package ui

import (
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/velero/decode"
	"github.com/veltui/veltui/watch"
)

// malformedRow draws a resource by its name and the field: the first two of
// widths are those of the cursor and the name, the rest is one text.
func malformedRow(c draw.Canvas, name string, m *watch.Malformed, widths []int, selected bool) string {
	cells := make([]string, len(widths))
	cells[0] = c.Fit(pointer(c, selected)+c.Theme.Bad.Render(c.Glyphs.Attention), widths[0])
	cells[1] = c.Cell(c.Theme.Text, name, widths[1], false)
	last := len(widths) - 1
	return spanned(c, cells, widths, 2, last, malformedText(c, m.Fields[0], spanWidth(widths, 2, last)))
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

// aboutMalformed is the line about a selected row that is malformed.
func aboutMalformed(m *watch.Malformed) string {
	return m.Ref() + ": " + m.Fields[0].String() + ". " + decode.ServerWarning + "."
}
