package diagnosis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

func TestQueueRule(t *testing.T) {
	queued := func(name string, position int, includes ...string) spec {
		return spec{
			name:     name,
			phase:    velero.PhaseQueued,
			position: position,
			total:    -1,
			changed:  5,
			includes: includes,
		}
	}
	running := func(name string, includes ...string) spec {
		return spec{name: name, phase: velero.PhaseInProgress, started: 10, total: -1, includes: includes}
	}
	ready := func(name string, includes ...string) spec {
		return spec{name: name, phase: velero.PhaseReadyToStart, total: -1, includes: includes}
	}
	excluding := func(s spec, excludes ...string) spec { s.excludes = excludes; return s }
	finalizing := func(name string) spec {
		return spec{name: name, phase: velero.PhaseFinalizing, started: 10}
	}
	for _, c := range []struct {
		name   string
		job    spec
		others []spec
		limit  int
		known  []string
		want   string // the reason begins with this
		place  int
	}{
		{"alone", queued("a", 1, "x"), nil, 1, nil, "free to start", 1},
		{"limit of one", queued("a", 1, "x"), []spec{running("r", "y")}, 1, nil,
			"waits for r: one backup at a time (--concurrent-backups=1)", 1},
		{"limit of one and overlap", queued("a", 1, "x"), []spec{running("r", "x")}, 1, nil,
			"waits for r: one backup at a time (--concurrent-backups=1); both take namespace x", 1},
		{"limit of two", queued("a", 1, "x"), []spec{running("r", "y"), ready("s", "z")}, 2, nil,
			"waits for s and r: 2 backups at a time", 1},
		{"finalizing does not count", queued("a", 1), []spec{finalizing("f")}, 1, nil, "free to start", 1},
		{"overlap with running", queued("a", 1, "x", "y"), []spec{running("r", "y", "z")}, 3, nil,
			"waits for r: both take namespace y", 1},
		{"overlap with ready", queued("a", 1, "x"), []spec{ready("r", "x")}, 3, nil,
			"waits for r: both take namespace x", 1},
		{"no filter overlaps all", queued("a", 1), []spec{running("r", "y")}, 3, nil,
			"waits for r: both take namespace y", 1},
		{"star overlaps all", queued("a", 1, "*"), []spec{running("r")}, 3, nil,
			"waits for r: both take all namespaces", 1},
		{"excluded does not overlap", excluding(queued("a", 1), "y"), []spec{running("r", "y")}, 3, nil, "free to start", 1},
		{"excluded by the other", queued("a", 1, "y"), []spec{excluding(running("r"), "y")}, 3, nil, "free to start", 1},
		{"excluded by pattern", queued("a", 1, "dev-1", "shop"), []spec{excluding(running("r"), "dev-*")}, 3, nil,
			"waits for r: both take namespace shop", 1},
		{"pattern against name", queued("a", 1, "shop-*"), []spec{running("r", "shop-1")}, 3, nil,
			"waits for r: both take namespace shop-1", 1},
		{"pattern against pattern", queued("a", 1, "shop-*"), []spec{running("r", "shop-e?")}, 3, nil,
			"waits for r: both may take namespaces like shop-*", 1},
		{"patterns that cannot meet", queued("a", 1, "shop-*"), []spec{running("r", "crm-*")}, 3, nil, "free to start", 1},
		{"pattern against all", queued("a", 1, "shop-*"), []spec{running("r")}, 3, nil,
			"waits for r: both may take namespaces like shop-*", 1},
		{"pattern excluded as such", queued("a", 1, "shop-*"), []spec{excluding(running("r"), "shop-*")}, 3, nil, "free to start", 1},
		{"known namespaces settle patterns", queued("a", 1, "shop-*"), []spec{running("r", "*-eu")}, 3, []string{"shop-us", "crm-eu"},
			"free to start", 1},
		{"known namespaces name what meets", queued("a", 1, "shop-*"), []spec{running("r", "*-eu")}, 3, []string{"shop-eu", "crm-eu"},
			"waits for r: both take namespace shop-eu", 1},
		{"known: a namespace that is not there", queued("a", 1, "gone"), []spec{running("r", "gone")}, 3, []string{"shop"},
			"free to start", 1},
		{"invalid pattern takes nothing", queued("a", 1, "sh**op"), []spec{running("r")}, 3, nil, "free to start", 1},
		{"earlier queued overlaps", queued("a", 2, "x"), []spec{running("r", "y"), queued("b", 1, "x", "y")}, 3, nil,
			"waits for b, queued before it: both take namespace x", 2},
		{"later queued does not matter", queued("a", 1, "x"), []spec{queued("b", 2, "x")}, 3, nil, "free to start", 1},
		{"earlier one is free", queued("a", 2, "x"), []spec{queued("b", 1, "y")}, 3, nil,
			"waits for b, queued before it and free to start", 2},
		{"earlier one is held back itself", queued("a", 2, "x"), []spec{running("r", "y"), queued("b", 1, "y")}, 3, nil,
			"free to start", 2},
		{"limit not known", queued("a", 1, "x"), []spec{running("r", "y")}, 0, nil, "waits for its turn; r runs", 1},
		{"forgotten by a restart, still overlapping", queued("a", 1, "x"), []spec{
			{name: "r", phase: velero.PhaseInProgress, started: 60 * 72, changed: 60 * 71, includes: []string{"x"}}}, 1, nil,
			"waits for r, which Velero has forgotten: both take namespace x", 1},
		{"forgotten by a restart, not counted", queued("a", 1, "x"), []spec{
			{name: "r", phase: velero.PhaseInProgress, started: 60 * 72, changed: 60 * 71, includes: []string{"y"}}}, 1, nil,
			"free to start", 1},
		{"other kind does not count", queued("a", 1), []spec{{name: "r", kind: job.Restore, phase: velero.PhaseInProgress, started: 3}}, 1, nil,
			"free to start", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := healthy()
			s.Server.Flags.ConcurrentBackups, s.Namespaces = c.limit, c.known
			s.Jobs = jobs(t, append(c.others, c.job)...)
			position, reason, ok := QueuePosition(c.job.job(t), s)
			if !ok || position != c.place || !strings.HasPrefix(reason, c.want) {
				t.Errorf("got %d, %q, %v; want %d, %q", position, reason, ok, c.place, c.want)
			}
		})
	}
}

