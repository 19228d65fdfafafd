package document

import (
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/session"
)

// Change is what the commands print that create something, or change a schedule.
type Change struct {
	Header
	// Cluster is where all this is.
	Cluster session.Identity `json:"cluster"`
	Object  Object           `json:"object"`
	Facts   []Fact           `json:"facts"`
	Plan    Remedy           `json:"plan"`
	// Preflight is what stands in the way of a restore; missing if it was not looked for.
	Preflight *Preflight `json:"preflight,omitempty"`
	Outcome   Outcome    `json:"outcome"`
	// Wait is what came of --wait; missing if it did not wait.
	Wait *WaitItem `json:"wait,omitempty"`
}

// NewChange returns what came of a plan.
func NewChange(p *action.Plan, preflight *Preflight, o *action.Outcome, err error) Change {
	c := Change{
		Header:  NewHeader("Change"),
		Cluster: p.Evidence().Cluster,
		Object:  Object{p.Kind.Noun(), p.Namespace, p.Name, string(p.UID)},
		Facts: NewFacts(
			p.Facts(),
		),
		Plan:      newRemedies([]action.Plan{*p})[0],
		Preflight: preflight,
		Outcome:   newOutcome(o, err),
	}
	return c
}

func newOutcome(o *action.Outcome, err error) Outcome {
	d := Outcome{
		State:    o.State,
		Sent:     o.Sent,
		Phase:    o.Phase,
		Message:  o.Message,
		Copy:     o.CopyPath,
		Log:      o.AuditLogPath,
		Warnings: o.Warnings,
		Undo:     o.UndoCommands,
	}
	if err != nil {
		d.Error = err.Error()
	}
	return d
}
