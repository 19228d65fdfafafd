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

// newMarkBindings returns the keys that mark items to be restored alone: the items of the selected row, or all that a
// restore lost. none is the notice if the row has no such item.
func (s *Screen) newMarkBindings(
	on func() bool,
	items func(key string) []restorespec.Item,
	none string,
	lost func() []restorespec.Item,
) []keys.Binding {
	return []keys.Binding{
		{
			Name:        "mark",
			Keys:        []string{"m"},
			Label:       "m",
			Description: "mark to restore it alone",
			FooterText:  "mark",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      on,
			Do: func(string) tea.Cmd {
				items := items(s.SelectedKey())
				if len(items) == 0 {
					return sendNotice(none)
				}
				s.setMarked(!s.areMarked(items), items...)
				return s.notifyMarkedCount()
			},
		},
		{
			Name:        "mark-failed",
			Keys:        []string{"*"},
			Label:       "*",
			Description: "mark all that was lost",
			Group:       keys.GroupLook,
			Active:      on,
			Do: func(string) tea.Cmd {
				s.setMarked(true, lost()...)
				return s.notifyMarkedCount()
			},
		},
	}
}

func (s *Screen) setMarked(is bool, items ...restorespec.Item) {
	if s.markedItems == nil {
		s.markedItems = map[restorespec.Item]bool{}
	}
	for _, i := range items {
		if s.markedItems[i] = true; !is {
			delete(s.markedItems, i)
		}
	}
}

func (s *Screen) notifyMarkedCount() tea.Cmd {
	if len(s.markedItems) == 0 {
		return sendNotice("Nothing is marked.")
	}
	return sendNotice(
		"Marked: " + human.Count(
			len(s.markedItems),
			"object",
		) + ". " + s.dependencies.Keys.FirstKey(
			"preview",
		) + " restores them alone.",
	)
}

// MarkedItems returns the objects that are marked to be restored alone.
func (s *Screen) MarkedItems() []restorespec.Item { return slices.Collect(maps.Keys(s.markedItems)) }

func (s *Screen) areMarked(items []restorespec.Item) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(i restorespec.Item) bool { return !s.markedItems[i] })
}

// newMarkBindings returns the keys that mark the objects which messages name and the restore lost. The list of these
// objects is read only once a key needs it.
func (p *resultsPage) newMarkBindings(s *Screen) []keys.Binding {
	bindings := s.newMarkBindings(
		func() bool { return s.job.Job != nil && s.job.Kind == job.Restore && len(p.shownSections(s)) > 0 },
		func(key string) []restorespec.Item { return p.lostItems(s, key) },
		"Nothing is selected here that the restore lost.",
		func() []restorespec.Item { return cluster.FailedItems(s.findResourcesPage().itemsAnswer.Value) },
	)
	for i := range bindings {
		do := bindings[i].Do
		bindings[i].Do = func(key string) tea.Cmd { return s.whenItemsKnown(func() tea.Cmd { return do(key) }) }
		bindings[i].Unavailable = func() string {
			if !s.job.IsTerminal() {
				return s.job.Name + " has not ended: what it lost is not known"
			}
			return s.dependencies.UnavailableReason(cluster.CapabilityItems)
		}
	}
	return bindings
}

// whenItemsKnown calls act once the list of the items is known.
func (s *Screen) whenItemsKnown(act func() tea.Cmd) tea.Cmd {
	p, by := s.findResourcesPage(), s.newRequester()
	if p.itemsAnswer.HasValue {
		return act()
	}
	by.OnAnswer = func() tea.Cmd {
		if s.revision++; p.itemsAnswer.Err != nil {
			return sendNotice("Nothing is marked: the list of the items cannot be read: " + p.itemsAnswer.Err.Error())
		}
		return act()
	}
	return tea.Batch(sendNotice("Reading the list of the items"+s.lastCanvas.Glyphs.Ellipsis), p.fetchItems(s, by))
}

// lostItems returns the items that the restore lost, of those that a row names. The row is a message or one of its
// resources.
func (p *resultsPage) lostItems(s *Screen, key string) (lost []restorespec.Item) {
	var section, message, resource int
	depth, _ := fmt.Sscanf(key, "%d/%d/%d", &section, &message, &resource)
	sections := p.shownSections(s)
	if depth < 2 || section >= len(sections) || message >= len(sections[section].Messages) {
		return nil
	}
	m := &sections[section].Messages[message]
	for n, r := range m.Resources {
		if depth == 3 && n != resource {
			continue
		}
		of := s.findResourcesPage().failedItems(r.Namespace, r.Name, r.Kind)
		if len(of) == 0 { // Velero has written the kind, not the resource
			of = s.findResourcesPage().failedItems(r.Namespace, r.Name, m.DisplayText())
		}
		lost = append(lost, of...)
	}
	return lost
}

// failedItems returns the failed items with a namespace and name, and with a resource or a reason.
func (p *resourcesPage) failedItems(namespace, name, about string) []restorespec.Item {
	if p.failedByName == nil && p.itemsAnswer.HasValue {
		p.failedByName = map[[3]string][]restorespec.Item{}
		for _, k := range p.itemsAnswer.Value.Kinds {
			for n, i := range k.Items {
				failed := cluster.FailedItems(
					results.Items{Kinds: []results.Kind{{Name: k.Name, Items: k.Items[n : n+1]}}},
				)
				for _, about := range []string{k.Name, i.Why} {
					key := [3]string{i.Namespace, i.Name, about}
					p.failedByName[key] = append(p.failedByName[key], failed...)
				}
			}
		}
	}
	return p.failedByName[[3]string{namespace, name, about}]
}

// overlayMark draws a mark in front of a row that begins with spaces.
func overlayMark(c draw.Canvas, marked bool, row string) string {
	if !marked || len(row) < 2 {
		return row
	}
	return " " + c.Theme.Accent.Render(c.Glyphs.Marked) + row[2:]
}
