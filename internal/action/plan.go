package action

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero"
)

// Request is what a person asks for.
type Request struct {
	Phase           string // the wanted phase; empty leaves the choice to the evidence
	Reason          string // written into the resource and the log; empty stands for the evidence's
	Volume          string // of CancelVolumes: the only one to cancel, as NAME or KIND/NAME; empty for all that qualify
	SkipImmediately bool   // of Unpause: leave out a run that is due
	// FromAnotherCluster lets DeleteBackup delete what this cluster may not have made.
	FromAnotherCluster bool
	// LastCopy lets DeleteBackup delete the last completed backup of a schedule, or of namespaces.
	LastCopy bool
	// Marked names the backups that are deleted along with the one of DeleteBackup: none of them is a copy of it.
	Marked       []string
	Consequences []string  // of Create: what else is known of what it will do
	Unnamed      bool      // of Create: the name is a default one, which ends with the time
	Earlier      []Attempt // settled ones that have written, or may have
	// Policy is the ConfigMap with the resource policy of a restore, which Create makes before it; nil for none.
	Policy *unstructured.Unstructured
	// Words are those of Velero's command that does the same; of Create of a restore, which cannot tell them itself.
	Words           []string
	Refusal, Advice string // why it is not done, whatever the evidence says, and what would help; empty where it may be
	// What kubectl commands need to reach the same cluster.
	Context     string
	Flags       []string // such as --kubeconfig and --as
	Environment []string // as NAME=value
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

	From   string  // the phase that was seen
	To     string  // the phase that is written, empty for a refusal and for actions that write none
	Set    []Field // other status fields that are written
	Title  string  // what it does, in a few words
	Why    string  // the evidence, in one sentence
	Reason string  // the person's for the resource and the log, else Why

	Refusal string // why veltui does not do it, empty if it can
	Advice  string // what would help
	InDoubt bool   // it refuses because something could not be found out
	// Unchecked is true if it refuses because nobody has looked yet for what would settle it; finalizing looks.
	Unchecked bool

	Will     []string     // what it does, in plain words
	WillNot  []string     // what it leaves as it is
	Then     []string     // what follows
	Commands []string     // the equivalent kubectl commands for a POSIX shell; none for what nobody should do
	Volumes  []job.Volume // the volumes that are cancelled
	Fails    []string     // the jobs in progress, as KIND/NAME, that a restart fails, the job itself among them

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

// refuse makes it a plan that does nothing, if v is a refusal.
func (p *Plan) refuse(v verdict) bool {
	if v.refusal != "" {
		p.Refusal, p.Advice, p.InDoubt, p.Unchecked = v.refusal, v.advice, v.doubt, v.unchecked
	}
	return v.refusal != ""
}

// Objection is the refusal as a sentence about what finalizing would do, empty if it would not refuse.
func (p *Plan) Objection() string {
	switch {
	case p.Refusal == "":
		return ""
	case p.Unchecked:
		return "finalize cannot decide yet: " + p.Refusal
	}
	return "finalize would refuse: " + p.Refusal
}

// Proposed reports whether a person asked for it without a job that calls for it.
func (p *Plan) Proposed() bool { return p.evidence.proposal != nil }

// Program is the one whose commands do the same.
func (p *Plan) Program() string {
	if p.Action == Create || p.Action == DeleteBackup || p.Action == DeleteRestore {
		return "velero"
	}
	return "kubectl"
}

func (p *Plan) Evidence() Evidence { return p.evidence }

// Same reports whether both plans write the same over the same, with the same consequences, and q had p's doubts.
func (p *Plan) Same(q *Plan) bool {
	return p.covers(q, q.targets) && len(p.targets) == len(q.targets) && slices.Equal(p.Will, q.Will)
}

// covers reports whether p still leads to what q showed for some targets, without a new consequence or doubt.
func (p *Plan) covers(q *Plan, targets []*unstructured.Unstructured) bool {
	for _, t := range targets {
		if !slices.ContainsFunc(p.targets, func(o *unstructured.Unstructured) bool {
			return sameVersion(o, t) && (t.GetUID() != "" || sameJSON(o.Object, t.Object))
		}) {
			return false
		}
	}
	return p.Action == q.Action && p.Effect() == q.Effect() && p.evidence.By == q.evidence.By &&
		p.evidence.Cluster.Difference(q.evidence.Cluster) == "" &&
		p.Kind == q.Kind && p.Namespace == q.Namespace && p.Name == q.Name && p.UID == q.UID &&
		p.To == q.To && slices.Equal(p.Set, q.Set) && (p.To == "" || p.Reason == q.Reason) &&
		p.source() == q.source() && includes(q.WillNot, p.WillNot) &&
		includes(q.Then, p.Then) &&
		includes(q.doubts(), p.doubts())
}

// source is the uid of the backup that the plan restores, empty if it restores none.
func (p *Plan) source() types.UID {
	if p.evidence.proposal == nil {
		return ""
	}
	return p.evidence.proposal.source
}

// doubts returns the facts that do not hold, without their numbers and times, which grow by themselves.
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
	return a.GetKind() == b.GetKind() && a.GetName() == b.GetName() && a.GetUID() == b.GetUID() &&
		a.GetResourceVersion() == b.GetResourceVersion()
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

const (
	Finalize      Name = "finalize"       // writes the phase in which the job should be
	Wake          Name = "wake"           // touches the job, so that Velero looks at it again
	CancelVolumes Name = "cancel-volumes" // ends data movement that no longer moves
	Create        Name = "create"         // makes a backup or restore
	Pause         Name = "pause"          // lets a schedule make no more backups
	Unpause       Name = "unpause"        // lets it go on
	DeleteBackup  Name = "delete-backup"  // has Velero delete a backup and what is stored of it
	DeleteRestore Name = "delete-restore" // deletes a restore, not what it restored
	// These veltui only advises.
	Restart          Name = "restart"            // of the server
	RestartNodeAgent Name = "restart-node-agent" // on one node
	FixField         Name = "fix-field"          // corrects a field that Velero cannot read
)

// marks is the prefix of the annotations that say who did something, when, why and in which
// attempts, newest first. The attempt tells our own patch from others after a lost answer.
type marks string

const (
	finalized marks = "veltui.io/finalized"
	woken     marks = "veltui.io/woken"
	cancelled marks = "veltui.io/cancelled"
	created   marks = "veltui.io/created"
	paused    marks = "veltui.io/paused"
	deleted   marks = "veltui.io/deleted" // of a DeleteBackupRequest
)

func (m marks) attempt() string { return string(m) + "-attempt" }

// annotate writes the marks and more notes; those without a value are left out, or emptied where an earlier one exists.
func (m marks) annotate(o *unstructured.Unstructured, s stamp, reason string, more ...[2]string) []operation {
	var ops []operation
	if o.GetAnnotations() == nil {
		ops = append(ops, operation{"add", "/metadata/annotations", map[string]string{}})
	}
	for _, n := range m.notes(o, s, reason, more...) {
		if n[1] != "" || o.GetAnnotations()[string(m)+n[0]] != "" {
			ops = append(
				ops,
				operation{"add", "/metadata/annotations/" + strings.ReplaceAll(string(m)+n[0], "/", "~1"), n[1]},
			)
		}
	}
	return ops
}

func (m marks) notes(o *unstructured.Unstructured, s stamp, reason string, more ...[2]string) [][2]string {
	notes := append([][2]string{{"-by", s.by}, {"-at", s.at.UTC().Format(time.RFC3339)}}, more...)
	return append(notes, [2]string{"-reason", reason}, [2]string{"-attempt", addAttempt(o, m.attempt(), s.attempt)})
}

// others returns who did the same after seen, empty for nobody.
func (m marks) others(seen, now *unstructured.Unstructured) (by, at string) {
	notes := now.GetAnnotations()
	if notes[m.attempt()] == seen.GetAnnotations()[m.attempt()] {
		return "", ""
	}
	return notes[string(m)+"-by"], notes[string(m)+"-at"]
}
