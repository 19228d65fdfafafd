package resource

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/watch"
)

// CoverageTabName is the name of the tab of [CoverageTab].
const CoverageTabName = "Coverage"

// CoverageTab lists namespaces, and how backups protect them. Its data are read when it is opened.
func CoverageTab() view.Tab {
	return view.Tab{
		Name: CoverageTabName, ShortName: "Cov", Kinds: []string{watch.Backups, watch.Schedules},
		Groups: func(a *assess.Assessment) []view.Group {
			group := view.Group{Columns: view.ScreenColumns(CoverageColumns)}
			reading := a.Coverage
			if reading == nil || reading.Result == nil {
				group.Note = "? Open this tab to read what backups protect."
				if reading != nil && reading.Progress != "" {
					group.Note = "? " + human.Capitalize(reading.Progress) + "..."
				}
				if reading != nil && reading.Err != nil {
					group.Note = "? " + reading.Err.Error()
				}
				return []view.Group{group}
			}
			group.Heading = "read at " + human.ClockTime(
				reading.Result.At,
				a.World.Now,
			) + human.Prefixed(
				", ",
				cmp.Or(errorTextOrEmpty(reading.Err), reading.Progress, uncheckedText(reading.Result)),
			)
			for _, n := range reading.Result.Namespaces {
				row := view.Row{
					Key:            "coverage/" + n.Name,
					FilterWords:    []string{n.Name, string(n.State), string(n.Reason), n.Schedule},
					NeedsAttention: n.State == coverage.Unprotected,
				}
				if row.Summary = n.Name + ": every claim and workload is in a backup."; n.Sentence != "" {
					row.Summary = n.Name + ": " + n.Sentence
				}
				row.Cells = func(now time.Time) []view.Text {
					return view.ScreenTexts(CoverageColumns, CoverageCells(n.Item, n, now))
				}
				row.Page = func() view.Page { return coveragePage(n, a.World.Now) }
				group.Rows = append(group.Rows, row)
			}
			return []view.Group{group}
		},
		EmptyText: func(*watch.Snapshot) string { return "There is no namespace to protect." },
	}
}

func errorTextOrEmpty(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func uncheckedText(r *coverage.Result) string {
	if len(r.Unchecked) == 0 {
		return ""
	}
	return "not all could be read: " + human.Shorten(r.Unchecked[0], 100)
}

// CoverageColumns are the columns that `coverage` prints and the tab shows for a namespace, a claim or a workload.
var CoverageColumns = []view.Column{
	{
		Name: "namespace", CutMiddle: true, MinWidth: 20,
		Screen: view.ScreenColumn{Title: "NAMESPACE", Width: 20, Grow: 2, Limit: 63},
	},
	{Name: "kind", Priority: 2},
	{Name: "name", CutMiddle: true, MinWidth: 20},
	{Name: "state", Screen: view.ScreenColumn{Title: "STATE", Width: 11}},
	{Name: "age", Priority: 1, Screen: view.ScreenColumn{Title: "AGE", Width: 6, Right: true}},
	{Name: "next", Priority: 3, Screen: view.ScreenColumn{Title: "NEXT", Width: 6, Right: true}},
	{Name: "claims", Priority: 4, Screen: view.ScreenColumn{Title: "CLAIMS", Width: 9, Right: true}},
	{
		Name: "last copy expires", Priority: 5,
		Screen: view.ScreenColumn{Title: "LAST COPY EXPIRES", Width: 17},
	},
	{
		Name: "newest copy", Priority: 6, CutMiddle: true,
		Screen: view.ScreenColumn{Title: "NEWEST COPY", Width: 24, Grow: 1, Limit: 63},
	},
	{Name: "reason", Priority: 7, Wide: true},
	{Name: "why", Priority: 8},
}

var coverageTones = map[coverage.State]view.Tone{
	coverage.Covered:            view.Good,
	coverage.CoveredWithWarning: view.Waiting,
	coverage.Undecided:          view.Waiting,
	coverage.Unprotected:        view.Bad,
}

// printedStates are the texts of the states where there is no tone.
var printedStates = map[coverage.State]string{
	coverage.Covered:            "covered",
	coverage.CoveredWithWarning: "! warning",
	coverage.Undecided:          "?",
	coverage.Unprotected:        "! unprotected",
}

func coverageState(s coverage.State) view.Text {
	text := string(s)
	if s == coverage.Undecided {
		text = "? " + text
	}
	return view.Toned(coverageTones[s], text)
}

// CoverageCells returns the cells of [CoverageColumns] for a namespace, or for one of its items.
func CoverageCells(i coverage.Item, n coverage.Namespace, now time.Time) []view.Cell {
	return []view.Cell{
		view.TextCell(view.Plain, cmp.Or(i.Namespace, i.Name)),
		view.TextCell(view.Plain, i.Kind),
		view.TextCell(view.Plain, i.Name),
		{Text: coverageState(i.State), PrintedText: printedStates[i.State]},
		view.AgeCell(view.Plain, i.BackupAt, now, ""),
		view.TextCell(view.Plain, view.UntilText(i.NextRunAt, now, "never")),
		view.TextCell(view.Plain, n.CoveredClaimsText()),
		view.TextCell(view.Plain, i.ExpiryText(now)),
		view.TextCell(view.Dim, i.Backup),
		view.TextCell(view.Plain, string(i.Reason)),
		view.TextCell(view.Plain, strings.TrimSuffix(i.Sentence, ".")),
	}
}

// itemColumns returns the columns of a namespace's items on its page, and their indices in [CoverageColumns].
func itemColumns() (columns []view.ScreenColumn, indices []int) {
	for i, c := range CoverageColumns {
		switch {
		case c.Name == "name":
			c.Screen = view.ScreenColumn{Title: "NAME", Width: 24, Grow: 1, Limit: 63}
		case c.Name == "namespace", c.Name == "claims", c.Screen.Width == 0:
			continue
		}
		columns, indices = append(columns, c.ScreenLayout()), append(indices, i)
	}
	return columns, indices
}

func coveragePage(n coverage.Namespace, now time.Time) view.Page {
	page := view.Page{Kind: "namespace", Name: n.Name, State: coverageState(n.State)}
	why, titles := view.PageSection{Title: "Why"}, map[string][]string{}
	var reasons []coverage.Item // the first item of each reason
	for _, part := range []struct {
		title string
		items []coverage.Item
	}{{"Claims", n.Claims}, {"Workloads", n.Workloads}, {"Namespace", []coverage.Item{n.Item}}} {
		if part.title == "Namespace" && len(n.Claims)+len(n.Workloads) > 0 {
			continue
		}
		columns, indices := itemColumns()
		section := view.PageSection{Title: part.title, Columns: columns}
		for _, i := range part.items {
			var row view.TableRow
			cells := CoverageCells(i, n, now)
			for _, index := range indices {
				row.Cells = append(row.Cells, cells[index].Text)
			}
			section.Rows = append(section.Rows, row)
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
			view.Toned(coverageTones[i.State], human.JoinNames(titles[i.Sentence], 4)+": "+i.Sentence),
		)
	}
	if len(why.Lines) > 0 {
		page.Sections = slices.Insert(page.Sections, 0, why)
	}
	return page
}
