package view

import (
	"slices"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
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
		if c.ScreenOnly && (c.Wide || c.Rank > 0 || c.Least > 0 || c.Usual > 0) {
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
	j := job.Next(nil, job.Input{At: now, Restore: &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop", UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-2 * time.Hour)),
		},
		Spec: velerov1.RestoreSpec{BackupName: "nightly-1"},
		Status: velerov1.RestoreStatus{
			Phase:               velerov1.RestorePhasePartiallyFailed,
			Errors:              2,
			StartTimestamp:      &metav1.Time{Time: now.Add(-2 * time.Hour)},
			CompletionTimestamp: &metav1.Time{Time: now.Add(-time.Hour)},
		},
	}})
	a := new(assess.Estimates).Assess(&watch.Snapshot{At: now, Jobs: []*job.Job{j}}, now)
	row := JobRow{Judged: a.Of(j), Context: "east", Now: now}
	for name, want := range map[string]Cell{
		"context":  {Text: Toned(Dim, "east"), Printed: "east", Order: "east"},
		"kind":     {Text: Toned(Dim, "R"), Printed: "restore", Order: "restore"},
		"stage":    {Text: Toned(Waiting, "PartiallyFailed"), Printed: "PartiallyFailed", Order: "PartiallyFailed"},
		"errors":   {Text: Toned(Bad, "2"), Printed: "2", Order: 2.0},
		"warnings": {Text: Toned(Waiting, ""), Printed: "", Order: 0.0},
		"age":      {Text: Toned(Dim, "2h"), Printed: "2h", Order: 7200.0},
		"from":     {Text: Toned(Dim, "nightly-1"), Printed: "backup/nightly-1", Order: "backup/nightly-1"},
	} {
		got := JobColumnNamed(name).Cell(row)
		if got.Text.Text != want.Text.Text || got.Tone != want.Tone || got.Printed != want.Printed ||
			got.Order != want.Order {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
}

func TestTextFits(t *testing.T) {
	text := Text{Text: "Items deleting 2m", Narrow: []string{"Items deleting", "deleting"}}
	for width, want := range map[int]string{
		17: "Items deleting 2m", 16: "Items deleting", 14: "Items deleting", 13: "deleting", 0: "deleting",
	} {
		if got := text.Fit(width); got != want {
			t.Errorf("in %d cells it is %q, want %q", width, got, want)
		}
	}
}
