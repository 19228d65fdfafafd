package draw

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/viewport"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

type Canvas struct {
	Width, Height int // in cells
	Theme         *Theme
	Glyphs        *Glyphs
	Now           time.Time // the present in the cluster's clock
}

func (c Canvas) Sized(width, height int) Canvas {
	c.Width, c.Height = width, height
	return c
}

func (c Canvas) AtTime(now time.Time) Canvas {
	c.Now = now
	return c
}

// Cut shortens s to at most width cells, marking that it did.
func (c Canvas) Cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, c.Glyphs.Ellipsis)
}

// Fit makes s exactly width cells wide.
func (c Canvas) Fit(s string, width int) string {
	s = c.Cut(s, width)
	return s + strings.Repeat(" ", max(width-lipgloss.Width(s), 0))
}

func (c Canvas) FitRight(s string, width int) string {
	s = c.Cut(s, width)
	return strings.Repeat(" ", max(width-lipgloss.Width(s), 0)) + s
}

// Split puts left and right at the two ends of a line; left gives way.
func (c Canvas) Split(left, right string) string {
	room := c.Width - lipgloss.Width(right)
	if room < 1 {
		return c.Fit(right, c.Width)
	}
	return c.Fit(left, room) + right
}

// Selected sets a drawn row off, in the whole width. Its parts keep their own styles. Where the theme
// reverses colours, bars stay as they are: reversed, a full one is a hole.
func (c Canvas) Selected(row string) string {
	on, off, _ := strings.Cut(c.Theme.Selected.Render(standIn), standIn)
	if on == "" {
		return c.Fit(row, c.Width)
	}
	if c.Theme.Selected.GetReverse() {
		row = blocks.ReplaceAllString(row, "\x1b[27m$0\x1b[7m")
	}
	return on + strings.ReplaceAll(c.Fit(row, c.Width), "\x1b[m", "\x1b[m"+on) + off
}

var blocks = regexp.MustCompile("[" + Unicode.BarFull + strings.Join(Unicode.BarParts, "") + "]+")

func (c Canvas) Rule() string {
	return c.Theme.Dim.Render(strings.Repeat(c.Glyphs.Rule, max(c.Width, 0)))
}

func (c Canvas) Heading(title string) string {
	left := strings.Repeat(c.Glyphs.Rule, 2) + " " + title + " "
	return c.Theme.Dim.Render(left + strings.Repeat(c.Glyphs.Rule, max(c.Width-lipgloss.Width(left), 0)))
}

// standIn is a rune of one cell that no text holds.
const standIn = "\uE000"

// Wrap breaks plain text at words into at most lines lines; the last may be cut.
func (c Canvas) Wrap(text string, lines int) []string {
	if c.Width <= 0 || lines <= 0 {
		return nil
	}
	// Wrap would break at hyphens, but names shall stay whole.
	whole := strings.ReplaceAll(text, "-", standIn)
	wrapped := strings.Split(strings.ReplaceAll(ansi.Wrap(whole, c.Width, " "), standIn, "-"), "\n")
	if len(wrapped) > lines {
		rest := strings.Join(wrapped[lines-1:], " ")
		wrapped = append(wrapped[:lines-1], c.Cut(rest, c.Width))
	}
	for i, line := range wrapped {
		wrapped[i] = c.Cut(strings.TrimRight(line, " "), c.Width)
	}
	return wrapped
}

// Page is exactly height lines of at most width cells as one text.
func (c Canvas) Page(lines []string) string { return strings.Join(c.Lines(lines), "\n") }

// Lines makes exactly height lines of at most width cells of some lines.
func (c Canvas) Lines(lines []string) []string {
	for i := range lines {
		if lipgloss.Width(lines[i]) > c.Width {
			lines[i] = c.Cut(lines[i], c.Width)
		}
	}
	if len(lines) > c.Height {
		lines = lines[:c.Height]
	}
	for len(lines) < c.Height {
		lines = append(lines, "")
	}
	return lines
}

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

// Box is a window with a title, text that scrolls, and what is pinned below it.
type Box struct {
	Border lipgloss.Style
	Title  string
	Text   []string
	Pinned []string
	View   *viewport.Model // scrolls Text; drawing sets its size and content
}

// Inner is what is inside of the border of a box that takes the whole canvas.
func (c Canvas) Inner() Canvas { return c.Sized(c.Width-4, c.Height-2) }

// Box draws a box as lines of one width, no more than the canvas has.
func (c Canvas) Box(b Box) []string {
	inner := c.Inner()
	pinned := b.Pinned
	if len(pinned) > 0 {
		pinned = append([]string{inner.Rule()}, pinned...)
	}
	pinned = pinned[len(pinned)-min(len(pinned), max(inner.Height-1, 0)):] // the last line matters most
	shown := min(len(b.Text), max(inner.Height-len(pinned), 0))
	b.View.SetWidth(inner.Width)
	b.View.SetHeight(shown)
	b.View.SetContentLines(b.Text)
	top := b.View.YOffset()
	place := ""
	if shown < len(b.Text) {
		place = fmt.Sprintf("%d-%d of %d lines", top+1, top+shown, len(b.Text))
		if top+shown < len(b.Text) {
			place += ", more below"
		}
	}
	g := c.Glyphs
	lines := []string{c.edge(b.Border, g.Corners[0], b.Title, g.Corners[1], false)}
	for _, line := range slices.Concat(b.Text[top:top+shown], pinned) {
		lines = append(lines, b.Border.Render(g.Side)+" "+inner.Fit(line, inner.Width)+" "+b.Border.Render(g.Side))
	}
	return append(lines, c.edge(b.Border, g.Corners[2], place, g.Corners[3], true))
}

func (c Canvas) edge(style lipgloss.Style, left, words, right string, atEnd bool) string {
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

// Over puts a box into the middle. What is behind stays, faint, above and below, not beside it.
func (c Canvas) Over(box []string, behind string) string {
	width := lipgloss.Width(box[0])
	left := strings.Repeat(" ", max((c.Width-width)/2, 0))
	top := max((c.Height-len(box))/2, 0)
	lines := make([]string, c.Height)
	if width < c.Width {
		for i, line := range strings.Split(behind, "\n")[:min(strings.Count(behind, "\n")+1, c.Height)] {
			lines[i] = c.Theme.Dim.Render(ansi.Strip(line))
		}
	}
	for i, line := range box[:min(len(box), c.Height-top)] {
		lines[top+i] = left + line
	}
	return c.Page(lines)
}
