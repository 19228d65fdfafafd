package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/veltui/veltui/internal/demo/scene"
)

// scenarios are those of the diagnosis' own tests.
const scenarios = "../../internal/diagnosis/testdata/scenarios"

// recordingOf is a recording of which each moment shows a scenario's cluster.
func recordingOf(s *scene.Scene, now time.Time) []Entry {
	var entries []Entry
	at := now.Add(-time.Second)
	pod := ""
	for _, o := range s.Objects {
		entries = append(entries, Entry{At: at, Kind: ObjectEntry, Type: watch.Added, Object: o})
		if o.GetKind() == "Pod" && o.GetLabels()["deploy"] == "velero" {
			pod = o.GetNamespace() + "/" + o.GetName()
		}
	}
	for _, l := range s.Logs {
		entries = append(entries, Entry{At: at, Kind: LogEntry, Pod: pod, Text: l.Text})
	}
	return append(entries, Entry{At: at, Kind: HeartbeatEntry})
}

func load(t *testing.T, path string, now time.Time) *scene.Scene {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	s, err := scene.Load(file, now)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s
}

// verdictOn is what the product says of a job of a recording at its end, to somebody who
// may not read the hidden resource.
func verdictOn(t *testing.T, entries []Entry, job string, now time.Time, hidden ...string) Verdict {
	t.Helper()
	product, err := NewVeltuiJudge(strings.Join(hidden, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer product.Close()
	for _, e := range entries {
		if e.Kind == ObjectEntry || e.Kind == LogEntry {
			if err := product.ShowEntry(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	verdicts, err := product.JudgeJobs(now, now, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Job == job })
	if i < 0 {
		t.Fatalf("there is no verdict on %s among %v", job, verdicts)
	}
	return verdicts[i]
}

// TestProduct holds what is said of a recording against what the diagnosis says
// of the same cluster: evidence and log have to arrive.
func TestProduct(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, name := range []string{"lost-patch", "forgotten-ready", "hook-of-a-pod", "hook-of-the-spec", "deletion-failed", "deletion-runs"} {
		t.Run(name, func(t *testing.T) {
			s := load(t, filepath.Join(scenarios, name+".yaml"), now)
			v := verdictOn(t, recordingOf(s, now), s.Expect.Job, now)
			if len(s.Expect.AllowedStates) > 0 && !slices.Contains(s.Expect.AllowedStates, v.State) ||
				slices.Contains(s.Expect.ForbiddenStates, v.State) {
				t.Errorf(
					"it is %s (%s): %s; want one of %q, none of %q",
					v.State,
					v.Reason,
					v.Summary,
					s.Expect.AllowedStates,
					s.Expect.ForbiddenStates,
				)
			}
		})
	}
}

// TestScenarioOfAMoment writes a moment down, and judges what was written.
func TestScenarioOfAMoment(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	s := load(t, filepath.Join(scenarios, "lost-patch.yaml"), now)
	entries := recordingOf(s, now)
	before := verdictOn(t, entries, s.Expect.Job, now)
	dir := t.TempDir()
	moment := WrongPeriod{Mistake: FalseAlarm, Verdict: Verdict{Job: s.Expect.Job}, From: now, Proof: "a test"}
	if err := WriteScenarios(dir, entries, Result{WrongPeriods: []WrongPeriod{moment}}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files (%v), want 1", len(files), err)
	}
	later := now.Add(1000 * time.Hour)
	written := load(t, files[0], later)
	if after := verdictOn(
		t,
		recordingOf(written, later),
		s.Expect.Job,
		later,
	); after.State != before.State ||
		after.Reason != before.Reason {
		t.Errorf(
			"what was written is %s (%s), what was recorded %s (%s)",
			after.State,
			after.Reason,
			before.State,
			before.Reason,
		)
	}
	if len(written.Logs) != len(s.Logs) || !strings.Contains(written.Name, "a test") {
		t.Errorf("%d lines of %d, name %q", len(written.Logs), len(s.Logs), written.Name)
	}
}
