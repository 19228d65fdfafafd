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

	"github.com/veltui/veltui/internal/view/text"
)

type Canvas struct {
	Width, Height int // in cells
	Theme         *Theme
	Glyphs        *Glyphs
	Now           time.Time // the time by the cluster's clock
}

func (c Canvas) WithSize(width, height int) Canvas {
	c.Width, c.Height = width, height
	return c
}

func (c Canvas) WithNow(now time.Time) Canvas {
	c.Now = now
	return c
}

// Truncate shortens s to at most width cells, and marks the cut with an ellipsis.
func (c Canvas) Truncate(s string, width int) string {
	return text.Truncate(s, width, c.Glyphs.Ellipsis)
}

// FitLeft cuts or pads s on the right to exactly width cells.
func (c Canvas) FitLeft(s string, width int) string {
	s = c.Truncate(s, width)
	return s + strings.Repeat(" ", max(width-lipgloss.Width(s), 0))
}

func (c Canvas) FitRight(s string, width int) string {
	s = c.Truncate(s, width)
	return strings.Repeat(" ", max(width-lipgloss.Width(s), 0)) + s
}

// AlignEnds puts left and right at the two ends of a line; left is cut if there is too little room.
func (c Canvas) AlignEnds(left, right string) string {
	room := c.Width - lipgloss.Width(right)
	if room < 1 {
		return c.FitLeft(right, c.Width)
	}
	return c.FitLeft(left, room) + right
}

// HighlightRow highlights a drawn row over the whole width. The parts of the row keep their own styles. Where the
// theme reverses colours, bars are not reversed: a full bar would look like a hole.
func (c Canvas) HighlightRow(row string) string {
	on, off, _ := strings.Cut(c.Theme.Selected.Render(placeholderRune), placeholderRune)
	if on == "" {
		return c.FitLeft(row, c.Width)
	}
	if c.Theme.Selected.GetReverse() {
		row = barRunes.ReplaceAllString(row, "\x1b[27m$0\x1b[7m")
	}
	return on + strings.ReplaceAll(c.FitLeft(row, c.Width), "\x1b[m", "\x1b[m"+on) + off
}

var barRunes = regexp.MustCompile("[" + UnicodeGlyphs.BarFull + strings.Join(UnicodeGlyphs.BarParts, "") + "]+")

func (c Canvas) RenderRule() string {
	return c.Theme.Dim.Render(strings.Repeat(c.Glyphs.Rule, max(c.Width, 0)))
}

func (c Canvas) RenderHeading(title string) string {
	left := strings.Repeat(c.Glyphs.Rule, 2) + " " + title + " "
	return c.Theme.Dim.Render(left + strings.Repeat(c.Glyphs.Rule, max(c.Width-lipgloss.Width(left), 0)))
}

// placeholderRune is a rune of one cell that occurs in no text.
const placeholderRune = "\uE000"

// WrapText breaks plain text at words into at most lines lines; the last may be cut.
func (c Canvas) WrapText(text string, lines int) []string {
	if c.Width <= 0 || lines <= 0 {
		return nil
	}
	// ansi.Wrap breaks at hyphens, but names must stay whole.
	whole := strings.ReplaceAll(text, "-", placeholderRune)
	wrapped := strings.Split(strings.ReplaceAll(ansi.Wrap(whole, c.Width, " "), placeholderRune, "-"), "\n")
	if len(wrapped) > lines {
		rest := strings.Join(wrapped[lines-1:], " ")
		wrapped = append(wrapped[:lines-1], c.Truncate(rest, c.Width))
	}
	for i, line := range wrapped {
		wrapped[i] = c.Truncate(strings.TrimRight(line, " "), c.Width)
	}
	return wrapped
}

// RenderPage returns exactly Height lines of at most Width cells as one text.
func (c Canvas) RenderPage(lines []string) string { return strings.Join(c.FitLines(lines), "\n") }

// FitLines cuts or pads lines to exactly Height lines of at most Width cells.
func (c Canvas) FitLines(lines []string) []string {
	for i := range lines {
		if lipgloss.Width(lines[i]) > c.Width {
			lines[i] = c.Truncate(lines[i], c.Width)
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

// RenderBar draws a fraction in width cells. The bar is full only at 1, and any fraction above 0 is visible.
func (c Canvas) RenderBar(fraction float64, width int) string {
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

// RenderEmptyBar draws the bar of an unknown fraction.
func (c Canvas) RenderEmptyBar(width int) string {
	return c.Theme.BarEmpty.Render(strings.Repeat(c.Glyphs.BarEmpty, max(width, 0)))
}

// RenderSparkline draws numbers as bars of one cell each; a number that is not above 0 is a dot.
func (c Canvas) RenderSparkline(values []float64) string {
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
		steps := len(c.Glyphs.SparkBars)
		b.WriteString(c.Glyphs.SparkBars[max(min(int(v/highest*float64(steps)), steps-1), 0)])
	}
	return b.String()
}

// Box is a window with a title, scrolling text, and lines pinned below the text.
type Box struct {
	Border   lipgloss.Style
	Title    string
	Text     []string
	Pinned   []string
	Viewport *viewport.Model // scrolls Text; RenderBox sets its size and content
}

// BoxInterior returns the canvas inside the border of a box that fills c.
func (c Canvas) BoxInterior() Canvas { return c.WithSize(c.Width-4, c.Height-2) }

// RenderBox draws a box as lines of the canvas's width, at most as many as the canvas has.
func (c Canvas) RenderBox(b Box) []string {
	inner := c.BoxInterior()
	pinned := b.Pinned
	if len(pinned) > 0 {
		pinned = append([]string{inner.RenderRule()}, pinned...)
	}
	pinned = pinned[len(pinned)-min(len(pinned), max(inner.Height-1, 0)):] // the last line matters most
	shown := min(len(b.Text), max(inner.Height-len(pinned), 0))
	b.Viewport.SetWidth(inner.Width)
	b.Viewport.SetHeight(shown)
	b.Viewport.SetContentLines(b.Text)
	top := b.Viewport.YOffset()
	place := ""
	if shown < len(b.Text) {
		place = fmt.Sprintf("%d-%d of %d lines", top+1, top+shown, len(b.Text))
		if top+shown < len(b.Text) {
			place += ", more below"
		}
	}
	g := c.Glyphs
	lines := []string{c.renderBoxEdge(b.Border, g.BoxCorners[0], b.Title, g.BoxCorners[1], false)}
	for _, line := range slices.Concat(b.Text[top:top+shown], pinned) {
		lines = append(lines, b.Border.Render(g.BoxSide)+" "+inner.FitLeft(line, inner.Width)+" "+b.Border.Render(g.BoxSide))
	}
	return append(lines, c.renderBoxEdge(b.Border, g.BoxCorners[2], place, g.BoxCorners[3], true))
}

func (c Canvas) renderBoxEdge(style lipgloss.Style, left, words, right string, atEnd bool) string {
	if words != "" {
		words = " " + c.Truncate(words, c.Width-6) + " "
	}
	rest := strings.Repeat(c.Glyphs.Rule, max(c.Width-3-lipgloss.Width(words), 0))
	strong := c.Theme.Strong.Render(words)
	if atEnd {
		return style.Render(left+rest) + strong + style.Render(c.Glyphs.Rule+right)
	}
	return style.Render(left+c.Glyphs.Rule) + strong + style.Render(rest+right)
}

// OverlayBox draws a box in the middle of the canvas. The text behind it stays visible, dimmed, above and below the
// box, but not beside it.
func (c Canvas) OverlayBox(box []string, behind string) string {
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
	return c.RenderPage(lines)
}
