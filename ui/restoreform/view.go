package restoreform

import (
	"cmp"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/ui/draw"
)

const (
	// beside is from which width on the preview stands beside the form.
	beside = 100
	// titleWidth is that of a field's title, with the sign before it.
	titleWidth = 18
)

func (f *Form) View(c draw.Canvas) string {
	lines := []string{f.title(c)}
	f.drawn = nil
	beside := c.Width >= beside
	switch {
	case c.Height < 12:
	case f.zoomed || beside:
		lines = append(lines, c.Rule())
	default:
		lines = append(lines, f.whereabouts(c))
	}
	height := max(c.Height-len(lines), 1)
	f.rowsAt = len(lines)
	switch {
	case f.zoomed:
		if f.said != "" {
			lines = append(lines, f.hint(c.Sized(c.Width, 2))...)
		}
		lines = append(lines, f.shown(c.Sized(c.Width, max(c.Height-len(lines), 1)))...)
	case beside:
		left := min(max(46, c.Width*2/5), 76)
		f.rowsWidth = left
		form := f.form(c.Sized(left, height), 4)
		preview := c.Sized(c.Width-left-3, height)
		lines = append(
			lines,
			c.Sized(left, height).
				Beside(form, c.Theme.Dim.Render(" "+c.Glyphs.Side+" "), preview.Lines(f.shown(preview)))...)
	default:
		f.rowsWidth = c.Width
		hints, above := 2, max(height*2/3, 3)
		if height < 12 {
			hints = 1
		}
		lines = append(lines, f.form(c.Sized(c.Width, above), hints)...)
		lines = append(lines, c.Heading("Preview"))
		lines = append(lines, f.shown(c.Sized(c.Width, max(height-above-1, 1)))...)
	}
	return c.Page(lines)
}

// whereabouts is the rule above a partly shown form, with the group and number of the field.
func (f *Form) whereabouts(c draw.Canvas) string {
	left := strings.Repeat(c.Glyphs.Rule, 2)
	if group := f.group(f.focus); group != "" {
		left += " " + group + " "
	}
	right := fmt.Sprintf(" %d of %d ", f.focus+1, len(f.rows)) + strings.Repeat(c.Glyphs.Rule, 2)
	return c.Theme.Dim.Render(left + strings.Repeat(c.Glyphs.Rule, max(c.Width-lipgloss.Width(left+right), 0)) + right)
}

func (f *Form) group(at int) string {
	if field := f.rows[max(at, 1)].field; field != nil { // the name is in the group of the first field
		return field.Group
	}
	return ""
}

