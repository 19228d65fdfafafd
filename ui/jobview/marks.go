package jobview

import (
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// markKeys mark what a page lists, to be restored alone: the selected row, or all that a restore lost.
func (s *Screen) markKeys(on func() bool, item func(key string) (restorespec.Item, bool), lost func() []restorespec.Item) []keys.Binding {
	return []keys.Binding{
		{Name: "mark", Keys: []string{"m"}, Label: "m", What: "mark to restore it alone", Brief: "mark", Group: keys.Look, Short: true, On: on, Do: func(string) tea.Cmd {
			i, ok := item(s.Selected())
			if !ok {
				return noticed("Nothing is selected here that can be restored alone.")
			}
			s.mark(!s.marked[i], i)
			return s.sayMarked()
		}},
		{Name: "mark-failed", Keys: []string{"*"}, Label: "*", What: "mark all that was lost", Group: keys.Look, On: on, Do: func(string) tea.Cmd {
			s.mark(true, lost()...)
			return s.sayMarked()
		}},
	}
}

func (s *Screen) mark(is bool, items ...restorespec.Item) {
	if s.marked == nil {
		s.marked = map[restorespec.Item]bool{}
	}
	for _, i := range items {
		if s.marked[i] = true; !is {
			delete(s.marked, i)
		}
	}
}

func (s *Screen) sayMarked() tea.Cmd {
	if len(s.marked) == 0 {
		return noticed("Nothing is marked.")
	}
	return noticed("Marked: " + human.Count(len(s.marked), "object") + ". " + s.sources.Keys.Key("preview") + " restores them alone.")
}

// Marked are the objects that are to be restored alone.
func (s *Screen) Marked() []restorespec.Item { return slices.Collect(maps.Keys(s.marked)) }

func (s *Screen) isMarked(i restorespec.Item, ok bool) bool { return ok && s.marked[i] }

// markRow puts a mark in front of a row that begins with spaces.
func markRow(c draw.Canvas, marked bool, row string) string {
	if !marked || len(row) < 2 {
		return row
	}
	return " " + c.Theme.Accent.Render(c.Glyphs.Marked) + row[2:]
}
