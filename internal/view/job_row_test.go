package view

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// A name stands for one column, and every column is shown somewhere.
func TestJobColumns(t *testing.T) {
	var names []string
	for _, c := range JobColumns {
		if slices.Contains(names, c.Name) {
			t.Errorf("two columns are named %s", c.Name)
		}
		names = append(names, c.Name)
		if c.ScreenOnly && c.Screen.Width == 0 {
			t.Errorf("column %s is neither on the screen nor printed", c.Name)
		}
		if c.ScreenOnly && (c.Wide || c.MinWidth > 0 || c.TypicalWidth > 0) {
			t.Errorf("column %s says how it is printed, which it is not", c.Name)
		}
		if c.Sort.Compare != nil && c.Screen.Width == 0 {
			t.Errorf("the screen sorts by column %s, which it does not show", c.Name)
		}
	}
}

// What a job says in one place it says in the other, and --sort-by has an order for all that is known.
func TestJobCells(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	j := job.Fold(nil, job.Observation{ObservedAt: now, Restore: &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop", UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-2 * time.Hour)),
		},
		Spec: veleroapi.RestoreSpec{BackupName: "nightly-1"},
		Status: veleroapi.RestoreStatus{
			Phase:               veleroapi.RestorePhasePartiallyFailed,
			Errors:              2,
			StartTimestamp:      &metav1.Time{Time: now.Add(-2 * time.Hour)},
			CompletionTimestamp: &metav1.Time{Time: now.Add(-time.Hour)},
		},
	}})
	a := new(assess.Estimates).AssessSnapshot(&watch.Snapshot{At: now, Jobs: []*job.Job{j}}, now)
	row := JobRow{JudgedJob: a.AssessJob(j), Context: "east", Now: now}
	for name, want := range map[string]Cell{
		"context":  {Text: Toned(Dim, "east"), PrintedText: "east", SortKey: "east"},
		"kind":     {Text: Toned(Dim, "R"), PrintedText: "restore", SortKey: "restore"},
		"stage":    {Text: Toned(Waiting, "PartiallyFailed"), PrintedText: "PartiallyFailed", SortKey: "PartiallyFailed"},
		"errors":   {Text: Toned(Bad, "2"), PrintedText: "2", SortKey: 2.0},
		"warnings": {Text: Toned(Waiting, ""), PrintedText: "", SortKey: 0.0},
		"age":      {Text: Toned(Dim, "2h"), PrintedText: "2h", SortKey: 7200.0},
		"from":     {Text: Toned(Dim, "nightly-1"), PrintedText: "backup/nightly-1", SortKey: "backup/nightly-1"},
	} {
		got := FindJobColumn(name).Cell(row)
		if got.Text.Text != want.Text.Text || got.Tone != want.Tone || got.PrintedText != want.PrintedText ||
			got.SortKey != want.SortKey {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
}

func TestTextFits(t *testing.T) {
	text := Text{Text: "Items deleting 2m", Narrow: []string{"Items deleting", "deleting"}}
	for width, want := range map[int]string{
		17: "Items deleting 2m", 16: "Items deleting", 14: "Items deleting", 13: "deleting", 0: "deleting",
	} {
		if got := text.FitWidth(width); got != want {
			t.Errorf("in %d cells it is %q, want %q", width, got, want)
		}
	}
}

// A letter with a combining mark fills one terminal cell, and a wide letter two, whatever their bytes.
func TestTextFitsInTerminalCells(t *testing.T) {
	for _, c := range []struct {
		text  string
		cells int
	}{
		{"e\u0301te\u0301", 3},
		{"m\u00fcde", 4},
		{"備份", 4},
		{"備e\u0301", 3},
	} {
		text := Text{Text: c.text, Narrow: []string{"x"}}
		if got := text.FitWidth(c.cells); got != c.text {
			t.Errorf("%s fills %d cells, and in as many it is %q", c.text, c.cells, got)
		}
		if got := text.FitWidth(c.cells - 1); got != "x" {
			t.Errorf("%s fills %d cells, and in one less it is %q", c.text, c.cells, got)
		}
	}
}
