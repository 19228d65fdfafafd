package view

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job/forecast"
)

func TestEstimate(t *testing.T) {
	estimate := &collector.Estimate{Total: 1402, Resources: []collector.ResourceCount{
		{Resource: "namespaces", Items: 2},
		{
			Resource: "persistentvolumeclaims", Items: 1400,
			Namespaces: map[string]int{"shop": 1390, "ops": 4, "billing": 3, "media": 2, "etl": 1},
		},
	}}
	duration := forecast.TimeEstimate{Likely: 42 * time.Second, Low: 31 * time.Second, High: 65 * time.Second}
	e := NewEstimate(estimate, duration, false)
	var printed []string
	for _, cells := range append(slices.Clone(e.Rows), e.TotalRow) {
		printed = append(printed, printedCells(cells))
	}
	want := []string{
		"namespaces 2 ",
		"persistentvolumeclaims 1,400 shop 1,390, ops 4, billing 3, +2 more",
		"Total 1,402 in 30 to 70s",
	}
	if !slices.Equal(printed, want) {
		t.Errorf("%q, want %q", printed, want)
	}
	if e.Items != "1,402 items" || e.Duration != "about 40s" || e.Summary.Text != "Total: 1,402 items" {
		t.Errorf("%+v", e)
	}
	if columns := ScreenColumns(e.Columns); columns[0].Limit != len("persistentvolumeclaims") || len(columns) != 3 {
		t.Errorf("%+v", columns)
	}
	namespaces := e.Rows[1][2]
	for width, want := range map[int]string{
		80: "shop 1,390, ops 4, billing 3, media 2, etl 1", 43: "shop 1,390, ops 4, billing 3, +2 more",
		20: "shop 1,390, +4 more", 5: "shop 1,390, +4 more",
	} {
		if got := namespaces.FitWidth(width); got != want {
			t.Errorf("%q in %d cells, want %q", got, width, want)
		}
	}
	all := NewEstimate(estimate, forecast.TimeEstimate{}, true)
	if got := printedCells(all.Rows[1]); got != "persistentvolumeclaims 1,400 "+namespaces.Text.Text {
		t.Errorf("%q", got)
	}
	if got := printedCells(all.TotalRow); got != "Total 1,402 " || all.Duration != "" {
		t.Errorf("%q, %q", got, all.Duration)
	}
}

func TestEstimateWithoutItems(t *testing.T) {
	refusal := EstimateRefusal([]string{"There is no backup a.", "A selector is invalid."})
	if refusal != "Velero refuses this restore: There is no backup a. A selector is invalid." {
		t.Errorf("%q", refusal)
	}
	for want, e := range map[string]Estimate{
		fmt.Sprintf("0 items|%d|No item matches, so nothing would be restored.", Plain): NewEstimate(
			&collector.Estimate{}, forecast.TimeEstimate{}, false),
		fmt.Sprintf("items not known|%d|The items are not known: backup nightly is InProgress.", Waiting): NewUnknownEstimate(
			"backup nightly is InProgress."),
	} {
		if got := fmt.Sprintf("%s|%d|%s", e.Items, e.Summary.Tone, e.Summary.Text); got != want || e.Rows != nil {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
