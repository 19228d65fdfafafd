package diagnosis

import (
	"time"
)

// State is the short word of a verdict.
type State string

// The states. A finished job has none.
const (
	Progressing State = "progressing"
	Waiting     State = "waiting"
	Quiet       State = "quiet"
	Stuck       State = "stuck"
	Orphaned    State = "orphaned"
	Unknown     State = "unknown"
)

// Verdict says how a job fares, and why veltui thinks so.
type Verdict struct {
	// State is empty for a job that has ended.
	State State
	// Reason says why, in one CamelCase word that is never renamed.
	Reason Reason
	// Summary is one sentence for the line under the table. It is set for
	// every job, ended ones included.
	Summary string
	Facts   []Fact
	// Advice is what would help, empty if nothing needs to be done. It names no
	// key and no command of veltui's: each front end adds its own for Action.
	Advice string
	// Action is what veltui can do about it or show the commands for, empty if
	// that is nothing.
	Action Action
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
	switch v.State {
	case Stuck, Orphaned, Quiet, Unknown:
		return true
	}
	return v.Reason == WaitingForSlot || v.Reason == RepositoryLocked
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
