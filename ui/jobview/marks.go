package jobview

import (
	"fmt"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/stored/outcome"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// markable is a page that lists what can be restored alone.
type markable struct {
	on     func() bool
	whyNot func() string // nil for always
	// first reads what the marks need, and then acts.
	first func(act func() tea.Cmd) tea.Cmd
	items func(key string) []restorespec.Item // of a row
	none  string                              // is said of a row that has none
	lost  func() []restorespec.Item           // all that a restore lost
}

// markKeys mark what a page lists, to be restored alone: the selected row, or all that a restore lost.
func (s *Screen) markKeys(of markable) []keys.Binding {
	act := func(do func() tea.Cmd) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			if of.first == nil {
				return do()
			}
			return of.first(do)
		}
	}
	return []keys.Binding{
		{Name: "mark", Keys: []string{"m"}, Label: "m", What: "mark to restore it alone", Brief: "mark", Group: keys.Look, Short: true, On: of.on, WhyNot: of.whyNot, Do: act(func() tea.Cmd {
			items := of.items(s.Selected())
			if len(items) == 0 {
				return noticed(of.none)
			}
			s.mark(!s.areMarked(items), items...)
			return s.sayMarked()
		})},
		{Name: "mark-failed", Keys: []string{"*"}, Label: "*", What: "mark all that was lost", Group: keys.Look, On: of.on, WhyNot: of.whyNot, Do: act(func() tea.Cmd {
			s.mark(true, of.lost()...)
			return s.sayMarked()
		})},
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

// oneItem returns the items of a row that stands for one.
func oneItem(item func(key string) (restorespec.Item, bool)) func(key string) []restorespec.Item {
	return func(key string) []restorespec.Item {
		if i, ok := item(key); ok {
			return []restorespec.Item{i}
		}
		return nil
	}
}

func (s *Screen) areMarked(items []restorespec.Item) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(i restorespec.Item) bool { return !s.marked[i] })
}

// withItems reads which items a restore lost, if that is not known, and then acts.
func (s *Screen) withItems(act func() tea.Cmd) tea.Cmd {
	p := s.resources()
	if p.items.Known {
		return act()
	}
	by := s.asker()
	by.Answered = func() tea.Cmd {
		s.answers++
		if p.items.Err != nil {
			return noticed("Nothing is marked: the list of the items cannot be read: " + p.items.Err.Error())
		}
		return act()
	}
	return tea.Batch(noticed("Reading the list of the items"+s.canvas.Glyphs.Ellipsis), p.ask(s, by))
}

// markable: on the Results page the objects are marked that messages name and the restore lost.
func (p *resultsPage) markable(s *Screen) markable {
	return markable{first: s.withItems, items: func(key string) []restorespec.Item { return p.lost(s, key) },
		on:   func() bool { return s.job.Job != nil && s.job.Kind == job.Restore && len(p.sections(s)) > 0 },
		none: "Nothing is selected here that the restore lost.",
		lost: func() []restorespec.Item { return inspect.FailedItems(s.resources().items.Value) },
		whyNot: func() string {
			if !s.job.Terminal() {
				return s.job.Name + " has not ended: what it lost is not known"
			}
			return s.sources.Unavailable(inspect.Items)
		}}
}

// lost are the objects of a row, a message or one of its resources, that a restore lost.
func (p *resultsPage) lost(s *Screen, key string) []restorespec.Item {
	var section, message, resource int
	depth, _ := fmt.Sscanf(key, "%d/%d/%d", &section, &message, &resource)
	sections := p.sections(s)
	if depth < 2 || section >= len(sections) || message >= len(sections[section].Messages) {
		return nil
	}
	m := &sections[section].Messages[message]
	named := m.Resources
	if depth == 3 && resource < len(named) {
		named = named[resource : resource+1]
	}
	return s.lostIn(m, named)
}

// lostItem is one that a restore lost: of which kind, why, and as the backup names it.
type lostItem struct {
	kind, why string
	item      restorespec.Item
}

// lostIn are the items that a message of a restore names and the restore lost.
func (s *Screen) lostIn(m *outcome.Message, named []outcome.Resource) (lost []restorespec.Item) {
	p := s.resources()
	if p.lost == nil && p.items.Known {
		p.lost = map[[2]string][]lostItem{}
		for _, k := range p.items.Value.Kinds {
			for _, i := range k.Items {
				if item, ok := inspect.LostItem(k.Name, i); ok {
					key := [2]string{i.Namespace, i.Name}
					p.lost[key] = append(p.lost[key], lostItem{k.Name, i.Why, item})
				}
			}
		}
	}
	for _, r := range named {
		of := p.lost[[2]string{m.Namespace, r.Name}]
		byKind := slices.ContainsFunc(of, func(l lostItem) bool { return l.kind == r.Kind })
		for _, l := range of {
			if byKind && l.kind == r.Kind || !byKind && l.why == m.Words() { // Velero may write the kind instead of the resource
				lost = append(lost, l.item)
			}
		}
	}
	return lost
}

// markRow puts a mark in front of a row that begins with spaces.
func markRow(c draw.Canvas, marked bool, row string) string {
	if !marked || len(row) < 2 {
		return row
	}
	return " " + c.Theme.Accent.Render(c.Glyphs.Marked) + row[2:]
}
