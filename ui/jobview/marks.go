package jobview

import (
	"fmt"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// markKeys mark items to be restored alone: those of the selected row, else none is said, or all that a restore lost.
func (s *Screen) markKeys(
	on func() bool,
	items func(key string) []restorespec.Item,
	none string,
	lost func() []restorespec.Item,
) []keys.Binding {
	return []keys.Binding{
		{
			Name:  "mark",
			Keys:  []string{"m"},
			Label: "m",
			What:  "mark to restore it alone",
			Brief: "mark",
			Group: keys.Look,
			Short: true,
			On:    on,
			Do: func(string) tea.Cmd {
				items := items(s.Selected())
				if len(items) == 0 {
					return noticed(none)
				}
				s.mark(!s.areMarked(items), items...)
				return s.sayMarked()
			},
		},
		{
			Name:  "mark-failed",
			Keys:  []string{"*"},
			Label: "*",
			What:  "mark all that was lost",
			Group: keys.Look,
			On:    on,
			Do: func(string) tea.Cmd {
				s.mark(true, lost()...)
				return s.sayMarked()
			},
		},
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
	return noticed(
		"Marked: " + human.Count(
			len(s.marked),
			"object",
		) + ". " + s.sources.Keys.Key(
			"preview",
		) + " restores them alone.",
	)
}

// Marked are the objects that are to be restored alone.
func (s *Screen) Marked() []restorespec.Item { return slices.Collect(maps.Keys(s.marked)) }

func (s *Screen) areMarked(items []restorespec.Item) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(i restorespec.Item) bool { return !s.marked[i] })
}

// markKeys mark the objects that messages name and the restore lost. Which those are is read once a mark asks for it.
func (p *resultsPage) markKeys(s *Screen) []keys.Binding {
	bindings := s.markKeys(
		func() bool { return s.job.Job != nil && s.job.Kind == job.Restore && len(p.sections(s)) > 0 },
		func(key string) []restorespec.Item { return p.lost(s, key) },
		"Nothing is selected here that the restore lost.",
		func() []restorespec.Item { return cluster.FailedItems(s.resources().items.Value) },
	)
	for i := range bindings {
		do := bindings[i].Do
		bindings[i].Do = func(key string) tea.Cmd { return s.withItems(func() tea.Cmd { return do(key) }) }
		bindings[i].WhyNot = func() string {
			if !s.job.Terminal() {
				return s.job.Name + " has not ended: what it lost is not known"
			}
			return s.sources.Unavailable(cluster.Items)
		}
	}
	return bindings
}

// withItems acts once the list of the items is known.
func (s *Screen) withItems(act func() tea.Cmd) tea.Cmd {
	p, by := s.resources(), s.asker()
	if p.items.Known {
		return act()
	}
	by.Answered = func() tea.Cmd {
		if s.answers++; p.items.Err != nil {
			return noticed("Nothing is marked: the list of the items cannot be read: " + p.items.Err.Error())
		}
		return act()
	}
	return tea.Batch(noticed("Reading the list of the items"+s.canvas.Glyphs.Ellipsis), p.ask(s, by))
}

// lost are the items that a row names, a message or one of its resources, and the restore lost.
func (p *resultsPage) lost(s *Screen, key string) (lost []restorespec.Item) {
	var section, message, resource int
	depth, _ := fmt.Sscanf(key, "%d/%d/%d", &section, &message, &resource)
	sections := p.sections(s)
	if depth < 2 || section >= len(sections) || message >= len(sections[section].Messages) {
		return nil
	}
	m := &sections[section].Messages[message]
	for n, r := range m.Resources {
		if depth == 3 && n != resource {
			continue
		}
		of := s.resources().failed(m.Namespace, r.Name, r.Kind)
		if len(of) == 0 { // Velero has written the kind, not the resource
			of = s.resources().failed(m.Namespace, r.Name, m.Words())
		}
		lost = append(lost, of...)
	}
	return lost
}

// failed are the failed items of a namespace and name, and of a resource, or for a reason.
func (p *resourcesPage) failed(namespace, name, about string) []restorespec.Item {
	if p.lost == nil && p.items.Known {
		p.lost = map[[3]string][]restorespec.Item{}
		for _, k := range p.items.Value.Kinds {
			for n, i := range k.Items {
				one := cluster.FailedItems(
					results.Items{Kinds: []results.Kind{{Name: k.Name, Items: k.Items[n : n+1]}}},
				)
				for _, about := range []string{k.Name, i.Why} {
					key := [3]string{i.Namespace, i.Name, about}
					p.lost[key] = append(p.lost[key], one...)
				}
			}
		}
	}
	return p.lost[[3]string{namespace, name, about}]
}

// markRow puts a mark in front of a row that begins with spaces.
func markRow(c draw.Canvas, marked bool, row string) string {
	if !marked || len(row) < 2 {
		return row
	}
	return " " + c.Theme.Accent.Render(c.Glyphs.Marked) + row[2:]
}
