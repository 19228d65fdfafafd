package tabs

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// CoverageName is the name of the tab of [Coverage].
const CoverageName = "Coverage"

// Coverage lists namespaces, and how backups protect them. What it shows is read when it is opened.
func Coverage() detail.Tab {
	return detail.Tab{
		Name: CoverageName, Short: "Cov", Kinds: []string{watch.Backups, watch.Schedules},
		Groups: func(a *assess.Assessment) []detail.Group {
			group := detail.Group{Columns: coverageColumns}
			reading := a.Coverage
			if reading == nil || reading.Result == nil {
				group.Note = "? Open this tab to read what backups protect."
				if reading != nil && reading.Progress != "" {
					group.Note = "? " + human.Capital(reading.Progress) + "..."
				}
				if reading != nil && reading.Err != nil {
					group.Note = "? " + reading.Err.Error()
				}
				return []detail.Group{group}
			}
			group.Heading = "read at " + human.Clock(
				reading.Result.At,
				a.Environment.Now,
			) + human.Clause(
				", ",
				cmp.Or(errorText(reading.Err), reading.Progress, unreadText(reading.Result)),
			)
			for _, n := range reading.Result.Namespaces {
				row := detail.Row{
					Key:   "coverage/" + n.Name,
					Words: []string{n.Name, string(n.State), string(n.Reason), n.Schedule},
					Alarm: n.State == coverage.Unprotected,
				}
				if row.About = n.Name + ": every claim and workload is in a backup."; n.Sentence != "" {
					row.About = n.Name + ": " + n.Sentence
				}
				row.Cells = func(now time.Time) []detail.Text {
					return slices.Insert(coverageCells(n.Item, now), claimsColumn, detail.Text{Text: n.ClaimsCovered()})
				}
				row.Page = func() detail.Page { return coveragePage(n, a.Environment.Now) }
				group.Rows = append(group.Rows, row)
			}
			return []detail.Group{group}
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

var coverageColumns = []draw.Column{
	{Title: "NAMESPACE", Width: 20, Grow: 2, Limit: 63},
	{Title: "STATE", Width: 11},
	{Title: "AGE", Width: 6, Priority: 1, Right: true},
	{Title: "NEXT", Width: 6, Priority: 2, Right: true},
	{Title: "CLAIMS", Width: 9, Priority: 3, Right: true},
	{Title: "LAST COPY EXPIRES", Width: 17, Priority: 4},
	{Title: "NEWEST COPY", Width: 24, Grow: 1, Limit: 63, Priority: 5},
}

var coverageStyles = map[coverage.State]detail.Style{
	coverage.Covered:     detail.Good,
	coverage.Warned:      detail.Waiting,
	coverage.Undecided:   detail.Waiting,
	coverage.Unprotected: detail.Bad,
}

func coverageState(s coverage.State) detail.Text {
	text := string(s)
	if s == coverage.Undecided {
		text = "? " + text
	}
	return detail.Styled(coverageStyles[s], text)
}

// claimsColumn is the column that only namespaces have.
const claimsColumn = 4

// coverageCells are those of all columns but the claims'.
func coverageCells(i coverage.Item, now time.Time) []detail.Text {
	return []detail.Text{
		{Text: i.Name}, coverageState(i.State), {Text: human.Age(i.At, now)}, {Text: until(i.Next, now, "never")},
		{Text: i.Expiry(now)}, detail.Styled(detail.Dim, i.Backup),
	}
}

func coveragePage(n coverage.Namespace, now time.Time) detail.Page {
	page := detail.Page{Kind: "namespace", Name: n.Name, State: coverageState(n.State)}
	why, titles := detail.Section{Title: "Why"}, map[string][]string{}
	var reasons []coverage.Item // the first item of each
	for _, part := range []struct {
		title string
		items []coverage.Item
	}{{"Claims", n.Claims}, {"Workloads", n.Workloads}, {"Namespace", []coverage.Item{n.Item}}} {
		if part.title == "Namespace" && len(n.Claims)+len(n.Workloads) > 0 {
			continue
		}
		section := detail.Section{
			Title: part.title,
			Columns: slices.Concat(
				[]draw.Column{{Title: "NAME", Width: 24, Grow: 1, Limit: 63}},
				coverageColumns[1:claimsColumn],
				coverageColumns[claimsColumn+1:],
			),
		}
		for _, i := range part.items {
			section.Rows = append(section.Rows, detail.Cells{Cells: coverageCells(i, now)})
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
			detail.Styled(coverageStyles[i.State], human.List(titles[i.Sentence], 4)+": "+i.Sentence),
		)
	}
	if len(why.Lines) > 0 {
		page.Sections = slices.Insert(page.Sections, 0, why)
	}
	return page
}
