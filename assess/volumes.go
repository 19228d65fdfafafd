package assess

import (
	"cmp"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
)

// Volume is one of a job's volumes with all that depends on the moment.
type Volume struct {
	*job.Volume
	Verdict diagnosis.VolumeVerdict
	Rate    Rate
	ETA     TimeLeft
}

// Volumes judges the job's volumes, in their order. While data may be out of date there is
// no rate and no time left.
func (a *Assessment) Volumes(j *job.Job) []Volume {
	all := make([]Volume, len(j.Volumes))
	for i, verdict := range diagnosis.JudgeVolumes(j, a.Environment) {
		v := &j.Volumes[i]
		all[i] = Volume{Volume: v, Verdict: verdict}
		if a.Stale() {
			continue
		}
		all[i].Rate.Unit = job.UnitBytes
		all[i].Rate.PerSecond, all[i].Rate.Known = j.VolumeRate(v, a.Environment.Now)
		all[i].ETA.Left, all[i].ETA.Known = j.VolumeETA(v, a.Environment.Now)
	}
	return all
}

// Last is the volume that holds the job up, nil if all have ended.
func Last(volumes []Volume) *Volume {
	var last *Volume
	for i := range volumes {
		if v := &volumes[i]; !v.Ended() && (last == nil || compareOpen(v, last) > 0) {
			last = v
		}
	}
	return last
}

// compareOpen compares two open volumes by how much they hold their job up: one that is
// stuck, else not begun, else without a known end, else with the most time left.
func compareOpen(v, w *Volume) int {
	return cmp.Or(cmp.Compare(v.weight(), w.weight()), cmp.Compare(v.ETA.Left, w.ETA.Left),
		w.Changed.Compare(v.Changed), cmp.Compare(w.Name, v.Name))
}

func (v *Volume) weight() int {
	switch {
	case v.Verdict.Stuck:
		return 3
	case v.Waiting():
		return 2
	case !v.ETA.Known:
		return 1
	}
	return 0
}
