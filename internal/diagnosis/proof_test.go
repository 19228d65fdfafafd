package diagnosis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Without a proof nothing is stuck.
func TestVerdictNeedsAProof(t *testing.T) {
	fact := Fact{Supports: true, Text: "it is so"}
	later, passed := Wait{Deadline: noon.Add(time.Minute)}, Wait{Deadline: noon.Add(-time.Minute)}
	for _, c := range []struct {
		proof Proof
		want  State
	}{
		{Proof{}, Quiet},
		{ProveOwnerGone(fact), Stuck},
		{ProveGivenUp(fact), Stuck},
		{ProveRefused(fact), Stuck},
		{proveLimitsPassed(noon, fact), Quiet},
		{proveLimitsPassed(noon, fact, passed), Stuck},
		{proveLimitsPassed(noon, fact, passed, later), Quiet},
		{proveLimitsPassed(noon, fact, passed, Wait{Target: "a plugin"}), Quiet},
	} {
		if v := NewProven(Stuck, c.proof, LimitPassed, ""); v.State() != c.want || v.Proof.IsZero() != (c.want == Quiet) {
			t.Errorf("%+v: %s, want %s", c.proof, v.State(), c.want)
		}
	}
	if v := NewUnproven(UnprovenState(Stuck), LimitPassed, ""); v.State() != Quiet {
		t.Errorf("stuck without a proof: %s", v.State())
	}
}

// Only the two constructors make a verdict of a state, in this package too.
func TestOnlyConstructorsSetAState(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if name == "verdict.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "state" {
					t.Errorf("%s makes a verdict of a state", name)
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					s, ok := left.(*ast.SelectorExpr)
					if !ok || s.Sel.Name != "state" || i >= len(n.Rhs) {
						continue
					}
					if to, ok := n.Rhs[i].(*ast.Ident); !ok || to.Name == "Stuck" || to.Name == "Orphaned" {
						t.Errorf("%s sets the state of a verdict", name)
					}
				}
			}
			return true
		})
	}
}

