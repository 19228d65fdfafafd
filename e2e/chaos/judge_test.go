package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

var start = time.Date(2026, 11, 24, 6, 0, 0, 0, time.UTC)

// tape is a recording that is made by hand.
type tape struct{ entries []Entry }

// newTape is a story of some seconds during which the API server answers, but
// for the seconds of silent.
func newTape(seconds int, silent ...int) *tape {
	r := &tape{}
	r.add(-1, Entry{Kind: StoryEntry, Story: &Story{Seed: 7, Version: "v1.18.3"}})
	r.add(0, Entry{Kind: BeginEntry})
	for i := range seconds {
		if !slices.Contains(silent, i) {
			r.add(i, Entry{Kind: HeartbeatEntry})
		}
	}
	r.add(seconds, Entry{Kind: EndEntry})
	return r
}

func (r *tape) add(second int, e Entry) {
	e.At = start.Add(time.Duration(second) * time.Second)
	r.entries = append(r.entries, e)
}

// sees records a backup in a phase; every phase has a resource version of its own.
func (r *tape) sees(second int, name, phase string) {
	r.add(
		second,
		Entry{Kind: ObjectEntry, Type: watch.Modified, Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "velero.io/v1",
			"kind":       "Backup",
			"metadata": map[string]any{
				"namespace":       "velero",
				"name":            name,
				"uid":             name,
				"resourceVersion": fmt.Sprint(second),
			},
			"status": map[string]any{"phase": phase},
		}}},
	)
}

func (r *tape) dies(second int, job string, after time.Duration) {
	r.add(
		second,
		Entry{Kind: DeathEntry, Job: job, Death: &Death{Job: job, Cause: LostPatch, DetectableAfter: after, Source: "somewhere"}},
	)
}