// title says what is restored, where to and how much. The cluster gives way first.
func (f *Form) title(c draw.Canvas) string {
	const gap = 3 // two between the halves, and one at the end
	from := cmp.Or(f.draft.Restore.Spec.BackupName, "schedule "+f.draft.Restore.Spec.ScheduleName)
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

func (f *Form) summary() []string {
	switch {
	case len(f.wrong()) > 0:
		return []string{"not complete"}
	case len(f.refused()) > 0:
		return []string{"refused"}
	case f.compares():
		return f.comparingSays()
	case f.pending:
		return []string{"working it out"}
	case !f.previewed.Known:
		return []string{"items not known"}
	}
	items, takes, checking := human.Count(f.preview.Estimate.Total, "item"), "", ""
	if f.preview.Takes > 0 {
		takes = ", about " + human.Short.TimeLeft(f.preview.Takes)
	}
	if !f.checked {
		checking = ", checking"
	}
	if f.preview.Unknown != "" {
		items = "items not known"
	}
	count := map[preflight.Severity]int{}
	for _, found := range f.checkShown().Findings {
		count[found.Severity]++
	}
	if count[preflight.Obstacle]+count[preflight.Doubt] == 0 {
		return []string{items + takes + checking, items + checking, items}
	}
	found := human.Count(count[preflight.Obstacle], "obstacle") + ", " + human.Count(count[preflight.Doubt], "doubt")
	return []string{items + takes + ", " + found, items + ", " + found, found}
}

// form are the rows, with groups if all fit, else around the focused one, then the hints.
func (f *Form) form(c draw.Canvas, hints int) []string {
	hint := f.hint(c.Sized(c.Width-2, hints))
	room := max(c.Height-hints, 1)
	lines := f.allRows(c)
	if len(lines) > room {
		lines = f.someRows(c, room)
	}
	lines = c.Sized(c.Width, room).Lines(lines)
	return append(lines, draw.Indented(c.Sized(c.Width-2, hints).Lines(hint), 1)...)
}

func (f *Form) allRows(c draw.Canvas) (lines []string) {
	f.drawn, f.firstRow = nil, 0
	for i := range f.rows {
		if group := f.group(i); i == 0 || group != f.group(i-1) {
			heading := ""
			if group != "" {
				heading = c.Heading(group)
			}
			lines, f.drawn = append(lines, heading), append(f.drawn, -1)
		}
		lines, f.drawn = append(lines, f.row(c, i)), append(f.drawn, i)
	}
	return lines
}

// someRows are those around the focused one, with how many more there are.
func (f *Form) someRows(c draw.Canvas, room int) (lines []string) {
	f.drawn = nil
	f.firstRow = max(min(f.firstRow, f.focus-1, len(f.rows)-room), f.focus-room+2, 0)
	f.firstRow = min(f.firstRow, max(len(f.rows)-room, 0), f.focus)
	last := min(f.firstRow+room, len(f.rows)) - 1
	for i := f.firstRow; i <= last; i++ {
		more := ""
		switch {
		case i == f.firstRow && i > 0:
			more = fmt.Sprintf(" %s %d", c.Glyphs.Ascending, i)
		case i == last && i < len(f.rows)-1:
			more = fmt.Sprintf(" %s %d", c.Glyphs.Descending, len(f.rows)-1-i)
		}
		lines = append(lines, c.Split(f.row(c.Sized(c.Width-lipgloss.Width(more), 1), i), c.Theme.Dim.Render(more)))
		f.drawn = append(f.drawn, i)
	}
	return lines
}

func (f *Form) row(c draw.Canvas, i int) string {
	r := &f.rows[i]
	sign, style := " ", c.Theme.Text
	odd, refused := f.odd(i)
	switch {
	case i == f.focus:
		sign, style = c.Theme.Accent.Render(c.Glyphs.Cursor), c.Theme.Strong
	case r.err != nil || refused:
		sign = c.Theme.Bad.Render(c.Glyphs.Failed)
	case odd != "":
		sign = c.Theme.Waiting.Render(c.Glyphs.Attention)
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

// hint says what the focused field takes, what is wrong, or what the last key did.
func (f *Form) hint(c draw.Canvas) []string {
	r := &f.rows[f.focus]
	fit := f.candidates()
	odd, refused := f.odd(f.focus)
	var lines []string
	most := max(c.Height-1, 1)
	switch {
	case f.said != "" && f.bad:
		return c.Para(c.Theme.Waiting, f.said, c.Height)
	case f.said != "":
		return c.Para(c.Theme.Good, f.said, c.Height)
	case r.err != nil:
		lines = c.Para(c.Theme.Bad, c.Glyphs.Failed+" "+r.err.Error(), most)
	case refused:
		lines = c.Para(c.Theme.Bad, c.Glyphs.Failed+" "+odd, most)
	case odd != "":
		lines = c.Para(c.Theme.Waiting, c.Glyphs.Attention+" "+odd, most)
	default:
		lines = c.Para(c.Theme.Dim, r.help(c), most)
	}
	if len(lines) < c.Height && len(fit) > 0 {
		choices := strings.Join(fit[:min(len(fit), 40)], "  ")
		if f.completable() {
			choices = c.Theme.Accent.Render("tab") + " " + choices
		}
		lines = append(lines, c.Cut(choices, c.Width))
	}
	return lines
}

func (r *row) help(c draw.Canvas) string {
	if r.field == nil {
		return r.hint
	}
	help := strings.TrimRight(r.field.Help, ".") + ". "
	switch both := help + "(" + r.hint + ")"; {
	case c.Height >= 4 || lipgloss.Width(both) <= c.Width:
		return both
	case lipgloss.Width(help) <= c.Width:
		return help
	}
	return r.hint
}

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
