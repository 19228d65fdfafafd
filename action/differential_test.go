package action

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/diagnosis"
)

// worldOf is the evidence of an action as the world that a verdict is made of.
func worldOf(e *Evidence) diagnosis.Environment {
	w := *e.world()
	w.Evidence = map[types.UID]diagnosis.Evidence{e.Job.UID: e.ForVerdict()}
	return w
}

var ownerWords = map[owner]string{ownerUnknown: "unknown", ownerAlive: "alive", ownerRestarted: "restarted",
	ownerRestarting: "restarting", ownerDown: "down"}

// TestWhereJudgesPart runs the rules of verdicts and those of plans over the situations of the invariants, and prints
// where they part: it is a list to decide from, and holds nothing. VELTUI_INVARIANTS=differences runs it.
func TestWhereJudgesPart(t *testing.T) {
	if os.Getenv("VELTUI_INVARIANTS") != "differences" {
		t.Skip("it prints a list, with VELTUI_INVARIANTS=differences")
	}
	sp := newSpace(t)
	var mu sync.Mutex
	parted := map[string]int{}
	example := map[string]situation{}
	note := func(s situation, what string) {
		mu.Lock()
		defer mu.Unlock()
		if parted[what]++; parted[what] == 1 {
			example[what] = s
		}
	}
	compare := func(s situation) {
		e := sp.evidence(s)
		w := worldOf(&e)
		v := diagnosis.Judge(e.Job, w)
		if a, d := e.gaveUp(), diagnosis.GaveUp(e.Job, &w); a != d {
			note(s, fmt.Sprintf("gave up: action %v, diagnosis %v", a, d))
		}
		p, _ := For(Finalize, e, Request{})
		note(s, fmt.Sprintf("%-12s owner %-10s plan %-9v verdict %s %s %s action %q", s.phase, ownerWords[e.owner()], p.Effect(), v.State(), v.Reason, v.Proof.Kind(), v.Action))
	}
	all := part{[]string{"ReadyToStart", "InProgress", "WaitingForPluginOperations", "Finalizing"}, []string{"v1.18.3"}, []string{"yes"},
		[]bool{false}, []string{"unread", "silent", "lost Finalizing", "fresh line"}, []string{"fine", "malformed backup"}, []string{""}}
	n := all.every(31, compare)
	for _, what := range slices.Sorted(maps.Keys(parted)) {
		t.Logf("%7d %s\n          %v", parted[what], what, example[what])
	}
	t.Logf("%d situations", n)
}