// Each proof holds where it was found, and beside it nothing is proven.
func TestProofs(t *testing.T) {
	running := func(started, changed float64, done, total int) spec {
		return spec{phase: velero.PhaseInProgress, started: started, changed: changed, done: done, total: total}
	}
	restore := func(s spec) spec { s.kind = job.Restore; return s }
	second := func(kind job.Kind, started float64) []spec {
		return []spec{
			{
				name:    "second",
				kind:    kind,
				phase:   velero.PhaseInProgress,
				started: started,
				changed: 0.1,
				done:    1,
				total:   9,
			},
		}
	}
	server := func(change func(*velero.Server)) func(*World) {
		return func(e *World) { e.Server.Container = "velero"; change(&e.Server) }
	}
	known := server(func(*velero.Server) {})
	replaced := func(minutes float64, grace time.Duration) func(*World) {
		return server(func(s *velero.Server) {
			s.StartedAt, s.Created, s.TerminationGracePeriod = minutesAgo(minutes), minutesAgo(minutes), grace
		})
	}
	two := server(func(s *velero.Server) {
		s.StartedAt = minutesAgo(26)
		s.Pods = []velero.ServerPod{{StartedAt: minutesAgo(300)}, s.ServerPod}
	})
	log := func(l velero.JobLog) JobEvidence {
		return JobEvidence{LogChecked: true, NamespacesChecked: true, ServerLog: l}
	}
	caches := func(waits, since, unlisted float64) JobEvidence {
		return log(
			velero.JobLog{
				UnlistedSince: minutesAgo(since),
				Last:          line("waiting informer cache sync ...", waits),
				ListFailure: velero.LogLine{
					At:    minutesAgo(unlisted),
					Text:  "Failed to watch",
					Error: "failed to list example.com/v1, Resource=widgets: no webhook",
				},
			},
		)
	}
	refused := func(minutes float64) JobEvidence {
		return log(
			velero.JobLog{
				Refusal: velero.LogLine{
					At:    minutesAgo(minutes),
					Text:  "Reconciler error",
					Error: "admission webhook denied the request",
				},
			},
		)
	}
	elsewhere := func(validated float64) func(*World) {
		return func(e *World) {
			e.Server.ServerPod = velero.ServerPod{}
			e.Locations = map[string]LocationStatus{
				"default": {Name: "default", Phase: "Available", LastValidated: minutesAgo(validated)},
			}
		}
	}
	ready := spec{phase: velero.PhaseReadyToStart, total: -1, created: 20, changed: 20}
	queued := spec{phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20}
	away := func(synced float64, message string) func(*World) {
		return func(e *World) {
			e.Locations = map[string]LocationStatus{
				"default": {Name: "default", Phase: "Unavailable", Message: message, LastSynced: minutesAgo(synced)},
			}
		}
	}
	finalizing := func(minutes float64) spec {
		return spec{
			phase:    velero.PhaseFinalizing,
			location: "default",
			started:  300,
			changed:  minutes,
			done:     9,
			total:    9,
		}
	}
	for _, c := range []struct {
		name  string
		job   spec
		s     World
		e     JobEvidence
		more  []spec
		state State
		proof ProofKind
		says  string
	}{
		{"the only restore worker has gone on", restore(running(60, 50, 4, 9)), with(known), JobEvidence{}, second(job.Restore, 10), Stuck, ProofOwnerGone, "gone on to second"},
		{"the other one began first", restore(running(60, 50, 4, 9)), with(known), JobEvidence{}, second(job.Restore, 70), Quiet, "", ""},
		{"the other one has just begun", restore(running(60, 50, 4, 9)), with(known), JobEvidence{}, second(job.Restore, 1), Quiet, "", ""},
		{"it moved after the other one began", restore(running(60, 5, 4, 9)), with(known), JobEvidence{}, second(job.Restore, 10), Quiet, "", ""},
		{"two servers have two workers", restore(running(60, 50, 4, 9)), with(known, func(e *World) { e.Server.Pods = []velero.ServerPod{e.Server.ServerPod, e.Server.ServerPod} }), JobEvidence{}, second(job.Restore, 10), Quiet, "", ""},
		{"the only backup worker of 1.17", running(60, 50, 4, 9), with(known, version17("v1.17.2")), JobEvidence{}, second(job.Backup, 10), Stuck, ProofOwnerGone, "gone on"},
		{"one of two workers of 1.18", running(60, 50, 4, 9), with(known, func(e *World) { e.Server.Flags.ConcurrentBackups = 2 }), JobEvidence{}, second(job.Backup, 10), Quiet, "", ""},
		{"workers of a server whose flags were not seen", running(60, 50, 4, 9), with(func(e *World) { e.Server.Container = "" }), JobEvidence{}, second(job.Backup, 10), Quiet, "", ""},

		{"an old server wrote once more", running(240, 179.6, 4, 9), with(replaced(180, 30*time.Second)), JobEvidence{}, nil, Orphaned, ProofOwnerGone, "restarted"},
		{"it may still write for its grace period", running(240, 170, 4, 9), with(replaced(180, 3*time.Hour)), JobEvidence{}, nil, Quiet, "", ""},
		{"it wrote a moment ago", running(240, 2, 4, 9), with(replaced(180, 30*time.Second)), JobEvidence{}, nil, Quiet, "", ""},
		{"one of two servers restarted", running(60, 33, 4, 9), with(two), JobEvidence{}, nil, Quiet, "", ""},

		{"the status is dropped", restore(running(50, 47, 4, 9)), with(), JobEvidence{HasStatusSubresource: true}, nil, Stuck, ProofRefused, "subresource"},
		{"a kind cannot be listed", restore(running(52, 50, 0, -1)), with(), caches(50, 49, 0.5), nil, Stuck, ProofRefused, "widgets"},
		{"it can be listed again", restore(running(52, 50, 0, -1)), with(), caches(50, 49, 10), nil, Waiting, "", "every kind"},
		{"a list failed once", restore(running(52, 50, 0, -1)), with(), caches(50, 49, 49), nil, Waiting, "", ""},
		{"it has waited for minutes, and a list failed twice just now", restore(running(6, 5, 0, -1)), with(), caches(5, 0.8, 0.5), nil, Waiting, "", "every kind"},
		{"it has waited for long, and the log holds one refusal", restore(running(52, 50, 0, -1)), with(), caches(50, 0.5, 0.5), nil, Stuck, ProofRefused, "widgets"},

		{"its start is refused", ready, with(), refused(6), nil, Stuck, ProofRefused, "denied"},
		{"its start was refused long ago", ready, with(), refused(40), nil, Quiet, "", ""},
		{"nobody starts it", ready, with(), JobEvidence{}, nil, Quiet, "", ""},
		{"nothing shows what holds the queue", queued, with(), JobEvidence{}, nil, Quiet, "", ""},

		{"all is stored", restore(running(60, 40, 4, 9)), with(), JobEvidence{NamespacesChecked: true, StoredAt: minutesAgo(39), NextPhase: velero.PhaseFinalizing}, nil, Stuck, ProofLimitsPassed, "lost"},
		{"all was stored a moment ago", restore(running(60, 40, 4, 9)), with(), JobEvidence{NamespacesChecked: true, StoredAt: minutesAgo(3)}, nil, Quiet, "", ""},

		{"a server of another cluster works", running(22, 14, 4, 9), with(elsewhere(0.5)), JobEvidence{}, nil, Quiet, "", "at work"},
		{"no server works", running(22, 14, 4, 9), with(elsewhere(40)), JobEvidence{}, nil, Stuck, ProofOwnerGone, "no Velero server"},

		{"the store refuses", finalizing(5), with(away(6, "api error InvalidAccessKeyId")), JobEvidence{}, nil, Stuck, ProofRefused, "unavailable"},
		{"the store is away", finalizing(5), with(away(6, "connection refused")), JobEvidence{}, nil, Waiting, "", "unavailable"},
		{"the store is away for long", finalizing(50), with(away(51, "connection refused")), JobEvidence{}, nil, Stuck, ProofRefused, "unavailable"},

		{"queued behind one that is given up", queued, with(known), JobEvidence{}, []spec{{name: "lost", phase: velero.PhaseInProgress, started: 90, changed: 80, done: 4, total: 9}}, Waiting, "", "lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.job.name = "crm-old"
			j := c.job.job(t)
			c.s.Jobs = append(jobs(t, c.more...), j)
			c.s.Evidence = map[types.UID]JobEvidence{j.UID: c.e}
			v := Judge(j, c.s)
			if v.State() != c.state || v.Proof.Kind() != c.proof || !strings.Contains(v.Summary(), c.says) {
				t.Errorf(
					"%s, %q: %q; want %s, %q, %q",
					v.State(),
					v.Proof.Kind(),
					v.Summary(),
					c.state,
					c.proof,
					c.says,
				)
			}
			if !v.Proof.IsZero() && v.Facts[0].Text != v.Proof.Fact().Text {
				t.Errorf("the first fact is %q, not what proves it: %q", v.Facts[0].Text, v.Proof.Fact().Text)
			}
		})
	}
}

