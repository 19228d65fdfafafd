package ui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
)

// helpText lists the keys of the screen that help was asked from.
func helpText(c draw.Canvas, bindings []binding, where place) []string {
	lines := []string{""}
	for _, group := range groups {
		if !slices.ContainsFunc(bindings, func(b binding) bool { return b.group == group && b.places&where != 0 }) {
			continue
		}
		lines = append(lines, "  "+c.Theme.Strong.Render(group))
		for _, b := range bindings {
			if b.group != group || b.places&where == 0 {
				continue
			}
			lines = append(lines, "    "+c.Cell(c.Theme.Accent, b.key.Help().Key, 14, false)+b.key.Help().Desc)
			if b.why != "" {
				for _, line := range c.Sized(c.Width-18, 0).Wrap("not now: "+b.why, 4) {
					lines = append(lines, strings.Repeat(" ", 18)+c.Theme.Waiting.Render(line))
				}
			}
		}
		lines = append(lines, "")
	}
	return append(lines, helpMarks(c)...)
}

// helpMarks explains the signs that the tables use.
func helpMarks(c draw.Canvas) []string {
	g, t := c.Glyphs, c.Theme
	return []string{
		"  " + t.Strong.Render("Signs"),
		"    " + c.Fit(t.Bad.Render(g.Attention), 14) + "stuck or orphaned: the line under the table says why",
		"    " + c.Fit(t.Good.Render(g.Done)+" "+t.Waiting.Render(g.Partly)+" "+t.Bad.Render(g.Failed), 14) + "ended: Completed, PartiallyFailed, Failed",
		"    " + c.Fit(t.Text.Render(g.Approx), 14) + "an estimate of veltui's, not yet Velero's own number",
		"    " + c.Fit("R B", 14) + "restore, backup",
		"    " + c.Fit(t.Accent.Render(g.Marked), 14) + "marked, to be finalized after one another",
	}
}

// footer is the last line: the keys worth knowing on this screen. What writes
// is named, faintly, even when it cannot be used. On narrow screens the least
// important go; help and quit, which come last, stay.
func footer(c draw.Canvas, bindings []binding, where place) string {
	var parts []string
	for _, b := range bindings {
		if !b.short || b.places&where == 0 {
			continue
		}
		help := b.key.Help()
		switch {
		case b.why == "":
			parts = append(parts, c.Theme.Accent.Render(help.Key)+" "+help.Desc)
		case b.writes:
			parts = append(parts, c.Theme.Dim.Render(help.Key+" "+help.Desc))
		}
	}
	line := func() string { return " " + strings.Join(parts, "  ") }
	for len(parts) > 2 && lipgloss.Width(line()) > c.Width {
		parts = slices.Delete(parts, len(parts)-3, len(parts)-2)
	}
	return c.Cut(line(), c.Width)
}
