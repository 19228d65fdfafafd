package detail

import (
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// narrow is below what a label has no column of its own.
const narrow = 50

// FieldLines draws a field with its label in width cells, or before the text where there is little room.
func FieldLines(c draw.Canvas, f view.Field, width, most int) []string {
	style := c.Theme.Tone(f.Tone)
	if c.Width < narrow && f.Text.Text != "" {
		return c.Para(style, f.Label+": "+f.Text.Text, most)
	}
	return c.Labelled(f.Label, width, style, f.Text.Text, most)
}