func (r *tape) judged(t *testing.T, j Judge) Result {
	t.Helper()
	slices.SortStableFunc(r.entries, func(a, b Entry) int { return a.At.Compare(b.At) })
	result, err := JudgeRecording(r.entries, j, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// says is a judge that says one thing about a backup from a second on, and
// nothing before.
type says struct {
	name, state string
	from        int
	shown       []Entry
}

func (s *says) ShowEntry(e Entry) error {
	s.shown = append(s.shown, e)
	return nil
}

func (s *says) JudgeJobs(now, _ time.Time, stale bool) ([]Verdict, error) {
	if now.Before(start.Add(time.Duration(s.from) * time.Second)) {
		return nil, nil
	}
	if len(s.shown) > 0 && s.shown[len(s.shown)-1].At.After(now) {
		return nil, fmt.Errorf("something of the future was shown")
	}
	state := s.state
	if stale {
		state = "unknown"
	}
	return []Verdict{{Job: "backup/" + s.name, State: state, Reason: "Test"}}, nil
}

func wantMoments(t *testing.T, r Result, want ...string) {
	t.Helper()
	var got []string
	for _, m := range r.WrongPeriods {
		got = append(
			got,
			fmt.Sprintf("%s %s %.0f-%.0f", m.Mistake, m.Job, m.From.Sub(start).Seconds(), m.To.Sub(start).Seconds()),
		)
	}
	if !slices.Equal(got, want) {
		t.Errorf("wrong moments %q, want %q", got, want)
	}
}

func TestFalseAlarm(t *testing.T) {
	r := newTape(60)
	r.sees(1, "b", "InProgress")
	r.sees(30, "b", "Completed")
	wantMoments(t, r.judged(t, &says{name: "b", state: "stuck", from: 10}), "false alarm backup/b 10-29")
	wantMoments(t, r.judged(t, &says{name: "b", state: "orphaned", from: 10}), "false alarm backup/b 10-29")
	wantMoments(t, r.judged(t, &says{name: "b", state: "quiet", from: 10}))
}

func TestAlarmBeforeAPersonHelped(t *testing.T) {
	r := newTape(60)
	r.sees(1, "b", "InProgress")
	r.add(25, Entry{Kind: RepairEntry, Text: "somebody rolled the server out"})
	r.sees(30, "b", "Failed")
	wantMoments(t, r.judged(t, &says{name: "b", state: "stuck", from: 10}), "false alarm backup/b 26-29")

	r = newTape(60)
	r.sees(1, "b", "InProgress")
	r.sees(30, "b", "Failed") // the watch is faster than the answer to the edit
	r.add(31, Entry{Kind: EditEntry, Job: "backup/b", Version: "30"})
	wantMoments(t, r.judged(t, &says{name: "b", state: "stuck", from: 10}))
}

func TestMiss(t *testing.T) {
	r := newTape(300)
	r.sees(1, "b", "InProgress")
	r.dies(100, "backup/b", 40*time.Second)
	result := r.judged(t, &says{name: "b", state: "quiet", from: 1})
	wantMoments(t, result, "miss backup/b 201-300")
	if len(result.DetectedAfter) > 0 {
		t.Errorf("it was seen: %v", result.DetectedAfter)
	}
	result = r.judged(t, &says{name: "b", state: "stuck", from: 170})
	wantMoments(t, result)
	if result.DetectedAfter["backup/b"] != 30*time.Second {
		t.Errorf("seen %v after the expected time, want 30 s", result.DetectedAfter["backup/b"])
	}
	wantMoments(t, r.judged(t, &says{name: "b", state: "stuck", from: 1}))
	wantMoments(t, r.judged(t, &says{name: "b", state: "waiting", from: 250}), "miss backup/b 250-300")
}

// TestFateIsRefuted has Velero go on with what the story takes for dead.
func TestFateIsRefuted(t *testing.T) {
	r := newTape(300)
	r.sees(1, "b", "InProgress")
	r.dies(100, "backup/b", 0)
	if result := r.judged(t, &says{name: "b", state: "stuck", from: 100}); len(result.Refuted) > 0 {
		t.Errorf("refuted: %q", result.Refuted)
	}
	r.sees(250, "b", "Completed")
	result := r.judged(t, &says{name: "b", state: "stuck", from: 100})
	if len(result.Refuted) != 1 || len(result.Dead) > 0 {
		t.Errorf("refuted: %q, want one; dead: %v", result.Refuted, result.Dead)
	}
	wantMoments(t, result, "false alarm backup/b 100-249")
	r.add(200, Entry{Kind: RepairEntry, Job: "backup/b", Text: "somebody helped"})
	if result := r.judged(t, &says{name: "b", state: "stuck", from: 100}); len(result.Refuted) > 0 {
		t.Errorf("refuted although somebody helped: %q", result.Refuted)
	}
}

// TestFateHoldsUntilAShock has Velero go on with what is dead because its informers
// list all anew.
func TestFateHoldsUntilAShock(t *testing.T) {
	tape := func(fault string) *tape {
		r := newTape(300)
		r.sees(1, "b", "ReadyToStart")
		r.dies(100, "backup/b", 0)
		r.add(200, Entry{Kind: FaultEntry, Text: fault})
		r.sees(250, "b", "InProgress")
		r.sees(290, "b", "Completed")
		return r
	}
	r := tape("pause-api-server-a begins")
	result := r.judged(t, &says{name: "b", state: "stuck", from: 50})
	wantMoments(t, result, "false alarm backup/b 250-289")
	if len(result.Refuted) > 0 || result.Dead[LostPatch] != 1 {
		t.Errorf("refuted %q, dead %v, want one that is dead", result.Refuted, result.Dead)
	}
	wantMoments(t, r.judged(t, &says{name: "b", state: "quiet", from: 1}), "miss backup/b 161-199")
	soon := newTape(300)
	soon.sees(1, "b", "ReadyToStart")
	soon.dies(100, "backup/b", 0)
	soon.add(120, Entry{Kind: FaultEntry, Text: "pause-etcd-a begins"})
	soon.add(140, Entry{Kind: FaultEntry, Text: "pause-etcd-b begins"})
	soon.sees(170, "b", "InProgress")
	if result := soon.judged(
		t,
		&says{name: "b", state: "quiet", from: 1},
	); len(result.WrongPeriods) > 0 || len(result.Dead) > 0 ||
		len(result.Woken) != 1 {
		t.Errorf(
			"woken before it had to be seen: moments %v, dead %v, woken %q",
			result.WrongPeriods,
			result.Dead,
			result.Woken,
		)
	}
	for _, fault := range []string{"kill-s3-a begins", "pause-api-server-a ends", "restart-node-agent-a begins"} {
		if result := tape(fault).judged(t, &says{name: "b", state: "stuck", from: 101}); len(result.Refuted) != 1 {
			t.Errorf("%s: not refuted", fault)
		}
	}
}

// TestAlarmBeforeAShock is unsettled; one within it is false.
func TestAlarmBeforeAShock(t *testing.T) {
	r := newTape(60)
	r.sees(1, "b", "InProgress")
	r.add(20, Entry{Kind: FaultEntry, Text: "kill-api-server-a begins"})
	r.sees(30, "b", "Failed")
	result := r.judged(t, &says{name: "b", state: "stuck", from: 10})
	wantMoments(t, result, "unsettled backup/b 10-19", "false alarm backup/b 20-29")
	if c := result.Counts[0]; c.FalseAlarms != 10 || c.Unsettled != 10 {
		t.Errorf("counted %+v", c)
	}
}

func TestNoMissWhileNothingIsHeard(t *testing.T) {
	var silent []int
	for i := 120; i < 180; i++ {
		silent = append(silent, i)
	}
	r := newTape(300, silent...)
	r.sees(1, "b", "InProgress")
	r.dies(100, "backup/b", 0)
	wantMoments(t, r.judged(t, &says{name: "b", state: "quiet", from: 1}), "miss backup/b 211-300")
}

// A job that ends while its fate is noted was ended by what came before.
func TestEndedJobIsNotDead(t *testing.T) {
	r := newTape(300)
	r.sees(10, "b", "WaitingForPluginOperations")
	r.dies(20, "backup/b", 0)
	r.sees(23, "b", "Completed")
	result := r.judged(t, &says{name: "none", state: "quiet"})
	if result.Dead[LostPatch] != 0 || !slices.Equal(result.Woken, []string{"backup/b"}) {
		t.Errorf("dead %v, woken %v", result.Dead, result.Woken)
	}
}

func TestJobsAreCounted(t *testing.T) {
	r := newTape(300)
	r.sees(-1, "before", "Completed")
	r.sees(10, "fast", "InProgress")
	r.sees(15, "fast", "Completed")
	r.sees(10, "slow", "InProgress")
	r.sees(40, "slow", "Completed")
	r.sees(10, "dead", "InProgress")
	r.dies(20, "backup/dead", 0)
	r.sees(10, "open", "InProgress")
	r.sees(10, "late", "InProgress")
	r.dies(280, "backup/late", 0)
	result := r.judged(t, &says{name: "none", state: "quiet"})
	if result.Jobs != 5 || !slices.Equal(result.Slow, []string{"backup/slow"}) || !slices.Equal(result.Undecided, []string{"backup/open"}) ||
		!slices.Equal(result.Unproven, []string{"backup/late"}) ||
		result.Dead[LostPatch] != 1 {
		t.Errorf(
			"jobs %d, slow %v, undecided %v, unproven %v, dead %v",
			result.Jobs,
			result.Slow,
			result.Undecided,
			result.Unproven,
			result.Dead,
		)
	}
	if result.Err() == nil {
		t.Error("a story with one slow job passes")
	}
}

func TestVolumesAreWorkToo(t *testing.T) {
	r := newTape(60)
	r.sees(1, "b", "WaitingForPluginOperations")
	upload := func(second int, phase string) {
		r.add(
			second,
			Entry{Kind: ObjectEntry, Type: watch.Modified, Object: &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "velero.io/v2alpha1",
				"kind":       "DataUpload",
				"metadata": map[string]any{
					"namespace": "velero",
					"name":      "u",
					"uid":       "u",
					"labels":    map[string]any{"velero.io/backup-uid": "b"},
				},
				"status": map[string]any{"phase": phase},
			}}},
		)
	}
	upload(5, "Accepted")
	upload(30, "InProgress")
	upload(40, "InProgress") // nothing new
	wantMoments(t, r.judged(t, &says{name: "b", state: "stuck", from: 10}), "false alarm backup/b 10-29")
}
