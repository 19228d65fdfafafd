package cmd

import (
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

func TestTableChangesKeepToTheColumns(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	one := func(name string, phase velerov1.RestorePhase) *job.Job {
		return job.Next(nil, job.Input{At: now, Restore: &velerov1.Restore{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", CreationTimestamp: metav1.NewTime(now)},
			Status:     velerov1.RestoreStatus{Phase: phase}}})
	}
	var out strings.Builder
	p := &tablePrinter{table: table{w: &out}, wide: true}
	a := new(assess.Estimates).Assess(&watch.Snapshot{At: now}, now)
	if err := p.list(rowsOf("", a, one("a-long-name", "PartiallyFailed")), nil, false); err != nil {
		t.Fatal(err)
	}
	if err := p.list(rowsOf("", a, one("a", "Failed")), nil, false); err != nil {
		t.Fatal(err)
	}
	for _, w := range []bool{true, false} { // what went wrong is in every table, once
		var text strings.Builder
		if err := (&tablePrinter{table: table{w: &text}, wide: w}).list(
			rowsOf("", a, one("a", "Failed")),
			nil,
			false,
		); err != nil ||
			strings.Count(text.String(), "ERRORS") != 1 {
			t.Errorf("%v:\n%s", err, text.String())
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
	if err := (&tablePrinter{table: table{w: &out}}).list(nil, nil, false); err != nil || out.Len() > 0 {
		t.Errorf("no jobs print %q, %v", out.String(), err)
	}
}

// A job that is being deleted says so in its stage.
func TestTableSaysWhatIsDeleted(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for phase, want := range map[velerov1.RestorePhase]string{"": "Queued,deleting", "InProgress": "Items,deleting", "Completed": "Completed,deleting"} {
		j := job.Next(nil, job.Input{At: now, Restore: &velerov1.Restore{
			ObjectMeta: metav1.ObjectMeta{
				Name:              "r",
				UID:               "u",
				CreationTimestamp: metav1.NewTime(now),
				DeletionTimestamp: &metav1.Time{Time: now},
			},
			Status: velerov1.RestoreStatus{Phase: phase},
		}})
		a := new(assess.Estimates).Assess(&watch.Snapshot{At: now}, now)
		if got := view.JobColumnNamed("stage").Cell(newRow("", a, j).job()).Printed; got != want {
			t.Errorf("phase %q: %s, want %s", phase, got, want)
		}
		if item := document.NewJob(a.Of(j), nil); item.DeletionRequestedAt.IsZero() {
			t.Errorf("phase %q: JSON does not say it", phase)
		}
	}
}
