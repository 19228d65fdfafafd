package view

import (
	"slices"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
)

func TestFindings(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	finding := assess.Finding{
		Severity: assess.Critical, Reason: diagnosis.LocationUnavailable, Kind: "storage", Name: "nas",
		Summary: "It cannot be written.", Since: now.Add(-time.Hour),
		Affects: []string{"schedule/a", "schedule/b", "schedule/c", "schedule/d"},
	}
	text := "It cannot be written. Affects schedule/a, schedule/b, schedule/c and schedule/d"
	if got := FindingText(&finding); got != text {
		t.Errorf("%q, want %q", got, text)
	}
	want := "storage/nas (critical, LocationUnavailable, since 11:00): " + text + "."
	if got := FindingSentence(&finding, now); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var printed []string
	for _, cell := range (FindingRow{Finding: finding, Context: "east", Velero: "velero", Acknowledged: true, Now: now}).Cells() {
		printed = append(printed, cell.PrintedText)
	}
	row := []string{
		"east", "velero", "CRITICAL", "storage/nas", "LocationUnavailable", "1h", "(acknowledged) " + text,
		"veltui get storage",
	}
	if !slices.Equal(printed, row) {
		t.Errorf("%q, want %q", printed, row)
	}
	if len(printed) != len(FindingColumns) {
		t.Errorf("%d cells for %d columns", len(printed), len(FindingColumns))
	}
	if SeverityTone(assess.Critical) != Bad || SeverityTone(assess.Warning) != Waiting {
		t.Error("a warning and what is critical look alike")
	}
}

func TestCheckCounts(t *testing.T) {
	for want, counts := range map[string]CheckCounts{
		"0 critical, 0 warnings":                                     {},
		"1 critical, 1 warning, 2 not read, 3 acknowledged left out": {1, 1, 2, 3},
	} {
		if got := counts.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	findings := []assess.Finding{
		{Kind: "storage", Name: "nas", Reason: diagnosis.LocationUnavailable},
		{Kind: "backup", Name: "a", Reason: diagnosis.Failed},
	}
	want := "1 critical, 1 warning: storage/nas LocationUnavailable and backup/a Failed"
	if got := CheckSummary(CheckCounts{Critical: 1, Warnings: 1}, findings); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
