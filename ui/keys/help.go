package keys

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
)

// The columns of the help text.
const (
	labelAt = 4
	whatAt  = labelAt + 16
)

// Help lists the present bindings by group, why some cannot be used, and the tables' signs.
func Help(c draw.Canvas, bindings []Binding) []string {
	lines := []string{""}
	for _, group := range groups {
		var listed []string
		for i := range bindings {
			if b := &bindings[i]; b.Group == group && b.on() {
				listed = append(listed, b.help(c)...)
			}
		}
		if len(listed) > 0 {
			lines = append(append(append(lines, "  "+c.Theme.Strong.Render(group)), listed...), "")
		}
	}
	return append(lines, signs(c)...)
}

func (b *Binding) help(c draw.Canvas) []string {
	lines := []string{strings.Repeat(" ", labelAt) + c.Cell(c.Theme.Accent, b.Label, whatAt-labelAt, false) + b.Says()}
	if lipgloss.Width(b.Label) >= whatAt-labelAt { // many keys were chosen
		lines = []string{strings.Repeat(" ", labelAt) + c.Theme.Accent.Render(b.Label), strings.Repeat(" ", whatAt) + b.Says()}
	}
	if why := b.Why(); why != "" {
		for _, line := range c.Sized(c.Width-whatAt, 0).Para(c.Theme.Waiting, "not now: "+why, 4) {
			lines = append(lines, strings.Repeat(" ", whatAt)+line)
		}
	}
	return lines
}

// signs explains the signs of the tables.
func signs(c draw.Canvas) []string {
	g, t := c.Glyphs, c.Theme
	lines := []string{"  " + t.Strong.Render("Signs")}
	for _, sign := range [][2]string{
		{t.Bad.Render(g.Attention), "stuck, orphaned or malformed: see the line below the table"},
		{t.Good.Render(g.Done) + " " + t.Waiting.Render(g.Partly) + " " + t.Bad.Render(g.Failed), "ended: Completed, PartiallyFailed, Failed"},
		{t.Text.Render(g.Approx), "veltui's own estimate, not yet Velero's number"},
		{"R B", "restore, backup"},
		{t.Accent.Render(g.Marked), "marked to be finalized"},
	} {
		lines = append(lines, strings.Repeat(" ", labelAt)+c.Fit(sign[0], whatAt-labelAt)+sign[1])
	}
	return lines
}

// Footer names the short bindings in one line. What writes stands in parentheses if it cannot be
// used, and stays on narrow screens, as do help and quit, which come last.
func Footer(c draw.Canvas, bindings []Binding) string {
	var parts []string
	var writes []bool
	for i := range bindings {
		b := &bindings[i]
		if !b.Short || !b.on() {
			continue
		}
		switch usable := b.Why() == ""; {
		case usable:
			parts = append(parts, c.Theme.Accent.Render(b.Label)+" "+b.Says())
		case b.Writes:
			parts = append(parts, c.Theme.Dim.Render("("+b.Label+" "+b.Says()+")"))
		default:
			continue
		}
		writes = append(writes, b.Writes)
	}
	line := func() string { return " " + strings.Join(parts, "  ") }
	for len(parts) > 2 && lipgloss.Width(line()) > c.Width {
		last := len(parts) - 3
		for last > 0 && writes[last] {
			last--
		}
		parts, writes = slices.Delete(parts, last, last+1), slices.Delete(writes, last, last+1)
	}
	return c.Cut(line(), c.Width)
}
