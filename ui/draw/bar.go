package draw

import "strings"

// Bar draws a fraction in width cells. It is full only at 1, and anything above 0 shows.
func (c Canvas) Bar(fraction float64, width int) string {
	if width <= 0 {
		return ""
	}
	steps := len(c.Glyphs.BarParts) + 1
	filled := int(fraction * float64(width*steps))
	if fraction > 0 {
		filled = max(filled, 1)
	}
	if fraction < 1 {
		filled = min(filled, width*steps-1)
	}
	filled = min(max(filled, 0), width*steps)

	full, part := filled/steps, filled%steps
	done := strings.Repeat(c.Glyphs.BarFull, full)
	if part > 0 {
		done += c.Glyphs.BarParts[part-1]
		full++
	}
	return c.Theme.BarFull.Render(done) + c.Theme.BarEmpty.Render(strings.Repeat(c.Glyphs.BarEmpty, width-full))
}

// NoBar is the place of a bar about which nothing is known yet.
func (c Canvas) NoBar(width int) string {
	return c.Theme.BarEmpty.Render(strings.Repeat(c.Glyphs.BarEmpty, max(width, 0)))
}

// Heights draws numbers as bars of one cell each; one that is not above 0 is a dot.
func (c Canvas) Heights(values []float64) string {
	highest := 0.0
	for _, v := range values {
		if v > highest {
			highest = v
		}
	}
	var b strings.Builder
	for _, v := range values {
		if !(v > 0) {
			b.WriteString(c.Glyphs.Ahead)
			continue
		}
		steps := len(c.Glyphs.Heights)
		b.WriteString(c.Glyphs.Heights[max(min(int(v/highest*float64(steps)), steps-1), 0)])
	}
	return b.String()
}
