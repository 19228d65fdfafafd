package verify

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
)

// State is how an item stands now. The names are API.
type State string

// What an item may be. Failed, Missing, Gone, Deleting and Differs did not come back.
const (
	Failed      State = "Failed"      // Velero could not restore it, and it is not there
	Missing     State = "Missing"     // it was to be restored, Velero does not list it, and it is not there
	Gone        State = "Gone"        // Velero lists it as restored, and it is not there now
	Deleting    State = "Deleting"    // it is there, and the cluster is deleting it
	Differs     State = "Differs"     // one existed before, and Velero left it, though the backup has another version
	NotLookedAt State = "NotLookedAt" // whether it is there is not known
	MadeAnew    State = "MadeAnew"    // one of that name is there, made after the restore, not by it
	Passing     State = "Passing"     // it is not there, and controllers replace or delete its kind by themselves
	Existed     State = "Existed"     // it is there, it is older than the restore, and Velero skipped it
	Restored    State = "Restored"    // it is there, and this restore made or updated it
	LeftOut     State = "LeftOut"     // the restore was not to bring it back
)

// States are all of them, in the order in which they are shown.
var States = []State{
	Failed,
	Missing,
	Gone,
	Deleting,
	Differs,
	NotLookedAt,
	MadeAnew,
	Passing,
	Existed,
	Restored,
	LeftOut,
}

var stateWords = map[State]string{
	Failed:      "failed",
	Missing:     "missing",
	Gone:        "gone",
	Deleting:    "being deleted",
	Differs:     "existed, differs",
	NotLookedAt: "unchecked",
	MadeAnew:    "made again",
	Passing:     "comes and goes",
	Existed:     "existed",
	Restored:    "restored",
	LeftOut:     "left out",
}

// Words are the state for people.
func (s State) Words() string { return stateWords[s] }

// Lost reports whether an item in this state did not come back.
func (s State) Lost() bool {
	return s == Failed || s == Missing || s == Gone || s == Deleting || s == Differs
}

// Item is one that a restore was to bring back.
type Item struct {
	Namespace string `json:"namespace,omitempty"` // Namespace is in the target; empty if it has none.
	Name      string `json:"name"`
	From      string `json:"from,omitempty"` // From is its namespace in the backup, if that is another.
	State     State  `json:"state"`
	Why       string `json:"why,omitempty"` // Why is the reason, empty where the state says all.
	// Content is how what it holds stands against what the restore was to make, if that was compared or only that can
	// tell, and Fields name what differs.
	Content Content  `json:"content,omitempty"`
	Fields  []string `json:"fields,omitempty"`
}

// rank is where an item stands among those of its kind: what is lost first, then what has other content.
func (i Item) rank() int {
	if at := slices.Index(Contents, i.Content); at >= 0 && !i.State.Lost() {
		return slices.Index(States, Differs)*len(Contents) + at
	}
	return slices.Index(States, i.State) * len(Contents)
}

// Kind is the items of one resource, as "deployments.apps".
type Kind struct {
	Name  string
	Count map[State]int
	Items []Item // what did not come back first, then what has another content

	Content map[Content]int // as [Result.Content]
}

// Differing is how many items are there with another content, as far as that is known.
func (k Kind) Differing() (n int) {
	for _, c := range Contents {
		n += k.Content[c]
	}
	return n
}

// Lost is how many items of the kind did not come back.
func (k Kind) Lost() int { return lost(k.Count) }

// Wanted is how many items of the kind were to come back.
func (k Kind) Wanted() int { return wanted(k.Count) }

// There is how many items are there, as they were to be or in another way that is no loss.
func (k Kind) There() int { return k.Count[Restored] + k.Count[Existed] + k.Count[MadeAnew] }

func lost(count map[State]int) (n int) {
	for state, items := range count {
		if state.Lost() {
			n += items
		}
	}
	return n
}

func wanted(count map[State]int) (n int) {
	for state, items := range count {
		if state != LeftOut {
			n += items
		}
	}
	return n
}

// countOf counts those of which something is true.
func countOf[T any](all []T, is func(T) bool) (n int) {
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}

