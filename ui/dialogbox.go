package ui

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
)

// boxLimit is how wide a dialog gets: longer lines are hard to read.
const boxLimit = 100

// draw puts the dialog over the screen behind it, line by line.
func (d *finalizeDialog) draw(c draw.Canvas, behind string) string {
	box := d.box(c.Sized(min(c.Width, boxLimit), c.Height))
	lines := strings.Split(behind, "\n")
	for len(lines) < c.Height {
		lines = append(lines, "")
	}
	lines = lines[:c.Height]
	left := (c.Width - lipgloss.Width(box[0])) / 2
	top := max((c.Height-len(box))/2, 0)
	for i := range lines {
		plain := ansi.Strip(lines[i])
		if i < top || i >= top+len(box) {
			lines[i] = c.Theme.Dim.Render(plain)
			continue
		}
		before := c.Fit(ansi.Cut(plain, 0, left), left)
		after := ansi.Cut(plain, left+lipgloss.Width(box[i-top]), c.Width)
		lines[i] = c.Theme.Dim.Render(before) + box[i-top] + c.Theme.Dim.Render(after)
	}
	return c.Page(lines)
}

// box is the dialog as lines of one width: a border with the title and how far
// it is scrolled, the text, and what stays in place below it.
func (d *finalizeDialog) box(c draw.Canvas) []string {
	inner := c.Sized(c.Width-4, 0)
	pinned := d.pinned(inner)
	if len(pinned) > 0 {
		pinned = append([]string{inner.Rule()}, pinned...)
	}
	room := c.Height - 2
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
	border := c.Theme.Accent.UnsetBold()
	if d.alarm {
		border = c.Theme.Bad.UnsetBold()
	}
	g := c.Glyphs
	lines := []string{borderLine(c, border, g.Corners[0], d.title(), g.Corners[1], false)}
	for _, line := range append(text[d.top:d.top+shown:d.top+shown], pinned...) {
		lines = append(lines, border.Render(g.Side)+" "+inner.Fit(line, inner.Width)+" "+border.Render(g.Side))
	}
	return append(lines, borderLine(c, border, g.Corners[2], place, g.Corners[3], true))
}

// borderLine is the upper or lower border with words in it.
func borderLine(c draw.Canvas, style lipgloss.Style, left, words, right string, atEnd bool) string {
	if words != "" {
		words = " " + c.Cut(words, c.Width-6) + " "
	}
	rest := strings.Repeat(c.Glyphs.Rule, max(c.Width-3-lipgloss.Width(words), 0))
	strong := c.Theme.Strong.Render(words)
	if atEnd {
		return style.Render(left+rest) + strong + style.Render(c.Glyphs.Rule+right)
	}
	return style.Render(left+c.Glyphs.Rule) + strong + style.Render(rest+right)
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
func (d *finalizeDialog) text(c draw.Canvas) []string {
	now := d.with.clock()
	switch d.stage {
	case stageLooking:
		return lookingLines(c, d.target(), now.Sub(d.since))
	case stageUnseen:
		lines := para(c, c.Theme.Bad, "The evidence could not be gathered, so nothing can be done:", 2)
		lines = append(lines, para(c, c.Theme.Text, d.err.Error(), 8)...)
		return append(lines, "", "r looks again.")
	case stageRunning:
		return runLines(c, d.run, d.state, now)
	case stageEnded:
		return outcomeLines(c, &d.outcome, d.ran, d.err)
	case stageSummary:
		return summaryLines(c, d.targets, d.ends)
	}
	return choiceLines(c, d.choices, d.chosen, now.Sub(d.seen))
}

// pinned is what stays below the text: what to do next, and the answer to the
// last key.
func (d *finalizeDialog) pinned(c draw.Canvas) []string {
	style := c.Theme.Good
	if d.alarm {
		style = c.Theme.Bad
	}
	note := para(c, style, d.note, 3)
	if d.note == "" {
		note = nil
	}
	switch d.stage {
	case stagePlan:
		if !d.choice().possible() {
			return note
		}
		return append(note, para(c, c.Theme.Strong, "To go on, press enter, then type "+d.wanted(), 6)...)
	case stageTyping:
		lines := append(note, para(c, c.Theme.Text, "Type "+d.wanted()+" and press enter:", 6)...)
		d.input.SetWidth(max(c.Width-4, 1))
		return append(lines, c.Theme.Accent.Render(c.Glyphs.Cursor)+" "+d.input.View())
	case stageRunning:
		return append(note, d.stopLines(c)...)
	}
	return note
}

func (d *finalizeDialog) stopLines(c draw.Canvas) []string {
	switch {
	case d.leaving:
		return para(c, c.Theme.Waiting, "Stopping. veltui ends as soon as it knows what was sent.", 2)
	case d.stopping:
		return para(c, c.Theme.Waiting, "Stopping. Finding out what was sent ...", 2)
	case d.asked:
		return para(c, c.Theme.Strong, "Stop? esc again stops it, q again stops it and leaves; any other key goes on.", 2)
	}
	return nil
}
