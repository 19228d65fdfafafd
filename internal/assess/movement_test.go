package assess

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var counts = []int{100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700}

// A rate and an ETA are shown only while something moves: from the moment at which the
// server's pod has ended, there is neither, in no number and in no sentence.
func TestNoRateOfADeadServer(t *testing.T) {
	for name, known := range map[string]bool{"by its rate": false, "by the mix of its kinds": true} {
		for server, pod := range map[string]velero.ServerPod{
			"ended":         {Name: "velero-1", LastTerminationReason: "Error"},
			"crash-looping": {Name: "velero-1", LastTerminationReason: "Error", WaitingReason: "CrashLoopBackOff"},
			"gone":          {},
		} {
			var e Estimates
			if known {
				e.Set("shop", shopItems, lab, forecast.ClientLimit{})
			}
			j := restore(veleroapi.RestorePhaseInProgress, 900, counts...)
			last := noon.Add(time.Duration(len(counts)-1) * time.Second)
			snap := snapshotOf(last, j)
			if a := e.AssessSnapshot(snap, last.Add(time.Second)); !a.AssessJob(a.Snapshot.Active[0]).ETA.Known {
				t.Fatalf("%s: no ETA while it moves", name)
			}
			snap.Server.ServerPod = pod
			first := time.Second
			if pod.Name == "" {
				first = 4 * time.Second // it may be a server that is not recognized
			}
			for wait := first; wait < 10*time.Minute; wait += time.Second {
				a := e.AssessSnapshot(snap, last.Add(wait))
				judged := a.AssessJob(a.Snapshot.Active[0])
				if judged.ETA.Known || judged.Rate.Known || strings.Contains(judged.Verdict.Summary(), "left") ||
					strings.Contains(judged.Verdict.Summary(), "/s") {
					t.Fatalf(
						"%s, %s, after %v: rate %q, ETA %q, %s: %s",
						name,
						server,
						wait,
						judged.Rate,
						judged.ETA,
						judged.State,
						judged.Verdict.Summary(),
					)
				}
			}
		}
	}
}

// What a command reads once is as old as Velero's last write, not as the reading.
func TestNoETAOfOldNumbers(t *testing.T) {
	for _, silence := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, time.Minute, 150 * time.Second, time.Hour} {
		var e Estimates
		e.Set("shop", shopItems, lab, forecast.ClientLimit{})
		j := readOnce(veleroapi.RestorePhaseInProgress, 900, 300, silence)
		now := noon.Add(silence)
		a := e.AssessSnapshot(snapshotOf(now, j), now)
		judged := a.AssessJob(a.Snapshot.Active[0])
		if moves := silence < 15*time.Second; judged.ETA.Known != moves {
			t.Errorf("%v after the last write: ETA %q, %s", silence, judged.ETA, judged.State)
		}
	}
}

// Whatever the verdict is, a job that does not make progress has no speed.
func TestNoRateWithoutProgress(t *testing.T) {
	j := restore(veleroapi.RestorePhaseInProgress, 900, counts...)
	last := noon.Add(time.Duration(len(counts)-1) * time.Second)
	for wait := time.Duration(0); wait < 20*time.Minute; wait += time.Second {
		snap := snapshotOf(last, j)
		snap.Server.StartedAt = last.Add(500 * time.Millisecond) // it has forgotten the restore
		a := new(Estimates).AssessSnapshot(snap, last.Add(wait))
		judged := a.AssessJob(a.Snapshot.Active[0])
		if judged.State != diagnosis.Progressing && (judged.ETA.Known || judged.Rate.Known) {
			t.Fatalf("after %v: %s, rate %q, ETA %q", wait, judged.State, judged.Rate, judged.ETA)
		}
	}
}

// The total that Velero publishes first is too high, and sinks (a recorded restore of
// 1,019 items). The estimate was right before; the bar never goes back, even where the
// estimate turns out to be wrong.
func TestExactTotalStays(t *testing.T) {
	expected := collector.Estimate{
		Total:         1019,
		SelectedCount: 1035,
		Steps:         []collector.Step{{Resource: "secrets", Items: 1019}},
	}
	for name, c := range map[string]struct {
		totals []int
		want   []int
	}{
		"right":           {[]int{1035, 1035, 1031, 1025, 1019}, []int{1019, 1019, 1019, 1019, 1019}},
		"too low":         {[]int{1035, 1036, 1040, 1041, 1041}, []int{1019, 1036, 1040, 1041, 1041}},
		"found too high":  {[]int{1035, 1031, 1000, 1000, 1000}, []int{1019, 1019, 1000, 1000, 1000}},
		"not even partly": {[]int{90, 90, 80, 80, 80}, []int{90, 90, 80, 80, 80}},
	} {
		var e Estimates
		e.Set("shop", expected, forecast.Rates{}, forecast.ClientLimit{})
		before := 0.0
		for i, total := range c.totals {
			done := 15 * (i + 1) * total / 80
			j := restore(veleroapi.RestorePhaseInProgress, total, done)
			a := e.AssessSnapshot(snapshotOf(noon, j), noon)
			judged := a.AssessJob(a.Snapshot.Active[0])
			if judged.Items.Total != c.want[i] {
				t.Errorf("%s: %d of %d is shown as %+v", name, done, total, judged.Items)
			}
			if judged.Fraction < before {
				t.Errorf("%s: the bar goes back from %v to %v", name, before, judged.Fraction)
			}
			before = judged.Fraction
		}
		ended := restore(veleroapi.RestorePhaseCompleted, 1019, 1019)
		a := e.AssessSnapshot(snapshotOf(noon, ended), noon)
		if judged := a.AssessJob(a.Snapshot.Jobs[0]); judged.Items.Estimated || judged.Items.Total != 1019 {
			t.Errorf("%s: it ended with %+v", name, judged.Items)
		}
	}
}
