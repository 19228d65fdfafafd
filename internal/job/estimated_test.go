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

// An estimate stands beside a total of Velero's that its steps explain, is corrected by counts that prove it off by a
// few items, and gives way to one that contradicts it.
func TestEstimateBesideVelerosTotal(t *testing.T) {
	restore := func(done, total int) *Job {
		r := &veleroapi.Restore{Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress,
			Progress: &veleroapi.RestoreProgress{ItemsRestored: done, TotalItems: total}}}
		return Fold(nil, Observation{Restore: r})
	}
	// Two definitions, then 30 claims that bring 30 volumes and 4 namespaces, 900 secrets, 100 pods of which 40 have
	// completed; 3 Namespace objects are selected and never processed.
	sure := ItemEstimate{Items: 2 + 64 + 900 + 60, Selected: 2 + 30 + 900 + 100 + 3, RestoredBefore: 2, Steps: []CountStep{
		{Processed: 2, Skipped: 2}, {Processed: 30, Added: 34}, {Processed: 900}, {Processed: 100, Skipped: 40},
	}}
	rest := func(processed int) int { return sure.Selected - processed }
	for name, c := range map[string]struct {
		done, rest int
		estimate   ItemEstimate
		want       int // 0 for Velero's own
	}{
		"definitions":               {2, rest(2), sure, 1026},
		"first claim":               {5, rest(3), sure, 1026},
		"claims, volumes first":     {2 + 10 + 14, rest(12), sure, 1026},
		"claims are done":           {66, rest(32), sure, 1026},
		"secrets":                   {566, rest(532), sure, 1026},
		"pods, completed ones":      {966, rest(972), sure, 1026},
		"pods, the others":          {1026, rest(992), sure, 1026},
		"all but namespaces":        {1026, 3, sure, 1026},
		"all":                       {1026, 0, sure, 0}, // the same number
		"a plugin brought 7":        {573, rest(532), sure, 1033},
		"9 were not there":          {557, rest(532), sure, 1017},
		"a namespace existed":       {65, rest(32), sure, 1025},
		"10 more were selected":     {3, rest(2 - 9), sure, 1026 + 1 + 7},
		"10 more, a few later":      {576, rest(532), sure, 1036},
		"10 fewer were selected":    {556, rest(532), sure, 1016},
		"something else":            {566, rest(32), sure, 0},
		"far more":                  {10, 9000, sure, 0},
		"far fewer":                 {10, 30, sure, 0},
		"less than is done":         {10, -5, sure, 0},
		"not sure":                  {566, rest(532), ItemEstimate{Items: 1026}, 0},
		"nothing is counted so far": {0, 0, sure, 1026},
	} {
		j := restore(c.done, c.done+c.rest)
		k := j.WithItemEstimate(c.estimate)
		switch {
		case c.want == 0 && k != j:
			t.Errorf("%s: %d of %d is shown as %+v", name, c.done, c.done+c.rest, k.Items)
		case c.want != 0 && (!k.Items.Estimated || k.Items.Total != c.want || k.Items.VeleroTotal != c.done+c.rest):
			t.Errorf("%s: %d of %d is shown as %+v, want a total of %d", name, c.done, c.done+c.rest, k.Items, c.want)
		}
	}
}

// A correction stays while the counts fit it, and what was contradicted once does not come back.
func TestEstimateDoesNotFlicker(t *testing.T) {
	e := ItemEstimate{Items: 340, Selected: 300, Steps: []CountStep{
		{Processed: 100}, {Processed: 100, Added: 80}, {Processed: 100, Skipped: 40},
	}}
	count := func(done, rest int) Items { return Items{Known: true, Done: done, Total: done + rest} }
	e = e.CorrectBy(count(55, 250))
	if e.correction != 5 {
		t.Fatalf("5 more are restored than there were: %+v", e)
	}
	if e = e.CorrectBy(count(105+90, 150)); e.correction != 5 {
		t.Errorf("any of 0 to 80 may come along by now: %+v", e)
	}
	if e = e.CorrectBy(count(286, 100)); e.correction != 6 {
		t.Errorf("one more: %+v", e)
	}
	if e = e.CorrectBy(count(10, 9000)).CorrectBy(count(286, 100)); !e.contradicted {
		t.Errorf("believed again: %+v", e)
	}
}
