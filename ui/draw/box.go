package draw

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/viewport"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Box is a window with a title, text that scrolls, and what is pinned below it.
type Box struct {
	Border lipgloss.Style
	Title  string
	Text   []string
	Pinned []string
	// View scrolls Text; its size and its content are set by drawing.
	View *viewport.Model
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

// Over puts a box into the middle. What is behind stays, faint, above and below: pieces beside it
// would confuse.
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
