package ui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// canvas is what a screen is drawn on and with.
type canvas struct {
	width, height int
	theme         *theme
	glyphs        *glyphs
	// now is the present in the cluster's clock.
	now time.Time
}

func (c canvas) sized(width, height int) canvas {
	c.width, c.height = width, height
	return c
}

// cut shortens s to at most width cells, marking that it did.
func (c canvas) cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, c.glyphs.ellipsis)
}

// fit makes s exactly width cells wide.
func (c canvas) fit(s string, width int) string {
	s = c.cut(s, width)
	return s + strings.Repeat(" ", max(width-lipgloss.Width(s), 0))
}

// fitRight is fit with the text at the right.
func (c canvas) fitRight(s string, width int) string {
	s = c.cut(s, width)
	return strings.Repeat(" ", max(width-lipgloss.Width(s), 0)) + s
}

// split puts left and right at the two ends of a line; left gives way.
func (c canvas) split(left, right string) string {
	room := c.width - lipgloss.Width(right)
	if room < 1 {
		return c.fit(right, c.width)
	}
	return c.fit(left, room) + right
}

func (c canvas) rule() string {
	return c.theme.dim.Render(strings.Repeat(c.glyphs.rule, max(c.width, 0)))
}

// heading is a rule with a title in it.
func (c canvas) heading(title string) string {
	left := strings.Repeat(c.glyphs.rule, 2) + " " + title + " "
	return c.theme.dim.Render(left + strings.Repeat(c.glyphs.rule, max(c.width-lipgloss.Width(left), 0)))
}

// standIn is a rune of one cell that no text holds.
const standIn = "\uE000"

// wrap breaks plain text at words into at most lines lines of the canvas's
// width; what does not fit is cut with a mark.
func (c canvas) wrap(text string, lines int) []string {
	if c.width <= 0 || lines <= 0 {
		return nil
	}
	// Wrap would break at hyphens, but names shall stay whole.
	whole := strings.ReplaceAll(text, "-", standIn)
	wrapped := strings.Split(strings.ReplaceAll(ansi.Wrap(whole, c.width, " "), standIn, "-"), "\n")
	if len(wrapped) > lines {
		rest := strings.Join(wrapped[lines-1:], " ")
		wrapped = append(wrapped[:lines-1], c.cut(rest, c.width))
	}
	for i, line := range wrapped {
		wrapped[i] = c.cut(strings.TrimRight(line, " "), c.width)
	}
	return wrapped
}

// page makes exactly height lines of at most width cells of some lines.
func (c canvas) page(lines []string) string {
	for i := range lines {
		if lipgloss.Width(lines[i]) > c.width {
			lines[i] = c.cut(lines[i], c.width)
		}
	}
	if len(lines) > c.height {
		lines = lines[:c.height]
	}
	for len(lines) < c.height {
		lines = append(lines, "")
	}
	return strings.Join(lines, "\n")
}
