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
		k := j.WithTotal(1402)
		if k == j || k.Items.Total != 1402 || !k.Items.Known || !k.Items.Estimated || k.Items.Done != 0 || k.Fraction != 0 {
			t.Errorf("%s: %+v", name, k.Items)
		}
		if known := k.Stage == StageItems; k.FractionKnown != known {
			t.Errorf("%s: fraction known is %v", name, k.FractionKnown)
		}
		if j.Items != before.Items || j.FractionKnown != before.FractionKnown {
			t.Errorf("%s: the job itself was changed", name)
		}
		// Velero's own number wins as soon as it is there.
		r := &velerov1.Restore{Status: velerov1.RestoreStatus{Phase: velerov1.RestorePhaseInProgress, Progress: &velerov1.RestoreProgress{TotalItems: 10, ItemsRestored: 5}}}
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
		if j.WithTotal(1402) != j {
			t.Errorf("%s: was changed", name)
		}
	}
	if j := restore(velerov1.RestorePhaseInProgress, nil); j.WithTotal(0) != j {
		t.Error("a total of none was taken")
	}
}
