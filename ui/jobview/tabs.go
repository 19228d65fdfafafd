package jobview

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
)

// Page is the name of a page.
type Page string

// The pages that others open or name.
const (
	Overview   Page = "Overview"
	Results    Page = "Results"
	Resources  Page = "Resources"
	Volumes    Page = "Volumes"
	Operations Page = "Operations"
)

// Tab is a page as the screen offers it.
type Tab struct {
	Page  Page
	short string // its name on narrow screens
	// Key opens the page here and from the dashboard, and What names it; Footer puts it in the footer.
	Key, What string
	Footer    bool
	make      func() page
}

// tabs are the pages in their order.
func tabs() []Tab {
	return []Tab{
		{Page: Overview, short: "Overview", make: func() page { return overview{} }},
		{Page: Results, short: "Results", Key: "e", What: "errors", Footer: true, make: func() page { return &resultsPage{} }},
		{Page: "Logs", short: "Logs", Key: "l", What: "logs", Footer: true, make: func() page { return &logsPage{} }},
		{Page: Resources, short: "Items", make: func() page { return &resourcesPage{} }},
		{Page: Volumes, short: "Vols", Key: "v", What: "volumes", make: newVolumesPage},
		{Page: Operations, short: "Ops", make: func() page { return &operationsPage{} }},
		{Page: "Timeline", short: "Time", make: func() page { return &timelinePage{} }},
		{Page: "YAML", short: "YAML", make: func() page { return &yamlPage{} }},
	}
}

// Openers are the tabs with a key.
func Openers() []Tab {
	return slices.DeleteFunc(tabs(), func(t Tab) bool { return t.Key == "" })
}

// indexOf returns the index of a tab, the first one's for a name that there is not.
func (s *Screen) indexOf(p Page) int {
	return max(slices.IndexFunc(s.tabs, func(t Tab) bool { return t.Page == p }), 0)
}

// tabsLine names the pages; on narrow screens with shorter names, without counts, or only the open one.
func (s *Screen) tabsLine(c draw.Canvas) string {
	long := func(t Tab) string { return string(t.Page) }
	short := func(t Tab) string { return t.short }
	only := func(t Tab) string {
		if t.Page != s.tabs[s.at].Page {
			return ""
		}
		return t.short
	}
	line := ""
	for _, level := range []struct {
		name    func(Tab) string
		counted bool
	}{{long, true}, {short, true}, {short, false}, {only, true}, {only, false}} {
		labels := make([]string, len(s.tabs))
		for i, t := range s.tabs {
			words := []string{fmt.Sprint(i + 1), level.name(t), ""}
			if level.counted {
				words[2] = s.pages[i].count(s.job.Job)
			}
			text := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
			labels[i] = c.Theme.Dim.Render(" " + text + " ")
			if i == s.at {
				labels[i] = c.Theme.Accent.Render("[" + text + "]")
			}
		}
		if line, s.labels = draw.Labels(labels); lipgloss.Width(line) <= c.Width {
			break
		}
	}
	return c.Cut(line, c.Width)
}
