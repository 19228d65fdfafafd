package ui

import "strings"

// bar draws a fraction from 0 to 1 in exactly width cells. A bar is full only
// at 1, and anything above 0 shows.
func (c canvas) bar(fraction float64, width int) string {
	if width <= 0 {
		return ""
	}
	steps := len(c.glyphs.barParts) + 1
	filled := int(fraction * float64(width*steps))
	if fraction > 0 {
		filled = max(filled, 1)
	}
	if fraction < 1 {
		filled = min(filled, width*steps-1)
	}
	filled = min(max(filled, 0), width*steps)

	full, part := filled/steps, filled%steps
	done := strings.Repeat(c.glyphs.barFull, full)
	if part > 0 {
		done += c.glyphs.barParts[part-1]
		full++
	}
	return c.theme.barFull.Render(done) + c.theme.barEmpty.Render(strings.Repeat(c.glyphs.barEmpty, width-full))
}

// noBar is the place of a bar about which nothing is known yet.
func (c canvas) noBar(width int) string {
	return c.theme.barEmpty.Render(strings.Repeat(c.glyphs.barEmpty, max(width, 0)))
}
