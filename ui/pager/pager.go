package pager

import (
	"charm.land/bubbles/v2/textinput"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// Pager is a scrolling window on lines. Its zero value is not usable: see [New].
type Pager struct {
	source Source
	canvas draw.Canvas // of the last frame
	// top is the first visible line; its first skippedRows wrapped rows are above the window.
	top, skippedRows int
	// cursor is the selected line, -1 if there is none.
	cursor     int
	wrapAll    bool
	wrappedKey string // the key of the only wrapped line, empty for none
	// FollowEnd keeps the end in view; scrolling up clears it. CanFollow lets the end key set it again.
	FollowEnd, CanFollow bool

	search searchState
}

// New returns a pager without lines. by starts searches of long sources; with nil, all searches are synchronous.
func New(by *fetch.Requester) *Pager {
	input := textinput.New()
	input.Prompt = "/"
	input.CharLimit = 200
	input.SetVirtualCursor(true)
	return &Pager{source: Lines{}, cursor: -1, search: searchState{input: input, requester: by, currentHit: -1}}
}

// SetSource replaces the lines; the top line stays, and so does the line selected by its key.
func (p *Pager) SetSource(s Source) {
	key := p.SelectedKey()
	p.source = s
	switch {
	case key == "":
		p.cursor = -1
	case p.cursor >= s.Len() || p.lineAt(p.cursor).Key != key:
		at := -1
		for i := range s.Len() {
			if p.lineAt(i).Key == key {
				at = i
				break
			}
		}
		p.top += at - p.cursor
		if p.cursor = at; at < 0 {
			p.top = 0
		}
	}
	p.clampWindow()
}

// Reset returns to the top and ends the search, for another page.
func (p *Pager) Reset() {
	p.top, p.skippedRows, p.cursor, p.wrappedKey = 0, 0, -1, ""
	p.FollowEnd, p.CanFollow = false, false
	p.source = Lines{}
	p.search.endSearch()
}

// SelectedKey returns the key of the selected line, empty if there is none.
func (p *Pager) SelectedKey() string {
	if p.cursor < 0 || p.cursor >= p.source.Len() {
		return ""
	}
	return p.lineAt(p.cursor).Key
}

// ClearSelection drops the selection, for when the keys mean other lines.
func (p *Pager) ClearSelection() { p.cursor = -1 }

// ToggleLineWrap wraps the selected line, or unwraps it.
func (p *Pager) ToggleLineWrap() {
	if key := p.SelectedKey(); key == p.wrappedKey {
		p.wrappedKey = ""
	} else {
		p.wrappedKey = key
	}
	if p.cursor >= 0 {
		p.revealLine(p.cursor)
	}
}

// GoToLine makes the line at i visible, and selects it if it can be selected.
func (p *Pager) GoToLine(i int) {
	if i < 0 || i >= p.source.Len() {
		return
	}
	p.FollowEnd = false
	if p.lineAt(i).Key != "" {
		p.cursor = i
	}
	if from, to := p.VisibleRange(); i < from || i >= to {
		p.top, p.skippedRows = i-p.canvas.Height/3, 0
	}
	p.clampWindow()
}

// VisibleRange returns the range of lines in the window; the last one may be cut.
func (p *Pager) VisibleRange() (from, to int) {
	to, _ = p.visibleEnd()
	return p.top, to
}

// visibleEnd returns the line after the last visible one, and whether the last visible line is cut.
func (p *Pager) visibleEnd() (to int, cut bool) {
	rows := -p.skippedRows
	for to = p.top; to < p.source.Len() && rows < p.canvas.Height; to++ {
		rows += len(p.renderRows(to))
	}
	return to, rows > p.canvas.Height
}

// LinesBelow returns the number of lines below the window.
func (p *Pager) LinesBelow() int {
	_, to := p.VisibleRange()
	return p.source.Len() - to
}

// View draws the window, with exactly as many lines as the canvas is high.
func (p *Pager) View(c draw.Canvas) []string {
	// The line that the reader looks at stays in view when the window shrinks.
	at := p.cursor
	if p.search.query != "" && p.search.currentHit >= 0 {
		at = p.search.currentHit
	}
	seen := false
	if p.canvas.Theme != nil && c.Height < p.canvas.Height {
		from, to := p.VisibleRange()
		seen = at >= from && at < to
	}
	p.canvas = c
	if p.clampWindow(); seen {
		p.revealLine(at)
	}
	var lines []string
	skip := p.skippedRows
	for i := p.top; i < p.source.Len() && len(lines) < c.Height; i++ {
		for _, row := range p.renderRows(i)[skip:] {
			lines = append(lines, p.highlightRow(c, i, row))
		}
		skip = 0
	}
	lines = lines[:min(len(lines), max(c.Height, 0))]
	return append(lines, make([]string, max(c.Height-len(lines), 0))...)
}

// highlightRow highlights the selected line, or the search hits in a row.
func (p *Pager) highlightRow(c draw.Canvas, i int, row string) string {
	if i == p.cursor {
		return c.HighlightRow(row)
	}
	return p.search.highlightHits(c, row, i == p.search.currentHit)
}

func (p *Pager) lineAt(i int) Line { return p.source.LineAt(p.canvas, i) }

// maxLineWidth limits the cells of a wrapped line, because it is drawn again after every key.
const maxLineWidth = 20_000

// renderRows returns the rows of a line: several rows, broken at words, if it is wrapped.
func (p *Pager) renderRows(i int) []string {
	line, width := p.lineAt(i), p.canvas.Width
	wrap := p.wrapAll || line.Key != "" && line.Key == p.wrappedKey
	switch {
	case width <= 0:
		return []string{""}
	case !wrap || lipgloss.Width(line.Text) <= width:
		return []string{p.canvas.Truncate(line.Text, width)}
	}
	return p.canvas.WrapStyled(p.canvas.Truncate(line.Text, maxLineWidth))
}

// clampWindow keeps the window within the lines, and the cursor on a selectable visible line if there is one.
func (p *Pager) clampWindow() {
	if p.canvas.Theme == nil {
		return // nothing was drawn yet
	}
	n := p.source.Len()
	p.cursor = min(p.cursor, n-1)
	if p.top, p.skippedRows = max(min(p.top, n-1), 0), max(p.skippedRows, 0); n == 0 {
		p.skippedRows = 0
		return
	}
	if p.skippedRows > 0 {
		p.skippedRows = min(p.skippedRows, len(p.renderRows(p.top))-1)
	}
	if last, skip := p.bottomPosition(); p.FollowEnd || p.top > last || p.top == last && p.skippedRows > skip {
		p.top, p.skippedRows = last, skip
	}
	if p.FollowEnd && p.cursor >= 0 {
		p.cursor = n - 1
		p.selectNearest(-1)
	}
	if p.cursor < 0 {
		from, to := p.VisibleRange()
		for i := from; i < to && p.cursor < 0; i++ {
			if p.lineAt(i).Key != "" {
				p.cursor = i
			}
		}
	}
}

// bottomPosition returns the position of the window when the end is in view.
func (p *Pager) bottomPosition() (top, skip int) {
	room := p.canvas.Height
	for i := p.source.Len() - 1; i >= 0; i-- {
		rows := len(p.renderRows(i))
		if rows >= room {
			return i, rows - max(room, 1)
		}
		room -= rows
	}
	return 0, 0
}

// ApplyMotion scrolls, or moves the selection if lines can be selected.
func (p *Pager) ApplyMotion(m keys.Motion) {
	switch by := m.LineOffset(max(p.canvas.Height/2, 1), max(p.canvas.Height-1, 1), 0); m {
	case keys.Up, keys.Down:
		p.stepSelection(by)
	case keys.Top:
		p.top, p.skippedRows, p.cursor, p.FollowEnd = 0, 0, -1, false
	case keys.Bottom:
		p.top, p.skippedRows = p.bottomPosition()
		if p.FollowEnd = p.CanFollow; p.cursor >= 0 {
			p.cursor = p.source.Len() - 1
			p.selectNearest(-1)
		}
	default:
		p.scrollSelection(by)
	}
	p.clampWindow()
}

// HandleWheel scrolls n rows, up if n is negative, and keeps the selection in view.
func (p *Pager) HandleWheel(n int) {
	by := p.scrollRows(n)
	if from, to := p.VisibleRange(); p.cursor >= 0 && (p.cursor < from || p.cursor >= to) {
		p.cursor = min(max(p.cursor, from), to-1)
		p.selectNearest(by)
	}
}

// SelectRow selects the line in a row of the window; again is true if it was already selected.
func (p *Pager) SelectRow(row int) (again bool) {
	if row < 0 || row >= p.canvas.Height {
		return false
	}
	at := -p.skippedRows
	for i := p.top; i < p.source.Len() && at <= row; i++ {
		if at += len(p.renderRows(i)); at > row && p.lineAt(i).Key != "" {
			again = i == p.cursor
			p.cursor = i
			return again
		}
	}
	return false
}

// scrollSelection scrolls n rows, and moves the selection along.
func (p *Pager) scrollSelection(n int) {
	by := p.scrollRows(n)
	if p.cursor >= 0 {
		if p.cursor = p.top; by > 0 && p.LinesBelow() == 0 {
			p.cursor = p.source.Len() - 1
		}
		p.selectNearest(by)
	}
}

// selectNearest selects the nearest selectable line, searching in the direction of by first.
func (p *Pager) selectNearest(by int) {
	from, to := p.VisibleRange()
	at := p.cursor
	for _, step := range []int{by, -by} {
		for i := at; i >= from && i < to; i += step {
			if p.lineAt(i).Key != "" {
				p.cursor = i
				return
			}
		}
	}
	p.cursor = -1
}

// stepSelection selects the next selectable line within a window's height, or scrolls if there is none.
func (p *Pager) stepSelection(by int) {
	if p.cursor < 0 {
		p.scrollOneRow(by)
		return
	}
	if by < 0 {
		p.FollowEnd = false
	}
	from, to := p.VisibleRange()
	at := max(p.cursor, from-1)
	if by < 0 {
		at = min(p.cursor, to)
	}
	for i := at + by; i >= 0 && i < p.source.Len() && (i-at)*by <= p.canvas.Height; i += by {
		if p.lineAt(i).Key != "" {
			p.cursor = i
			p.revealLine(i)
			return
		}
	}
	p.scrollOneRow(by)
}

// revealLine scrolls as little as needed to show the whole line at i.
func (p *Pager) revealLine(i int) {
	if i < p.top || i == p.top && p.skippedRows > 0 {
		p.top, p.skippedRows, p.FollowEnd = i, 0, false
		return
	}
	for {
		to, cut := p.visibleEnd()
		if i < to-1 || i == to-1 && !cut || p.top == i || !p.scrollOneRow(1) {
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
		p.scrollOneRow(by)
	}
	return by
}

// scrollOneRow moves the window by one row, and reports whether it moved.
func (p *Pager) scrollOneRow(by int) bool {
	top, skip := p.top, p.skippedRows
	switch {
	case by < 0 && p.skippedRows > 0:
		p.skippedRows--
	case by < 0 && p.top > 0:
		p.top--
		p.skippedRows = len(p.renderRows(p.top)) - 1
	case by > 0 && p.source.Len() > 0:
		if p.skippedRows++; p.skippedRows >= len(p.renderRows(p.top)) {
			p.top, p.skippedRows = p.top+1, 0
		}
	}
	if by < 0 {
		p.FollowEnd = false
	}
	p.clampWindow()
	return p.top != top || p.skippedRows != skip
}
