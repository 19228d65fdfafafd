package assess

import (
	"fmt"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
)

// TimeLeft is the ETA as it is written everywhere, a range while it is rough;
// empty if there is none.
func (j Judged) TimeLeft() string {
	if !j.ETA.Known {
		return ""
	}
	if j.ETA.Rough {
		return human.TimeLeftRange(j.ETA.Low, j.ETA.High)
	}
	return human.TimeLeft(j.ETA.Left)
}

// Speed is the rate in its own unit, empty if there is none: 34/s, 12.4M/s.
func (j Judged) Speed() string {
	switch {
	case !j.Rate.Known:
		return ""
	case j.Rate.Unit == job.UnitBytes:
		return human.BytesPerSecond(j.Rate.PerSecond)
	}
	return human.PerSecond(j.Rate.PerSecond)
}

// Amount is the present stage's progress in its own unit, empty if it is not
// known: 871/1402, 9.0/20.0G, 5/12 ops.
func (j Judged) Amount() string {
	done, total, unit, known := j.Progress()
	switch {
	case !known:
		return ""
	case unit == job.UnitBytes:
		return human.BytesOf(done, total)
	case unit == job.UnitOperations:
		return fmt.Sprintf("%d/%d ops", done, total)
	case unit == job.UnitVolumes:
		return fmt.Sprintf("%d/%d vols", done, total)
	}
	return fmt.Sprintf("%d/%d", done, total)
}
