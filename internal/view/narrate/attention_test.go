package narrate

import (
	"testing"

	"github.com/veltui/veltui/internal/assess"
)

// What comes to need someone, and what no longer does, is said once; jobs are told of elsewhere.
func TestFindings(t *testing.T) {
	schedule := assess.Finding{
		Severity: assess.Critical,
		Reason:   assess.ScheduleInvalid,
		Kind:     "schedule",
		Name:     "web",
		Summary:  "Velero rejected it",
		Tab:      assess.TabSchedules,
	}
	other := assess.Finding{
		Severity: assess.Warning,
		Reason:   assess.MaintenanceFailing,
		Kind:     "repository",
		Name:     "shop",
		Summary:  "The last 2 failed",
		Tab:      assess.TabStorage,
		Affects:  []string{"a/b"},
	}
	restore := assess.Finding{Severity: assess.Critical, Kind: "restore", Name: "crm", Tab: assess.TabRestores}
	var n FindingTracker
	for i, step := range []struct {
		found []assess.Finding
		want  string
	}{
		{[]assess.Finding{schedule}, ""},
		{[]assess.Finding{schedule, other, restore}, "Warning: repository shop: The last 2 failed. Affects a/b."},
		{[]assess.Finding{schedule, other}, ""},
		{[]assess.Finding{other}, "No longer critical: schedule web, ScheduleInvalid."},
		{nil, "No longer warning: repository shop, MaintenanceFailing."},
		{[]assess.Finding{schedule}, "Critical: schedule web: Velero rejected it."},
	} {
		if got := texts(n.CollectLines(step.found)); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}
