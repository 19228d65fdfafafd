package forecast

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// earlier is what an earlier restore told of the usual Velero.
func earlier(t *testing.T) Rates {
	t.Helper()
	all, _ := usual.restore(mixed)
	c := NewForecaster(mixed, Rates{}, ClientLimit{})
	for _, s := range all {
		c.ObserveItems(s.at, s.done)
	}
	return Rates{}.MergeNewer(c.LearnedRates())
}

// restored makes the jobs of a restore out of what Velero writes.
type restored struct {
	job     *job.Job
	version int
}

func (r *restored) write(at time.Time, phase veleroapi.RestorePhase, done, total, failed int) *job.Job {
	r.version++
	r.job = job.Fold(r.job, job.Observation{ObservedAt: at, Restore: &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "u", ResourceVersion: strconv.Itoa(r.version)},
		Status: veleroapi.RestoreStatus{Phase: phase, StartTimestamp: &metav1.Time{Time: start}, Errors: failed,
			Progress: &veleroapi.RestoreProgress{ItemsRestored: done, TotalItems: total}},
	}})
	return r.job
}

func items(steps []ResourceStep) (n int) {
	for _, s := range steps {
		n += s.Items
	}
	return n
}

func TestRestoreIsForeseen(t *testing.T) {
	all, end := usual.restore(mixed)
	known, total := earlier(t), items(mixed)
	r, f := &restored{}, NewJobForecaster(mixed, known, ClientLimit{})
	for i, s := range all {
		// Several are folded before anybody looks, as when a screen is slow.
		j := r.write(s.at, veleroapi.RestorePhaseInProgress, s.done, total, 0)
		if i%3 != 0 {
			continue
		}
		k := f.ObserveJob(j, true)
		left, ok := k.ETA(s.at)
		if want := end.Sub(s.at); !ok || (left-want).Abs() > want/10+2*time.Second {
			t.Errorf("%d items done: %v, %v; in truth %v", s.done, left, ok, want)
		}
		if f.ObserveJob(j, true) != k {
			t.Fatal("what did not change is another job")
		}
		if _, ok := f.TakeLearnedRates(j); ok {
			t.Fatal("learned while it runs")
		}
	}
	j := r.write(end, veleroapi.RestorePhaseCompleted, total, total, 0)
	if f.ObserveJob(j, true) != j {
		t.Error("an ended restore is foreseen")
	}
	told, ok := f.TakeLearnedRates(j)
	if !ok || !told.Throttle.IsValid() {
		t.Errorf("told %+v, %v", told, ok)
	}
	if _, ok := f.TakeLearnedRates(j); ok {
		t.Error("learned twice")
	}
}

// TestRestoreNotForeseen falls back to the window where the steps are not
// right, and is blank where news may be missed.
func TestRestoreNotForeseen(t *testing.T) {
	known, total := earlier(t), items(mixed)
	see := func(steps []ResourceStep, total, done int, live bool) (foreseen, eta bool) {
		r, f := &restored{}, NewJobForecaster(steps, known, ClientLimit{})
		var j, k *job.Job
		var at time.Time
		for i := range 10 {
			at = start.Add(time.Duration(i) * time.Second)
			j = r.write(at, veleroapi.RestorePhaseInProgress, done*i/9, total, 0)
			k = f.ObserveJob(j, live || i < 9)
		}
		_, eta = k.ETA(at)
		return k != j, eta
	}
	for name, c := range map[string]struct {
		steps         []ResourceStep
		total, done   int
		live          bool
		foreseen, eta bool
	}{
		"all is well":               {mixed, total, 450, true, true, true},
		"news may be missed":        {mixed, total, 450, false, true, false},
		"no steps":                  {nil, total, 450, true, false, true},
		"Velero counts twice that":  {mixed, 2 * total, 450, true, false, true},
		"Velero counts half":        {mixed, total / 2, 450, true, false, true},
		"Velero counts some more":   {mixed, total + total/10, 450, true, true, true},
		"more restored than it has": {[]ResourceStep{{Resource: "secrets", Items: 400}}, 440, 420, true, false, true},
	} {
		if foreseen, eta := see(c.steps, c.total, c.done, c.live); foreseen != c.foreseen || eta != c.eta {
			t.Errorf("%s: foreseen %v, with an ETA %v; want %v, %v", name, foreseen, eta, c.foreseen, c.eta)
		}
	}
	if k := NewJobForecaster(nil, Rates{}, ClientLimit{}); k != nil {
		t.Error("followed without steps")
	}
}

