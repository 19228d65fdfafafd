package assess

import (
	"fmt"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
)

// String is the time left as it is written everywhere, a range while it is rough;
// empty if it is not known.
func (t TimeLeft) String() string {
	switch {
	case !t.Known:
		return ""
	case t.Rough:
		return human.TimeLeftRange(t.Low, t.High)
	}
	return human.TimeLeft(t.Left)
}

// String is the rate in its own unit, empty if it is not known: 34/s, 12.4M/s.
func (r Rate) String() string {
	switch {
	case !r.Known:
		return ""
	case r.Unit == job.UnitBytes:
		return human.BytesPerSecond(r.PerSecond)
	}
	return human.PerSecond(r.PerSecond)
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
