package detail

import (
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// narrowWidth is the width below which labels have no column of their own.
const narrowWidth = 50

// RenderField draws a field with its label in width cells, or with the label before the text on a narrow canvas.
func RenderField(c draw.Canvas, f view.PageField, width, most int) []string {
	style := c.Theme.ToneStyle(f.Tone)
	if c.Width < narrowWidth && f.Text.Text != "" {
		return c.RenderParagraph(style, f.Label+": "+f.Text.Text, most)
	}
	return c.RenderLabelled(f.Label, width, style, f.Text.Text, most)
}
