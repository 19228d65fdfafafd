package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
)

// State is how something is protected. The names are API.
type State string

// The states, the worst last.
const (
	Covered State = "covered"
	// a good copy exists, and it is too old, the newest backup failed, or nothing takes it again
	Warned      State = "warning"
	Undecided   State = "unknown"     // what would decide was not read
	Unprotected State = "unprotected" // no backup that exists holds it with its data
)

var order = []State{Covered, Warned, Undecided, Unprotected}

func (s State) rank() int { return slices.Index(order, s) }

// Item is a namespace, claim or workload, and how it is protected.
type Item struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Reason is why it is not covered, and Sentence says it.
	Reason   Reason `json:"reason,omitempty"`
	Sentence string `json:"sentence,omitempty"`
	// Backup is the newest backup that holds it, and a claim with its data. At is when that began.
	Backup string    `json:"backup,omitempty"`
	At     time.Time `json:"backupAt,omitzero"`
	// MaxAge is how old the copy may be in seconds, absent if nothing says it.
	MaxAge int64 `json:"maxAgeSeconds,omitempty"`
	// Expires is when the last copy does if nothing changes. Lasts is true if one never does.
	Expires time.Time `json:"expiresAt,omitzero"`
	Lasts   bool      `json:"neverExpires,omitempty"`
	// Schedule takes it next, at Next.
	Schedule string    `json:"schedule,omitempty"`
	Next     time.Time `json:"nextAt,omitzero"`
	// Rule names the schedule whose rule Reason is, empty if another reason counts.
	Rule string `json:"-"`
	// Bytes is the capacity of a claim.
	Bytes int64 `json:"bytes,omitempty"`
}

// Namespace is a namespace with what is in it. Its own fields sum that up: the worst
// state, the oldest of the newest copies, the first expiry and the next run.
type Namespace struct {
	Item
	// Covered is how many of Claims are covered.
	Covered   int    `json:"claimsCovered"`
	Claims    []Item `json:"claims"`
	Workloads []Item `json:"workloads"`
}

// Result is the coverage of a cluster.
type Result struct {
	// State is the worst of all items, and unknown at least if something could not be read.
	State      State       `json:"state"`
	At         time.Time   `json:"at"`
	Namespaces []Namespace `json:"items"`
	// NotSeen says what could not be read. LeftOut are the namespaces of Kubernetes and Velero, which nobody asked for.
	NotSeen []string `json:"notSeen"`
	LeftOut []string `json:"leftOut"`
	// Read counts the backups whose record was needed and read, Unread those that could not be read.
	Read   int `json:"backupsRead"`
	Unread int `json:"backupsUnread"`
	// Requests is how many requests looking at the cluster took.
	Requests int `json:"requests"`
}

// Reading is a reading of coverage, or of what a schedule takes next, that is under way or over.
type Reading[T any] struct {
	Schedule string
	Result   *T     // the last one, nil if there is none yet
	Progress string // what is being read, empty for nothing
	Err      error  // why the last reading failed
}

// sum makes of a namespace by itself one with what is in it.
func (n *Namespace) sum() {
	for _, list := range [][]Item{n.Claims, n.Workloads} {
		slices.SortStableFunc(
			list,
			func(a, b Item) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), human.CompareNames(a.Name, b.Name)) },
		)
	}
	for _, c := range n.Claims {
		if c.State == Covered {
			n.Covered++
		}
	}
	all := slices.Concat(n.Claims, n.Workloads)
	if len(all) == 0 {
		return
	}
	weight := map[bool]int{false: 1}
	worst := slices.MaxFunc(all, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.State.rank(), b.State.rank()), weight[a.Reason.Minor()]-weight[b.Reason.Minor()])
	})
	n.Item = Item{
		Kind:   n.Kind,
		Name:   n.Name,
		State:  worst.State,
		Reason: worst.Reason,
		MaxAge: worst.MaxAge,
		Rule:   worst.Rule,
	}
	same := 0
	for _, i := range all {
		if i.Backup != "" && (n.At.IsZero() || i.At.Before(n.At)) {
			n.Backup, n.At = i.Backup, i.At
		}
		if !i.Expires.IsZero() && (n.Expires.IsZero() || i.Expires.Before(n.Expires)) {
			n.Expires = i.Expires
		}
		if !i.Next.IsZero() && (n.Next.IsZero() || i.Next.Before(n.Next)) {
			n.Schedule, n.Next = i.Schedule, i.Next
		}
		if i.State == worst.State && i.Reason == worst.Reason {
			same++
		}
	}
	n.Lasts = n.Backup != "" && n.Expires.IsZero()
	switch {
	case worst.State == Covered:
	case same == 1:
		n.Sentence = worst.Title() + ": " + worst.Sentence
	default:
		n.Sentence = fmt.Sprintf("%s and %d more: %s", worst.Title(), same-1, worst.Sentence)
	}
}

// ClaimsCovered says how many of the claims are, empty if there are none.
func (n Namespace) ClaimsCovered() string {
	if len(n.Claims) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", n.Covered, len(n.Claims))
}

// Expiry says in how long the last copy expires, empty if there is none.
func (i Item) Expiry(now time.Time) string {
	switch {
	case i.Lasts:
		return "never"
	case i.Expires.IsZero():
		return ""
	case i.Expires.Before(now):
		return "expired"
	}
	return human.In(i.Expires, now)
}

// Title is the item in a sentence.
func (i Item) Title() string { return cmp.Or(words[i.Kind], i.Kind) + " " + i.Name }

var words = map[string]string{"PersistentVolumeClaim": "claim", "Namespace": "namespace"}
