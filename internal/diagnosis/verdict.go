package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// State is the short word of a verdict; empty for a job that has ended.
type State string

// The states. Those with a type need a proof: only [Proven] makes a verdict of them.
const (
	Progressing = "progressing"
	Waiting     = "waiting"
	Quiet       = "quiet"
	Unknown     = "unknown"

	Stuck    State = "stuck"
	Orphaned State = "orphaned"
)

// Open is a state that needs no proof: the job goes on, or may.
type Open string

// Verdict says how a job fares, and why veltui thinks so.
type Verdict struct {
	state State
	// Reason says why, in one CamelCase word that is never renamed.
	Reason Reason
	// Subject is the name of what is judged, and Text the sentence about it.
	Subject, Text string
	// Proof is why the job cannot go on by itself, zero unless it is stuck or orphaned.
	Proof Proof
	// storage is true if the job's stored files would settle it.
	storage bool
	Waits   []Wait
	Facts   []Fact
	// Advice is empty if nothing has to be done. It names no key or command of veltui's: front ends add theirs for Action.
	Advice string
	// Action is what veltui can do about it or show the commands for.
	Action Action
}

func (v Verdict) State() State { return v.state }

// Summary is the sentence with its subject.
func (v Verdict) Summary() string {
	if v.Subject == "" {
		return v.Text
	}
	return v.Subject + ": " + v.Text
}

// Undecided returns a verdict that needs no proof. A state that needs one becomes quiet.
func Undecided(state Open, reason Reason, text string) Verdict {
	if s := State(state); s == Stuck || s == Orphaned {
		state = Quiet
	}
	return Verdict{state: State(state), Reason: reason, Text: text}
}

// Proven returns the verdict that a job cannot go on by itself; quiet without a proof.
func Proven(state State, proof Proof, reason Reason, text string) Verdict {
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
)

func (v Verdict) withAction(a Action) Verdict {
	v.Action = a
	return v
}

func (v Verdict) withWaits(waits []Wait) Verdict {
	v.Waits = waits
	return v
}

// NeedsCloserLook: evidence for this job alone may change the verdict. That a deletion holds a lock is
// only likely: it may wait for a namespace or a hook.
func (v Verdict) NeedsCloserLook() bool {
	return slices.Contains([]State{Stuck, Orphaned, Quiet, Unknown}, v.state) || v.Reason == WaitingForSlot ||
		v.Reason == RepositoryLocked
}

// StorageDecides reports whether the job's stored files would settle the verdict.
func (v Verdict) StorageDecides() bool { return v.state == Quiet && v.storage }

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
	SourceAction     = "action"
)

// Fact is one observation behind a verdict or a plan.
type Fact struct {
	// Holds is false for a fact that could not be checked or speaks against the conclusion.
	Holds  bool
	Text   string
	Source string
	// At is when it was seen or last changed, in the cluster's clock.
	At time.Time
}

// Ledger collects the facts of one conclusion in the order in which they are shown.
type Ledger struct{ facts []Fact }

func (l *Ledger) Facts() []Fact { return l.facts }

// Note adds a fact, which supports the conclusion or puts it in doubt, and returns it.
func (l *Ledger) Note(holds bool, source string, at time.Time, format string, args ...any) Fact {
	f := Fact{Holds: holds, Text: fmt.Sprintf(format, args...), Source: source, At: at}
	l.facts = append(l.facts, f)
	return f
}

func (l *Ledger) Supports(source string, at time.Time, format string, args ...any) Fact {
	return l.Note(true, source, at, format, args...)
}

// Doubts notes what speaks against the conclusion or could not be checked.
func (l *Ledger) Doubts(source string, at time.Time, format string, args ...any) {
	l.Note(false, source, at, format, args...)
}

// Case collects the facts of one verdict. Each verdict is about Name.
type Case struct {
	Ledger
	Name string
	Now  time.Time
}

// Conclude makes a verdict that needs no proof.
func (c *Case) Conclude(state Open, reason Reason, advice, format string, args ...any) Verdict {
	v := Undecided(state, reason, fmt.Sprintf(format, args...))
	v.Subject, v.Facts, v.Advice = c.Name, c.facts, advice
	return v
}

