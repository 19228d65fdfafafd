package job

import (
	"testing"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestWithTotal(t *testing.T) {
	restore := func(phase veleroapi.RestorePhase, progress *veleroapi.RestoreProgress) *Job {
		r := &veleroapi.Restore{Status: veleroapi.RestoreStatus{Phase: phase, Progress: progress}}
		r.UID = "u"
		return Fold(nil, Observation{Restore: r})
	}
	for name, j := range map[string]*Job{
		"new":                 restore("", nil),
		"running":             restore(veleroapi.RestorePhaseInProgress, nil),
		"with an empty total": restore(veleroapi.RestorePhaseInProgress, &veleroapi.RestoreProgress{}),
	} {
		before := *j
		k := j.WithItemEstimate(ItemEstimate{Items: 1402})
		if k == j || k.Items.Total != 1402 || !k.Items.Known || !k.Items.Estimated || k.Items.Done != 0 ||
			k.Fraction != 0 {
			t.Errorf("%s: %+v", name, k.Items)
		}
		if known := k.Stage == StageItems; k.FractionKnown != known {
			t.Errorf("%s: fraction known is %v", name, k.FractionKnown)
		}
		if j.Items != before.Items || j.FractionKnown != before.FractionKnown {
			t.Errorf("%s: the job itself was changed", name)
		}
		// Velero's own number wins as soon as it is there.
		r := &veleroapi.Restore{
			Status: veleroapi.RestoreStatus{
				Phase:    veleroapi.RestorePhaseInProgress,
				Progress: &veleroapi.RestoreProgress{TotalItems: 10, ItemsRestored: 5},
			},
		}
		r.UID, r.ResourceVersion = "u", "2"
		if next := Fold(k, Observation{Restore: r}); next.Items.Total != 10 || next.Items.Estimated || next.Fraction != 0.5 {
			t.Errorf("%s: after Velero's own total: %+v, %v", name, next.Items, next.Fraction)
		}
	}
	for name, j := range map[string]*Job{
		"with a total": restore(veleroapi.RestorePhaseInProgress, &veleroapi.RestoreProgress{TotalItems: 3}),
		"finalizing":   restore(veleroapi.RestorePhaseFinalizing, nil),
		"ended":        restore(veleroapi.RestorePhaseFailed, nil),
		"a backup":     Fold(nil, Observation{Backup: &veleroapi.Backup{}}),
	} {
		if j.WithItemEstimate(ItemEstimate{Items: 1402}) != j {
			t.Errorf("%s: was changed", name)
		}
	}
	if j := restore(veleroapi.RestorePhaseInProgress, nil); j.WithItemEstimate(ItemEstimate{}) != j {
		t.Error("a total of none was taken")
	}
}

// An estimate stands beside a total of Velero's that is on its way down to it, and
// gives way to one that contradicts it.
func TestEstimateBesideVelerosTotal(t *testing.T) {
	restore := func(done, total int) *Job {
		r := &veleroapi.Restore{Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress,
			Progress: &veleroapi.RestoreProgress{ItemsRestored: done, TotalItems: total}}}
		return Fold(nil, Observation{Restore: r})
	}
	sure := ItemEstimate{Items: 1019, MaxVeleroTotal: 1036}
	for _, c := range []struct {
		done, total int
		estimate    ItemEstimate
		kept        bool
	}{
		{0, 1035, sure, true},
		{537, 1035, sure, true},
		{900, 1025, sure, true},
		{1018, 1023, sure, true},
		{0, 1036, sure, true},
		{0, 1037, sure, false},    // something comes along that was not foreseen
		{500, 1019, sure, false},  // the same
		{500, 1018, sure, false},  // less than foreseen
		{1019, 1023, sure, false}, // whether that was all, only Velero knows
		{1020, 1023, sure, false},
		{537, 1035, ItemEstimate{Items: 1019}, false}, // not sure
		{466, 518, ItemEstimate{Items: 466, MaxVeleroTotal: 518}, false},
		{465, 518, ItemEstimate{Items: 466, MaxVeleroTotal: 518}, true},
		{-1, -5, sure, true}, // Velero says nothing
	} {
		j := restore(c.done, c.total)
		k := j.WithItemEstimate(c.estimate)
		if kept := k.Items.Estimated && k.Items.Total == c.estimate.Items; kept != c.kept {
			t.Errorf("%d of %d: %+v", c.done, c.total, k.Items)
		}
		if c.kept && c.total > 0 && k.Items.VeleroTotal != c.total {
			t.Errorf("%d of %d: published %d", c.done, c.total, k.Items.VeleroTotal)
		}
	}
}
