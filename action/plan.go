package action

import (
	"regexp"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/kubectl"
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
	// End: write a terminal phase, because nothing else will.
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
	// InDoubt is true for a refusal because something could not be found out.
	InDoubt bool

	// Will, WillNot and Then say in plain words what it does, what it leaves
	// as it is, and what follows.
	Will    []string
	WillNot []string
	Then    []string
	// Commands are the equivalent kubectl commands, quoted for a POSIX shell.
	// There are none for what should not be done.
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

// Same reports whether applying either plan, as the user it was shown to, writes the
// same over the same, with the same consequences, and q had every doubt of p.
func (p *Plan) Same(q *Plan) bool {
	return p.covers(q, q.targets) && len(p.targets) == len(q.targets) && slices.Equal(p.Will, q.Will)
}

// covers reports whether p still leads to what q showed for some of q's targets. p
// has no consequence and no doubt that q had not.
func (p *Plan) covers(q *Plan, targets []*unstructured.Unstructured) bool {
	for _, t := range targets {
		if !slices.ContainsFunc(p.targets, func(o *unstructured.Unstructured) bool { return sameVersion(o, t) }) {
			return false
		}
	}
	return p.Action == q.Action && p.Effect() == q.Effect() && p.evidence.By == q.evidence.By && p.evidence.Cluster.Difference(q.evidence.Cluster) == "" &&
		p.Kind == q.Kind && p.Namespace == q.Namespace && p.Name == q.Name && p.UID == q.UID &&
		p.To == q.To && slices.Equal(p.Set, q.Set) && (p.To == "" || p.Reason == q.Reason) &&
		includes(q.WillNot, p.WillNot) && includes(q.Then, p.Then) && includes(q.doubts(), p.doubts())
}

// doubts are the facts that do not hold, without their numbers and times, which
// grow by themselves.
func (p *Plan) doubts() (doubts []string) {
	for _, f := range p.Facts() {
		if !f.Holds {
			doubts = append(doubts, numbers.ReplaceAllString(f.Text, "#"))
		}
	}
	return doubts
}

var numbers = regexp.MustCompile(`[0-9][0-9a-z:.-]*( [0-9][0-9a-z:.-]*)*`)

// includes reports whether all has each of some.
func includes(all, some []string) bool {
	for _, s := range some {
		if !slices.Contains(all, s) {
			return false
		}
	}
	return true
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

// qualified is the resource of a kind, of jobs or of volumes, with its group, so
// that kubectl takes no other for it.
func qualified(kind interface{ Resource() string }) string {
	return kind.Resource() + "." + velerov1.SchemeGroupVersion.Group
}

// kubectlCommand is a kubectl command that leads to the cluster of a request.
func kubectlCommand(r Request, namespace string, args ...string) string {
	return r.Reach().Kubectl(namespace, args...)
}

// Veltui is a veltui command about the plan's job.
func (p *Plan) Veltui(args ...string) string { return p.request.Reach().Veltui(p.Namespace, args...) }

// Reach is how a command gets to the same cluster.
func (r Request) Reach() kubectl.Reach {
	return kubectl.Reach{Context: r.Context, Flags: r.Flags, Environment: r.Environment}
}
