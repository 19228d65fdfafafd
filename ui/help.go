package ui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// helpText lists the keys of the screen that help was asked from.
func helpText(c canvas, bindings []binding, where place) []string {
	lines := []string{""}
	for _, group := range groups {
		if !slices.ContainsFunc(bindings, func(b binding) bool { return b.group == group && b.places&where != 0 }) {
			continue
		}
		lines = append(lines, "  "+c.theme.strong.Render(group))
		for _, b := range bindings {
			if b.group != group || b.places&where == 0 {
				continue
			}
			lines = append(lines, "    "+c.cell(c.theme.accent, b.key.Help().Key, 14, false)+b.key.Help().Desc)
			if b.why != "" {
				for _, line := range c.sized(c.width-18, 0).wrap("not now: "+b.why, 4) {
					lines = append(lines, strings.Repeat(" ", 18)+c.theme.waiting.Render(line))
				}
			}
		}
		lines = append(lines, "")
	}
	return append(lines, helpMarks(c)...)
}

// helpMarks explains the signs that the tables use.
func helpMarks(c canvas) []string {
	g, t := c.glyphs, c.theme
	return []string{
		"  " + t.strong.Render("Signs"),
		"    " + c.fit(t.bad.Render(g.attention), 14) + "stuck or orphaned: the line under the table says why",
		"    " + c.fit(t.good.Render(g.done)+" "+t.waiting.Render(g.partly)+" "+t.bad.Render(g.failed), 14) + "ended: Completed, PartiallyFailed, Failed",
		"    " + c.fit(t.text.Render(g.approx), 14) + "an estimate of veltui's, not yet Velero's own number",
		"    " + c.fit("R B", 14) + "restore, backup",
		"    " + c.fit(t.accent.Render(g.marked), 14) + "marked, to be finalized after one another",
	}
}

// footer is the last line: the keys worth knowing on this screen. What writes
// is named, faintly, even when it cannot be used. On narrow screens the least
// important go; help and quit, which come last, stay.
func footer(c canvas, bindings []binding, where place) string {
	var parts []string
	for _, b := range bindings {
		if !b.short || b.places&where == 0 {
			continue
		}
		help := b.key.Help()
		switch {
		case b.why == "":
			parts = append(parts, c.theme.accent.Render(help.Key)+" "+help.Desc)
		case b.writes:
			parts = append(parts, c.theme.dim.Render(help.Key+" "+help.Desc))
		}
	}
	line := func() string { return " " + strings.Join(parts, "  ") }
	for len(parts) > 2 && lipgloss.Width(line()) > c.width {
		parts = slices.Delete(parts, len(parts)-3, len(parts)-2)
	}
	return c.cut(line(), c.width)
}