// Prove makes a verdict that rests on a proof, which becomes the first fact.
func (c *Case) Prove(state State, proof Proof, reason Reason, advice, format string, args ...any) Verdict {
	v := Proven(state, proof, reason, fmt.Sprintf(format, args...))
	v.Subject, v.Facts, v.Advice = c.Name, c.facts, advice
	if !proof.IsZero() {
		rest := slices.DeleteFunc(slices.Clone(c.facts), func(f Fact) bool { return f == proof.fact })
		v.Facts = append([]Fact{proof.fact}, rest...)
	}
	return v
}

// ProofKind is how it is known that a job cannot go on by itself.
type ProofKind string

const (
	// ProofOwnerGone: nothing works on it. The server restarted, the only worker went on, no node-agent
	// runs on the node, or no controller has the phase.
	ProofOwnerGone ProofKind = "ownerGone"
	// ProofGaveUp: Velero says that it gave up, in its log or in a condition.
	ProofGaveUp ProofKind = "gaveUp"
	// ProofRefused: an error that lasts until its cause is repaired keeps it back.
	ProofRefused ProofKind = "refused"
	// ProofLimitsPassed: all that it may wait for has a limit, and every limit has passed.
	ProofLimitsPassed ProofKind = "limitsPassed"
)

// Proof is why a job cannot go on by itself. Its zero value proves nothing.
type Proof struct {
	kind ProofKind
	fact Fact
}

// Kind is empty for the zero Proof.
func (p Proof) Kind() ProofKind { return p.kind }

func (p Proof) Fact() Fact { return p.fact }

func (p Proof) IsZero() bool { return p.kind == "" }

// behind is the proof of a job that waits for the one that it is about.
func (p Proof) behind(f Fact) Proof {
	p.fact = f
	return p
}

// ByOwner returns the proof that nothing works on the job any more.
func ByOwner(f Fact) Proof { return Proof{kind: ProofOwnerGone, fact: f} }

// ByAbsence returns the proof that nothing works on the job any more because something is not there; none unless all of
// its kind was read.
func ByAbsence(of Listing, f Fact) Proof {
	if of != Whole {
		return Proof{}
	}
	return ByOwner(f)
}

// ByGivingUp returns the proof that Velero says that it gave up.
func ByGivingUp(f Fact) Proof { return Proof{kind: ProofGaveUp, fact: f} }

// ByRefusal returns the proof that an error that lasts keeps the job back.
func ByRefusal(f Fact) Proof { return Proof{kind: ProofRefused, fact: f} }

// provenByLimits returns the proof that every limit has passed; none without a wait, or with one whose limit is open.
func provenByLimits(now time.Time, f Fact, waits ...Wait) Proof {
	if len(waits) == 0 ||
		slices.ContainsFunc(waits, func(w Wait) bool { return w.Until.IsZero() || now.Before(w.Until) }) {
		return Proof{}
	}
	return Proof{kind: ProofLimitsPassed, fact: f}
}

// Wait is something that a job may be waiting for.
type Wait struct {
	// Name is that of the row of Velero's table.
	Name velero.WaitName
	// For names it, such as "a slot on node-3".
	For string
	// Limit is the setting that bounds it, empty if nothing does.
	Limit string
	// Until is when Velero has acted on the limit for sure, zero if nothing bounds it, or from when it counts is
	// not known.
	Until time.Time
	// Shown is true if the evidence shows that the job waits for this.
	Shown bool
}

// NeedsOthers reports what may change a verdict of the job, its volumes and the pods alone: other jobs, or all volumes.
func NeedsOthers(j *job.Job, v Verdict) (jobs, volumes bool) {
	switch {
	case j.Terminal():
		return false, false
	case j.Stage == job.StageQueued:
		return true, true // the verdict on what it waits for needs that one's volumes
	}
	volumes = slices.ContainsFunc(j.Volumes, func(o job.Volume) bool {
		return !o.Ended() && (v.State() != Progressing || o.Waiting())
	})
	switch v.Reason {
	case NotPickedUp, Starting, QueueStalled, WorkerHung, FinalizerStalled: // see blinding
		return true, volumes
	}
	stage := job.StageOf(j.Phase)
	return v.state != Progressing && (stage == job.StageFinalizing || stage == job.StageItems), volumes
}
