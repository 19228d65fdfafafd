package pager

import (
	"charm.land/bubbles/v2/textinput"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// Pager is a window on lines. Its zero value is not usable: see [New].
type Pager struct {
	source Source
	canvas draw.Canvas // of the last frame
	// top is the first visible line, of which skip wrapped rows are above the window.
	top, skip int
	// cursor is the selected line, -1 if none is.
	cursor int
	wrap   bool
	whole  string // the key of the line that is wrapped on its own, empty for none
	// Follow keeps the end in sight; scrolling up ends it. Grows lets the end key begin it again.
	Follow, Grows bool

	search search
}

// New is a pager without lines. by asks a [Finder]; nil searches on the spot.
func New(by *fetch.Asker) *Pager {
	input := textinput.New()
	input.Prompt = "/"
	input.CharLimit = 200
	input.SetVirtualCursor(true)
	return &Pager{source: Lines{}, cursor: -1, search: search{input: input, by: by, at: -1}}
}

// Show replaces the lines; the top stays, and the selected line by its key.
func (p *Pager) Show(s Source) {
	key := p.Selected()
	p.source = s
	switch {
	case key == "":
		p.cursor = -1
	case p.cursor >= s.Len() || p.line(p.cursor).Key != key:
		at := -1
		for i := range s.Len() {
			if p.line(i).Key == key {
				at = i
				break
			}
		}
		p.top += at - p.cursor
		if p.cursor = at; at < 0 {
			p.top = 0
		}
	}
	p.settle()
}

// Reset goes to the top and ends the search: another page is shown.
func (p *Pager) Reset() {
	p.top, p.skip, p.cursor, p.whole = 0, 0, -1, ""
	p.Follow, p.Grows = false, false
	p.source = Lines{}
	p.search.end()
}

// Selected is the key of the selected line, empty if there is none.
func (p *Pager) Selected() string {
	if p.cursor < 0 || p.cursor >= p.source.Len() {
		return ""
	}
	return p.line(p.cursor).Key
}

// Unselect drops the selection: the keys mean other lines now.
func (p *Pager) Unselect() { p.cursor = -1 }

// ToggleWhole wraps the selected line, or cuts it again.
func (p *Pager) ToggleWhole() {
	if key := p.Selected(); key == p.whole {
		p.whole = ""
	} else {
		p.whole = key
	}
	if p.cursor >= 0 {
		p.reveal(p.cursor)
	}
}

// GoTo makes the line at i visible, and selects it if it can be selected.
func (p *Pager) GoTo(i int) {
	if i < 0 || i >= p.source.Len() {
		return
	}
	p.Follow = false
	if p.line(i).Key != "" {
		p.cursor = i
	}
	if from, to := p.Visible(); i < from || i >= to {
		p.top, p.skip = i-p.canvas.Height/3, 0
	}
	p.settle()
}

// Visible is the range of lines in the window, the last one perhaps in part.
func (p *Pager) Visible() (from, to int) {
	to, _ = p.window()
	return p.top, to
}

// window returns the line after the last visible one, and whether that one goes on below.
func (p *Pager) window() (to int, cut bool) {
	rows := -p.skip
	for to = p.top; to < p.source.Len() && rows < p.canvas.Height; to++ {
		rows += len(p.rows(to))
	}
	return to, rows > p.canvas.Height
}

// More is how many lines there are below the window.
func (p *Pager) More() int {
	_, to := p.Visible()
	return p.source.Len() - to
}

// View draws the window: exactly as many lines as the canvas is high.
func (p *Pager) View(c draw.Canvas) []string {
	// What the reader looks at stays in sight when the window gets smaller.
	at := p.cursor
	if p.search.text != "" && p.search.at >= 0 {
		at = p.search.at
	}
	seen := false
	if p.canvas.Theme != nil && c.Height < p.canvas.Height {
		from, to := p.Visible()
		seen = at >= from && at < to
	}
	p.canvas = c
	if p.settle(); seen {
		p.reveal(at)
	}
	var lines []string
	skip := p.skip
	for i := p.top; i < p.source.Len() && len(lines) < c.Height; i++ {
		for _, row := range p.rows(i)[skip:] {
			lines = append(lines, p.mark(c, i, row))
		}
		skip = 0
	}
	lines = lines[:min(len(lines), max(c.Height, 0))]
	return append(lines, make([]string, max(c.Height-len(lines), 0))...)
}

// mark sets off the selected line, and what was searched for.
func (p *Pager) mark(c draw.Canvas, i int, row string) string {
	if i == p.cursor {
		return c.Selected(row)
	}
	return p.search.mark(c, row, i == p.search.at)
}

func (p *Pager) line(i int) Line { return p.source.Line(p.canvas, i) }

// widestLine bounds the cells of a wrapped line: it is drawn for every key.
const widestLine = 20_000

// rows are a line as it is drawn: several rows, broken at words, if it is wrapped.
func (p *Pager) rows(i int) []string {
	line, width := p.line(i), p.canvas.Width
	wrap := p.wrap || line.Key != "" && line.Key == p.whole
	switch {
	case width <= 0:
		return []string{""}
	case !wrap || lipgloss.Width(line.Text) <= width:
		return []string{p.canvas.Cut(line.Text, width)}
	}
	return p.canvas.WrapDrawn(p.canvas.Cut(line.Text, widestLine))
}

// settle keeps the window within the lines, and the cursor on a selectable visible line, if any.
func (p *Pager) settle() {
	if p.canvas.Theme == nil {
		return // nothing was drawn yet
	}
	n := p.source.Len()
	p.cursor = min(p.cursor, n-1)
	if p.top, p.skip = max(min(p.top, n-1), 0), max(p.skip, 0); n == 0 {
		p.skip = 0
		return
	}
	if p.skip > 0 {
		p.skip = min(p.skip, len(p.rows(p.top))-1)
	}
	if last, skip := p.last(); p.Follow || p.top > last || p.top == last && p.skip > skip {
		p.top, p.skip = last, skip
	}
	if p.Follow && p.cursor >= 0 {
		p.cursor = n - 1
		p.reselect(-1)
	}
	if p.cursor < 0 {
		from, to := p.Visible()
		for i := from; i < to && p.cursor < 0; i++ {
			if p.line(i).Key != "" {
				p.cursor = i
			}
		}
	}
}

// last is where the window is when the end is in sight.
func (p *Pager) last() (top, skip int) {
	room := p.canvas.Height
	for i := p.source.Len() - 1; i >= 0; i-- {
		rows := len(p.rows(i))
		if rows >= room {
			return i, rows - max(room, 1)
		}
		room -= rows
	}
	return 0, 0
}

// Move scrolls, or moves the selection where lines can be selected.
func (p *Pager) Move(m keys.Motion) {
	switch by := m.Lines(max(p.canvas.Height/2, 1), max(p.canvas.Height-1, 1), 0); m {
	case keys.Up, keys.Down:
		p.step(by)
	case keys.Top:
		p.top, p.skip, p.cursor, p.Follow = 0, 0, -1, false
	case keys.Bottom:
		p.top, p.skip = p.last()
		if p.Follow = p.Grows; p.cursor >= 0 {
			p.cursor = p.source.Len() - 1
			p.reselect(-1)
		}
	default:
		p.steps(by)
	}
	p.settle()
}

// Wheel scrolls some rows, up if n is negative, and keeps the selection in sight.
func (p *Pager) Wheel(n int) {
	by := p.scrollRows(n)
	if from, to := p.Visible(); p.cursor >= 0 && (p.cursor < from || p.cursor >= to) {
		p.cursor = min(max(p.cursor, from), to-1)
		p.reselect(by)
	}
}

// Click selects the line in a row of the window; again is true if it was selected.
func (p *Pager) Click(row int) (again bool) {
	if row < 0 || row >= p.canvas.Height {
		return false
	}
	at := -p.skip
	for i := p.top; i < p.source.Len() && at <= row; i++ {
		if at += len(p.rows(i)); at > row && p.line(i).Key != "" {
			again = i == p.cursor
			p.cursor = i
			return again
		}
	}
	return false
}

// steps scrolls n rows, and takes the selection along.
func (p *Pager) steps(n int) {
	by := p.scrollRows(n)
	if p.cursor >= 0 {
		if p.cursor = p.top; by > 0 && p.More() == 0 {
			p.cursor = p.source.Len() - 1
		}
		p.reselect(by)
	}
}

// reselect selects the nearest selectable line, first in the direction of by.
func (p *Pager) reselect(by int) {
	from, to := p.Visible()
	at := p.cursor
	for _, step := range []int{by, -by} {
		for i := at; i >= from && i < to; i += step {
			if p.line(i).Key != "" {
				p.cursor = i
				return
			}
		}
	}
	p.cursor = -1
}

// step goes to the next selectable line within a window's height, or scrolls.
func (p *Pager) step(by int) {
	if p.cursor < 0 {
		p.scroll(by)
		return
	}
	if by < 0 {
		p.Follow = false
	}
	from, to := p.Visible()
	at := max(p.cursor, from-1)
	if by < 0 {
		at = min(p.cursor, to)
	}
	for i := at + by; i >= 0 && i < p.source.Len() && (i-at)*by <= p.canvas.Height; i += by {
		if p.line(i).Key != "" {
			p.cursor = i
			p.reveal(i)
			return
		}
	}
	p.scroll(by)
}

// reveal scrolls as little as needed to show the whole line at i.
func (p *Pager) reveal(i int) {
	if i < p.top || i == p.top && p.skip > 0 {
		p.top, p.skip, p.Follow = i, 0, false
		return
	}
	for {
		to, cut := p.window()
		if i < to-1 || i == to-1 && !cut || p.top == i || !p.scroll(1) {
			return
		}
	}
}

// scrollRows scrolls n rows, and returns the direction.
func (p *Pager) scrollRows(n int) (by int) {
	if by = 1; n < 0 {
		by = -1
	}
	for range n * by {
		p.scroll(by)
	}
	return by
}

// scroll moves the window one row, and says whether it could.
func (p *Pager) scroll(by int) bool {
	top, skip := p.top, p.skip
	switch {
	case by < 0 && p.skip > 0:
		p.skip--
	case by < 0 && p.top > 0:
		p.top--
		p.skip = len(p.rows(p.top)) - 1
	case by > 0 && p.source.Len() > 0:
		if p.skip++; p.skip >= len(p.rows(p.top)) {
			p.top, p.skip = p.top+1, 0
		}
	}
	if by < 0 {
		p.Follow = false
	}
	p.settle()
	return p.top != top || p.skip != skip
}
