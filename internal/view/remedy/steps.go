package remedy

import (
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
)

// Step is a step of applying a plan.
type Step struct {
	Name           action.Step
	Task           string // the task before it is done
	TaskInProgress string // the task while it is done
}

// Steps are the steps of applying a plan, in their order. A dry run has only the first two.
var Steps = []Step{
	{action.StepGather, "read the evidence again", "reading the evidence again"},
	{action.StepDryRun, "have the API server check it (dry run)", "asking the API server for a dry run"},
	{action.StepSend, "send it", "sending the request"},
	{action.StepObserve, "watch the result", "watching the result"},
}

// StepInProgressText returns the text of a step while it is done.
func StepInProgressText(name action.Step) string {
	for _, step := range Steps {
		if step.Name == name {
			return step.TaskInProgress
		}
	}
	return string(name)
}

// ObservationText returns how long the result of a plan is watched; empty for a plan with nothing to wait for.
func ObservationText(p *action.Plan) string {
	if p.Action != action.Finalize {
		return ""
	}
	return "until it has ended, and for at least " + human.Duration(action.DefaultObservePeriod)
}

// GatheredEvidence returns the list of what is read before a plan is made: for a job, or for a proposal, which is not
// about a job.
func GatheredEvidence(proposal bool) []string {
	if proposal {
		return []string{
			"what it rests on, as it is now",
			"Velero's server: whether one is running",
			"your right to do it",
		}
	}
	return []string{
		"the resource and its volumes, as they are now",
		"Velero's server: whether one is running, since when, and what its log says of the job",
		"the stored results, resource list and volume information (by DownloadRequest; this can take a minute)",
		"your right to patch it, and the phases that the CRD allows",
	}
}

// FinalizeStep returns the step of finalizing a job, or why veltui would not finalize it.
func FinalizeStep(p *action.Plan) view.Step {
	if p.Effect() == action.EffectRefuse {
		return view.Step{Text: p.FinalizeRefusal(), Objection: p.Advice}
	}
	return view.Step{Text: OfferText(p), Command: FinalizeCommand(p)}
}

// OptionSteps returns the steps of all plans except that of the requested action.
func OptionSteps(plans []action.Plan, requested action.Kind) (steps []view.Step) {
	for i, p := range OtherPlans(plans, requested) {
		step := view.Step{Title: OptionTitle(i), Text: p.Title, Reason: p.EvidenceText, Alternatives: p.Commands}
		for _, list := range ListConsequences(p) {
			for _, item := range list.Items {
				step.Consequences = append(step.Consequences, list.Title+": "+item)
			}
		}
		if p.Refusal == "" {
			step.Command = FinalizeCommand(p)
		} else {
			step.Objection = p.Refusal + ". " + p.Advice
		}
		steps = append(steps, step)
	}
	return steps
}
