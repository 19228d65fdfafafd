package job

import "time"

// Presence says whether a file of a job is in the object store. The zero value
// is unknown.
type Presence struct {
	State PresenceState
	// LastModified is when the store says that the file was written; zero if
	// it does not say. It is set only for a file that is present.
	LastModified time.Time
	// Why is the reason for Unknown in one line.
	Why string
}

// PresenceState is the answer to whether a file is there.
type PresenceState int

// The answers. A store that hides what is missing (403) makes it unknown.
const (
	PresenceUnknown PresenceState = iota
	Present
	Absent
)

// StoredCounts are the numbers of a job that its stored results tell, which a
// lost status patch would have carried.
type StoredCounts struct {
	Warnings   int
	Errors     int
	Operations Operations
	// Items is how many items the stored resource list names; ItemsKnown is
	// false where nobody read it.
	Items      int
	ItemsKnown bool
}
