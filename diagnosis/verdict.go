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
	// Advice is what would help, empty if nothing needs to be done.
	Advice string
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
