package view

import (
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/restore/preflight"
)

// Estimate describes what a restore would restore.
type Estimate struct {
	Items string // the number of items, or that it is unknown
	// Duration is how long the restore of the items takes, in few words; empty if unknown.
	Duration string
	Columns  []Column
	Rows     [][]Cell // a row for each resource, in the order in which Velero restores them
	TotalRow []Cell   // the sum of the rows, with the range of the duration
	Summary  Text     // the total; without rows, why there are none
}

// estimateColumns are the columns of an estimate.
var estimateColumns = []Column{
	{Name: "resource", Screen: ScreenColumn{Title: "RESOURCE", Width: 12, Grow: 3, CutMiddle: true}},
	{Name: "items", Screen: ScreenColumn{Title: "ITEMS", Width: 8, Right: true}},
	{Name: "namespaces", Priority: 1, Uncut: true, Screen: ScreenColumn{Title: "NAMESPACES", Width: 10, Grow: 1}},
}

// ItemsUnknown stands in for the number of items.
const ItemsUnknown = "items not known"

const (
	// printedNamespaces is the number of namespaces that a command prints of a resource, unless it prints all.
	printedNamespaces = 3
	// shownNamespaces is the largest number of namespaces that a line of the screen has room for.
	shownNamespaces = 60
)

// NewEstimate describes an estimate. duration is how long the restore of the items takes, zero if unknown. If
// allNamespaces is true, commands print all namespaces of a resource.
func NewEstimate(e *collector.Estimate, duration forecast.TimeEstimate, allNamespaces bool) Estimate {
	shown := Estimate{
		Items:   human.Count(e.Total, "item"),
		Columns: slices.Clone(estimateColumns),
		Summary: Toned(Strong, "Total: "+human.Count(e.Total, "item")),
	}
	takes := ""
	if duration.Likely > 0 {
		shown.Duration = "about " + human.ShortStyle.TimeLeft(duration.Likely)
		takes = "in " + human.ShortStyle.TimeLeftRange(duration.Low, duration.High)
	}
	if len(e.Resources) == 0 {
		shown.Summary = Toned(Plain, human.Capitalize(NothingMatches)+".")
		return shown
	}
	longest := &shown.Columns[0].Screen
	longest.Limit = longest.Width
	for _, r := range e.Resources {
		longest.Limit = max(longest.Limit, len(r.Resource))
		shown.Rows = append(shown.Rows, estimateRow(r, allNamespaces))
	}
	shown.TotalRow = []Cell{TextCell(Strong, "Total"), itemsCell(Strong, e.Total), TextCell(Strong, takes)}
	return shown
}

// EstimateRefusal gives the reasons why Velero refuses the restore, which then restores nothing.
func EstimateRefusal(reasons []string) string {
	return preflight.RefusalLead + strings.Join(reasons, " ")
}

// NewUnknownEstimate describes why the items of a restore are unknown.
func NewUnknownEstimate(why string) Estimate {
	return Estimate{
		Items:   ItemsUnknown,
		Summary: Toned(Waiting, "The items are not known: "+strings.TrimRight(why, ".")+"."),
	}
}

func estimateRow(r collector.ResourceCount, allNamespaces bool) []Cell {
	namespaces := TextCell(Plain, human.TopCounts(r.Namespaces, -1))
	namespaces.Narrow = human.ShorterTopCounts(r.Namespaces, shownNamespaces)
	if !allNamespaces {
		namespaces.PrintedText = human.TopCounts(r.Namespaces, printedNamespaces)
	}
	return []Cell{TextCell(Plain, r.Resource), itemsCell(Plain, r.Items), namespaces}
}

// itemsCell returns a cell of a number of items, which is shown and printed alike.
func itemsCell(tone Tone, n int) Cell {
	return Cell{Text: Toned(tone, human.Number(n)), PrintedText: human.Number(n), SortKey: float64(n)}
}
