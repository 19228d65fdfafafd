package verify

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
)

// State is what became of an item. The names are API.
type State string

// The states of an item. Failed, Missing, Gone, Deleting and Differs did not come back.
const (
	Failed   State = "Failed"   // Velero could not restore it, and it is not there
	Missing  State = "Missing"  // it was to be restored, Velero does not list it, and it is not there
	Gone     State = "Gone"     // Velero lists it as restored, and it is not there now
	Deleting State = "Deleting" // it is there, and the cluster is deleting it
	// an object existed before, and Velero left it, though the backup has another version
	Differs         State = "Differs"
	Unchecked       State = "NotLookedAt" // whether it is there is unknown
	CreatedByOthers State = "MadeAnew"    // an object of that name is there, created after the restore by someone else
	Transient       State = "Passing"     // it is not there, and controllers replace or delete its kind by themselves
	Existed         State = "Existed"     // it is there, it is older than the restore, and Velero skipped it
	Restored        State = "Restored"    // it is there, and this restore made or updated it
	LeftOut         State = "LeftOut"     // the restore was not to bring it back
)

// States lists all states, in the order in which they are shown.
var States = []State{
	Failed,
	Missing,
	Gone,
	Deleting,
	Differs,
	Unchecked,
	CreatedByOthers,
	Transient,
	Existed,
	Restored,
	LeftOut,
}

var stateLabels = map[State]string{
	Failed:          "failed",
	Missing:         "missing",
	Gone:            "gone",
	Deleting:        "being deleted",
	Differs:         "existed, differs",
	Unchecked:       "unchecked",
	CreatedByOthers: "made again",
	Transient:       "comes and goes",
	Existed:         "existed",
	Restored:        "restored",
	LeftOut:         "left out",
}

// Label returns the state in words.
func (s State) Label() string { return stateLabels[s] }

// IsLost reports whether an item in this state did not come back.
func (s State) IsLost() bool {
	return s == Failed || s == Missing || s == Gone || s == Deleting || s == Differs
}

// Item is one that a restore was to bring back.
type Item struct {
	Namespace       string `json:"namespace,omitempty"` // Namespace is in the target; empty if it has none.
	Name            string `json:"name"`
	BackupNamespace string `json:"from,omitempty"` // BackupNamespace is its namespace in the backup, if that is another.
	// BackupName is its name in the backup, if the resource modifier gives it another.
	BackupName string `json:"fromName,omitempty"`
	State      State  `json:"state"`
	Why        string `json:"why,omitempty"` // Why is the reason, empty where the state says all.
	// Content is how what it holds stands against what the restore was to make, if that was compared or only that can
	// tell, and Fields name what differs.
	Content ContentState `json:"content,omitempty"`
	Fields  []string     `json:"fields,omitempty"`
}

// sortRank returns an item's rank among the items of its kind: lost items first, then those with other content.
func (i Item) sortRank() int {
	if at := slices.Index(ContentStates, i.Content); at >= 0 && !i.State.IsLost() {
		return slices.Index(States, Differs)*len(ContentStates) + at
	}
	return slices.Index(States, i.State) * len(ContentStates)
}

// Kind holds the items of one resource, such as "deployments.apps".
type Kind struct {
	Name         string
	CountByState map[State]int
	Items        []Item // items that did not come back first, then items with other content

	CountByContent map[ContentState]int // as [Result.ContentState]
}

// CountDiffering returns the number of items that are there with other content, or could not be compared.
func (k Kind) CountDiffering() (n int) {
	for _, c := range ContentStates {
		n += k.CountByContent[c]
	}
	return n
}

// CountLost returns the number of items of the kind that did not come back.
func (k Kind) CountLost() int { return countLost(k.CountByState) }

// CountWanted returns the number of items of the kind that were to come back.
func (k Kind) CountWanted() int { return countWanted(k.CountByState) }

// CountPresent returns the number of items that are there, as wanted or in another state that is no loss.
func (k Kind) CountPresent() int {
	return k.CountByState[Restored] + k.CountByState[Existed] + k.CountByState[CreatedByOthers]
}

func countLost(count map[State]int) (n int) {
	for state, items := range count {
		if state.IsLost() {
			n += items
		}
	}
	return n
}

func countWanted(count map[State]int) (n int) {
	for state, items := range count {
		if state != LeftOut {
			n += items
		}
	}
	return n
}

// countMatching returns the number of elements for which is returns true.
func countMatching[T any](all []T, is func(T) bool) (n int) {
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}

