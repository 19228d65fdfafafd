package ui

import "time"

// snapshotArrived brings a new snapshot, already digested.
type snapshotArrived struct{ digest *digest }

// digestRefreshed brings the last snapshot digested again for a later moment.
type digestRefreshed struct{ digest *digest }

// watchEnded says that there will be no more snapshots.
type watchEnded struct{ err error }

// ticked is the slow clock that runs only while something on the screen
// depends on the time.
type ticked struct{ at time.Time }

// panicked brings a panic out of a command, so that the program can leave
// through its one door.
type panicked struct {
	value any
	stack []byte
}
