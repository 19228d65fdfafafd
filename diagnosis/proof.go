package diagnosis

import (
	"slices"
	"time"

	"github.com/veltui/veltui/velero"
)

// ProofKind is how it is known that a job cannot go on by itself.
type ProofKind string

// The kinds of proof.
const (
	// ProofOwnerGone: whoever worked on it does so no more. The server restarted and its
	// mark was lost, the only worker has gone on to another job, no node-agent runs on
	// the node, or this version has nobody for the phase.
	ProofOwnerGone ProofKind = "ownerGone"
	// ProofGaveUp: Velero says that it gave up, in its log or in a condition.
	ProofGaveUp ProofKind = "gaveUp"
	// ProofRefused: an error that lasts until somebody repairs its cause keeps it back.
	ProofRefused ProofKind = "refused"
	// ProofLimitsPassed: all that it may wait for has a limit, and every limit has passed.
	ProofLimitsPassed ProofKind = "limitsPassed"
)

// Proof is why a job cannot go on by itself. Its zero value proves nothing.
type Proof struct {
	kind ProofKind
	fact Fact
	// waits are those of ProofLimitsPassed.
	waits []Wait
}

// Kind is how it is known, empty for the zero Proof.
func (p Proof) Kind() ProofKind { return p.kind }

// Fact is the observation that proves it.
func (p Proof) Fact() Fact { return p.fact }

// Waits are what the job could wait for and whose limits have passed, for
// ProofLimitsPassed.
func (p Proof) Waits() []Wait { return slices.Clone(p.waits) }

// IsZero reports whether it proves nothing.
func (p Proof) IsZero() bool { return p.kind == "" }

// behind is the same proof of a job that waits for the one that it is about, with its
// own observation.
func (p Proof) behind(f Fact) Proof {
	p.fact = f
	return p
}

// ByOwner returns the proof that nobody works on the job any more.
func ByOwner(f Fact) Proof { return Proof{kind: ProofOwnerGone, fact: f} }

// ByGivingUp returns the proof that Velero says that it gave up.
func ByGivingUp(f Fact) Proof { return Proof{kind: ProofGaveUp, fact: f} }

// ByRefusal returns the proof that an error that lasts keeps the job back.
func ByRefusal(f Fact) Proof { return Proof{kind: ProofRefused, fact: f} }

// ByLimits returns the proof that every limit has passed, by now. It proves
// nothing if there is no wait, one without a limit, or one whose limit has not
// passed with its margin.
func ByLimits(now time.Time, f Fact, waits ...Wait) Proof {
	for _, w := range waits {
		if w.Until.IsZero() || now.Before(w.Until) {
			return Proof{}
		}
	}
	if len(waits) == 0 {
		return Proof{}
	}
	return Proof{kind: ProofLimitsPassed, fact: f, waits: slices.Clone(waits)}
}

// Wait is something that a job may be waiting for.
type Wait struct {
	// Name is that of the row of Velero's table.
	Name velero.WaitName
	// For names it, such as "a slot on node-3".
	For string
	// Limit is the setting that bounds it, empty if nothing does.
	Limit string
	// Until is when the limit has passed at the latest, with a margin for what
	// Velero does then; zero if nothing bounds it.
	Until time.Time
	// Shown is true if the evidence shows that the job waits for this.
	Shown bool
}