// A queued job has facts of its own: what is known of the job that it waits for
// is said by name, and never as if it were the queued job's.
func TestQueuedJobHasItsOwnFacts(t *testing.T) {
	blocker := spec{
		name:     "weekly",
		phase:    velero.PhaseInProgress,
		started:  100,
		changed:  80,
		done:     218,
		total:    327,
		includes: []string{"x"},
	}
	own := spec{
		name:     "nightly",
		phase:    velero.PhaseQueued,
		position: 1,
		total:    -1,
		created:  60,
		changed:  60,
		includes: []string{"x"},
	}
	env := with(restarted(71))
	env.Jobs = jobs(t, blocker, own)
	v := Judge(own.job(t), env)
	if v.State() != Stuck || v.Reason != QueueBlocked {
		t.Fatalf("%s %s: %s", v.State(), v.Reason, v.Summary())
	}
	for _, f := range v.Facts {
		if strings.Contains(f.Text, "this job began") || strings.Contains(f.Text, "327") ||
			strings.Contains(f.Text, "orphaned") && !strings.Contains(f.Text, "weekly") {
			t.Errorf("a fact of the other job: %s", f.Text)
		}
	}
}

// Nobody gets a place that is only a guess: of restores that were created in the same
// second, nothing tells which comes first, nor of a backup to which Velero gave no place.
func TestNoPlaceForTies(t *testing.T) {
	restore := func(name string, created float64) spec {
		return spec{name: name, kind: job.Restore, total: -1, created: created}
	}
	all := []spec{
		{name: "runs", kind: job.Restore, phase: velero.PhaseInProgress, started: 10, done: 3, total: 9},
		restore("first", 9),
		restore("v1", 8),
		restore("v2", 8),
		restore("q3", 8),
		restore("last", 7),
		{
			name:    "queued",
			phase:   velero.PhaseQueued,
			total:   -1,
			created: 5,
		},
		{name: "earlier", phase: velero.PhaseQueued, position: 1, total: -1, created: 6},
	}
	s := healthy()
	s.Jobs = jobs(t, all...)
	for name, want := range map[string]int{"first": 1, "v1": 0, "v2": 0, "q3": 0, "last": 5, "queued": 0, "earlier": 1} {
		for _, j := range s.Jobs {
			if j.Name != name {
				continue
			}
			if position, reason, ok := QueuePosition(j, s); !ok || position != want || reason == "" {
				t.Errorf("%s: %d, %q, %v; want %d", name, position, reason, ok, want)
			}
		}
	}
}

func TestQueueOfNewJobs(t *testing.T) {
	s := healthy()
	first := spec{name: "first", kind: job.Restore, total: -1, created: 9}
	second := spec{name: "second", kind: job.Restore, phase: velero.PhaseNew, total: -1, created: 8}
	runs := spec{name: "runs", kind: job.Restore, phase: velero.PhaseInProgress, started: 10, done: 3, total: 9}
	s.Jobs = jobs(t, second, runs, first)
	position, reason, ok := QueuePosition(second.job(t), s)
	if want := "waits for runs: Velero runs one restore at a time"; !ok || position != 2 || reason != want {
		t.Errorf("restore: %d, %q, %v", position, reason, ok)
	}

	backup := spec{name: "b", total: -1, created: 9}
	busy := spec{name: "busy", phase: velero.PhaseInProgress, started: 9}
	s.Jobs = jobs(t, backup, busy)
	if _, reason, ok := QueuePosition(backup.job(t), s); !ok || reason != "not yet taken up by Velero" {
		t.Errorf("backup on 1.18: %q, %v", reason, ok)
	}
	s.Server.Version = "v1.16.2"
	if _, reason, ok := QueuePosition(backup.job(t), s); !ok || !strings.HasPrefix(reason, "waits for busy: ") {
		t.Errorf("backup on 1.16: %q, %v", reason, ok)
	}
	if _, _, ok := QueuePosition(busy.job(t), s); ok {
		t.Error("a running backup waits for its turn")
	}
}

// TestLongQueue: however long the queue, few pairs are compared for a verdict,
// and nothing is called free that was not compared.
func TestLongQueue(t *testing.T) {
	const queue = 3000
	specs := make([]spec, queue)
	for i := range specs {
		// Each overlaps only with its neighbours, so one waits for another all
		// the way down.
		specs[i] = spec{
			name:     fmt.Sprintf("q-%04d", i),
			phase:    velero.PhaseQueued,
			position: i + 1,
			total:    -1,
			changed:  5,
			includes: []string{fmt.Sprint("n-", i), fmt.Sprint("n-", i+1)},
		}
	}
	env := healthy()
	env.Jobs = jobs(t, specs...)
	env.Server.Flags.ConcurrentBackups = 10
	for _, i := range []int{0, 1, 100, queue - 1} {
		c := &namespaceComparer{budget: maxComparisons}
		w := findTurnInQueue(env.Jobs[i], &env, c)
		if w.canStart != (i == 0) || w.reasonText == "" || c.budget < 0 {
			t.Errorf("%d: %+v, %d comparisons left", i, w, c.budget)
		}
	}
}