// TestMoreItemsThanEstimated: where Velero's counts prove more items than the steps have, the window tells the ETA.
func TestMoreItemsThanEstimated(t *testing.T) {
	steps := []ResourceStep{{Resource: "secrets", Items: 400}}
	r, f := &restored{}, NewJobForecaster(steps, earlier(t), ClientLimit{})
	for i := range 10 {
		at := start.Add(time.Duration(i) * time.Second)
		j := r.write(at, veleroapi.RestorePhaseInProgress, 355+5*i, 440, 0)
		k := *j
		k.Items.Estimated = true
		_, ok := f.ObserveJob(&k, true).ETA(at)
		if i == 9 && !ok {
			t.Errorf("%d items done: no ETA", k.Items.Done)
		}
	}
}

// TestTellsNothing of restores that tell nothing of how fast items go.
func TestTellsNothing(t *testing.T) {
	total := items(mixed)
	for name, c := range map[string]struct {
		phase  veleroapi.RestorePhase
		total  int
		failed int
		want   bool
	}{
		"well":                {veleroapi.RestorePhaseCompleted, total, 0, true},
		"a few errors":        {veleroapi.RestorePhasePartiallyFailed, total, 20, true},
		"mostly errors":       {veleroapi.RestorePhasePartiallyFailed, total, 900, false},
		"another total":       {veleroapi.RestorePhaseCompleted, total / 2, 0, false},
		"a phase of tomorrow": {"Pondering", total, 0, false},
	} {
		all, end := usual.restore(mixed)
		r, f := &restored{}, NewJobForecaster(mixed, Rates{}, ClientLimit{})
		for _, s := range all {
			f.ObserveJob(r.write(s.at, veleroapi.RestorePhaseInProgress, s.done, total, 0), true)
		}
		j := r.write(end, c.phase, c.total, c.total, c.failed)
		if _, ok := f.TakeLearnedRates(j); ok != c.want {
			t.Errorf("%s: told %v", name, ok)
		}
	}
	var none *JobForecaster
	if _, ok := none.TakeLearnedRates(nil); ok {
		t.Error("learned from nothing")
	}
}

// An outage is in no cost: neither the time that it took nor the items that
// were restored meanwhile.
func TestOutage(t *testing.T) {
	all, _ := usual.restore(mixed)
	total := items(mixed)
	r, f := &restored{}, NewJobForecaster(mixed, Rates{}, ClientLimit{})
	var j *job.Job
	for i, s := range all {
		switch {
		case i == 20:
			f.ObserveJob(j, false)
		case i > 20 && i < 30:
			continue // nothing comes, and Velero waits too for most of it
		}
		at := s.at
		if i >= 30 {
			at = at.Add(10 * time.Minute)
		}
		j = r.write(at, veleroapi.RestorePhaseInProgress, s.done, total, 0)
		f.ObserveJob(j, i != 20)
	}
	told, ok := f.TakeLearnedRates(r.write(start.Add(time.Hour), veleroapi.RestorePhaseCompleted, total, total, 0))
	if got := told.Throttle.Seconds; !ok || got < 0.9*throttledItemSeconds || got > 1.1*throttledItemSeconds {
		t.Errorf("learned %+v", told.Throttle)
	}
}
