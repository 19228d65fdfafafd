package action

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Request is what a person asks for.
type Request struct {
	// Phase is the phase asked for; empty leaves the choice to the evidence.
	Phase string
	// Reason is written into the resource and the log; empty stands for the
	// reason that the evidence gives.
	Reason string
	// Context is the kubeconfig context that the kubectl command names, and
	// Flags are kubectl's other flags that lead to the same cluster, such as
	// --kubeconfig and --as. Environment are variables, as NAME=value, that it
	// needs for that.
	Context     string
	Flags       []string
	Environment []string
}

// Name is the name of an action. Names are API: flags, JSON and the audit log
// use them.
type Name string

// Effect is what a plan does to the job's phase.
type Effect string

// The effects.
const (
	// Refuse: nothing is done, for the reason in Plan.Refusal.
	Refuse Effect = "refuse"
	// Nudge: write a phase from which Velero's own finalizer takes the job to
	// its end.
	Nudge Effect = "nudge"
	// End: write a terminal phase, because nobody else will.
	End Effect = "end"
	// Keep: leave the phase to Velero.
	Keep Effect = "keep"
)

// Plan says what one action does about one job, or why it does nothing. All
// actions make the same kind of plan, and [Engine.Apply] applies any of them.
type Plan struct {
	Action Name

	Kind            job.Kind
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string

	// From is the phase that was seen. To is the phase that is written, empty
	// for a refusal and for actions that write none.
	From string
	To   string
	// Set are the other status fields that are written.
	Set []Field
	// Title is what it does, in a few words.
	Title string
	// Why is what the evidence tells, in one sentence.
	Why string
	// Reason is why for the resource and the log: the person's, else Why.
	Reason string

	// Refusal is why veltui does not do it, empty if it can, and Advice what
	// would help.
	Refusal string
	Advice  string

	// Will, WillNot and Then say in plain words what it does, what it leaves
	// as it is, and what follows.
	Will    []string
	WillNot []string
	Then    []string
	// Commands are the equivalent kubectl commands, quoted for a POSIX shell.
	// There are none for what nobody should do.
	Commands []string
	// Volumes are the volumes that are cancelled.
	Volumes []job.Volume
	// Fails are the jobs in progress, as KIND/NAME, that a restart makes Velero
	// mark Failed; the job itself is among them if it is in progress.
	Fails []string

	request  Request
	evidence Evidence
	// targets are the resources that are patched.
	targets []*unstructured.Unstructured
}

// Field is one number of the status that is written.
type Field struct {
	Name  string
	Value int
}

// newPlan is a plan of that action about the job, with nothing in it yet.
func newPlan(of Name, e *Evidence, r Request) Plan {
	return Plan{
		Action: of, Kind: e.Job.Kind, Namespace: e.Job.Namespace, Name: e.Job.Name, UID: e.Job.UID,
		ResourceVersion: e.Object.GetResourceVersion(), From: phaseOf(e.Object), request: r, evidence: *e,
	}
}

// Possible reports whether veltui can apply the plan itself.
func (p *Plan) Possible() bool { return p.Refusal == "" && len(p.targets) > 0 }

// Effect is what the plan does to the job's phase.
func (p *Plan) Effect() Effect {
	switch {
	case p.Refusal != "":
		return Refuse
	case p.To == "":
		return Keep
	case velero.TerminalPhase(p.To):
		return End
	}
	return Nudge
}

// Evidence is what the plan rests on.
func (p *Plan) Evidence() Evidence { return p.evidence }

// Same reports whether applying either plan writes the same, over the same.
func (p *Plan) Same(q *Plan) bool {
	return p.Action == q.Action && p.Effect() == q.Effect() &&
		p.Kind == q.Kind && p.Namespace == q.Namespace && p.Name == q.Name && p.UID == q.UID &&
		p.To == q.To && slices.Equal(p.Set, q.Set) && (p.To == "" || p.Reason == q.Reason) &&
		slices.EqualFunc(p.targets, q.targets, sameVersion)
}

func sameVersion(a, b *unstructured.Unstructured) bool {
	return a.GetKind() == b.GetKind() && a.GetName() == b.GetName() && a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

func orNone(phase string) string {
	if phase == "" {
		return "no phase"
	}
	return phase
}
