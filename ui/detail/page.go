package detail

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/pager"
)

// mostLines bounds the lines of one text: messages of plugins can be very long.
const mostLines = 60

// widestLabel is the widest column of labels, in cells.
const widestLabel = 25

// pageLines are a page as a pager shows it.
func pageLines(c draw.Canvas, p view.Page) []pager.Line {
	var lines []pager.Line
	add := func(texts ...string) {
		for _, text := range texts {
			lines = append(lines, pager.Line{Text: text})
		}
	}
	body := c.Sized(max(c.Width-2, 1), 0)
	for _, note := range p.Notes {
		sign := c.Glyphs.Fact
		if note.Tone == view.Bad {
			sign = c.Glyphs.Attention
		}
		style := c.Theme.Tone(note.Tone)
		for i, line := range body.Sized(body.Width-2, 0).Para(style, note.Text, mostLines) {
			if i > 0 {
				sign = " "
			}
			add(" " + style.Render(sign) + " " + line)
		}
	}
	width := labelWidth(p)
	for _, s := range p.Sections {
		if isEmpty(s) {
			continue
		}
		if len(lines) > 0 {
			add("")
		}
		add(" " + c.Theme.Strong.Render(s.Title))
		for _, f := range s.Fields {
			for _, line := range FieldLines(body.Sized(body.Width-1, 0), f, width, mostLines) {
				add("   " + line)
			}
		}
		if len(s.Bars) > 0 {
			add(picture(c, s)...)
		}
		if len(s.Rows) > 0 {
			widths := view.FitColumns(s.Columns, max(c.Width-4, 1))
			add("   " + c.Titles(s.Columns, widths, draw.Sorting{}))
			for _, row := range s.Rows {
				lines = append(
					lines,
					pager.Line{Text: "   " + cellsOf(c, s.Columns, widths, row.Cells), Key: string(row.Job)},
				)
			}
		}
		for _, text := range s.Lines {
			for _, line := range body.Sized(body.Width-1, 0).Para(c.Theme.Tone(text.Tone), text.Text, mostLines) {
				add("   " + line)
			}
		}
	}
	return lines
}

func isEmpty(s view.Section) bool {
	said := slices.ContainsFunc(s.Fields, func(f view.Field) bool { return f.Text.Text != "" })
	return !said && len(s.Bars) == 0 && len(s.Rows) == 0 && len(s.Lines) == 0
}

// labelWidth is the width of the labels, the same in all sections.
func labelWidth(p view.Page) int {
	width := 0
	for _, s := range p.Sections {
		for _, f := range s.Fields {
			if f.Text.Text != "" {
				width = max(width, lipgloss.Width(f.Label)+2)
			}
		}
	}
	return min(width, widestLabel)
}

// picture draws the bars with the sign of their phases below, and what it shows.
func picture(c draw.Canvas, s view.Section) []string {
	bars := s.Bars[max(len(s.Bars)-(c.Width-6), 0):]
	values, phases := make([]float64, len(bars)), make([]string, len(bars))
	for i, bar := range bars {
		values[i], phases[i] = bar.Value, bar.Phase
	}
	lines := []string{"   " + c.Theme.Running.Render(c.Heights(values)), "   " + signs(c, phases)}
	for _, line := range c.Sized(max(c.Width-4, 1), 0).Para(c.Theme.Dim, s.BarsSay, 3) {
		lines = append(lines, "   "+line)
	}
	return lines
}

// signs are the signs of how jobs ended.
func signs(c draw.Canvas, phases []string) string {
	var all strings.Builder
	for _, phase := range phases {
		sign, style := c.Ending(phase)
		all.WriteString(style.Render(sign))
	}
	return all.String()
}

// cellsOf joins the texts of a table's row. What has no text is empty.
func cellsOf(c draw.Canvas, columns []view.ScreenColumn, widths []int, texts []view.Text) string {
	cells := make([]string, len(columns))
	for i, col := range columns {
		var text view.Text
		if i < len(texts) {
			text = texts[i]
		}
		if len(text.Phases) > 0 {
			cells[i] = c.Fit(signs(c, text.Phases[max(len(text.Phases)-widths[i], 0):]), widths[i])
			continue
		}
		cells[i] = c.Cell(c.Theme.Tone(text.Tone), text.Text, widths[i], col.Right)
	}
	return draw.JoinCells(cells, widths)
}

// DrawRow is the row in columns of the given widths.
func DrawRow(c draw.Canvas, r *view.Row, columns []view.ScreenColumn, widths []int) string {
	return cellsOf(c, columns, widths, r.Cells(c.Now))
}
