package action

import (
	"cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Request is what a person asks for.
type Request struct {
	Phase           string // the wanted phase; empty leaves the choice to the evidence
	Reason          string // written into the resource and the log; empty means the evidence's
	Volume          string // of CancelVolumes: the only one to cancel, as NAME or KIND/NAME; empty for all that qualify
	SkipImmediately bool   // of Unpause: skip a run that is due
	// AllowOtherCluster lets DeleteBackup delete a backup that this cluster may not have made.
	AllowOtherCluster bool
	// AllowLastCopy lets DeleteBackup delete the last completed backup of a schedule, or of namespaces.
	AllowLastCopy bool
	// MarkedBackups names the backups that are deleted along with the backup of DeleteBackup: none of them counts as a
	// copy of it.
	MarkedBackups   []string
	Consequences    []string  // of Create: what else is known about its effects
	NameGenerated   bool      // of Create: the name is generated, and ends with the time
	EarlierAttempts []Attempt // settled attempts that have written, or may have
	// PolicyConfigMap is the ConfigMap with the resource policy of a restore, which Create makes before the restore; nil
	// for none.
	PolicyConfigMap *unstructured.Unstructured
	// VeleroCommand is the velero command that does the same; set to create a restore, where the plan cannot tell it.
	VeleroCommand []string
	// Refusal says why the request is refused, whatever the evidence says, and Advice what would help; empty if it may
	// be possible.
	Refusal, Advice string
	// Context, Flags and Environment are what kubectl commands need to reach the same cluster.
	Context     string
	Flags       []string // such as --kubeconfig and --as
	Environment []string // as NAME=value
}

// Kind is the name of an action. Flags, JSON and the audit log use it.
type Kind string

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

	request  Request
	evidence Evidence
	targets  []*unstructured.Unstructured // the objects to patch
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

// Equivalent reports whether both plans write the same to the same objects, with the same consequences, and q had all
// of p's doubts.
func (p *Plan) Equivalent(q *Plan) bool {
	return p.stillImplies(q, q.targets) && len(p.targets) == len(q.targets) && slices.Equal(p.Will, q.Will)
}

// stillImplies reports whether p still leads to what q showed for some targets, without a new consequence or doubt.
func (p *Plan) stillImplies(q *Plan, targets []*unstructured.Unstructured) bool {
	for _, t := range targets {
		if !slices.ContainsFunc(p.targets, func(o *unstructured.Unstructured) bool {
			return sameVersion(o, t) && (t.GetUID() != "" || sameJSON(o.Object, t.Object))
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

func sameVersion(a, b *unstructured.Unstructured) bool {
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

func (r Request) ClusterAccess() kubectl.ClusterAccess {
	return kubectl.ClusterAccess{Context: r.Context, Flags: r.Flags, Environment: r.Environment}
}

const (
	Finalize      Kind = "finalize"       // writes the phase in which the job should be
	Wake          Kind = "wake"           // touches the job, so that Velero looks at it again
	CancelVolumes Kind = "cancel-volumes" // ends data movement that no longer moves
	Create        Kind = "create"         // makes a backup or restore
	Pause         Kind = "pause"          // stops a schedule from making backups
	Unpause       Kind = "unpause"        // lets a schedule make backups again
	DeleteBackup  Kind = "delete-backup"  // has Velero delete a backup and what is stored of it
	DeleteRestore Kind = "delete-restore" // deletes a restore, not what it restored
	// veltui only advises these actions.
	Restart          Kind = "restart"            // restarts the server
	RestartNodeAgent Kind = "restart-node-agent" // restarts the node-agent of one node
	FixField         Kind = "fix-field"          // corrects a field that Velero cannot read
)

// annotationPrefix is the prefix of the annotations that say who did something, when, why and in which attempts,
// newest first. After a lost answer, the attempt distinguishes our own patch from others.
type annotationPrefix string

const (
	finalizedPrefix annotationPrefix = "veltui.io/finalized"
	wokenPrefix     annotationPrefix = "veltui.io/woken"
	cancelledPrefix annotationPrefix = "veltui.io/cancelled"
	createdPrefix   annotationPrefix = "veltui.io/created"
	pausedPrefix    annotationPrefix = "veltui.io/paused"
	deletedPrefix   annotationPrefix = "veltui.io/deleted" // on a DeleteBackupRequest
)

func (m annotationPrefix) attemptKey() string { return string(m) + "-attempt" }

// annotateOperations returns the operations that write the marks and further notes; notes without a value are left
// out, or emptied if an earlier note exists.
func (m annotationPrefix) annotateOperations(
	o *unstructured.Unstructured,
	s attemptStamp,
	reason string,
	more ...[2]string,
) []patchOperation {
	var ops []patchOperation
	if o.GetAnnotations() == nil {
		ops = append(ops, patchOperation{"add", "/metadata/annotations", map[string]string{}})
	}
	for _, n := range m.buildNotes(o, s, reason, more...) {
		if n[1] != "" || o.GetAnnotations()[string(m)+n[0]] != "" {
			ops = append(
				ops,
				patchOperation{"add", "/metadata/annotations/" + strings.ReplaceAll(string(m)+n[0], "/", "~1"), n[1]},
			)
		}
	}
	return ops
}

func (m annotationPrefix) buildNotes(
	o *unstructured.Unstructured,
	s attemptStamp,
	reason string,
	more ...[2]string,
) [][2]string {
	notes := append([][2]string{{"-by", s.by}, {"-at", s.at.UTC().Format(time.RFC3339)}}, more...)
	return append(notes, [2]string{"-reason", reason}, [2]string{"-attempt", addAttempt(o, m.attemptKey(), s.attempt)})
}

// findOtherWriter returns who did the same after seen, empty for nobody.
func (m annotationPrefix) findOtherWriter(seen, now *unstructured.Unstructured) (by, at string) {
	notes := now.GetAnnotations()
	if notes[m.attemptKey()] == seen.GetAnnotations()[m.attemptKey()] {
		return "", ""
	}
	return notes[string(m)+"-by"], notes[string(m)+"-at"]
}
