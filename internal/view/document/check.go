package document

import (
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
)

// Check is what `check -o json` prints.
type Check struct {
	Header
	Critical int `json:"critical"`
	Warnings int `json:"warnings"`
	// AcknowledgedLeftOut counts the findings that --acknowledged leaves out, which are not among the items.
	AcknowledgedLeftOut int `json:"acknowledgedLeftOut"`
	// Items are the findings, the worst first.
	Items []Finding `json:"items"`
	// Unread is what could not be read: there may be more findings.
	Unread []Unread `json:"unread"`
	// Installations are the Veleros that were checked.
	Installations []Installation `json:"installations"`
}

// Installation is one Velero.
type Installation struct {
	Context   string `json:"context"`
	Namespace string `json:"namespace"`
	// OtherNamespaces are the other namespaces of the cluster that have a Velero, as far as you may see them.
	OtherNamespaces []string `json:"otherNamespaces"`
}

// Finding is one thing that needs attention.
type Finding struct {
	Context string `json:"context"`
	// Severity is critical or warning.
	Severity string `json:"severity"`
	// Reason is one of docs/reasons.md.
	Reason string `json:"reason"`
	// Cause is why a job, or the newest of several runs, ended badly: one of docs/reasons.md.
	Cause string `json:"cause,omitempty"`
	// Object is what the finding is about.
	Object Object `json:"object"`
	// Summary is a sentence.
	Summary string `json:"summary"`
	Since   Moment `json:"since,omitzero"`
	// Last is when it last occurred, absent unless it occurred several times.
	Last Moment `json:"last,omitzero"`
	// Count is how many runs in a row, volumes or requests it stands for.
	Count int `json:"count,omitempty"`
	// Affects is what else does not work because of it, as KIND/NAME.
	Affects []string `json:"affects,omitempty"`
	// Next is what to do next.
	Next *Next `json:"next,omitempty"`
	// Acknowledged is true for one that was acknowledged in the dashboard.
	Acknowledged bool `json:"acknowledged,omitempty"`
}

// Object names a Kubernetes object by a short word for its kind.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// Unread is what could not be read in a cluster.
type Unread struct {
	Context string `json:"context"`
	// Namespace is that of the Velero, where several namespaces are checked.
	Namespace string `json:"namespace,omitempty"`
	// Resource is a plural with its group, absent where nothing of the cluster could be read.
	Resource string `json:"resource,omitempty"`
	// Right is what you need to read it.
	Right string `json:"right,omitempty"`
	Error string `json:"error"`
}

// NewFinding returns a finding of a context.
func NewFinding(f assess.Finding, context string, acknowledged bool) Finding {
	return Finding{
		Context:      context,
		Severity:     f.Severity.String(),
		Reason:       f.Reason.String(),
		Cause:        f.Cause.String(),
		Object:       Object{f.Kind, f.Namespace, f.Name, string(f.UID)},
		Summary:      f.Summary,
		Since:        Moment{f.Since},
		Last:         Moment{f.LastAt},
		Count:        f.Count,
		Affects:      f.Affects,
		Next:         NewNext(f.Next()),
		Acknowledged: acknowledged,
	}
}

// Coverage is what `coverage -o json` prints.
type Coverage struct {
	Header
	coverage.Result
}

// NewCoverage returns the coverage of a cluster.
func NewCoverage(r coverage.Result) Coverage { return Coverage{NewHeader("Coverage"), r} }

// Prediction is what `coverage --next -o json` prints.
type Prediction struct {
	Header
	coverage.Prediction
}

// NewPrediction returns what the next backup of a schedule takes.
func NewPrediction(p coverage.Prediction) Prediction { return Prediction{NewHeader("Prediction"), p} }
