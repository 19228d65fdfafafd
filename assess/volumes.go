package assess

import (
	"cmp"
	"slices"

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

// Volumes judges the job's volumes, in their order. While what is known may be
// out of date there is no rate and no time left.
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

// Last is the volume that holds the job up, nil if all have ended: one that is
// stuck, else one that has not begun, else one whose end is unknown,
// else the one with the most time left.
func Last(volumes []Volume) *Volume {
	var open []*Volume
	for i := range volumes {
		if !volumes[i].Ended() {
			open = append(open, &volumes[i])
		}
	}
	if len(open) == 0 {
		return nil
	}
	return slices.MaxFunc(open, compareOpen)
}

// compareOpen compares two volumes that have not ended by how much they hold
// their job up.
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
