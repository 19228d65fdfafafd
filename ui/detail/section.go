package detail

import (
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// RenderSection draws a part of a page without its title, bars and table. No text has more than most lines.
func RenderSection(c draw.Canvas, s view.PageSection, most int) []string {
	return append(renderLists(c, s, labelWidth(s), most), renderTexts(c, s, most)...)
}

// renderLists draws the steps, facts, items and fields of a section.
func renderLists(c draw.Canvas, s view.PageSection, labels, most int) []string {
	var lines []string
	for _, step := range s.Steps {
		lines = append(lines, c.RenderParagraph(c.Theme.Accent, step.Text, most)...)
		for _, command := range step.Commands() {
			lines = append(lines, c.WrapCommand(command)...)
		}
	}
	for _, f := range s.Facts {
		lines = append(lines, c.RenderFact(f)...)
	}
	lines = append(lines, renderItems(c, s.Items, most)...)
	for _, f := range s.Fields {
		lines = append(lines, RenderField(c, f, labels, most)...)
	}
	return lines
}

// renderItems draws items with a sign of their tone.
func renderItems(c draw.Canvas, items []view.Text, most int) []string {
	var lines []string
	for _, item := range items {
		sign := c.Glyphs.Fact
		if item.Tone == view.Bad {
			sign = c.Glyphs.Failed
		}
		lead := " " + c.Theme.ToneStyle(item.Tone).Render(sign) + " "
		lines = append(lines, c.RenderBullet(lead, item.Text, most)...)
	}
	return lines
}

// renderTexts draws the free text of a section, and its further lists.
func renderTexts(c draw.Canvas, s view.PageSection, most int) []string {
	var lines []string
	for _, text := range s.Lines {
		lines = append(lines, c.RenderParagraph(c.Theme.ToneStyle(text.Tone), text.Text, most)...)
	}
	for _, list := range s.Lists {
		lines = append(lines, c.Theme.Strong.Render(list.Title))
		lines = append(lines, renderItems(c, list.Items, most)...)
	}
	return lines
}

// labelWidth returns the width of the labels, the same in all sections.
func labelWidth(sections ...view.PageSection) int {
	width := 0
	for _, s := range sections {
		for _, f := range s.Fields {
			if f.Text.Text != "" {
				width = max(width, lipgloss.Width(f.Label)+2)
			}
		}
	}
	return min(width, maxLabelWidth)
}
