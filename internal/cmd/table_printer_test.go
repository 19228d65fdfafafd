package cmd

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/text"
	"github.com/veltui/veltui/watch"
)

func TestTableChangesKeepToTheColumns(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	one := func(name string, phase veleroapi.RestorePhase) *job.Job {
		return job.Fold(nil, job.Observation{ObservedAt: now, Restore: &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", CreationTimestamp: metav1.NewTime(now)},
			Status:     veleroapi.RestoreStatus{Phase: phase}}})
	}
	var out strings.Builder
	p := &tablePrinter{Table: text.Table{Writer: &out}, wide: true}
	a := new(assess.Estimates).AssessSnapshot(&watch.Snapshot{At: now}, now)
	if err := p.printRows(rowsOf("", a, one("a-long-name", "PartiallyFailed")), nil, rowPlaces{}); err != nil {
		t.Fatal(err)
	}
	if err := p.printRows(rowsOf("", a, one("a", "Failed")), nil, rowPlaces{}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []bool{true, false} { // what went wrong is in every table, once
		var printed strings.Builder
		if err := (&tablePrinter{Table: text.Table{Writer: &printed}, wide: w}).printRows(
			rowsOf("", a, one("a", "Failed")),
			nil,
			rowPlaces{},
		); err != nil ||
			strings.Count(printed.String(), "ERRORS") != 1 {
			t.Errorf("%v:\n%s", err, printed.String())
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, word := range []string{"STAGE", "PartiallyFailed", "Failed"} {
		if at := strings.Index(lines[i], word); at != strings.Index(lines[0], "STAGE") {
			t.Errorf("%s is at column %d:\n%s", word, at, out.String())
		}
	}
	out.Reset()
	if err := (&tablePrinter{Table: text.Table{Writer: &out}}).printRows(nil, nil, rowPlaces{}); err != nil || out.Len() > 0 {
		t.Errorf("no jobs print %q, %v", out.String(), err)
	}
}

// A job that is being deleted says so in its stage.
func TestTableSaysWhatIsDeleted(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for phase, want := range map[veleroapi.RestorePhase]string{"": "Queued,deleting", "InProgress": "Items,deleting", "Completed": "Completed,deleting"} {
		j := job.Fold(nil, job.Observation{ObservedAt: now, Restore: &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{
				Name:              "r",
				UID:               "u",
				CreationTimestamp: metav1.NewTime(now),
				DeletionTimestamp: &metav1.Time{Time: now},
			},
			Status: veleroapi.RestoreStatus{Phase: phase},
		}})
		a := new(assess.Estimates).AssessSnapshot(&watch.Snapshot{At: now}, now)
		if got := view.FindJobColumn("stage").Cell(newRow("", a, j).jobRow()).PrintedText; got != want {
			t.Errorf("phase %q: %s, want %s", phase, got, want)
		}
		if item := document.NewJob(a.AssessJob(j), nil); item.DeletionRequestedAt.IsZero() {
			t.Errorf("phase %q: JSON does not say it", phase)
		}
	}
}
