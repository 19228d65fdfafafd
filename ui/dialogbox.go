package ui

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// boxLimit is how wide a dialog gets: longer lines are hard to read.
const boxLimit = 100

// draw puts the dialog over the screen behind it, line by line.
func (d *finalizeDialog) draw(c canvas, behind string) string {
	box := d.box(c.sized(min(c.width, boxLimit), c.height))
	lines := strings.Split(behind, "\n")
	for len(lines) < c.height {
		lines = append(lines, "")
	}
	lines = lines[:c.height]
	left := (c.width - lipgloss.Width(box[0])) / 2
	top := max((c.height-len(box))/2, 0)
	for i := range lines {
		plain := ansi.Strip(lines[i])
		if i < top || i >= top+len(box) {
			lines[i] = c.theme.dim.Render(plain)
			continue
		}
		before := c.fit(ansi.Cut(plain, 0, left), left)
		after := ansi.Cut(plain, left+lipgloss.Width(box[i-top]), c.width)
		lines[i] = c.theme.dim.Render(before) + box[i-top] + c.theme.dim.Render(after)
	}
	return c.page(lines)
}

// box is the dialog as lines of one width: a border with the title and how far
// it is scrolled, the text, and what stays in place below it.
func (d *finalizeDialog) box(c canvas) []string {
	inner := c.sized(c.width-4, 0)
	pinned := d.pinned(inner)
	if len(pinned) > 0 {
		pinned = append([]string{inner.rule()}, pinned...)
	}
	room := c.height - 2
	pinned = pinned[len(pinned)-min(len(pinned), max(room-1, 0)):] // the field is last
	text := d.text(inner)
	shown := min(len(text), max(room-len(pinned), 0))
	d.top = max(min(d.top, len(text)-shown), 0)
	place := ""
	if shown < len(text) {
		place = fmt.Sprintf("%d-%d of %d lines", d.top+1, d.top+shown, len(text))
		if d.top+shown < len(text) {
			place += ", more below"
		}
	}
	border := c.theme.accent.UnsetBold()
	if d.alarm {
		border = c.theme.bad.UnsetBold()
	}
	g := c.glyphs
	lines := []string{c.borderLine(border, g.corners[0], d.title(), g.corners[1], false)}
	for _, line := range append(text[d.top:d.top+shown:d.top+shown], pinned...) {
		lines = append(lines, border.Render(g.side)+" "+inner.fit(line, inner.width)+" "+border.Render(g.side))
	}
	return append(lines, c.borderLine(border, g.corners[2], place, g.corners[3], true))
}

// borderLine is the upper or lower border with words in it.
func (c canvas) borderLine(style lipgloss.Style, left, words, right string, atEnd bool) string {
	if words != "" {
		words = " " + c.cut(words, c.width-6) + " "
	}
	rest := strings.Repeat(c.glyphs.rule, max(c.width-3-lipgloss.Width(words), 0))
	strong := c.theme.strong.Render(words)
	if atEnd {
		return style.Render(left+rest) + strong + style.Render(c.glyphs.rule+right)
	}
	return style.Render(left+c.glyphs.rule) + strong + style.Render(rest+right)
}

func (d *finalizeDialog) title() string {
	t := d.target()
	text := "Force finalize " + strings.ToLower(string(t.kind)) + " " + t.namespace + "/" + t.name
	if len(d.targets) > 1 {
		text = fmt.Sprintf("%d of %d: %s", d.at+1, len(d.targets), text)
	}
	if d.stage == stageSummary {
		return "Force finalize"
	}
	return text
}

// text is what scrolls.
func (d *finalizeDialog) text(c canvas) []string {
	now := d.with.clock()
	switch d.stage {
	case stageLooking:
		return c.lookingLines(d.target(), now.Sub(d.since))
	case stageUnseen:
		lines := c.para(c.theme.bad, "The evidence could not be gathered, so nothing can be done:", 2)
		lines = append(lines, c.para(c.theme.text, d.err.Error(), 8)...)
		return append(lines, "", "r looks again.")
	case stageRunning:
		return c.runLines(d.run, d.state, now)
	case stageEnded:
		return c.outcomeLines(&d.outcome, d.ran, d.err)
	case stageSummary:
		return c.summaryLines(d.targets, d.ends)
	}
	return c.choiceLines(d.choices, d.chosen, now.Sub(d.seen))
}

// pinned is what stays below the text: what to do next, and the answer to the
// last key.
func (d *finalizeDialog) pinned(c canvas) []string {
	style := c.theme.good
	if d.alarm {
		style = c.theme.bad
	}
	note := c.para(style, d.note, 3)
	if d.note == "" {
		note = nil
	}
	switch d.stage {
	case stagePlan:
		if !d.choice().possible() {
			return note
		}
		return append(note, c.para(c.theme.strong, "To go on, press enter, then type "+d.wanted(), 6)...)
	case stageTyping:
		lines := append(note, c.para(c.theme.text, "Type "+d.wanted()+" and press enter:", 6)...)
		d.input.SetWidth(max(c.width-4, 1))
		return append(lines, c.theme.accent.Render(c.glyphs.cursor)+" "+d.input.View())
	case stageRunning:
		return append(note, d.stopLines(c)...)
	}
	return note
}

func (d *finalizeDialog) stopLines(c canvas) []string {
	switch {
	case d.leaving:
		return c.para(c.theme.waiting, "Stopping. veltui ends as soon as it knows what was sent.", 2)
	case d.stopping:
		return c.para(c.theme.waiting, "Stopping. Finding out what was sent ...", 2)
	case d.asked:
		return c.para(c.theme.strong, "Stop? esc again stops it, q again stops it and leaves; any other key goes on.", 2)
	}
	return nil
}
