package dialog

import (
	"cmp"
	"fmt"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/velero"
)

// gathering is what is looked at for the evidence.
var gathering = []string{
	"the resource and its volumes, as they are now",
	"Velero's server: whether one is running, since when, and what its log says of the job",
	"the stored results, resource list and volume information (by DownloadRequest; this can take a minute)",
	"your right to patch it, and the phases that the CRD allows",
}

// steps are those of applying a plan, in their order. A dry run has the first two.
var steps = []step{
	{action.StepLook, "read the evidence again"},
	{action.StepDryRun, "have the API server check it (dry run)"},
	{action.StepPatch, "send it"},
	{action.StepObserve, "watch the result"},
}

type step struct {
	name action.Step
	what string
}

// choices are what the evidence leaves to choose from, finalizing first. Where that is a
// refusal there may be other phases that a person can decide for. A restart, the
// roughest, comes last, and only where nothing better is.
func choices(e action.Evidence, r action.Request) []action.Plan {
	var found, restarts []action.Plan
	for _, p := range action.Plans(e, r) {
		if p.Action == action.Restart {
			restarts = append(restarts, p)
		} else {
			found = append(found, p)
		}
	}
	if found[0].Effect() != action.Refuse {
		return found
	}
	for _, phase := range []string{velero.PhasePartiallyFailed, velero.PhaseFailed} {
		asked := r
		asked.Phase = phase
		if p, _ := action.For(action.Finalize, e, asked); p.Effect() != action.Refuse {
			found = append(found, p)
		}
	}
	return append(found, restarts...)
}

// title names a plan in a list.
func title(p *action.Plan) string {
	switch {
	case p.Action == action.Finalize || p.Possible():
		return p.Title
	case len(p.Commands) > 0:
		return p.Title + " (veltui only shows the command)"
	}
	return p.Title + " (not possible)"
}

// change is all that a plan changes, in one line.
func change(p *action.Plan) string {
	switch {
	case p.Action != action.Finalize:
		return p.Title
	case p.Effect() == action.Refuse:
		return "nothing"
	}
	text := cmp.Or(p.From, "no phase") + " -> " + p.To
	for _, f := range p.Set {
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

// refusal says why veltui does not apply a plan.
func refusal(p *action.Plan) string { return cmp.Or(p.Refusal, "veltui does not do this itself") }

// certainty says how sure a plan is.
func certainty(p *action.Plan) string {
	if p.Action != action.Finalize {
		return "veltui writes no phase: Velero does the rest."
	}
	e := p.Evidence()
	text := "Velero has not started it, and will not after this. This is your decision; the evidence does not call for it."
	switch {
	case p.Effect() == action.Nudge:
		text = "Very high: all artifacts are stored; Velero will finish it."
	case len(e.Server.Running) == 0:
		text = "No pod was recognised as a Velero server, and nothing that works on it wrote in the last five minutes. A server that veltui does not recognise may still return to it."
	case p.From == velero.PhaseInProgress:
		text = "High: the server that worked on it is gone."
	}
	for _, f := range p.Facts() {
		if !f.Holds {
			return text + " But see below what is unknown or contradicting."
		}
	}
	return text
}

// observing says how long the result of a plan is watched.
func observing(p *action.Plan) string {
	if p.Action != action.Finalize {
		return ""
	}
	return "until it has ended, and for at least " + human.Duration(action.DefaultObserve)
}