// Result is what became of a restore.
type Result struct {
	Kinds []Kind // Kinds that lost most come first; those that the restore left out wholly last
	Count map[State]int
	// Content counts the items of which contents were compared, or could only be told by that.
	Content map[Content]int
	// Claims are those that came back and are not bound; Bound is how many are.
	Claims []Claim
	Bound  int
	// Data are what did not complete; Moved counts the volumes that did, and Bytes theirs.
	Data    []Data
	Moved   int
	Bytes   int64
	Volumes []Volume       // those of what came back; what needs a look comes first
	Notes   []string       // Notes say what is not known, and why
	NotSeen []live.NotSeen // what could not be looked at in the cluster
	// Unknown is true if veltui could not look at all that was to come back, beyond the
	// items that it counts as NotLookedAt: the notes and NotSeen say at what.
	Unknown bool
	SoFar   bool // true of a restore that goes on
	// At is when the cluster was looked at, by our clock, and Cost what that asked of it.
	At   time.Time
	Cost live.Cost

	claims map[[2]string]Claim // those that were to come back and are there
}

// ErrNotStarted says that there is nothing to verify.
var ErrNotStarted = errors.New("there is nothing to verify: Velero did not start this restore")

// Lost is how many items, claims and volumes did not come back.
func (r Result) Lost() int {
	return r.LostItems() + r.LostContents() + r.LostClaims() + r.LostVolumes()
}

// LostContents is how many items are there without what the backup holds of them.
func (r Result) LostContents() int { return r.Content[Emptied] + r.Content[Recreated] }

// Changed is how many more items are there with another content.
func (r Result) Changed() int { return r.Content[Changed] + r.Content[Scaled] }

// LostItems is how many of the items that were to come back did not.
func (r Result) LostItems() int { return lost(r.Count) }

// LostClaims is how many claims are there that cannot be bound.
func (r Result) LostClaims() int { return countOf(r.Claims, func(c Claim) bool { return c.Lost }) }

// LostVolumes is how many volumes did not get their data. Of DataFailed, Data tells.
func (r Result) LostVolumes() int {
	return countOf(
		r.Data,
		func(d Data) bool { return d.Lost },
	) + countOf(
		r.Volumes,
		func(v Volume) bool { return v.State == DataEmpty },
	)
}

// Wanted is how many items the restore was to bring back.
func (r Result) Wanted() int { return wanted(r.Count) }

// LookedAtAll reports whether veltui could look at all that was to come back.
func (r Result) LookedAtAll() bool {
	return r.Count[NotLookedAt]+r.Content[NotCompared] == 0 && !r.Unknown
}

// Settled reports whether veltui could look at all that was to come back, and waits for no data.
func (r Result) Settled() bool { return r.LookedAtAll() && r.waiting() == 0 }

func (r Result) waiting() int {
	return countOf(r.Volumes, func(v Volume) bool { return v.State == DataWaiting })
}

// Summary says in words how the restore stands.
func (r Result) Summary() string {
	all, unseen, passing := r.Wanted(), r.Count[NotLookedAt], r.Count[Passing]
	text := "all of " + human.Count(all, "item") + " came back"
	switch items := lost(r.Count); {
	case items > 0 && r.SoFar:
		text = fmt.Sprintf("%s of %s are not there yet", human.Number(items), human.Count(all, "item"))
	case items > 0:
		text = fmt.Sprintf("%s of %s did not come back", human.Number(items), human.Count(all, "item"))
	case unseen > 0 || r.Unknown:
		text = fmt.Sprintf("nothing is missing of the %s that veltui could look for", human.Count(all-unseen, "item"))
	case all == 0:
		text = "no item is known that was to come back"
	case passing+r.Content[NotCompared] > 0:
		if text = "nothing of " + human.Count(all, "item") + " is missing"; passing > 0 {
			text += "; " + human.Plural(passing, "comes and goes", "come and go")
		}
	}
	for _, c := range Contents {
		if n := r.Content[c]; n > 0 {
			text += "; " + human.Plural(n, "is ", "are ") + c.Words()
		}
	}
	if n := r.LostVolumes(); n > 0 {
		text += "; the data of " + human.Count(n, "volume") + " did not come back"
	}
	if n := r.waiting(); n > 0 {
		text += "; the data of " + human.Count(n, "volume") + " may still come"
	}
	if n := r.LostClaims(); n > 0 {
		text += "; " + human.Count(n, "claim") + " cannot be bound"
	}
	if unseen > 0 {
		text += "; " + human.Number(unseen) + " could not be looked for"
	}
	return text
}
