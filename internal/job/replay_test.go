package job

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// replayed is one event of a recording.
type replayed struct {
	in   Observation
	kind string
}

type expectation struct {
	Phase      string
	TotalItems int
	TotalsSeen []int
	Warnings   int
	Errors     int
}

func readReplay(t testing.TB, name string) ([]replayed, expectation) {
	t.Helper()
	dir := filepath.Join("testdata", "replays", name)
	var want expectation
	raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	raw, err = os.ReadFile(filepath.Join(dir, "watch.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var events []replayed
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			T      float64
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		whole, part := math.Modf(event.T)
		in := readObject(t, event.Object)
		in.ObservedAt = time.Unix(int64(whole), int64(part*1e9)).UTC()
		events = append(events, replayed{in: in, kind: event.Type})
	}
	if len(events) == 0 {
		t.Fatalf("%s holds no events", dir)
	}
	return events, want
}

func readObject(t testing.TB, raw []byte) Observation {
	t.Helper()
	var kind struct{ Kind string }
	if err := yaml.Unmarshal(raw, &kind); err != nil {
		t.Fatal(err)
	}
	var in Observation
	var err error
	switch kind.Kind {
	case "Backup":
		in.Backup = &veleroapi.Backup{}
		err = yaml.Unmarshal(raw, in.Backup)
	case "Restore":
		in.Restore = &veleroapi.Restore{}
		err = yaml.Unmarshal(raw, in.Restore)
	default:
		t.Fatalf("kind %q is neither Backup nor Restore", kind.Kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func replayNames(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "replays", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for i := range dirs {
		dirs[i] = filepath.Base(dirs[i])
	}
	return dirs
}

// checkStep fails unless next is an honest successor of prev.
func checkStep(t *testing.T, prev, next *Job) {
	t.Helper()
	if math.IsNaN(next.Fraction) || next.Fraction < 0 || next.Fraction > 1 {
		t.Fatalf("fraction is %v", next.Fraction)
	}
	if !next.IsTerminal() && next.Fraction > maxUnfinishedFraction {
		t.Fatalf("fraction is %v in phase %q", next.Fraction, next.Phase)
	}
	for _, r := range next.Stages {
		if !r.Ended.IsZero() && r.Ended.Before(r.Began) {
			t.Fatalf("stage %s ended %v before it began %v", r.Stage, r.Ended, r.Began)
		}
		if r.Skipped && !r.Began.IsZero() {
			t.Fatalf("stage %s is skipped and began", r.Stage)
		}
	}
	if prev == nil || prev.UID != next.UID || prev.IsTerminal() && !next.IsTerminal() {
		return // another job, or another life of it
	}
	was, is := prev.track.fractionStage, next.track.fractionStage
	if stageRank(is) < stageRank(was) {
		t.Fatalf("stage went back from %s to %s (phases %q, %q)", was, is, prev.Phase, next.Phase)
	}
	if was == is && prev.IsTerminal() == next.IsTerminal() && next.Fraction < prev.Fraction {
		t.Fatalf("fraction went back from %v to %v in stage %s", prev.Fraction, next.Fraction, is)
	}
	if was == is && prev.FractionKnown && !next.FractionKnown && prev.IsTerminal() == next.IsTerminal() {
		t.Fatalf("fraction was known and is not any more in stage %s", is)
	}
	if next.LastChanged.Before(prev.LastChanged) {
		t.Fatalf("changed went back from %v to %v", prev.LastChanged, next.LastChanged)
	}
}

func TestReplaysAreHonest(t *testing.T) {
	for _, name := range replayNames(t) {
		t.Run(name, func(t *testing.T) {
			events, want := readReplay(t, name)
			var job *Job
			var totals []int
			for i, event := range events {
				prev := job
				job = Fold(prev, event.in)
				checkStep(t, prev, job)
				done, total, known := numbers(event.in)
				if job.Items.Done != done || job.Items.Total != total || job.Items.Known != known {
					t.Fatalf("event %d: items %+v, Velero wrote %d/%d (%v)", i, job.Items, done, total, known)
				}
				if n := len(totals); known && (n == 0 || totals[n-1] != total) {
					totals = append(totals, total)
				}
				if job.Fraction == 1 && !job.IsTerminal() {
					t.Fatalf("event %d: drawn as done in phase %q", i, job.Phase)
				}
			}
			if job.Phase != want.Phase || job.Stage != StageDone || !job.IsTerminal() {
				t.Errorf("ended as %s in stage %s, want %s", job.Phase, job.Stage, want.Phase)
			}
			if job.Items.Total != want.TotalItems || job.Warnings != want.Warnings || job.Errors != want.Errors {
				t.Errorf("ended with %+v, %d warnings, %d errors; want %+v", job.Items, job.Warnings, job.Errors, want)
			}
			if !slices.Equal(totals, want.TotalsSeen) {
				t.Errorf("saw totals %v, want %v", totals, want.TotalsSeen)
			}
			if n := len(totals); n > 1 && job.Items.RevisedFrom != totals[n-2] {
				t.Errorf("revised from %d, want %d", job.Items.RevisedFrom, totals[n-2])
			}
			if len(totals) == 1 && job.Items.RevisedFrom != 0 {
				t.Errorf("revised from %d, but the total never changed", job.Items.RevisedFrom)
			}
			// What was killed halfway stays halfway.
			wantFull := want.Phase == "Completed" || job.Items.Known && job.Items.Done == job.Items.Total
			if (job.Fraction == 1) != wantFull {
				t.Errorf("ended with fraction %v in phase %s", job.Fraction, job.Phase)
			}
		})
	}
}

func numbers(in Observation) (done, total int, known bool) {
	switch {
	case in.Backup != nil && in.Backup.Status.Progress != nil:
		p := in.Backup.Status.Progress
		return p.ItemsBackedUp, p.TotalItems, true
	case in.Restore != nil && in.Restore.Status.Progress != nil:
		p := in.Restore.Status.Progress
		return p.ItemsRestored, p.TotalItems, true
	}
	return 0, 0, false
}

// Whoever starts late must end with the same numbers, and may not call exact
// what was not seen.
func TestReplaysSeenLate(t *testing.T) {
	for _, name := range replayNames(t) {
		events, want := readReplay(t, name)
		for start := range events {
			var job *Job
			for _, event := range events[start:] {
				prev := job
				job = Fold(prev, event.in)
				checkStep(t, prev, job)
			}
			if job.Phase != want.Phase || job.Items.Total != want.TotalItems || job.Stage != StageDone {
				t.Errorf("%s from event %d: %s %+v in stage %s", name, start, job.Phase, job.Items, job.Stage)
			}
		}
	}
}

func TestReplayStages(t *testing.T) {
	events, _ := readReplay(t, "a2-async")
	var job *Job
	for _, event := range events {
		job = Fold(job, event.in)
	}
	var passed []Stage
	for _, r := range job.Stages {
		if r.Skipped {
			if r.Stage != StageVolumes {
				t.Errorf("stage %s is skipped", r.Stage)
			}
			continue
		}
		if r.Began.IsZero() {
			t.Errorf("stage %s began at an unknown time", r.Stage)
		}
		passed = append(passed, r.Stage)
	}
	if want := []Stage{
		StageQueued,
		StageItems,
		StageOperations,
		StageFinalizing,
		StageDone,
	}; !slices.Equal(
		passed,
		want,
	) {
		t.Errorf("passed %v, want %v", passed, want)
	}
	operations := job.FindStageRecord(StageOperations)
	if took := operations.Ended.Sub(operations.Began); took < 12*time.Second || took > 13*time.Second {
		t.Errorf("operations took %v, the recording says 12.5s", took)
	}
}
