package ui

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// secretsThenPods is a restore whose second half takes far longer.
func secretsThenPods(context.Context, *job.Job) (collector.Estimate, error) {
	return collector.Estimate{
		Total: 900,
		Steps: []collector.Step{{Resource: "secrets", Items: 600}, {Resource: "pods", Items: 300}},
	}, nil
}

// next is a restore a second later.
func next(j *job.Job, at time.Time, phase veleroapi.RestorePhase, done, failed int) *job.Job {
	r := j.Object.(*veleroapi.Restore).DeepCopy()
	r.ResourceVersion = strconv.FormatInt(at.Unix(), 10)
	r.Status.Phase, r.Status.Errors = phase, failed
	r.Status.Progress = &veleroapi.RestoreProgress{ItemsRestored: done, TotalItems: 900}
	return job.Fold(j, job.Observation{Restore: r, ObservedAt: at})
}

// TestETAKnowsTheMix in the row, on the job's own screen, and not while news
// may be missed.
func TestETAKnowsTheMix(t *testing.T) {
	o := &oracle{answer: secretsThenPods, rates: lab}
	j := running("mixed", "b", 400, 900, 50)
	clock := noon
	m := screen(
		t,
		snapshotOf(j),
		100,
		24,
		withOracle(o),
		func(o *Options) { o.Clock = func() time.Time { return clock } },
	)
	shows := func(what, want string) {
		t.Helper()
		if frame := plain(checkFrame(t, m)); !strings.Contains(frame, want) {
			t.Errorf("%s: no %q in\n%s", what, want, frame)
		}
	}
	shows("the window, before there is an estimate", " 10s")
	obey(t, m, m.askAgainAll())
	shows("200 secrets in 4 s, 300 pods in 30 s", " 35s")
	press(t, m, "enter")
	shows("the job's screen", "ETA 35s")

	clock = noon.Add(time.Second)
	stale := snapshotOf(j)
	stale.At, stale.Health = clock, watch.Health{State: watch.Stale, Since: clock, Err: "refused"}
	showAt(m, stale, clock)
	if frame := plain(checkFrame(t, m)); strings.Contains(frame, "ETA") {
		t.Errorf("an ETA while the API server is away:\n%s", frame)
	}
	clock = noon.Add(2 * time.Minute)
	j = next(j, clock, veleroapi.RestorePhaseInProgress, 700, 0)
	live := snapshotOf(j)
	live.At = clock
	showAt(m, live, clock)
	shows("200 pods in 20 s", "ETA 20s")
}

// TestLearnsFromWhatWasWatched once, when the items are done.
func TestLearnsFromWhatWasWatched(t *testing.T) {
	for name, c := range map[string]struct {
		phase  veleroapi.RestorePhase
		failed int
		want   bool
	}{
		"well":          {veleroapi.RestorePhaseCompleted, 0, true},
		"finalizing":    {veleroapi.RestorePhaseFinalizing, 0, true},
		"mostly errors": {veleroapi.RestorePhasePartiallyFailed, 500, false},
	} {
		o := &oracle{answer: secretsThenPods}
		j := running("mixed", "b", 400, 900, 50)
		m := screen(t, snapshotOf(j), 80, 24, withOracle(o))
		obey(t, m, m.askAgainAll())
		if o.rates.rates.Throttle.IsValid() {
			t.Errorf("%s: learned while it runs", name)
		}
		j = next(j, noon.Add(time.Second), c.phase, 900, c.failed)
		for range 2 {
			m.applyAssessment(m.currentCluster, m.currentCluster.estimates.AssessSnapshot(snapshotOf(j), noon))
			obey(t, m, m.fetchMissing())
		}
		told := o.rates.rates.Throttle
		if told.IsValid() != c.want || c.want && (told.Seconds < 0.018 || told.Seconds > 0.022 || told.SeenSeconds > 10) {
			t.Errorf("%s: learned %+v", name, told)
		}
	}
}

// TestUnchangedJobsStayTheSame, so that their pages are not filled anew.
func TestUnchangedJobsStayTheSame(t *testing.T) {
	o := &oracle{answer: secretsThenPods, rates: lab}
	snap := snapshotOf(running("mixed", "b", 400, 900, 50))
	m := screen(t, snap, 80, 24, withOracle(o))
	obey(t, m, m.askAgainAll())
	show(m, snap)
	first := m.currentCluster.assessment.Snapshot.Active[0]
	show(m, snap)
	if m.currentCluster.assessment.Snapshot.Active[0] != first {
		t.Error("another job, though nothing changed")
	}
	if snap.Active[0] == first {
		t.Error("the snapshot's own job was changed")
	}
}

// BenchmarkForesee is what a snapshot costs for each running restore.
func BenchmarkForesee(b *testing.B) {
	steps := make([]forecast.ResourceStep, 80)
	for i := range steps {
		steps[i] = forecast.ResourceStep{Resource: "kind-" + strconv.Itoa(i), Items: 100}
	}
	f := forecast.NewJobForecaster(steps, lab.rates, forecast.ClientLimit{})
	j := running("mixed", "b", 400, 8000, 50)
	at := noon
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		at = at.Add(time.Second)
		r := j.Object.(*veleroapi.Restore).DeepCopy()
		r.ResourceVersion = strconv.Itoa(i)
		r.Status.Progress.ItemsRestored = 400 + i*20%7000
		j = job.Fold(j, job.Observation{Restore: r, ObservedAt: at})
		b.StartTimer()
		f.ObserveJob(j, true)
	}
}
