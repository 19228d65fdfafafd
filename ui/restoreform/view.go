package restoreform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

const (
	// sideBySideWidth is the smallest width at which the preview is beside the form.
	sideBySideWidth = 100
	// titleWidth is the width of a field's title, with the sign before it.
	titleWidth = 18
)

func (f *Form) View(c draw.Canvas) string {
	lines := []string{f.renderTitle(c)}
	f.rowAtLine = nil
	beside := c.Width >= sideBySideWidth
	switch {
	case c.Height < 12:
	case f.isZoomed || beside:
		lines = append(lines, c.RenderRule())
	default:
		lines = append(lines, f.renderPosition(c))
	}
	height := max(c.Height-len(lines), 1)
	f.firstRowLine = len(lines)
	switch {
	case f.isZoomed:
		if f.message != "" {
			lines = append(lines, f.renderHint(c.WithSize(c.Width, 2))...)
		}
		lines = append(lines, f.renderVisiblePreview(c.WithSize(c.Width, max(c.Height-len(lines), 1)))...)
	case beside:
		left := min(max(46, c.Width*2/5), 76)
		f.rowsWidth = left
		form := f.renderForm(c.WithSize(left, height), 4)
		preview := c.WithSize(c.Width-left-3, height)
		between := c.Theme.Dim.Render(" " + c.Glyphs.BoxSide + " ")
		fitted := preview.FitLines(f.renderVisiblePreview(preview))
		lines = append(lines, c.WithSize(left, height).JoinColumns(form, between, fitted)...)
	default:
		f.rowsWidth = c.Width
		hints, above := 2, max(height*2/3, 3)
		if height < 12 {
			hints = 1
		}
		lines = append(lines, f.renderForm(c.WithSize(c.Width, above), hints)...)
		lines = append(lines, c.RenderHeading("Preview"))
		lines = append(lines, f.renderVisiblePreview(c.WithSize(c.Width, max(height-above-1, 1)))...)
	}
	return c.RenderPage(lines)
}

// renderPosition draws the rule above a partly shown form, with the group and number of the field.
func (f *Form) renderPosition(c draw.Canvas) string {
	left := strings.Repeat(c.Glyphs.Rule, 2)
	if group := f.rowGroup(f.focusedIndex); group != "" {
		left += " " + group + " "
	}
	right := fmt.Sprintf(" %d of %d ", f.focusedIndex+1, len(f.rows)) + strings.Repeat(c.Glyphs.Rule, 2)
	return c.Theme.Dim.Render(left + strings.Repeat(c.Glyphs.Rule, max(c.Width-lipgloss.Width(left+right), 0)) + right)
}

func (f *Form) rowGroup(at int) string {
	if field := f.rows[max(at, 1)].field; field != nil { // the name is in the group of the first field
		return field.Group
	}
	return ""
}

// renderTitle draws the source, the target and the size of the restore. The target cluster is dropped first.
func (f *Form) renderTitle(c draw.Canvas) string {
	const gap = 3 // two between the halves, and one at the end
	from := cmp.Or(f.draft.Restore.Spec.BackupName, "schedule "+f.draft.Restore.Spec.ScheduleName)
	words, name := " Restore from ", min(lipgloss.Width(from), 12)
	says := f.summaryTexts()
	for len(says) > 1 && lipgloss.Width(words+says[0])+name+gap > c.Width {
		says = says[1:]
	}
	right := says[0]
	if lipgloss.Width(words+right)+name+gap > c.Width {
		words = " "
	}
	left := c.Theme.Strong.Render(words) + c.TruncateMiddle(from, max(c.Width-lipgloss.Width(words+right)-gap, 0))
	if into := " into " + f.options.Context; lipgloss.Width(left+into+right)+gap <= c.Width {
		left += c.Theme.Dim.Render(into)
	}
	style := c.Theme.Strong
	if len(f.refusalReasons())+len(f.invalidRowNames()) > 0 {
		style = c.Theme.Bad
	}
	return c.AlignEnds(left, style.Render("  "+right)+" ")
}

func (f *Form) summaryTexts() []string {
	switch {
	case len(f.invalidRowNames()) > 0:
		return []string{"not complete"}
	case len(f.refusalReasons()) > 0:
		return []string{"refused"}
	case f.isComparing():
		return f.progressTexts()
	case f.isPreviewPending():
		return []string{"working it out"}
	case !f.previewAnswer.HasValue:
		return []string{view.ItemsUnknown}
	}
	estimate, checking := &f.previewAnswer.Value.estimate, ""
	items, takes := estimate.Items, human.Prefixed(", ", estimate.Duration)
	if !f.isChecked() {
		checking = ", checking"
	}
	findings := f.shownCheck().Findings
	if !slices.ContainsFunc(findings, func(f preflight.Finding) bool { return f.Severity != preflight.Note }) {
		return []string{items + takes + checking, items + checking, items}
	}
	found := view.PreflightCounts(findings)
	return []string{items + takes + ", " + found, items + ", " + found, found}
}

