package ui

import (
	"time"

	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/job"
)

// snapshotArrived brings a new snapshot, already digested.
type snapshotArrived struct{ digest *digest }

// digestRefreshed brings the last snapshot digested again for a later moment.
type digestRefreshed struct{ digest *digest }

// watchEnded says that there will be no more snapshots.
type watchEnded struct{ err error }

// ticked is the slow clock that runs only while something on the screen
// depends on the time.
type ticked struct{ at time.Time }

// rightsAnswered brings what we may change: why not, for each kind.
type rightsAnswered struct {
	namespace string
	why       map[job.Kind]string
}

// The messages to the finalize dialog carry the number of what they are about.

// evidenceGathered brings what a plan stands on.
type evidenceGathered struct {
	number   int
	evidence finalize.Evidence
	err      error
}

// runProgressed brings how far an execution is.
type runProgressed struct {
	number int
	state  runState
}

// runEnded brings how an execution ended.
type runEnded struct {
	number  int
	outcome finalize.Outcome
	err     error
}

// graceEnded says that a dialog's first moment may be over.
type graceEnded struct{ number int }

// dialogTicked is the dialog's clock, while something in it is under way.
type dialogTicked struct{ number int }

// panicked brings a panic out of a command, so that the program can leave
// through its one door.
type panicked struct {
	value any
	stack []byte
}
