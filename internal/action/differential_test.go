package action

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/velero"
)

// judged is what verdicts and plans say of one situation, made of the same evidence.
type judged struct {
	situation
	verdict  diagnosis.Verdict
	owner    jobOwner
	finalize Plan
	offered  *Plan // the plan of the verdict's action, nil if the evidence does not call for that
	others   []Plan
}

func judge(sp *space, s situation) judged {
	e := sp.evidence(s)
	w := e.buildWorld()
	w.Evidence = map[types.UID]diagnosis.JobEvidence{e.Job.UID: e.VerdictEvidence()}
	w.Listed.Jobs = diagnosis.FullyListed
	found := judged{situation: s, verdict: diagnosis.Judge(e.Job, *w), owner: e.findJobOwner()}
	plans := BuildPlans(e, Request{})
	found.finalize, found.others = plans[0], plans[1:]
	for i := range plans {
		if plans[i].Action == Kind(found.verdict.Action) {
			found.offered = &plans[i]
		}
	}
	return found
}

// atRest reports whether the verdict is that the job does not go on by itself, or may not.
func (j *judged) atRest() bool {
	return slices.Contains(
		[]diagnosis.State{diagnosis.Stuck, diagnosis.Orphaned, diagnosis.Quiet, diagnosis.Unknown},
		j.verdict.State(),
	)
}

// gentler are the other actions that can be done, or whose commands are shown.
func (j *judged) gentler() (names []Kind) {
	for i := range j.others {
		if p := &j.others[i]; p.IsPossible() || len(p.Commands) > 0 {
			names = append(names, p.Action)
		}
	}
	return names
}

// exception is a case in which plan and verdict may differ, and why.
type exception struct {
	why string
	is  func(j *judged) bool
}

// disagreement is a way in which a plan and the verdict on the same evidence could contradict each other.
type disagreement struct {
	says string
	is   func(j *judged) bool
	but  []exception
}

var disagreements = []disagreement{
	{"a verdict offers an action that its plan refuses, and not for what could not be checked", func(j *judged) bool {
		p := j.offered
		return j.verdict.Action != "" && (p == nil || !p.IsPossible() && len(p.Commands) == 0 && !p.InDoubt)
	}, nil},
	{"a job is proven to have no server, and the plan sees one at work", func(j *judged) bool {
		return j.verdict.Reason == diagnosis.ServerRestarted && j.verdict.State() == diagnosis.Orphaned &&
			j.owner != ownerRestarted
	}, nil},
	{"a lost patch is proven by the log of a server that the plan does not take for the job's", func(j *judged) bool {
		return j.verdict.Proof.Kind() == diagnosis.ProofGaveUp && j.owner != ownerAlive
	}, nil},
	{
		"the plan takes every server to have restarted, and the verdict on a job in progress does not",
		func(j *judged) bool {
			return j.phase == velero.PhaseInProgress && j.owner == ownerRestarted &&
				j.verdict.Reason != diagnosis.ServerRestarted
		},
		nil,
	},
	{"finalizing is possible, and the verdict says that the job goes on", func(j *judged) bool {
		return j.finalize.IsPossible() && !j.atRest()
	}, nil},
	{
		"finalizing is possible, and the verdict does not offer that",
		func(j *judged) bool {
			return j.finalize.IsPossible() && j.atRest() && j.verdict.Action != diagnosis.Finalize
		},
		[]exception{
			{
				"a server that comes back marks the job Failed by itself; ending it before is a person's decision",
				func(j *judged) bool {
					return j.verdict.Reason == diagnosis.ServerDown || j.verdict.Reason == diagnosis.ServerCrashLooping
				},
			},
			{
				"Velero's start marks a job Failed whatever its volumes do, but the verdict advises nothing before they were seen",
				func(j *judged) bool {
					return j.verdict.Reason == diagnosis.ServerRestarted && j.volumes == "unlisted"
				},
			},
		},
	},
	{
		"a gentler action is possible on a job that goes on",
		func(j *judged) bool {
			return !j.terminal() && !j.atRest() && len(j.gentler()) > 0
		},
		[]exception{
			{
				"that nobody carries a volume on is proven of the volume alone; the rest of its job may go on",
				func(j *judged) bool {
					return slices.Equal(j.gentler(), []Kind{CancelVolumes})
				},
			},
			{
				"a server that starts looks at no backup that is ready to start, so that waking it need not wait until the server has settled",
				func(j *judged) bool {
					return j.verdict.Reason == diagnosis.ServerRestarted && j.phase == velero.PhaseReadyToStart &&
						!slices.Contains(j.gentler(), Restart)
				},
			},
		},
	},
}

// TestPlanAndVerdictAgree holds the plans of the situations of the invariants against the verdicts that are made of the
// same evidence. It takes a sample, see [sampleStride].
func TestPlanAndVerdictAgree(t *testing.T) {
	const enough = 211 // the stride from which on each exception is needed by some situation
	stride := int64(sampleStride(enough, 2111, 1999))
	defer debug.SetGCPercent(debug.SetGCPercent(2000))
	sp := newSpace(t)
	var mu sync.Mutex
	seen, met := map[string]int{}, map[string]bool{} // met are the exceptions that some situation needs
	compare := func(s situation) {
		j := judge(sp, s)
		for i := range disagreements {
			d := &disagreements[i]
			if !d.is(&j) {
				continue
			}
			mu.Lock()
			key := fmt.Sprintf("%s: %s %s", d.says, j.verdict.State(), j.verdict.Reason)
			if x := slices.IndexFunc(d.but, func(x exception) bool { return x.is(&j) }); x >= 0 {
				met[d.but[x].why] = true
			} else if seen[key]++; seen[key] <= 2 {
				t.Errorf(
					"%s (%s) offers %q: %s\nplan %s: refusal %q, others %q\n%v",
					key,
					j.verdict.Proof.Kind(),
					j.verdict.Action,
					j.verdict.Text,
					j.finalize.Effect(),
					j.finalize.Refusal,
					j.gentler(),
					s,
				)
			}
			mu.Unlock()
		}
	}
	yes, no, one := []string{"yes"}, []bool{false}, []string{"v1.18.3"}
	all := part{
		[]string{"", "ReadyToStart", "InProgress", "WaitingForPluginOperations", "Finalizing", "Failed"},
		one,
		yes,
		no,
		[]string{
			"unread",
			"silent",
			"lost Finalizing",
			"lost Finalizing, then a write",
			"lost Finalizing, then a file",
			"fresh line",
		},
		[]string{"fine", "malformed backup", "no node-agent"},
		[]string{""},
	}
	n := all.every(stride, compare)
	for what, count := range seen {
		t.Logf("%d times: %s", count, what)
	}
	for _, d := range disagreements {
		for _, x := range d.but {
			if !met[x.why] && stride <= enough {
				t.Errorf("%s: no situation needs the exception that %s", d.says, x.why)
			}
		}
	}
	t.Logf("%d situations", n)
}
