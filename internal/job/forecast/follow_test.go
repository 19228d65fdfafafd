package forecast

import (
	"strconv"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
)

// earlier is what an earlier restore told of the usual Velero.
func earlier(t *testing.T) Rates {
	t.Helper()
	all, _ := usual.restore(mixed)
	c := NewCourse(mixed, Rates{}, Limit{})
	for _, s := range all {
		c.Observe(s.at, s.done)
	}
	return Rates{}.With(c.Learned())
}

// restored makes the jobs of a restore out of what Velero writes.
type restored struct {
	job     *job.Job
	version int
}

func (r *restored) write(at time.Time, phase velerov1.RestorePhase, done, total, failed int) *job.Job {
	r.version++
	r.job = job.Next(r.job, job.Input{At: at, Restore: &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "u", ResourceVersion: strconv.Itoa(r.version)},
		Status: velerov1.RestoreStatus{Phase: phase, StartTimestamp: &metav1.Time{Time: start}, Errors: failed,
			Progress: &velerov1.RestoreProgress{ItemsRestored: done, TotalItems: total}},
	}})
	return r.job
}

func items(steps []Step) (n int) {
	for _, s := range steps {
		n += s.Items
	}
	return n
}

func TestRestoreIsForeseen(t *testing.T) {
	all, end := usual.restore(mixed)
	known, total := earlier(t), items(mixed)
	r, f := &restored{}, Follow(mixed, known, Limit{})
	for i, s := range all {
		// Several are folded before anybody looks, as when a screen is slow.
		j := r.write(s.at, velerov1.RestorePhaseInProgress, s.done, total, 0)
		if i%3 != 0 {
			continue
		}
		k := f.See(j, true)
		left, ok := k.ETA(s.at)
		if want := end.Sub(s.at); !ok || (left-want).Abs() > want/10+2*time.Second {
			t.Errorf("%d items done: %v, %v; in truth %v", s.done, left, ok, want)
		}
		if f.See(j, true) != k {
			t.Fatal("what did not change is another job")
		}
		if _, ok := f.Learned(j); ok {
			t.Fatal("learned while it runs")
		}
	}
	j := r.write(end, velerov1.RestorePhaseCompleted, total, total, 0)
	if f.See(j, true) != j {
		t.Error("an ended restore is foreseen")
	}
	told, ok := f.Learned(j)
	if !ok || !told.Throttle.Valid() {
		t.Errorf("told %+v, %v", told, ok)
	}
	if _, ok := f.Learned(j); ok {
		t.Error("learned twice")
	}
}

// TestRestoreNotForeseen falls back to the window where the steps are not
// right, and is blank where news may be missed.
func TestRestoreNotForeseen(t *testing.T) {
	known, total := earlier(t), items(mixed)
	see := func(steps []Step, total, done int, live bool) (foreseen, eta bool) {
		r, f := &restored{}, Follow(steps, known, Limit{})
		var j, k *job.Job
		var at time.Time
		for i := range 10 {
			at = start.Add(time.Duration(i) * time.Second)
			j = r.write(at, velerov1.RestorePhaseInProgress, done*i/9, total, 0)
			k = f.See(j, live || i < 9)
		}
		_, eta = k.ETA(at)
		return k != j, eta
	}
	for name, c := range map[string]struct {
		steps         []Step
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
		"more restored than it has": {[]Step{{"secrets", 400}}, 440, 420, true, false, true},
	} {
		if foreseen, eta := see(c.steps, c.total, c.done, c.live); foreseen != c.foreseen || eta != c.eta {
			t.Errorf("%s: foreseen %v, with an ETA %v; want %v, %v", name, foreseen, eta, c.foreseen, c.eta)
		}
	}
	if k := Follow(nil, Rates{}, Limit{}); k != nil {
		t.Error("followed without steps")
	}
}

// TestTellsNothing of restores that tell nothing of how fast items go.
func TestTellsNothing(t *testing.T) {
	total := items(mixed)
	for name, c := range map[string]struct {
		phase  velerov1.RestorePhase
		total  int
		failed int
		want   bool
	}{
		"well":                {velerov1.RestorePhaseCompleted, total, 0, true},
		"a few errors":        {velerov1.RestorePhasePartiallyFailed, total, 20, true},
		"mostly errors":       {velerov1.RestorePhasePartiallyFailed, total, 900, false},
		"another total":       {velerov1.RestorePhaseCompleted, total / 2, 0, false},
		"a phase of tomorrow": {"Pondering", total, 0, false},
	} {
		all, end := usual.restore(mixed)
		r, f := &restored{}, Follow(mixed, Rates{}, Limit{})
		for _, s := range all {
			f.See(r.write(s.at, velerov1.RestorePhaseInProgress, s.done, total, 0), true)
		}
		j := r.write(end, c.phase, c.total, c.total, c.failed)
		if _, ok := f.Learned(j); ok != c.want {
			t.Errorf("%s: told %v", name, ok)
		}
	}
	var none *Restore
	if _, ok := none.Learned(nil); ok {
		t.Error("learned from nothing")
	}
}

// An outage is in no cost: neither the time that it took nor the items that
// were restored meanwhile.
func TestOutage(t *testing.T) {
	all, _ := usual.restore(mixed)
	total := items(mixed)
	r, f := &restored{}, Follow(mixed, Rates{}, Limit{})
	var j *job.Job
	for i, s := range all {
		switch {
		case i == 20:
			f.See(j, false)
		case i > 20 && i < 30:
			continue // nothing comes, and Velero waits too for most of it
		}
		at := s.at
		if i >= 30 {
			at = at.Add(10 * time.Minute)
		}
		j = r.write(at, velerov1.RestorePhaseInProgress, s.done, total, 0)
		f.See(j, i != 20)
	}
	told, ok := f.Learned(r.write(start.Add(time.Hour), velerov1.RestorePhaseCompleted, total, total, 0))
	if got := told.Throttle.Seconds; !ok || got < 0.9*throttled || got > 1.1*throttled {
		t.Errorf("learned %+v", told.Throttle)
	}
}
