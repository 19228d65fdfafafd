package assess

import (
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/forecast"
	"github.com/veltui/veltui/velero"
)

var counts = []int{100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700}

// A rate and an ETA are shown only while something moves: from the moment at which the
// server's pod has ended, there is neither, in no number and in no sentence.
func TestNoRateOfADeadServer(t *testing.T) {
	for name, known := range map[string]bool{"by its rate": false, "by the mix of its kinds": true} {
		for server, pod := range map[string]velero.ServerPod{
			"ended":         {Name: "velero-1", LastTermination: "Error"},
			"crash-looping": {Name: "velero-1", LastTermination: "Error", Waiting: "CrashLoopBackOff"},
			"gone":          {},
		} {
			var e Estimates
			if known {
				e.Set("shop", 900, secretsThenPods, lab, forecast.Limit{})
			}
			j := restore(velerov1.RestorePhaseInProgress, 900, counts...)
			last := noon.Add(time.Duration(len(counts)-1) * time.Second)
			snap := snapshotOf(last, j)
			if a := e.Assess(snap, last.Add(time.Second)); !a.Of(a.Snapshot.Active[0]).ETA.Known {
				t.Fatalf("%s: no ETA while it moves", name)
			}
			snap.Server.ServerPod = pod
			first := time.Second
			if pod.Name == "" {
				first = 4 * time.Second // it may be a server that is not recognized
			}
			for wait := first; wait < 10*time.Minute; wait += time.Second {
				a := e.Assess(snap, last.Add(wait))
				judged := a.Of(a.Snapshot.Active[0])
				if judged.ETA.Known || judged.Rate.Known || strings.Contains(judged.Verdict.Summary, "left") || strings.Contains(judged.Verdict.Summary, "/s") {
					t.Fatalf("%s, %s, after %v: rate %q, ETA %q, %s: %s", name, server, wait, judged.Rate, judged.ETA, judged.State, judged.Verdict.Summary)
				}
			}
		}
	}
}

// What a command reads once is as old as Velero's last write, not as the reading.
func TestNoETAOfOldNumbers(t *testing.T) {
	for _, silence := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, time.Minute, 150 * time.Second, time.Hour} {
		var e Estimates
		e.Set("shop", 900, secretsThenPods, lab, forecast.Limit{})
		j := readOnce(velerov1.RestorePhaseInProgress, 900, 300, silence)
		now := noon.Add(silence)
		a := e.Assess(snapshotOf(now, j), now)
		judged := a.Of(a.Snapshot.Active[0])
		if moves := silence < 15*time.Second; judged.ETA.Known != moves {
			t.Errorf("%v after the last write: ETA %q, %s", silence, judged.ETA, judged.State)
		}
	}
}

// Whatever the verdict is, a job that does not make progress has no speed.
func TestNoRateWithoutProgress(t *testing.T) {
	j := restore(velerov1.RestorePhaseInProgress, 900, counts...)
	last := noon.Add(time.Duration(len(counts)-1) * time.Second)
	for wait := time.Duration(0); wait < 20*time.Minute; wait += time.Second {
		snap := snapshotOf(last, j)
		snap.Server.StartedAt = last.Add(500 * time.Millisecond) // it has forgotten the restore
		a := new(Estimates).Assess(snap, last.Add(wait))
		judged := a.Of(a.Snapshot.Active[0])
		if judged.State != diagnosis.Progressing && (judged.ETA.Known || judged.Rate.Known) {
			t.Fatalf("after %v: %s, rate %q, ETA %q", wait, judged.State, judged.Rate, judged.ETA)
		}
	}
}