// renderForm draws all rows with their groups if they fit, or else the rows around the focused one, and the hints
// below.
func (f *Form) renderForm(c draw.Canvas, hints int) []string {
	hint := f.renderHint(c.WithSize(c.Width-2, hints))
	room := max(c.Height-hints, 1)
	lines := f.renderAllRows(c)
	if len(lines) > room {
		lines = f.renderRowsAroundFocus(c, room)
	}
	lines = c.WithSize(c.Width, room).FitLines(lines)
	return append(lines, draw.IndentLines(c.WithSize(c.Width-2, hints).FitLines(hint), 1)...)
}

func (f *Form) renderAllRows(c draw.Canvas) (lines []string) {
	f.rowAtLine, f.firstRow = nil, 0
	for i := range f.rows {
		if group := f.rowGroup(i); i == 0 || group != f.rowGroup(i-1) {
			heading := ""
			if group != "" {
				heading = c.RenderHeading(group)
			}
			lines, f.rowAtLine = append(lines, heading), append(f.rowAtLine, -1)
		}
		lines, f.rowAtLine = append(lines, f.renderRow(c, i)), append(f.rowAtLine, i)
	}
	return lines
}

// renderRowsAroundFocus draws the rows around the focused one, with the number of hidden rows.
func (f *Form) renderRowsAroundFocus(c draw.Canvas, room int) (lines []string) {
	f.rowAtLine = nil
	f.firstRow = max(min(f.firstRow, f.focusedIndex-1, len(f.rows)-room), f.focusedIndex-room+2, 0)
	f.firstRow = min(f.firstRow, max(len(f.rows)-room, 0), f.focusedIndex)
	last := min(f.firstRow+room, len(f.rows)) - 1
	for i := f.firstRow; i <= last; i++ {
		more := ""
		switch {
		case i == f.firstRow && i > 0:
			more = fmt.Sprintf(" %s %d", c.Glyphs.Ascending, i)
		case i == last && i < len(f.rows)-1:
			more = fmt.Sprintf(" %s %d", c.Glyphs.Descending, len(f.rows)-1-i)
		}
		lines = append(
			lines,
			c.AlignEnds(f.renderRow(c.WithSize(c.Width-lipgloss.Width(more), 1), i), c.Theme.Dim.Render(more)),
		)
		f.rowAtLine = append(f.rowAtLine, i)
	}
	return lines
}

func (f *Form) renderRow(c draw.Canvas, i int) string {
	r := &f.rows[i]
	sign, style := " ", c.Theme.Text
	odd, refused := f.fieldProblem(i)
	switch {
	case i == f.focusedIndex:
		sign, style = c.Theme.Accent.Render(c.Glyphs.Cursor), c.Theme.Strong
	case r.err != nil || refused:
		sign = c.Theme.Bad.Render(c.Glyphs.Failed)
	case odd != "":
		sign = c.Theme.Waiting.Render(c.Glyphs.Attention)
	}
	label := sign + " " + c.RenderCell(style, r.title, titleWidth-2, false)
	width := max(c.Width-titleWidth-1, 1)
	switch {
	case i == len(f.rows)-1:
		return label + c.Truncate(c.Theme.Dim.Render("y copies it"), width)
	case i == f.focusedIndex:
		f.input.SetWidth(max(width-1, 1))
		return label + f.input.View()
	}
	return label + c.Truncate(r.text, width)
}

// renderHint draws the answer to the last key, or what is wrong with the focused field, or what it takes.
func (f *Form) renderHint(c draw.Canvas) []string {
	r := &f.rows[f.focusedIndex]
	fit := f.findCompletions()
	odd, refused := f.fieldProblem(f.focusedIndex)
	var lines []string
	most := max(c.Height-1, 1)
	switch {
	case f.message != "" && f.isWarning:
		return c.RenderParagraph(c.Theme.Waiting, f.message, c.Height)
	case f.message != "":
		return c.RenderParagraph(c.Theme.Good, f.message, c.Height)
	case r.err != nil:
		lines = c.RenderParagraph(c.Theme.Bad, c.Glyphs.Failed+" "+r.err.Error(), most)
	case refused:
		lines = c.RenderParagraph(c.Theme.Bad, c.Glyphs.Failed+" "+odd, most)
	case odd != "":
		lines = c.RenderParagraph(c.Theme.Waiting, c.Glyphs.Attention+" "+odd, most)
	default:
		lines = c.RenderParagraph(c.Theme.Dim, r.helpText(c), most)
	}
	if len(lines) < c.Height && len(fit) > 0 {
		choices := strings.Join(fit[:min(len(fit), 40)], "  ")
		if f.canComplete() {
			choices = c.Theme.Accent.Render("tab") + " " + choices
		}
		lines = append(lines, c.Truncate(choices, c.Width))
	}
	return lines
}

func (r *formRow) helpText(c draw.Canvas) string {
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

func (f *Form) renderVisiblePreview(c draw.Canvas) []string {
	all := f.renderPreview(c)
	f.lineCount, f.pageHeight = len(all), max(c.Height, 1)
	f.scrollTop = max(min(f.scrollTop, f.lineCount-f.pageHeight), 0)
	shown := all[f.scrollTop:min(f.scrollTop+f.pageHeight, len(all))]
	if left := len(all) - f.scrollTop - len(shown); left > 0 && len(shown) > 1 {
		shown[len(shown)-1] = c.Truncate(c.Theme.Dim.Render(fmt.Sprintf(" %d more lines: pgdn", left+1)), c.Width)
	}
	return shown
}
