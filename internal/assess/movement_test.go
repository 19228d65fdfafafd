package assess

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
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

// The total that Velero publishes is too high until pods that had completed are skipped. The estimate was right before;
// the bar never goes back, even where the estimate turns out to be wrong.
func TestExactTotalStays(t *testing.T) {
	expected := collector.Estimate{
		Total:         1019,
		SelectedCount: 1035,
		Steps:         []collector.Step{{Resource: "secrets", Items: 1004}, {Resource: "pods", Items: 15}},
		CountSteps:    []job.CountStep{{Processed: 1000, Added: 4}, {Processed: 35, Skipped: 20}},
	}
	type count struct{ done, total int }
	for name, c := range map[string]struct {
		counts []count
		want   []int
	}{
		"right": {[]count{{204, 1039}, {604, 1039}, {1004, 1039}, {1004, 1029}, {1019, 1019}},
			[]int{1019, 1019, 1019, 1019, 1019}},
		"a plugin brings some": {[]count{{204, 1039}, {607, 1042}, {1010, 1045}, {1010, 1030}, {1025, 1025}},
			[]int{1019, 1022, 1025, 1025, 1025}},
		"of something else": {[]count{{15, 90}, {30, 90}, {50, 80}, {60, 80}, {80, 80}}, []int{90, 90, 80, 80, 80}},
		"proven wrong": {[]count{{204, 1039}, {304, 700}, {404, 800}, {604, 1039}, {1019, 1019}},
			[]int{1019, 700, 800, 1039, 1019}},
	} {
		var e Estimates
		e.Set("shop", expected, forecast.Rates{}, forecast.ClientLimit{})
		before := 0.0
		for i, count := range c.counts {
			j := restore(veleroapi.RestorePhaseInProgress, count.total, count.done)
			a := e.AssessSnapshot(snapshotOf(noon, j), noon)
			judged := a.AssessJob(a.Snapshot.Active[0])
			if judged.Items.Total != c.want[i] {
				t.Errorf("%s: %d of %d is shown as %+v", name, count.done, count.total, judged.Items)
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