// A job that a person ended keeps its worker while Velero works on it.
func TestOverriddenJobs(t *testing.T) {
	at := func(minutes float64) *metav1.Time { m := metav1.NewTime(minutesAgo(minutes)); return &m }
	ended := func(started *metav1.Time, server, person float64) *job.Job {
		b := &veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{
				Name:              "edited",
				Namespace:         "velero",
				UID:               "edited",
				CreationTimestamp: *at(60),
				ManagedFields: []metav1.ManagedFieldsEntry{
					{Manager: "velero-server", Time: at(server)}, {Manager: "kubectl-edit", Time: at(person)}},
			},
			Status: veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFailed, StartTimestamp: started},
		}
		return job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon})
	}
	for _, c := range []struct {
		name  string
		other *job.Job
		state State
		proof ProofKind
		says  string
	}{
		{"Velero works on it", ended(at(50), 0.1, 16), Waiting, "", "somebody set edited to Failed"},
		{"Velero is done with it", ended(at(50), 20, 16), Quiet, "", "queue stalled"},
		{"it was ready to start", ended(nil, 55, 50), Stuck, ProofOwnerGone, "keeps its slot"},
	} {
		j := spec{name: "next", phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20}.job(t)
		env := with()
		env.Jobs = []*job.Job{j}
		if c.other.IsStillRunning(noon) || c.other.HasLostSlot(env.Server.StartedAt) {
			env.OverriddenJobs = []*job.Job{c.other}
		}
		if v := Judge(
			j,
			env,
		); v.State() != c.state || v.Proof.Kind() != c.proof ||
			!strings.Contains(v.Summary(), c.says) {
			t.Errorf(
				"%s: %s, %q: %q; want %s, %q, %q",
				c.name,
				v.State(),
				v.Proof.Kind(),
				v.Summary(),
				c.state,
				c.proof,
				c.says,
			)
		}
	}
}

// What package action would refuse on the same evidence is not offered.
func TestRefusedActionsAreNotOffered(t *testing.T) {
	j := spec{name: "crm", phase: velero.PhaseInProgress, started: 60, changed: 50, done: 4, total: 9}.job(t)
	env := with(restarted(40))
	if v := Judge(j, env); v.Action != Finalize {
		t.Fatalf("%q: %q", v.Summary(), v.Action)
	}
	env.Evidence = map[types.UID]JobEvidence{j.UID: {RefusedActions: map[Action]string{Finalize: "you may not patch backups"}}}
	v := Judge(j, env)
	last := v.Facts[len(v.Facts)-1]
	if v.Action != "" || last.Supports || !strings.Contains(last.Text, "you may not patch backups") {
		t.Errorf("%q, and says %q", v.Action, last.Text)
	}
}

// A job that had ended and was set back is nobody's.
func TestReopenedJobs(t *testing.T) {
	back := spec{
		name:    "crm",
		kind:    job.Restore,
		phase:   velero.PhaseInProgress,
		started: 60,
		changed: 2,
		ended:   3,
		done:    9,
		total:   9,
	}
	logged := back
	logged.ended = 0
	marked := map[types.UID]JobEvidence{
		"Restore/crm": {LogChecked: true, ServerLog: velero.JobLog{Last: line("Marking restore Completed", 2)}},
	}
	for _, c := range []struct {
		job  spec
		e    map[types.UID]JobEvidence
		want State
	}{{back, nil, Orphaned}, {logged, marked, Orphaned}, {logged, nil, Quiet}} {
		env := with()
		env.Evidence = c.e
		if v := Judge(c.job.job(t), env); v.State() != c.want || c.want == Orphaned && v.Reason != Reopened {
			t.Errorf("%s (%s): %s, want %s", v.State(), v.Reason, v.Summary(), c.want)
		}
	}
}
