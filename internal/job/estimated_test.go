package job

import (
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

func TestWithTotal(t *testing.T) {
	restore := func(phase velerov1.RestorePhase, progress *velerov1.RestoreProgress) *Job {
		r := &velerov1.Restore{Status: velerov1.RestoreStatus{Phase: phase, Progress: progress}}
		r.UID = "u"
		return Next(nil, Input{Restore: r})
	}
	for name, j := range map[string]*Job{
		"new":                 restore("", nil),
		"running":             restore(velerov1.RestorePhaseInProgress, nil),
		"with an empty total": restore(velerov1.RestorePhaseInProgress, &velerov1.RestoreProgress{}),
	} {
		before := *j
		k := j.WithTotal(Total{Items: 1402})
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
		r := &velerov1.Restore{
			Status: velerov1.RestoreStatus{
				Phase:    velerov1.RestorePhaseInProgress,
				Progress: &velerov1.RestoreProgress{TotalItems: 10, ItemsRestored: 5},
			},
		}
		r.UID, r.ResourceVersion = "u", "2"
		if next := Next(k, Input{Restore: r}); next.Items.Total != 10 || next.Items.Estimated || next.Fraction != 0.5 {
			t.Errorf("%s: after Velero's own total: %+v, %v", name, next.Items, next.Fraction)
		}
	}
	for name, j := range map[string]*Job{
		"with a total": restore(velerov1.RestorePhaseInProgress, &velerov1.RestoreProgress{TotalItems: 3}),
		"finalizing":   restore(velerov1.RestorePhaseFinalizing, nil),
		"ended":        restore(velerov1.RestorePhaseFailed, nil),
		"a backup":     Next(nil, Input{Backup: &velerov1.Backup{}}),
	} {
		if j.WithTotal(Total{Items: 1402}) != j {
			t.Errorf("%s: was changed", name)
		}
	}
	if j := restore(velerov1.RestorePhaseInProgress, nil); j.WithTotal(Total{}) != j {
		t.Error("a total of none was taken")
	}
}

// An estimate stands beside a total of Velero's that is on its way down to it, and
// gives way to one that contradicts it.
func TestEstimateBesideVelerosTotal(t *testing.T) {
	restore := func(done, total int) *Job {
		r := &velerov1.Restore{Status: velerov1.RestoreStatus{Phase: velerov1.RestorePhaseInProgress,
			Progress: &velerov1.RestoreProgress{ItemsRestored: done, TotalItems: total}}}
		return Next(nil, Input{Restore: r})
	}
	sure := Total{Items: 1019, First: 1036}
	for _, c := range []struct {
		done, total int
		estimate    Total
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
		{537, 1035, Total{Items: 1019}, false}, // not sure
		{466, 518, Total{Items: 466, First: 518}, false},
		{465, 518, Total{Items: 466, First: 518}, true},
		{-1, -5, sure, true}, // Velero says nothing
	} {
		j := restore(c.done, c.total)
		k := j.WithTotal(c.estimate)
		if kept := k.Items.Estimated && k.Items.Total == c.estimate.Items; kept != c.kept {
			t.Errorf("%d of %d: %+v", c.done, c.total, k.Items)
		}
		if c.kept && c.total > 0 && k.Items.Published != c.total {
			t.Errorf("%d of %d: published %d", c.done, c.total, k.Items.Published)
		}
	}
}