// Result is what became of a restore.
type Result struct {
	Kinds        []Kind // the kinds that lost most come first; those that the restore left out completely last
	CountByState map[State]int
	// CountByContent counts the items whose contents were compared, or could only be judged by comparing.
	CountByContent map[ContentState]int
	// Claims are the claims that came back and are not bound; Bound is the number of bound claims.
	Claims     []Claim
	BoundCount int
	// IncompleteTransfers are the transfers that did not complete; Moved counts the volumes whose data was moved, and
	// Bytes their bytes.
	IncompleteTransfers []IncompleteTransfer
	MovedCount          int
	MovedBytes          int64
	Volumes             []VolumeData     // the volumes of what came back; those that need attention come first
	Notes               []string         // what is unknown, and why
	Unchecked           []live.Unchecked // what could not be checked in the cluster
	// Incomplete is true if veltui could not check everything that was to come back, beyond the items that it counts as
	// Unchecked: Notes and Unchecked say what.
	Incomplete bool
	InProgress bool // true for a restore in progress
	// CheckedAt is when the cluster was checked, by our clock, and Cost what that requested of it.
	CheckedAt time.Time
	Cost      live.Cost

	claims map[[2]string]Claim // the claims that were to come back and are there
}

// ErrNotStarted says that there is nothing to verify.
var ErrNotStarted = errors.New("there is nothing to verify: Velero did not start this restore")

// CountLost returns the number of items, claims and volumes that did not come back.
func (r Result) CountLost() int {
	return r.CountLostItems() + r.CountLostContents() + r.CountLostClaims() + r.CountLostVolumes()
}

// CountLostContents returns the number of items that are there without what the backup holds of them.
func (r Result) CountLostContents() int {
	return r.CountByContent[Emptied] + r.CountByContent[Recreated]
}

// CountChanged returns the number of further items that are there with other content.
func (r Result) CountChanged() int { return r.CountByContent[Changed] + r.CountByContent[Scaled] }

// CountLostItems returns the number of items that were to come back and did not.
func (r Result) CountLostItems() int { return countLost(r.CountByState) }

// CountLostClaims returns the number of existing claims that cannot be bound.
func (r Result) CountLostClaims() int {
	return countMatching(r.Claims, func(c Claim) bool { return c.Lost })
}

// CountLostVolumes returns the number of volumes that did not get their data. Data has the volumes in state
// DataFailed.
func (r Result) CountLostVolumes() int {
	return countMatching(
		r.IncompleteTransfers,
		func(d IncompleteTransfer) bool { return d.Lost },
	) + countMatching(
		r.Volumes,
		func(v VolumeData) bool { return v.State == DataEmpty },
	)
}

// CountWanted returns the number of items that the restore was to bring back.
func (r Result) CountWanted() int { return countWanted(r.CountByState) }

// IsComplete reports whether veltui could check everything that was to come back.
func (r Result) IsComplete() bool {
	return r.CountByState[Unchecked]+r.CountByContent[NotCompared] == 0 && !r.Incomplete
}

// IsSettled reports whether veltui could check everything that was to come back, and waits for no data.
func (r Result) IsSettled() bool { return r.IsComplete() && r.countWaiting() == 0 }

func (r Result) countWaiting() int {
	return countMatching(r.Volumes, func(v VolumeData) bool { return v.State == DataWaiting })
}

// Summary describes the state of the restore.
func (r Result) Summary() string {
	all, unseen, passing := r.CountWanted(), r.CountByState[Unchecked], r.CountByState[Transient]
	text := "all of " + human.Count(all, "item") + " came back"
	switch items := countLost(r.CountByState); {
	case items > 0 && r.InProgress:
		text = fmt.Sprintf("%s of %s are not there yet", human.Number(items), human.Count(all, "item"))
	case items > 0:
		text = fmt.Sprintf("%s of %s did not come back", human.Number(items), human.Count(all, "item"))
	case unseen > 0 || r.Incomplete:
		text = fmt.Sprintf("nothing is missing of the %s that veltui could look for", human.Count(all-unseen, "item"))
	case all == 0:
		text = "no item is known that was to come back"
	case passing+r.CountByContent[NotCompared] > 0:
		if text = "nothing of " + human.Count(all, "item") + " is missing"; passing > 0 {
			text += "; " + human.CountForms(passing, "comes and goes", "come and go")
		}
	}
	for _, c := range ContentStates {
		if n := r.CountByContent[c]; n > 0 {
			text += "; " + human.CountForms(n, "is ", "are ") + c.Label()
		}
	}
	if n := r.CountLostVolumes(); n > 0 {
		text += "; the data of " + human.Count(n, "volume") + " did not come back"
	}
	if n := r.countWaiting(); n > 0 {
		text += "; the data of " + human.Count(n, "volume") + " may still come"
	}
	if n := r.CountLostClaims(); n > 0 {
		text += "; " + human.Count(n, "claim") + " cannot be bound"
	}
	if unseen > 0 {
		text += "; " + human.Number(unseen) + " could not be looked for"
	}
	return text
}
