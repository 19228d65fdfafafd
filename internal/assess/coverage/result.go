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

// These are the states, the worst last.
const (
	Covered State = "covered"
	// CoveredWithWarning: a good copy exists, but it is too old, the newest backup failed, or nothing includes it again.
	CoveredWithWarning State = "warning"
	Undecided          State = "unknown"     // the deciding evidence was not read
	Unprotected        State = "unprotected" // no existing backup holds it with its data
)

var stateOrder = []State{Covered, CoveredWithWarning, Undecided, Unprotected}

func (s State) severityRank() int { return slices.Index(stateOrder, s) }

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
	Backup   string    `json:"backup,omitempty"`
	BackupAt time.Time `json:"backupAt,omitzero"`
	// MaxAgeSeconds is how old the copy may be in seconds, absent if nothing says it.
	MaxAgeSeconds int64 `json:"maxAgeSeconds,omitempty"`
	// ExpiresAt is when the last copy does if nothing changes. Lasts is true if one never does.
	ExpiresAt    time.Time `json:"expiresAt,omitzero"`
	NeverExpires bool      `json:"neverExpires,omitempty"`
	// Schedule takes it next, at Next.
	Schedule  string    `json:"schedule,omitempty"`
	NextRunAt time.Time `json:"nextAt,omitzero"`
	// RuleSchedule names the schedule whose rule Reason is, empty if another reason counts.
	RuleSchedule string `json:"-"`
	// Bytes is the capacity of a claim.
	Bytes int64 `json:"bytes,omitempty"`
}

// Namespace is a namespace with what is in it. Its own fields sum that up: the worst
// state, the oldest of the newest copies, the first expiry and the next run.
type Namespace struct {
	Item
	// CoveredClaims is how many of Claims are covered.
	CoveredClaims int    `json:"claimsCovered"`
	Claims        []Item `json:"claims"`
	Workloads     []Item `json:"workloads"`
}

// Result is the coverage of a cluster.
type Result struct {
	// State is the worst of all items, and unknown at least if something could not be read.
	State      State       `json:"state"`
	At         time.Time   `json:"at"`
	Namespaces []Namespace `json:"items"`
	// Unchecked says what could not be read. SkippedNamespaces are the namespaces of Kubernetes and Velero, which nobody
	// asked for.
	Unchecked         []string `json:"notSeen"`
	SkippedNamespaces []string `json:"leftOut"`
	// BackupsRead counts the backups whose record was needed and read, Unread those that could not be read.
	BackupsRead   int `json:"backupsRead"`
	BackupsUnread int `json:"backupsUnread"`
	// Requests is how many requests looking at the cluster took.
	Requests int `json:"requests"`
}

// Reading is a reading of coverage, or of what a schedule includes next, that is under way or finished.
type Reading[T any] struct {
	Schedule string
	Result   *T     // the last one, nil if there is none yet
	Progress string // what is being read, empty for nothing
	Err      error  // why the last reading failed
}

// summarizeItems sums up the items of a namespace in its own fields.
func (n *Namespace) summarizeItems() {
	for _, list := range [][]Item{n.Claims, n.Workloads} {
		slices.SortStableFunc(
			list,
			func(a, b Item) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), human.CompareNames(a.Name, b.Name)) },
		)
	}
	for _, c := range n.Claims {
		if c.State == Covered {
			n.CoveredClaims++
		}
	}
	all := slices.Concat(n.Claims, n.Workloads)
	if len(all) == 0 {
		return
	}
	weight := map[bool]int{false: 1}
	worst := slices.MaxFunc(all, func(a, b Item) int {
		return cmp.Or(
			cmp.Compare(a.State.severityRank(), b.State.severityRank()),
			weight[a.Reason.IsMinor()]-weight[b.Reason.IsMinor()],
		)
	})
	n.Item = Item{
		Kind:          n.Kind,
		Name:          n.Name,
		State:         worst.State,
		Reason:        worst.Reason,
		MaxAgeSeconds: worst.MaxAgeSeconds,
		RuleSchedule:  worst.RuleSchedule,
	}
	same := 0
	for _, i := range all {
		if i.Backup != "" && (n.BackupAt.IsZero() || i.BackupAt.Before(n.BackupAt)) {
			n.Backup, n.BackupAt = i.Backup, i.BackupAt
		}
		if !i.ExpiresAt.IsZero() && (n.ExpiresAt.IsZero() || i.ExpiresAt.Before(n.ExpiresAt)) {
			n.ExpiresAt = i.ExpiresAt
		}
		if !i.NextRunAt.IsZero() && (n.NextRunAt.IsZero() || i.NextRunAt.Before(n.NextRunAt)) {
			n.Schedule, n.NextRunAt = i.Schedule, i.NextRunAt
		}
		if i.State == worst.State && i.Reason == worst.Reason {
			same++
		}
	}
	n.NeverExpires = n.Backup != "" && n.ExpiresAt.IsZero()
	if worst.State != Covered {
		n.Sentence = worst.Title() + human.AndMore(same-1) + ": " + worst.Sentence
	}
}

// CoveredClaimsText returns how many of the claims are covered, empty if there are none.
func (n Namespace) CoveredClaimsText() string {
	if len(n.Claims) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", n.CoveredClaims, len(n.Claims))
}

// ExpiryText returns the time until the last copy expires, empty if there is none.
func (i Item) ExpiryText(now time.Time) string {
	switch {
	case i.NeverExpires:
		return "never"
	case i.ExpiresAt.IsZero():
		return ""
	case i.ExpiresAt.Before(now):
		return "expired"
	}
	return human.Until(i.ExpiresAt, now)
}

// Title returns the item as named in a sentence.
func (i Item) Title() string { return cmp.Or(kindWords[i.Kind], i.Kind) + " " + i.Name }

var kindWords = map[string]string{"PersistentVolumeClaim": "claim", "Namespace": "namespace"}
