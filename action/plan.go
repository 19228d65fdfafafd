package action

import (
	"cmp"
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
	Phase  string // the wanted phase; empty leaves the choice to the evidence
	Reason string // written into the resource and the log; empty stands for the evidence's
	// Context is the context that kubectl commands name, Flags are kubectl's other flags
	// that lead to the same cluster, such as --kubeconfig and --as, and Environment the
	// variables for that, as NAME=value.
	Context     string
	Flags       []string
	Environment []string
}

// Name is the name of an action. Flags, JSON and the audit log use it.
type Name string

// Effect is what a plan does to the job's phase.
type Effect string

const (
	Refuse Effect = "refuse" // do nothing, for the reason in Plan.Refusal
	Nudge  Effect = "nudge"  // write a phase from which Velero's finalizer ends the job
	End    Effect = "end"    // write a terminal phase, because nobody else will
	Keep   Effect = "keep"   // leave the phase to Velero
)

// Plan says what one action does about one job, or why it does nothing.
type Plan struct {
	Action Name

	Kind            job.Kind
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string

	// From is the phase that was seen. To is the phase that is written, empty for a refusal
	// and for actions that write none.
	From string
	To   string
	Set  []Field // other status fields that are written
	// Title is what it does, in a few words; Why the evidence, in one sentence; Reason the
	// person's reason for the resource and the log, else Why.
	Title  string
	Why    string
	Reason string

	// Refusal is why veltui does not do it, empty if it can, and Advice what would help.
	// InDoubt marks a refusal because something could not be found out.
	Refusal string
	Advice  string
	InDoubt bool

	// Will, WillNot and Then say in plain words what it does, what it leaves as it is, and
	// what follows.
	Will    []string
	WillNot []string
	Then    []string
	// Commands are the equivalent kubectl commands, quoted for a POSIX shell. There are
	// none for what nobody should do.
	Commands []string
	Volumes  []job.Volume // the volumes that are cancelled
	// Fails are the jobs in progress, as KIND/NAME, that a restart makes Velero mark
	// Failed, the job itself among them.
	Fails []string

	request  Request
	evidence Evidence
	targets  []*unstructured.Unstructured // are patched
}

// Field is a number of the status.
type Field struct {
	Name  string
	Value int
}

// Possible reports whether veltui can apply the plan itself.
func (p *Plan) Possible() bool { return p.Refusal == "" && len(p.targets) > 0 }

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

func (p *Plan) Evidence() Evidence { return p.evidence }

// Same reports whether applying either plan, as the user to whom it was shown, writes the
// same over the same, with the same consequences, and q had every doubt of p.
func (p *Plan) Same(q *Plan) bool {
	return p.covers(q, q.targets) && len(p.targets) == len(q.targets) && slices.Equal(p.Will, q.Will)
}

// covers reports whether p still leads to what q showed for some of q's targets, without a
// consequence or a doubt that q did not have.
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

// doubts returns the facts that do not hold, without their numbers and times, which grow by
// themselves.
func (p *Plan) doubts() (doubts []string) {
	for _, f := range p.Facts() {
		if !f.Holds {
			doubts = append(doubts, numbers.ReplaceAllString(f.Text, "#"))
		}
	}
	return doubts
}

var numbers = regexp.MustCompile(`[0-9][0-9a-z:.-]*( [0-9][0-9a-z:.-]*)*`)

func includes(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func sameVersion(a, b *unstructured.Unstructured) bool {
	return a.GetKind() == b.GetKind() && a.GetName() == b.GetName() && a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

func orNone(phase string) string { return cmp.Or(phase, "no phase") }

// qualified is the resource of a kind with its group, so that kubectl takes no other for it.
func qualified(kind interface{ Resource() string }) string {
	return kind.Resource() + "." + velerov1.SchemeGroupVersion.Group
}

func (p *Plan) Veltui(args ...string) string { return p.request.Reach().Veltui(p.Namespace, args...) }

func (r Request) Reach() kubectl.Reach {
	return kubectl.Reach{Context: r.Context, Flags: r.Flags, Environment: r.Environment}
}
