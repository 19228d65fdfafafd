package finalize

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
)

// Request is what a person asks for.
type Request struct {
	// Phase is the phase asked for; empty leaves the choice to the evidence.
	Phase string
	// Reason is written into the resource and the log; empty stands for the
	// reason that the evidence gives.
	Reason string
	// Context is the kubeconfig context that the kubectl command names, and
	// Flags are kubectl's other flags that lead to the cluster as we went, such
	// as --kubeconfig and --as. Environment are variables, as NAME=value, that
	// it needs for that.
	Context     string
	Flags       []string
	Environment []string
}

// Action is what a plan does.
type Action string

// The actions.
const (
	// Refuse: nothing is done, for the reason in Plan.Refusal.
	Refuse Action = "refuse"
	// Nudge: move the job on to a phase from which Velero's own finalizer
	// takes it to its end.
	Nudge Action = "nudge"
	// End: write a terminal phase, because nobody else will.
	End Action = "end"
)

// Plan says what is to be done about one job, or why nothing is.
type Plan struct {
	Action Action

	Kind            job.Kind
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string

	// From and To are phases; To is empty if the plan is a refusal.
	From string
	To   string
	// Set are the other status fields that are written.
	Set []Field
	// Why is what the evidence tells, in one sentence.
	Why string
	// Reason is why for the resource and the log: the person's, else Why.
	Reason string

	// Refusal is the reason why nothing is done, and Advice what would help.
	Refusal string
	Advice  string

	// Will, WillNot and Then say in plain words what the patch does, what it
	// leaves as it is, and what follows from it.
	Will    []string
	WillNot []string
	Then    []string
	// Command is the equivalent kubectl command, quoted for a POSIX shell.
	Command string

	request  Request
	evidence Evidence
}

// Field is one number of the status that is written.
type Field struct {
	Name  string
	Value int
}

// Same reports whether carrying out either plan writes the same, over the same.
func (p *Plan) Same(q *Plan) bool {
	return p.Action == q.Action && p.Kind == q.Kind && p.Namespace == q.Namespace && p.Name == q.Name &&
		p.UID == q.UID && p.ResourceVersion == q.ResourceVersion &&
		p.From == q.From && p.To == q.To && p.Reason == q.Reason && slices.Equal(p.Set, q.Set)
}

// resource is the plural with its group.
func resource(kind job.Kind) string {
	if kind == job.Backup {
		return "backups.velero.io"
	}
	return "restores.velero.io"
}

// word is the kind as a word in a sentence.
func word(kind job.Kind) string {
	if kind == job.Backup {
		return "backup"
	}
	return "restore"
}
