package document

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
)

// Audit is what `audit` prints.
type Audit struct {
	Header
	Items []Audited `json:"items"`

	Notes    []string `json:"-"` // what of the log is left out
	attempts map[string]int
}

// Audited is one attempt to change something.
type Audited struct {
	Time      metav1.Time `json:"time"`
	Attempt   string      `json:"attempt"`
	Context   string      `json:"context,omitempty"`
	Cluster   string      `json:"cluster,omitempty"`
	By        string      `json:"by"`
	Action    string      `json:"action"`
	Kind      string      `json:"kind"`
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	From      string      `json:"from,omitempty"`
	To        string      `json:"to,omitempty"`
	Reason    string      `json:"reason"`
	// Commands do the same without veltui.
	Commands []string `json:"commands,omitempty"`
	// DryRun is "accepted" if the API server accepted every request in the dry run before the first was sent, and
	// "carried out" if one was carried out.
	DryRun string `json:"dryRun,omitempty"`
	// Requests are the patches and objects as they were sent.
	Requests []json.RawMessage `json:"requests,omitempty"`
	// Sent and State are empty for an attempt that was not completed.
	Sent    action.SentState    `json:"sent,omitempty"`
	State   action.OutcomeState `json:"state,omitempty"`
	Message string              `json:"message,omitempty"`
	Copy    string              `json:"copy,omitempty"`
	// Undo are commands that take back what should not have been done.
	Undo []string `json:"undo,omitempty"`

	landed     map[string]bool   // what was sent, by the target
	checks     []json.RawMessage // the requests of the dry runs
	onlyDryRun bool              // no more was wanted
	ended      bool
}

// ReadAudit reads the audit log of a directory, oldest first; about is a KIND/NAME or a name, empty for all.
func ReadAudit(dir, about string) (*Audit, error) {
	a := &Audit{Header: NewHeader("Audit"), Items: []Audited{}, attempts: map[string]int{}}
	damage, err := action.ReadAuditLog(dir, a.addEntry)
	kind, name, both := strings.Cut(about, "/")
	a.Items = slices.DeleteFunc(a.Items, func(i Audited) bool {
		return i.changedNothing() ||
			both && (!strings.EqualFold(i.Kind, strings.TrimSuffix(kind, "s")) || i.Name != name) ||
			!both && about != "" && i.Name != about
	})
	if damage.IsTruncated {
		a.Notes = append(a.Notes, "Older entries were left out: the log is very long.")
	}
	if damage.BadLines > 0 {
		a.Notes = append(a.Notes, human.Count(damage.BadLines, "line")+" of the log cannot be read.")
	}
	if len(a.Items) == 0 {
		a.Notes = append(a.Notes, "veltui has changed nothing from this machine.")
	}
	return a, err
}

// changedNothing reports whether an attempt was a dry run as it should be, which is no change.
func (a *Audited) changedNothing() bool {
	return a.onlyDryRun && a.ended && a.Sent == action.NotSent
}

// Cells are an attempt's time, context, user, action, object, what was sent, state and reason.
func (a *Audited) Cells(now time.Time) []string {
	cells := []string{human.ClockTime(a.Time.Time, now), a.Context, a.By, a.Action, strings.ToLower(a.Kind) + "/" + a.Name,
		cmp.Or(string(a.Sent), "unknown"), cmp.Or(string(a.State), "not completed"), a.Reason}
	for i := range cells {
		cells[i] = sanitize.String(cells[i])
	}
	return cells
}

// YAML is all of an attempt.
func (a *Audited) YAML() string {
	data, err := Encode(a, "")
	if err != nil {
		return err.Error()
	}
	return string(sanitize.YAMLFromJSON(data))
}

func (a *Audit) addEntry(e action.AuditEntry) {
	i, known := a.attempts[e.Attempt]
	if !known {
		i = len(a.Items)
		a.attempts[e.Attempt] = i
		a.Items = append(
			a.Items,
			Audited{
				Time:      metav1.NewTime(e.Time),
				Attempt:   e.Attempt,
				Context:   e.Context,
				Cluster:   e.Cluster,
				By:        e.By,
				Action:    e.Action,
				Kind:      e.Kind,
				Namespace: e.Namespace,
				Name:      e.Name,
				From:      e.From,
				To:        e.To,
				Reason:    e.Reason,
				Commands:  e.Commands,
				Copy:      e.CopyPath,
				landed:    map[string]bool{},
			},
		)
	}
	attempt := &a.Items[i]
	attempt.onlyDryRun = attempt.onlyDryRun || e.DryRun
	switch e.Event {
	case "check":
		if request := append(e.Patch, e.Object...); len(request) > 0 {
			attempt.checks = append(attempt.checks, request)
		}
	case "send":
		if request := append(e.Patch, e.Object...); len(request) > 0 {
			attempt.Requests, attempt.DryRun = append(attempt.Requests, request), "accepted"
		}
		if !attempt.landed[e.Target] {
			attempt.landed[e.Target] = false
		}
	case "landed":
		attempt.landed[e.Target] = true
	case "end":
		attempt.Sent, attempt.State, attempt.Message = e.Sent, e.State, e.Message
		attempt.Undo, attempt.ended = e.UndoCommands, true
		if e.State == action.StateCarriedOut {
			attempt.DryRun = "carried out"
		}
		if e.State == action.StateCarriedOut && len(attempt.Requests) == 0 {
			attempt.Requests = attempt.checks
		}
		return
	}
	// It is known what landed also if veltui did not live to note the end.
	all, any := true, false
	for _, landed := range attempt.landed {
		all, any = all && landed, any || landed
	}
	switch {
	case any && all:
		attempt.Sent = action.Landed
	case any:
		attempt.Sent = action.PartlyLanded
	}
}
