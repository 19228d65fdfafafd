package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// TestOperationCounts has the open operations apart, because Velero does not count them.
func TestOperationCounts(t *testing.T) {
	for counters, want := range map[job.Operations]string{
		{Attempted: 9, Completed: 3, Failed: 1}: fmt.Sprintf("3 of 9 completed, 1 failed|%d|5 open", Bad),
		{Attempted: 2, Completed: 2}:            fmt.Sprintf("2 of 2 completed, 0 failed|%d|", Plain),
	} {
		c := NewOperationCounts(counters)
		if got := fmt.Sprintf("%s|%d|%s", c, c.Failed.Tone, c.Open.Text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	running := &job.Job{Phase: velero.PhaseInProgress, Stage: job.StageItems}
	if got := NoOperations(running); got != "Plugins have started no asynchronous operation for this job so far." {
		t.Errorf("%q", got)
	}
}

func TestOperationStates(t *testing.T) {
	for phase, want := range map[string]MarkedState{
		"":                        markState(MarkAhead, Waiting, ""),
		velero.OperationNew:       markState(MarkAhead, Waiting, "New"),
		"InProgress":              markState(MarkNow, Running, "InProgress"),
		velero.OperationCompleted: markState(MarkDone, Good, "Completed"),
		velero.OperationFailed:    markState(MarkFailed, Bad, "Failed"),
	} {
		o := &assess.Operation{Operation: artifact.Operation{Phase: phase}}
		if got := OperationState(o); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", phase, got, want)
		}
	}
}

// TestOperationRow has the operation's cells, fields and line.
func TestOperationRow(t *testing.T) {
	row := OperationRow{&assess.Operation{
		Operation: artifact.Operation{
			ID: "du-1", Action: "csi", Resource: "persistentvolumeclaims", Namespace: "erp", Name: "data",
			Phase: "InProgress", Error: "slow", Done: 1, Total: 4, Units: "bytes",
			Created: noon.Add(-time.Hour),
		},
		Volume:   movedVolume(velero.VolumePrepared),
		Deadline: noon.Add(5 * time.Minute),
	}, noon}
	var cells, fields []string
	for i, cell := range row.Cells() {
		cells = append(cells, OperationColumns[i].Name+"="+cell.Text.Text)
	}
	want := "item=erp/data|phase=InProgress|done=1/4B|updated=|deadline=in 5m|created=1h|kind=persistentvolumeclaims|" +
		"plugin=csi|volume=dataupload/n-1"
	if got := strings.Join(cells, "|"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, f := range row.Fields() {
		fields = append(fields, f.Label+"="+f.Text.Text)
	}
	if want := []string{
		"Item=persistentvolumeclaims erp/data", "Plugin=csi", "Operation=du-1", "Phase=InProgress",
		"Done=1/4B (1 of 4 bytes)", "Error=slow", "Volume=dataupload/n-1, erp/data",
		"Volume phase=Prepared: it is ready, and waits for a slot on its node", "Bytes moved=1.0/4.0G",
		"Created=2026-11-20 11:00:00 UTC  1h ago",
		"Deadline=Velero cancels it in 5m (itemOperationTimeout, from its creation)",
	}; !slices.Equal(fields, want) {
		t.Errorf("%q, want %q", fields, want)
	}
	if got := OperationLine(row.Operation); got != "InProgress: persistentvolumeclaims erp/data by csi: slow" {
		t.Errorf("%q", got)
	}
}

// TestOperationDeadlines has a tone for a deadline that is near or passed.
func TestOperationDeadlines(t *testing.T) {
	const setting = " (itemOperationTimeout, from its creation)"
	for _, c := range []struct {
		deadline time.Time
		cell     Text
		text     string
	}{
		{noon.Add(10 * time.Minute), Toned(Dim, "in 10m"), "Velero cancels it in 10m" + setting},
		{noon.Add(9 * time.Minute), Toned(Waiting, "in 9m"), "Velero cancels it in 9m" + setting},
		{noon.Add(-time.Minute), Toned(Waiting, "passed"), "passed 1m ago" + setting},
		{},
	} {
		row := OperationRow{&assess.Operation{Deadline: c.deadline}, noon}
		cell, text := row.deadlineCell().Text, row.deadlineText()
		if fmt.Sprint(cell) != fmt.Sprint(c.cell) || text != c.text {
			t.Errorf("%v: %+v, %q", c.deadline, cell, text)
		}
	}
}
