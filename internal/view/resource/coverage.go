package resource

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/watch"
)

// CoverageName is the name of the tab of [Coverage].
const CoverageName = "Coverage"

// Coverage lists namespaces, and how backups protect them. What it shows is read when it is opened.
func Coverage() view.Tab {
	return view.Tab{
		Name: CoverageName, Short: "Cov", Kinds: []string{watch.Backups, watch.Schedules},
		Groups: func(a *assess.Assessment) []view.Group {
			group := view.Group{Columns: coverageColumns}
			reading := a.Coverage
			if reading == nil || reading.Result == nil {
				group.Note = "? Open this tab to read what backups protect."
				if reading != nil && reading.Progress != "" {
					group.Note = "? " + human.Capital(reading.Progress) + "..."
				}
				if reading != nil && reading.Err != nil {
					group.Note = "? " + reading.Err.Error()
				}
				return []view.Group{group}
			}
			group.Heading = "read at " + human.Clock(
				reading.Result.At,
				a.Environment.Now,
			) + human.Clause(
				", ",
				cmp.Or(errorText(reading.Err), reading.Progress, unreadText(reading.Result)),
			)
			for _, n := range reading.Result.Namespaces {
				row := view.Row{
					Key:   "coverage/" + n.Name,
					Words: []string{n.Name, string(n.State), string(n.Reason), n.Schedule},
					Alarm: n.State == coverage.Unprotected,
				}
				if row.About = n.Name + ": every claim and workload is in a backup."; n.Sentence != "" {
					row.About = n.Name + ": " + n.Sentence
				}
				row.Cells = func(now time.Time) []view.Text {
					return slices.Insert(coverageCells(n.Item, now), claimsColumn, view.Text{Text: n.ClaimsCovered()})
				}
				row.Page = func() view.Page { return coveragePage(n, a.Environment.Now) }
				group.Rows = append(group.Rows, row)
			}
			return []view.Group{group}
		},
		Empty: func(*watch.Snapshot) string { return "There is no namespace to protect." },
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func unreadText(r *coverage.Result) string {
	if len(r.NotSeen) == 0 {
		return ""
	}
	return "not all could be read: " + human.Shorten(r.NotSeen[0], 100)
}

var coverageColumns = []view.ScreenColumn{
	{Title: "NAMESPACE", Width: 20, Grow: 2, Limit: 63},
	{Title: "STATE", Width: 11},
	{Title: "AGE", Width: 6, Priority: 1, Right: true},
	{Title: "NEXT", Width: 6, Priority: 2, Right: true},
	{Title: "CLAIMS", Width: 9, Priority: 3, Right: true},
	{Title: "LAST COPY EXPIRES", Width: 17, Priority: 4},
	{Title: "NEWEST COPY", Width: 24, Grow: 1, Limit: 63, Priority: 5},
}

var coverageStyles = map[coverage.State]view.Tone{
	coverage.Covered:     view.OK,
	coverage.Warned:      view.Waiting,
	coverage.Undecided:   view.Waiting,
	coverage.Unprotected: view.Bad,
}

func coverageState(s coverage.State) view.Text {
	text := string(s)
	if s == coverage.Undecided {
		text = "? " + text
	}
	return view.Toned(coverageStyles[s], text)
}

// claimsColumn is the column that only namespaces have.
const claimsColumn = 4

// coverageCells are those of all columns but the claims'.
func coverageCells(i coverage.Item, now time.Time) []view.Text {
	return []view.Text{
		{Text: i.Name}, coverageState(i.State), {Text: human.Age(i.At, now)}, {Text: view.Until(i.Next, now, "never")},
		{Text: i.Expiry(now)}, view.Toned(view.Dim, i.Backup),
	}
}

func coveragePage(n coverage.Namespace, now time.Time) view.Page {
	page := view.Page{Kind: "namespace", Name: n.Name, State: coverageState(n.State)}
	why, titles := view.Section{Title: "Why"}, map[string][]string{}
	var reasons []coverage.Item // the first item of each
	for _, part := range []struct {
		title string
		items []coverage.Item
	}{{"Claims", n.Claims}, {"Workloads", n.Workloads}, {"Namespace", []coverage.Item{n.Item}}} {
		if part.title == "Namespace" && len(n.Claims)+len(n.Workloads) > 0 {
			continue
		}
		section := view.Section{
			Title: part.title,
			Columns: slices.Concat(
				[]view.ScreenColumn{{Title: "NAME", Width: 24, Grow: 1, Limit: 63}},
				coverageColumns[1:claimsColumn],
				coverageColumns[claimsColumn+1:],
			),
		}
		for _, i := range part.items {
			section.Rows = append(section.Rows, view.Cells{Cells: coverageCells(i, now)})
			if i.Sentence == "" {
				continue
			}
			if titles[i.Sentence] == nil {
				reasons = append(reasons, i)
			}
			titles[i.Sentence] = append(titles[i.Sentence], i.Title())
		}
		page.Sections = append(page.Sections, section)
	}
	for _, i := range reasons {
		why.Lines = append(
			why.Lines,
			view.Toned(coverageStyles[i.State], human.List(titles[i.Sentence], 4)+": "+i.Sentence),
		)
	}
	if len(why.Lines) > 0 {
		page.Sections = slices.Insert(page.Sections, 0, why)
	}
	return page
}
