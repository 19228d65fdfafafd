package restoreform

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/ui/draw"
)

const (
	// beside is from which width on the preview stands beside the form.
	beside = 100
	// titleWidth is that of a field's title, with the sign before it.
	titleWidth = 14
)

// View draws the screen between the header and the footer.
func (f *Form) View(c draw.Canvas) string {
	lines := []string{f.title(c)}
	if c.Height >= 12 {
		lines = append(lines, c.Rule())
	}
	height := max(c.Height-len(lines), 1)
	f.rowsAt = len(lines)
	if c.Width >= beside {
		left := min(max(46, c.Width*2/5), 76)
		f.rowsWidth = left
		form := f.form(c.Sized(left, height), 4)
		preview := f.shown(c.Sized(c.Width-left-3, height))
		for i := range height {
			lines = append(lines, c.Fit(at(form, i), left)+c.Theme.Dim.Render(" "+c.Glyphs.Side+" ")+at(preview, i))
		}
		return c.Page(lines)
	}
	f.rowsWidth = c.Width
	hints, above := 2, max(height/2, 3)
	if height < 12 {
		hints = 1
	}
	lines = append(lines, f.form(c.Sized(c.Width, above), hints)...)
	lines = append(lines, c.Rule())
	return c.Page(append(lines, f.shown(c.Sized(c.Width, max(height-above-1, 1)))...))
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// title says what is restored, into which cluster, and how much that is. Where it is
// narrow the cluster goes first, then what says least of the answer, then the words.
func (f *Form) title(c draw.Canvas) string {
	const gap = 3 // two between the halves, and one at the end
	from := f.draft.Restore.Spec.BackupName
	if from == "" {
		from = "schedule " + f.draft.Restore.Spec.ScheduleName
	}
	words, name := " Restore from ", min(lipgloss.Width(from), 12)
	says := f.summary()
	for len(says) > 1 && lipgloss.Width(words+says[0])+name+gap > c.Width {
		says = says[1:]
	}
	right := says[0]
	if lipgloss.Width(words+right)+name+gap > c.Width {
		words = " "
	}
	left := c.Theme.Strong.Render(words) + c.CutMiddle(from, max(c.Width-lipgloss.Width(words+right)-gap, 0))
	if into := " into " + f.options.Context; lipgloss.Width(left+into+right)+gap <= c.Width {
		left += c.Theme.Dim.Render(into)
	}
	style := c.Theme.Strong
	if len(f.refused())+len(f.wrong()) > 0 {
		style = c.Theme.Bad
	}
	return c.Split(left, style.Render("  "+right)+" ")
}

// summary is the answer in a few words, then in fewer.
func (f *Form) summary() []string {
	switch {
	case len(f.wrong()) > 0:
		return []string{"not complete"}
	case len(f.refused()) > 0:
		return []string{"refused"}
	case f.pending:
		return []string{"working it out"}
	case !f.known || f.preview.Unknown != "":
		return []string{"items not known"}
	}
	items, takes, checking := human.Count(f.preview.Estimate.Total, "item"), "", ""
	if f.preview.Takes > 0 {
		takes = ", about " + human.TimeLeft(f.preview.Takes)
	}
	if !f.checked {
		checking = ", checking"
	}
	obstacles, doubts := f.counts()
	if obstacles+doubts == 0 {
		return []string{items + takes + checking, items + checking, items}
	}
	found := human.Count(obstacles, "obstacle") + ", " + human.Count(doubts, "doubt")
	return []string{items + takes + ", " + found, items + ", " + found, found}
}

// counts are how many obstacles and doubts were found.
func (f *Form) counts() (obstacles, doubts int) {
	for _, found := range f.found.Findings {
		switch found.Severity {
		case Obstacle:
			obstacles++
		case Doubt:
			doubts++
		case Note:
		}
	}
	return obstacles, doubts
}

// form are the rows around the focused one, and below them the hints.
func (f *Form) form(c draw.Canvas, hints int) []string {
	hint := f.hint(c.Sized(c.Width-2, hints))
	rows := max(c.Height-hints, 1)
	f.shownRows = min(rows, len(f.rows))
	f.firstRow = max(min(f.firstRow, f.focus, len(f.rows)-rows), f.focus-rows+1, 0)
	var lines []string
	for i := f.firstRow; i < min(f.firstRow+rows, len(f.rows)); i++ {
		lines = append(lines, f.row(c, i))
	}
	for len(lines) < rows {
		lines = append(lines, "")
	}
	for i := range hints {
		lines = append(lines, " "+at(hint, i))
	}
	return lines
}

func (f *Form) row(c draw.Canvas, i int) string {
	r := &f.rows[i]
	sign, style := " ", c.Theme.Text
	switch {
	case i == f.focus:
		sign, style = c.Theme.Accent.Render(c.Glyphs.Cursor), c.Theme.Strong
	case r.err != nil:
		sign = c.Theme.Bad.Render(c.Glyphs.Failed)
	}
	label := sign + " " + c.Cell(style, r.title, titleWidth-2, false)
	width := max(c.Width-titleWidth-1, 1)
	switch {
	case i == len(f.rows)-1:
		return label + c.Cut(c.Theme.Dim.Render("y copies it"), width)
	case i == f.focus:
		f.input.SetWidth(max(width-1, 1))
		return label + f.input.View()
	}
	return label + c.Cut(r.text, width)
}

// hint says what the focused field takes, what is wrong with it, and what it may be
// completed to; or what the last key did.
func (f *Form) hint(c draw.Canvas) []string {
	r := &f.rows[f.focus]
	fit := f.candidates()
	var lines []string
	switch {
	case f.said != "" && f.bad:
		return c.Para(c.Theme.Waiting, f.said, c.Height)
	case f.said != "":
		return c.Para(c.Theme.Good, f.said, c.Height)
	case r.err != nil:
		lines = c.Para(c.Theme.Bad, c.Glyphs.Failed+" "+r.err.Error(), max(c.Height-1, 1))
	case f.doubt(r) != "":
		lines = c.Para(c.Theme.Waiting, c.Glyphs.Attention+" "+f.doubt(r), max(c.Height-1, 1))
	case r.field == nil || c.Height < 4:
		lines = c.Para(c.Theme.Dim, r.hint, max(c.Height-1, 1))
	default:
		lines = c.Para(c.Theme.Dim, strings.TrimRight(r.field.Help, ".")+". ("+r.hint+")", max(c.Height-1, 1))
	}
	if len(lines) < c.Height && len(fit) > 0 {
		lines = append(lines, c.Cut(c.Theme.Accent.Render("tab")+" "+strings.Join(fit[:min(len(fit), 40)], "  "), c.Width))
	}
	return lines
}

// shown are the lines of the preview that fit.
func (f *Form) shown(c draw.Canvas) []string {
	all := f.answer(c)
	f.lines, f.page = len(all), max(c.Height, 1)
	f.top = max(min(f.top, f.lines-f.page), 0)
	shown := all[f.top:min(f.top+f.page, len(all))]
	if left := len(all) - f.top - len(shown); left > 0 && len(shown) > 1 {
		shown[len(shown)-1] = c.Cut(c.Theme.Dim.Render(fmt.Sprintf(" %d more lines: pgdn", left+1)), c.Width)
	}
	return shown
}
