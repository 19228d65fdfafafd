//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var counts = regexp.MustCompile(`\d+/\d+`)

// TestDashboard looks at a restore on the dashboard from its first item to its
// end: every count on the screen must be one that Velero wrote.
func TestDashboard(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	fullBackup(t)
	c := openConsole(t)
	h := heldRestore(t, "watched")
	p := h.LastState().Progress
	c.seesRow(t, "watched", "Items", fmt.Sprintf("%d/%d", p.Done, p.Total), fmt.Sprintf("%d%%", 100*p.Done/p.Total))

	c.types(t, "/watched\r\r")
	c.sees(t, "from backup full", fmt.Sprintf("%d/%d", p.Done, p.Total))
	c.types(t, "\x1b")
	c.seesRow(t, "watched", "Items")

	must(t, theLab.OpenGate("watched"))
	seen := map[string]bool{}
	c.awaits(t, "watched with Completed", func() bool {
		row := c.row("watched")
		for _, count := range counts.FindAllString(row, -1) {
			seen[count] = true
		}
		if strings.Contains(row, "100%") && !strings.Contains(row, "Completed") {
			t.Errorf("100%% before the end: %s", row)
		}
		return strings.Contains(row, "Completed")
	})
	h = ended(t, "Restore", "watched")
	wantEnd(t, h, "Completed")
	wrote := map[string]bool{}
	for _, s := range h.DistinctStates() {
		if s.Progress != nil {
			wrote[fmt.Sprintf("%d/%d", s.Progress.Done, s.Progress.Total)] = true
		}
	}
	for count := range seen {
		if !wrote[count] {
			t.Errorf("the dashboard showed %s, Velero wrote %s", count, lab.DescribeStates(h.DistinctStates()))
		}
	}
	// The filter is still there; the Timeline has what Velero wrote and what
	// veltui saw while the job's screen was closed.
	c.types(t, "\r7")
	c.sees(
		t,
		"created by",
		"Velero began to work on it",
		"Velero's server started",
		"it ended as Completed",
		"seen",
		"-> Completed",
	)
	c.types(t, "\x1b")
	c.sees(t, "[1 Active]")
	c.quits(t)
}

// TestDashboardShowsFailures shows how jobs ended that did not go well.
func TestDashboardShowsFailures(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	both := []string{"media"}
	backup(t, "refused", veleroapi.BackupSpec{IncludedNamespaces: both, ExcludedNamespaces: both}, nil)
	h := backup(t, "half", veleroapi.BackupSpec{IncludedNamespaces: []string{"ops"}},
		lab.Annotations{lab.OperationAnnotation: "1s", lab.OperationErrorAnnotation: "the disk is full"})
	wantEnd(t, h, "PartiallyFailed")
	wantTold(t, h)
	c := openConsole(t)
	c.types(t, "/half\r") // other tests leave failures too
	c.seesRow(t, "half", "PartiallyFailed", fmt.Sprint(h.StatusNumber("errors")))
	c.types(t, "\x1b")
	c.types(t, "3") // all backups
	c.seesRow(t, "refused", "FailedValidation")
	c.quits(t)
}
