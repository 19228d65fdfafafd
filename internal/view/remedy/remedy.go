package remedy

import (
	"cmp"
	"fmt"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
)

// Consequences are things that a plan does, leaves alone, or leads to.
type Consequences struct {
	Title string // to be capitalized like other titles
	Items []string
}

// The titles of consequences.
const (
	WillTitle    = "it will"
	WillNotTitle = "it will not"
	ThenTitle    = "then"
)

// ListConsequences returns all consequences of a plan, including lists without items.
func ListConsequences(p *action.Plan) []Consequences {
	return []Consequences{{WillTitle, p.Will}, {WillNotTitle, p.WillNot}, {ThenTitle, p.Afterwards}}
}

// ChangeSummary returns everything that a plan changes, in one line.
func ChangeSummary(p *action.Plan) string {
	switch {
	case p.Action != action.Finalize:
		return p.Title
	case p.Effect() == action.EffectRefuse:
		return "nothing"
	}
	text := PhaseChange(p)
	for _, f := range p.StatusFields {
		switch f.Name {
		case "errors":
			text += ", " + human.Count(f.Value, "error")
		case "warnings":
			text += ", " + human.Count(f.Value, "warning")
		default:
			text += fmt.Sprintf(", %s %d", f.Name, f.Value)
		}
	}
	return text
}

// PhaseChange returns the former phase and the phase that a plan writes; empty for a plan that writes none.
func PhaseChange(p *action.Plan) string {
	if p.ToPhase == "" {
		return ""
	}
	return cmp.Or(p.FromPhase, "no phase") + " -> " + p.ToPhase
}

// OfferText is what finalizing a job would do and why, as a sentence without a full stop.
func OfferText(p *action.Plan) string { return "finalize would move it " + TransitionText(p) }

// TransitionText is from which phase to which a plan moves a job and why, to follow a verb.
func TransitionText(p *action.Plan) string {
	return fmt.Sprintf("from %s to %s: %s", cmp.Or(p.FromPhase, "no phase"), p.ToPhase, p.EvidenceText)
}

// PlanTitle returns the title of a plan, with a note if veltui does not carry the plan out.
func PlanTitle(p *action.Plan) string {
	switch {
	case p.Action == action.Finalize || p.IsPossible():
		return p.Title
	case len(p.Commands) > 0:
		return p.Title + " (veltui only shows the command)"
	}
	return p.Title + " (not possible)"
}

// RefusalReason returns why veltui does not carry a plan out.
func RefusalReason(p *action.Plan) string { return cmp.Or(p.Refusal, "veltui does not do this itself") }

// OtherPlans returns the plans other than that of an action.
func OtherPlans(plans []action.Plan, kind action.Kind) (others []*action.Plan) {
	for i := range plans {
		if plans[i].Action != kind {
			others = append(others, &plans[i])
		}
	}
	return others
}

// OptionTitle returns the text before the title of the plan with an index among [OtherPlans].
func OptionTitle(index int) string {
	if index == 0 {
		return "option"
	}
	return "another option"
}

// finalizeFlags are the flags of `veltui finalize` for actions other than finalizing.
var finalizeFlags = map[action.Kind]string{action.Wake: "--wake", action.CancelVolumes: "--cancel-volumes"}

// FinalizeCommand returns the veltui command that carries a plan out.
func FinalizeCommand(p *action.Plan) string {
	args := []string{"finalize", p.Kind.Noun() + "/" + p.Name}
	if flag := finalizeFlags[p.Action]; flag != "" {
		args = append(args, flag)
	}
	return p.VeltuiCommand(args...)
}

// CertaintyText returns how certain it is that the plan has the intended effect.
func CertaintyText(p *action.Plan) string {
	if p.Action != action.Finalize {
		return "veltui writes no phase: Velero does the rest."
	}
	e := p.Evidence()
	text := "Velero has not started it, and will not after this. This is your decision; the evidence does not call for it."
	switch {
	case p.Effect() == action.EffectNudge:
		text = "Very high: all artifacts are stored; Velero will finish it."
	case len(e.Server.Pods) == 0:
		text = "No pod was recognised as a Velero server, and nothing that works on it wrote in the last five " +
			"minutes. A server that veltui does not recognise may still return to it."
	case p.FromPhase == velero.PhaseInProgress:
		text = "High: the server that worked on it is gone."
	}
	for _, f := range p.Facts() {
		if !f.Supports {
			return text + " But see below what is unknown or contradicting."
		}
	}
	return text
}
