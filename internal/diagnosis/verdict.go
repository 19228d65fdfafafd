package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// State is the state of a job in one word; empty for a job that has ended.
type State string

// These are the states. The typed ones need a proof: only [NewProven] makes a verdict with them.
const (
	Progressing = "progressing"
	Waiting     = "waiting"
	Quiet       = "quiet"
	Unknown     = "unknown"

	Stuck    State = "stuck"
	Orphaned State = "orphaned"
)

// UnprovenState is a state that needs no proof: the job progresses, or may.
type UnprovenState string

// Verdict says how a job is doing, and why veltui thinks so.
type Verdict struct {
	state State
	// Reason says why, in one CamelCase word that is never renamed.
	Reason Reason
	// Subject is the name of the judged job, and Text the sentence about it.
	Subject, Text string
	// Proof is why the job cannot continue by itself, zero unless it is stuck or orphaned.
	Proof Proof
	// storageDecides is true if the job's stored files would settle the verdict.
	storageDecides bool
	Waits          []Wait
	Facts          []Fact
	// Advice is what to do beyond what the reason says, empty for nothing. It names no key or command of veltui: front
	// ends add theirs for Action, and [Verdict.Next] has those of the reason.
	Advice string
	// Action is what veltui can do about the job, or show the commands for.
	Action Action
	// Names are what the commands of the next step are about.
	Names Names
	// Cause is why a job ended badly, if anything tells.
	Cause Cause
}

// Next returns what to do next: the step of the cause and then Advice, or Advice or else the step of the reason. The
// commands that read more about a job that ended badly follow those against the cause, or come first if the cause
// explains few of the errors.
func (v Verdict) Next() Next {
	next := v.Reason.Next(v.Names, v.Advice)
	if v.Cause.IsZero() {
		return next
	}
	cause := v.Cause.Reason.Next(v.Names, "")
	text := strings.TrimSpace(cause.Text + " " + v.Advice)
	switch {
	case v.Cause.IsMinority:
		next.Text = strings.TrimSpace(v.Reason.Next(v.Names, "").Text + " " + text)
		return next.withCommandsOf(cause)
	case v.Reason == Failed && len(cause.Commands) > 0:
		next.Commands = nil // whatever made it fail, its log is not stored or says no more
	}
	cause.Text = text
	return cause.withCommandsOf(next)
}

func (v Verdict) State() State { return v.state }

// Summary returns the sentence with its subject.
func (v Verdict) Summary() string {
	if v.Subject == "" {
		return v.Text
	}
	return v.Subject + ": " + v.Text
}

// NewUnproven returns a verdict that needs no proof. A state that needs one becomes quiet.
func NewUnproven(state UnprovenState, reason Reason, text string) Verdict {
	if s := State(state); s == Stuck || s == Orphaned {
		state = Quiet
	}
	return Verdict{state: State(state), Reason: reason, Text: text}
}

// NewProven returns the verdict that a job cannot continue by itself; without a proof it becomes quiet.
func NewProven(state State, proof Proof, reason Reason, text string) Verdict {
	v := Verdict{state: state, Proof: proof, Reason: reason, Text: text}
	if proof.IsZero() {
		v.state = Quiet
	}
	return v
}

// Action names an action of package action that may help.
type Action string

const (
	Finalize         Action = "finalize"
	Wake             Action = "wake"
	Restart          Action = "restart"
	RestartNodeAgent Action = "restart-node-agent"
	FixField         Action = "fix-field"
	CancelVolumes    Action = "cancel-volumes"
)

func (v Verdict) withAction(a Action) Verdict {
	v.Action = a
	return v
}

func (v Verdict) withWaits(waits []Wait) Verdict {
	v.Waits = waits
	return v
}

// NeedsCloserLook reports whether evidence for this job alone may change the verdict. That a deletion holds a lock is
// only likely: the job may wait for a namespace or a hook.
func (v Verdict) NeedsCloserLook() bool {
	return slices.Contains([]State{Stuck, Orphaned, Quiet, Unknown}, v.state) || v.Reason == WaitingForSlot ||
		v.Reason == RepositoryLocked
}

// StorageDecides reports whether the job's stored files would settle the verdict.
func (v Verdict) StorageDecides() bool { return v.state == Quiet && v.storageDecides }

const (
	SourceAPI        = "api"
	SourceWatch      = "watch"
	SourcePod        = "pod"
	SourceLog        = "log"
	SourceSchema     = "schema"
	SourceStorage    = "storage"
	SourceSnapshots  = "snapshots"
	SourceNamespaces = "namespaces"
	SourceConfig     = "configmap"
	SourceRBAC       = "rbac"
	SourceEvents     = "events"
	SourceAction     = "action"
)

// Fact is one observation behind a verdict or a plan.
type Fact struct {
	// Supports is false for a fact that could not be checked or contradicts the conclusion.
	Supports bool
	Text     string
	Source   string
	// At is when the fact was seen or last changed, by the cluster's clock.
	At time.Time
}

// FactCollector collects the facts of one conclusion in the order in which they are shown.
type FactCollector struct{ facts []Fact }

func (l *FactCollector) Facts() []Fact { return l.facts }

// AddFact adds a fact, which supports the conclusion or casts doubt on it, and returns the fact.
func (l *FactCollector) AddFact(holds bool, source string, at time.Time, format string, args ...any) Fact {
	f := Fact{Supports: holds, Text: fmt.Sprintf(format, args...), Source: source, At: at}
	l.facts = append(l.facts, f)
	return f
}

func (l *FactCollector) AddSupport(source string, at time.Time, format string, args ...any) Fact {
	return l.AddFact(true, source, at, format, args...)
}

