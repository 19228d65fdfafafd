package detail

import (
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/pager"
)

// maxTextLines limits the lines of one text: messages of plugins can be very long.
const maxTextLines = 60

// maxLabelWidth is the largest width of the column of labels, in cells.
const maxLabelWidth = 25

// renderPage returns the lines of a page for a pager.
func renderPage(c draw.Canvas, p view.Page) []pager.Line {
	var lines []pager.Line
	add := func(texts ...string) {
		for _, text := range texts {
			lines = append(lines, pager.Line{Text: text})
		}
	}
	body := c.WithSize(max(c.Width-2, 1), 0)
	for _, note := range p.Notes {
		sign := c.Glyphs.Fact
		if note.Tone == view.Bad {
			sign = c.Glyphs.Attention
		}
		style := c.Theme.ToneStyle(note.Tone)
		for i, line := range body.WithSize(body.Width-2, 0).RenderParagraph(style, note.Text, maxTextLines) {
			if i > 0 {
				sign = " "
			}
			add(" " + style.Render(sign) + " " + line)
		}
	}
	labels, indented := labelWidth(p.Sections...), body.WithSize(body.Width-1, 0)
	for _, s := range p.Sections {
		if s.IsEmpty() {
			continue
		}
		if len(lines) > 0 {
			add("")
		}
		add(" " + c.Theme.Strong.Render(human.Capitalize(s.Title)))
		add(draw.IndentLines(renderLists(indented, s, labels, maxTextLines), 3)...)
		if len(s.Bars) > 0 {
			add(renderBars(c, s)...)
		}
		if len(s.Rows) > 0 {
			widths := view.FitColumns(s.Columns, max(c.Width-4, 1))
			add("   " + c.RenderTableHeader(s.Columns, widths, draw.SortOrder{}))
			for _, row := range s.Rows {
				lines = append(
					lines,
					pager.Line{Text: "   " + c.RenderCells(s.Columns, widths, row.Cells), Key: string(row.JobUID)},
				)
			}
		}
		add(draw.IndentLines(renderTexts(indented, s, maxTextLines), 3)...)
	}
	return lines
}

// renderBars draws a section's bars, with the signs of their phases and the caption below.
func renderBars(c draw.Canvas, s view.PageSection) []string {
	bars := s.Bars[max(len(s.Bars)-(c.Width-6), 0):]
	values, phases := make([]float64, len(bars)), make([]string, len(bars))
	for i, bar := range bars {
		values[i], phases[i] = bar.Value, bar.Phase
	}
	lines := []string{"   " + c.Theme.Running.Render(c.RenderSparkline(values)), "   " + c.RenderPhaseSigns(phases)}
	for _, line := range c.WithSize(max(c.Width-4, 1), 0).RenderParagraph(c.Theme.Dim, s.BarsCaption, 3) {
		lines = append(lines, "   "+line)
	}
	return lines
}

// RenderRow draws a row in columns of the given widths.
func RenderRow(c draw.Canvas, r *view.Row, columns []view.ScreenColumn, widths []int) string {
	return c.RenderCells(columns, widths, r.Cells(c.Now))
}
