package diagnosis

import (
	"time"
)

// State is the short word of a verdict; empty for a job that has ended.
type State string

// The states. Those without a type need no proof; the others are typed, so that
// only [Proven] makes a verdict of them.
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
	// Summary is one sentence for the line under the table. It is set for
	// every job, ended ones included.
	Summary string
	// Proof is why the job cannot go on by itself; zero unless it is stuck or
	// orphaned.
	Proof Proof
	// storage is true if the job's stored files would settle it.
	storage bool
	// Waits are what the job may be waiting for, as far as the evidence allows it.
	Waits []Wait
	Facts []Fact
	// Advice is what would help, empty if nothing needs to be done. It names no
	// key and no command of veltui's: each front end adds its own for Action.
	Advice string
	// Action is what veltui can do about it or show the commands for, empty if
	// that is nothing.
	Action Action
}

// State is empty for a job that has ended.
func (v Verdict) State() State { return v.state }

// Undecided returns a verdict that needs no proof; of a state that needs one it makes
// quiet.
func Undecided(state Open, reason Reason, summary string) Verdict {
	if s := State(state); s == Stuck || s == Orphaned {
		state = Quiet
	}
	return Verdict{state: State(state), Reason: reason, Summary: summary}
}

// Proven returns the verdict that a job cannot go on by itself. Without a proof
// it is only quiet.
func Proven(state State, proof Proof, reason Reason, summary string) Verdict {
	v := Verdict{state: state, Proof: proof, Reason: reason, Summary: summary}
	if proof.IsZero() {
		v.state = Quiet
	}
	return v
}

// Action names an action of package action that may help.
type Action string

// The actions that verdicts point to.
const (
	Finalize         Action = "finalize"
	Wake             Action = "wake"
	Restart          Action = "restart"
	RestartNodeAgent Action = "restart-node-agent"
	FixField         Action = "fix-field"
)

// by is the verdict with the action that may help.
func (v Verdict) by(a Action) Verdict {
	v.Action = a
	return v
}

// NeedsCloserLook reports whether evidence that is only gathered for one job may
// change the verdict: the job does not move before our eyes, and what it waits for is
// not known for sure. That a deletion holds a repository's lock is only likely: a
// namespace that goes, or a hook, may be what the job really waits for.
func (v Verdict) NeedsCloserLook() bool {
	switch v.state {
	case Stuck, Orphaned, Quiet, Unknown:
		return true
	}
	return v.Reason == WaitingForSlot || v.Reason == RepositoryLocked
}

// StorageDecides reports whether the object store can tell more: whether the job's
// files are stored is what would settle the verdict.
func (v Verdict) StorageDecides() bool {
	return v.state == Quiet && v.storage
}

// Fact is one observation behind a verdict.
type Fact struct {
	// Holds tells a fact that speaks for the verdict from one that could not
	// be looked at or speaks against it.
	Holds bool
	Text  string
	// Source is where it was seen: watch, pod, schema, storage.
	Source string
	// At is when it was seen or last changed, in the cluster's clock.
	At time.Time
}