// AddDoubt adds a fact that contradicts the conclusion or could not be checked.
func (l *FactCollector) AddDoubt(source string, at time.Time, format string, args ...any) {
	l.AddFact(false, source, at, format, args...)
}

// VerdictBuilder collects the facts of one verdict. Each verdict is about Name.
type VerdictBuilder struct {
	FactCollector
	Subject string
	Now     time.Time
	// Names are those of the verdict.
	Names Names
}

// Conclude returns a verdict that needs no proof.
func (c *VerdictBuilder) Conclude(state UnprovenState, reason Reason, advice, format string, args ...any) Verdict {
	v := NewUnproven(state, reason, fmt.Sprintf(format, args...))
	v.Subject, v.Facts, v.Advice, v.Names = c.Subject, c.facts, advice, c.Names
	return v
}

// ConcludeProven returns a verdict that rests on a proof, which becomes the first fact.
func (c *VerdictBuilder) ConcludeProven(
	state State,
	proof Proof,
	reason Reason,
	advice, format string,
	args ...any,
) Verdict {
	v := NewProven(state, proof, reason, fmt.Sprintf(format, args...))
	v.Subject, v.Facts, v.Advice, v.Names = c.Subject, c.facts, advice, c.Names
	if !proof.IsZero() {
		rest := slices.DeleteFunc(slices.Clone(c.facts), func(f Fact) bool { return f == proof.fact })
		v.Facts = append([]Fact{proof.fact}, rest...)
	}
	return v
}

// ProofKind is the way in which it is known that a job cannot continue by itself.
type ProofKind string

const (
	// ProofOwnerGone means that nothing works on the job. The server restarted, the only worker has gone on, no
	// node-agent runs on the node, or no controller handles the phase.
	ProofOwnerGone ProofKind = "ownerGone"
	// ProofGaveUp means that Velero says that it gave up, in its log or in a condition.
	ProofGaveUp ProofKind = "gaveUp"
	// ProofRefused means that an error that lasts until its cause is fixed blocks the job.
	ProofRefused ProofKind = "refused"
	// ProofLimitsPassed means that everything that the job may wait for has a limit, and every limit has passed.
	ProofLimitsPassed ProofKind = "limitsPassed"
)

// Proof is why a job cannot continue by itself. Its zero value proves nothing.
type Proof struct {
	kind ProofKind
	fact Fact
}

// Kind returns the kind of proof, empty for the zero Proof.
func (p Proof) Kind() ProofKind { return p.kind }

func (p Proof) Fact() Fact { return p.fact }

func (p Proof) IsZero() bool { return p.kind == "" }

// withFact returns the same proof with another fact, for a job that waits for the job that the proof is about.
func (p Proof) withFact(f Fact) Proof {
	p.fact = f
	return p
}

// ProveOwnerGone returns the proof that nothing works on the job any more.
func ProveOwnerGone(f Fact) Proof { return Proof{kind: ProofOwnerGone, fact: f} }

// ProveAbsence returns the proof that nothing works on the job any more because something does not exist; none unless
// the kind was fully listed.
func ProveAbsence(of ListCompleteness, f Fact) Proof {
	if of != FullyListed {
		return Proof{}
	}
	return ProveOwnerGone(f)
}

// ProveGivenUp returns the proof that Velero says that it gave up.
func ProveGivenUp(f Fact) Proof { return Proof{kind: ProofGaveUp, fact: f} }

// ProveRefused returns the proof that a lasting error blocks the job.
func ProveRefused(f Fact) Proof { return Proof{kind: ProofRefused, fact: f} }

// proveLimitsPassed returns the proof that every limit has passed; none without a wait, or if a wait has no limit.
func proveLimitsPassed(now time.Time, f Fact, waits ...Wait) Proof {
	if len(waits) == 0 ||
		slices.ContainsFunc(waits, func(w Wait) bool { return w.Deadline.IsZero() || now.Before(w.Deadline) }) {
		return Proof{}
	}
	return Proof{kind: ProofLimitsPassed, fact: f}
}

// Wait is something that a job may be waiting for.
type Wait struct {
	// Name is the name of the row in Velero's table.
	Name velero.WaitName
	// Target describes what is awaited, such as "a slot on node-3".
	Target string
	// LimitSetting is the setting that limits the wait, empty if nothing does.
	LimitSetting string
	// Deadline is when Velero has certainly acted on the limit, zero if nothing limits the wait, or the start of the limit
	// is unknown.
	Deadline time.Time
	// Confirmed is true if the evidence shows that the job waits for this.
	Confirmed bool
}

// NeedsOtherEvidence reports which evidence beyond the job, its volumes and the pods may change a verdict: other
// jobs, or all volumes.
func NeedsOtherEvidence(j *job.Job, v Verdict) (jobs, volumes bool) {
	switch {
	case j.IsTerminal():
		return false, j.ActiveVolumeCount() > 0 // whether what it left behind still waits for a slot
	case j.Stage == job.StageQueued:
		return true, true // the verdict on the job that it waits for needs that job's volumes
	}
	volumes = slices.ContainsFunc(j.Volumes, func(o job.Volume) bool {
		return !o.HasEnded() && (v.State() != Progressing || o.IsWaiting())
	})
	switch v.Reason {
	case NotPickedUp, Starting, QueueStalled, WorkerHung, FinalizerStalled: // see judgeHiddenKind
		return true, volumes
	}
	stage := job.StageOf(j.Phase)
	return v.state != Progressing && (stage == job.StageFinalizing || stage == job.StageItems), volumes
}
