package forecast_test

import (
	"testing"

	"github.com/veltui/veltui/internal/job"
)

// TestCountsAreExplained holds estimates against every count that Velero wrote in the recordings: where an estimate is
// right, no total of Velero's takes its place.
func TestCountsAreExplained(t *testing.T) {
	for what, set := range captures() {
		exact := 0
		for _, r := range recordings(t, set) {
			if r.estimate != r.total {
				continue
			}
			exact++
			for _, j := range r.jobs {
				if j.Stage != job.StageItems || !j.Items.Known {
					continue
				}
				if k := j.WithItemEstimate(r.items); k.Items.Total != r.total {
					t.Errorf("%s: %s: %d of %d is shown as %+v, it ended with %d",
						what, r.name, j.Items.Done, j.Items.Total, k.Items, r.total)
				}
			}
		}
		if exact == 0 {
			t.Errorf("%s: no estimate was right", what)
		}
	}
}
