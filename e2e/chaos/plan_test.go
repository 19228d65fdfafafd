package main

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	for _, duration := range []time.Duration{5 * time.Minute, 15 * time.Minute} {
		for seed := range uint64(200) {
			s := PlanStory(seed, duration, Abilities{Version: "v1.18.3", Queues: true})
			if !reflect.DeepEqual(s, PlanStory(seed, duration, Abilities{Version: "v1.18.3", Queues: true})) {
				t.Fatalf("seed %d makes two stories", seed)
			}
			if len(s.Deaths) < 5 || len(s.deathCauses()) < 4 {
				t.Errorf("seed %d has %d dead jobs of %d kinds", seed, len(s.Deaths), len(s.deathCauses()))
			}
			names := map[string]bool{}
			var mark time.Duration
			for _, step := range s.Steps {
				if names[step.Name] {
					t.Errorf("seed %d has two steps %s", seed, step.Name)
				}
				names[step.Name] = true
				if step.Act == CrashWithMark {
					mark = step.At
				}
			}
			for _, step := range s.Steps {
				if ends := []Act{
					CrashServer,
					RollOutServer,
					RollBackServer,
					KillAPIServer,
				}; slices.Contains(ends, step.Act) &&
					step.At > mark {
					t.Errorf("seed %d: %s ends the server after the mark was lost", seed, step.Name)
				}
				if starts := []Act{
					RestartAgent,
					RollOutAgent,
					DrainNode,
				}; slices.Contains(starts, step.Act) &&
					step.At > duration*51/100 {
					t.Errorf("seed %d: %s starts a node-agent after one was lost", seed, step.Name)
				}
			}
		}
	}
	back := PlanStory(1, time.Minute, Abilities{Version: "v1.18.3", Queues: true, RollsBack: true})
	if !slices.Contains(back.deathCauses(), QueueRolledBack) || slices.Contains(back.deathCauses(), ForgottenReady) {
		t.Errorf("a server that is rolled back to one without a queue has dead jobs of %v", back.deathCauses())
	}
	if reflect.DeepEqual(PlanStory(1, time.Minute, Abilities{}).Steps, PlanStory(2, time.Minute, Abilities{}).Steps) {
		t.Error("two seeds make one story")
	}
}

// TestGivesUpAfter compares with what was seen of Velero: 8 s with a limit of
// 20 s, 39 to 43 s with one of a minute, 195 to 215 s with its default.
func TestGivesUpAfter(t *testing.T) {
	for limit, want := range map[time.Duration][2]time.Duration{
		20 * time.Second: {7 * time.Second, 9 * time.Second},
		time.Minute:      {39 * time.Second, 43 * time.Second},
		10 * time.Minute: {195 * time.Second, 215 * time.Second},
	} {
		if got := giveUpDelay(limit); got < want[0] || got > want[1] {
			t.Errorf("with %s it gives up after %s, want %v", limit, got, want)
		}
	}
}
