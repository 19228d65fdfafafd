package action

import (
	"cmp"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Effect is what a plan does to the job's phase.
type Effect string

const (
	EffectRefuse Effect = "refuse" // do nothing, for the reason in Plan.Refusal
	EffectNudge  Effect = "nudge"  // write a phase from which Velero's finalizer ends the job
	EffectEnd    Effect = "end"    // write a terminal phase, because nobody else will
	EffectKeep   Effect = "keep"   // leave the phase to Velero
)

// Plan says what one action does to one job, or why it does nothing.
type Plan struct {
	Action Kind

	Kind            job.Kind
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string

	FromPhase    string        // the phase that was seen
	ToPhase      string        // the phase that is written, empty for a refusal and for actions that write none
	StatusFields []StatusField // other status fields that are written
	Title        string        // what it does, in a few words
	EvidenceText string        // the evidence, in one sentence
	Reason       string        // the person's reason for the resource and the log, else EvidenceText

	Refusal string // why veltui does not do it, empty if it can
	Advice  string // what would help
	InDoubt bool   // the plan is refused because something could not be found out
	// Unchecked is true if the plan is refused because the evidence that would settle it was not read; finalizing reads
	// it.
	Unchecked bool

	Will       []string     // what it does, in plain words
	WillNot    []string     // what it leaves as it is
	Afterwards []string     // what follows
	Commands   []string     // the equivalent kubectl commands for a POSIX shell; none for what nobody should do
	Volumes    []job.Volume // the volumes to cancel
	// FailingJobs are the jobs in progress, as KIND/NAME, that a restart fails, including the job itself.
	FailingJobs []string

	startsRun bool // true if Velero starts a backup soon after Unpause
	request   Request
	evidence  Evidence
	targets   []*unstructured.Unstructured // the objects to patch
}

// StatusField is a number in the status.
type StatusField struct {
	Name  string
	Value int
}

// IsPossible reports whether veltui can apply the plan itself.
func (p *Plan) IsPossible() bool { return p.Refusal == "" && len(p.targets) > 0 }

func (p *Plan) Effect() Effect {
	switch {
	case p.Refusal != "":
		return EffectRefuse
	case p.ToPhase == "":
		return EffectKeep
	case velero.IsTerminalPhase(p.ToPhase):
		return EffectEnd
	}
	return EffectNudge
}

// applyRefusal turns the plan into one that does nothing, if v is a refusal.
func (p *Plan) applyRefusal(v decision) bool {
	if v.refusal != "" {
		p.Refusal, p.Advice, p.InDoubt, p.Unchecked = v.refusal, v.advice, v.isInDoubt, v.isUnchecked
	}
	return v.refusal != ""
}

// FinalizeRefusal returns the refusal as a sentence about what finalizing would do, empty if finalizing is not
// refused.
func (p *Plan) FinalizeRefusal() string {
	switch {
	case p.Refusal == "":
		return ""
	case p.Unchecked:
		return "finalize cannot decide yet: " + p.Refusal
	}
	return "finalize would refuse: " + p.Refusal
}

// IsProposed reports whether a person asked for the plan without a job that calls for it.
func (p *Plan) IsProposed() bool { return p.evidence.proposal != nil }

// CommandProgram returns the name of the program whose commands do the same.
func (p *Plan) CommandProgram() string {
	if p.Action == Create || p.Action == DeleteBackup || p.Action == DeleteRestore {
		return "velero"
	}
	return "kubectl"
}

func (p *Plan) Evidence() Evidence { return p.evidence }

// IsEquivalent reports whether both plans write the same to the same objects, with the same consequences, and q had all
// of p's doubts.
func (p *Plan) IsEquivalent(q *Plan) bool {
	return p.stillImplies(q, q.targets) && len(p.targets) == len(q.targets) && slices.Equal(p.Will, q.Will)
}

// stillImplies reports whether p still leads to what q showed for some targets, without a new consequence or doubt.
func (p *Plan) stillImplies(q *Plan, targets []*unstructured.Unstructured) bool {
	for _, t := range targets {
		if !slices.ContainsFunc(p.targets, func(o *unstructured.Unstructured) bool {
			return isSameVersion(o, t) && (t.GetUID() != "" || isSameJSON(o.Object, t.Object))
		}) {
			return false
		}
	}
	return p.Action == q.Action && p.Effect() == q.Effect() && p.evidence.Username == q.evidence.Username &&
		p.evidence.Cluster.Difference(q.evidence.Cluster) == "" &&
		p.Kind == q.Kind && p.Namespace == q.Namespace && p.Name == q.Name && p.UID == q.UID &&
		p.ToPhase == q.ToPhase && slices.Equal(p.StatusFields, q.StatusFields) && (p.ToPhase == "" || p.Reason == q.Reason) &&
		p.sourceUID() == q.sourceUID() && containsAll(q.WillNot, p.WillNot) &&
		containsAll(q.Afterwards, p.Afterwards) &&
		containsAll(q.doubtTexts(), p.doubtTexts())
}

// sourceUID returns the uid of the backup that the plan restores, empty if it restores none.
func (p *Plan) sourceUID() types.UID {
	if p.evidence.proposal == nil {
		return ""
	}
	return p.evidence.proposal.sourceUID
}

// doubtTexts returns the facts that do not hold, without their numbers and times, which grow by themselves.
func (p *Plan) doubtTexts() (doubts []string) {
	for _, f := range p.Facts() {
		if !f.Supports {
			doubts = append(doubts, numbersPattern.ReplaceAllString(f.Text, "#"))
		}
	}
	return doubts
}

var numbersPattern = regexp.MustCompile(`[0-9][0-9a-z:.-]*( [0-9][0-9a-z:.-]*)*`)

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func isSameVersion(a, b *unstructured.Unstructured) bool {
	return a.GetKind() == b.GetKind() && a.GetName() == b.GetName() && a.GetUID() == b.GetUID() &&
		a.GetResourceVersion() == b.GetResourceVersion()
}

func phaseOrNone(phase string) string { return cmp.Or(phase, "no phase") }

// qualifiedResource returns the resource of a kind with its group, so that kubectl does not mistake another resource
// for it.
func qualifiedResource(kind interface{ Resource() string }) string {
	return kind.Resource() + "." + veleroapi.GroupVersion.Group
}

func (p *Plan) VeltuiCommand(args ...string) string {
	return p.request.ClusterAccess().VeltuiCommand(p.Namespace, args...)
}

// BuildPlans returns the plans that the evidence calls for: finalizing first, as a plan or a refusal, then the
// gentler actions, then those that are only advised. Only finalizing uses the request's phase.
func BuildPlans(e Evidence, r Request) []Plan {
	var plans []Plan
	for _, a := range allActions() {
		if _, ok := a.(proposable); ok {
			continue
		}
		if p, ok := newPlan(a, &e, r); ok {
			plans = append(plans, p)
		}
	}
	return plans
}

// PlanFor returns the plan of one action; ok is false if the evidence does not call for it.
func PlanFor(name Kind, e Evidence, r Request) (p Plan, ok bool) {
	a, err := findAction(name)
	if err != nil {
		return Plan{}, false
	}
	return newPlan(a, &e, r)
}

// newPlan returns the plan of an action, or its refusal; false if the evidence does not call for the action.
func newPlan(a action, e *Evidence, r Request) (Plan, bool) {
	if e.Job != nil && e.isMalformed() && a.actionKind() != Finalize && a.actionKind() != FixField {
		return Plan{}, false // until the field is fixed, Velero sees no other change
	}
	p := Plan{
		Action:          a.actionKind(),
		ResourceVersion: e.Object.GetResourceVersion(),
		FromPhase:       phaseOf(e.Object),
		request:         r,
		evidence:        *e,
	}
	if j := e.Job; j != nil {
		p.Kind, p.Namespace, p.Name, p.UID = j.Kind, j.Namespace, j.Name, j.UID
	} else {
		o := e.Object
		p.Kind, p.Namespace, p.Name, p.UID = job.Kind(
			o.GetKind(),
		), o.GetNamespace(), sanitize.String(
			o.GetName(),
		), o.GetUID()
	}
	if o := e.proposal; o != nil {
		if proposed, ok := a.(proposable); ok {
			p.Title = proposed.refusedTitle()
		}
		p.EvidenceText = "it was asked for"
		p.applyRefusal(cmp.Or(o.refusal, decision{refusal: r.Refusal, advice: r.Advice}))
	}
	if p.Refusal == "" && !a.fillPlan(e, &p) {
		return Plan{}, false
	}
	p.Reason = cmp.Or(r.Reason, p.EvidenceText)
	if p.Refusal == "" {
		p.applyRefusal(checkReason(r))
	}
	if doubt := e.clockSkew.doubtText(); doubt != "" && p.IsPossible() && a.restsOnAges(e) {
		p.applyRefusal(newRefusal(skewAdvice, "%s", doubt))
	}
	if applied, ok := a.(applicable); ok {
		p.Commands = append(p.Commands, buildPatchCommands(applied, &p)...)
	}
	return p, true
}
