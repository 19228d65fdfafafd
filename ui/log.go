package ui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// logScreen lists what veltui has changed from this machine, newest first, and below a row all of it.
type logScreen struct {
	still
	*pager.Pager
	m     *Model
	keys  []keys.Binding
	audit fetch.Answer[*document.Audit]
	open  map[string]bool // the attempts whose details are shown
}

var logColumns = []draw.Column{{Title: "TIME", Width: 13}, {Title: "CONTEXT", Width: 12, Grow: 1, Limit: 30, Priority: 4}, {Title: "BY", Width: 12, Grow: 1, Limit: 40, Priority: 3},
	{Title: "ACTION", Width: 14}, {Title: "WHAT", Width: 20, Grow: 3, Limit: 60}, {Title: "SENT", Width: 9, Priority: 2}, {Title: "STATE", Width: 13, Priority: 1},
	{Title: "REASON", Width: 20, Grow: 3, Limit: 100, Priority: 5}}

func (m *Model) openLog() tea.Cmd {
	s := &logScreen{Pager: pager.New(nil), m: m, open: map[string]bool{}}
	selected := func() bool { return s.Selected() != "" }
	s.keys = append([]keys.Binding{
		{Name: "back", Keys: []string{"esc", "left", "h", "backspace"}, Label: "esc", What: "back", Group: keys.Look, Short: true, Do: s.Leave(m.pop)},
		{Name: "open", Keys: []string{"enter", "right"}, Label: "enter", What: "details", Group: keys.Look, Short: true, On: selected,
			Do: keys.Run(func() { s.open[s.Selected()] = !s.open[s.Selected()] })},
		{Name: "copy", Keys: []string{"y"}, Label: "y", What: "copy command", Group: keys.Look, Short: true, On: selected, Do: run(s.copyCommand)},
	}, s.Pager.Keys()...)
	m.showDashboard()
	m.push(s)
	return s.audit.Ask(fetch.Asker{Start: m.starts, Clock: m.options.Clock}, 0, func(context.Context) (*document.Audit, error) { return m.options.Audit("") })
}

func (s *logScreen) allows() allowed                    { return onMain(false) }
func (s *logScreen) Keys() []keys.Binding               { return s.keys }
func (s *logScreen) Update(msg tea.Msg) (tea.Cmd, bool) { return s.Pager.Update(msg) }

// copyCommand copies what does the same as the selected attempt.
func (s *logScreen) copyCommand() tea.Cmd {
	i := slices.IndexFunc(s.audit.Value.Items, func(one document.Audited) bool { return one.Attempt == s.Selected() })
	return s.m.at.sources.CopyText("the command", strings.Join(s.audit.Value.Items[i].Commands, "\n"), "")
}

func (s *logScreen) View(c draw.Canvas) string {
	lines, widths := []string{" " + c.Theme.Strong.Render("What veltui has changed from this machine"), c.Rule()}, draw.FitColumns(logColumns, c.Width-1)
	switch {
	case s.audit.Err != nil:
		lines = append(lines, c.Note(c.Theme.Waiting, "The log cannot be read: "+s.audit.Err.Error(), 1, 3)...)
	case !s.audit.Known:
		lines = append(lines, " Reading the log"+c.Glyphs.Ellipsis)
	default:
		for _, note := range s.audit.Value.Notes {
			lines = append(lines, c.Note(c.Theme.Waiting, note, 1, 1)...)
		}
		lines = append(lines, " "+c.Titles(logColumns, widths, draw.Sorting{}))
		if s.Show(s.rows(c, widths)); s.Selected() == "" {
			s.GoTo(0)
		}
	}
	return c.Page(append(lines, s.Page(c.Sized(c.Width, max(c.Height-len(lines), 0)))...))
}

func (s *logScreen) rows(c draw.Canvas, widths []int) (rows pager.Lines) {
	for _, one := range slices.Backward(s.audit.Value.Items) {
		cells := one.Cells(c.Now)
		for i := range cells {
			cells[i] = c.Cell(c.Theme.Text, cells[i], widths[i], false)
		}
		rows = append(rows, pager.Line{Key: one.Attempt, Text: " " + draw.JoinCells(cells, widths)})
		if s.open[one.Attempt] {
			for line := range strings.Lines(one.YAML()) {
				rows = append(rows, pager.Plain(draw.Indented(c.Sized(c.Width-4, 0).Whole(strings.TrimRight(line, "\n")), 4))...)
			}
		}
	}
	return rows
}
