package ui

import (
	"context"
	"fmt"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/keys"
)

// Finalizer looks into jobs that nobody works on any more, and moves them on.
// Whatever it answers is safe to draw. Its methods end with ctx.
type Finalizer interface {
	// Allowed asks the API server whether we may change jobs of a kind; why
	// says why not, and is empty if we may.
	Allowed(ctx context.Context, namespace string, kind job.Kind) (why string, err error)
	// Gather reads all that a plan for one job rests on. It may take minutes.
	Gather(ctx context.Context, namespace string, kind job.Kind, name string) (action.Evidence, error)
	// Apply applies a plan, as [action.Engine.Apply] does.
	Apply(ctx context.Context, plan action.Plan, dryRun bool, report func(action.Progress)) (action.Outcome, error)
}

// finalizeEngine shows package action's plans to the dialog. This file is all
// that package ui knows of them.
type finalizeEngine struct {
	Finalizer
	request action.Request
	keys    keys.Map
}

var _ dialog.Engine = finalizeEngine{}

var finalizeLooks = []string{
	"the resource and its volumes, as they are now",
	"Velero's server: whether one is running, since when, and what its log says of the job",
	"the stored results, resource list and volume information (by DownloadRequest; this can take a minute)",
	"your right to patch it, and the phases that the CRD allows",
}

// Plans gathers evidence, and makes of it the plan that it asks for and all else
// that may be chosen.
func (f finalizeEngine) Plans(ctx context.Context, about dialog.Subject) ([]dialog.Plan, error) {
	e, err := f.Gather(ctx, about.Namespace, about.Kind, about.Name)
	switch {
	case err != nil:
		return nil, err
	case e.Job.UID != about.UID:
		return nil, fmt.Errorf("it was deleted, and there is a new %s; close this, and review that one first", about)
	}
	return finalizePlans(e, f.request), nil
}

// finalizePlans are what the evidence leaves to choose from, finalizing first.
// Where that is a refusal there may be other phases that a person can decide
// for. A restart, the roughest, comes last, and only where nothing better is.
func finalizePlans(e action.Evidence, r action.Request) []dialog.Plan {
	plans := action.Plans(e, r)
	refused := plans[0].Effect() == action.Refuse
	first := planOf(plans[0])
	if !refused {
		first.EvidenceTitle = "Why it looks stuck"
	}
	found, restarts := []dialog.Plan{first}, []dialog.Plan(nil)
	for _, p := range plans[1:] {
		if p.Action == action.Restart {
			restarts = append(restarts, planOf(p))
		} else {
			found = append(found, planOf(p))
		}
	}
	if !refused {
		return found
	}
	for _, phase := range []string{"PartiallyFailed", "Failed"} {
		asked := r
		asked.Phase = phase
		if p, _ := action.For(action.Finalize, e, asked); p.Effect() != action.Refuse {
			found = append(found, planOf(p))
		}
	}
	return append(found, restarts...)
}

func planOf(p action.Plan) dialog.Plan {
	shown := dialog.Plan{
		Title: p.Title, Change: p.Title, Cluster: p.Evidence().Cluster.String(), Why: p.Why, Refusal: p.Refusal, Advice: p.Advice,
		Evidence: evidenceOf(p.Facts()), EvidenceTitle: "What was found",
		Will: p.Will, WillNot: p.WillNot, Then: p.Then, Commands: p.Commands, Engine: p, Steps: finalizeSteps(""),
	}
	switch {
	case p.Action != action.Finalize:
		shown.EffectsFirst = true // what a restart fails matters more than what was found
		shown.Certainty = "veltui writes no phase: Velero does the rest."
		if p.Possible() {
			return shown
		}
		if shown.Refusal == "" {
			shown.Refusal = "veltui does not do this itself"
		}
		if shown.Title += " (not possible)"; len(p.Commands) > 0 {
			shown.Title = p.Title + " (veltui only shows the command)"
		}
		return shown
	case p.Effect() == action.Refuse:
		shown.Change = "nothing"
		return shown
	}
	from := p.From
	if from == "" {
		from = "no phase"
	}
	shown.Change = from + " -> " + p.To
	for _, f := range p.Set {
		shown.Change += ", " + fieldText(f)
	}
	shown.Certainty = certainty(&p, shown.Evidence)
	shown.Steps = finalizeSteps("until it has ended, and for at least " + human.Duration(action.DefaultObserve))
	return shown
}

func finalizeSteps(note string) []dialog.Step {
	return []dialog.Step{
		{Name: string(action.StepLook), What: "read the evidence again"},
		{Name: string(action.StepDryRun), What: "have the API server check it (dry run)"},
		{Name: string(action.StepPatch), What: "send it", Part: dialog.Sends},
		{Name: string(action.StepObserve), What: "watch the result", Part: dialog.Observes, Note: note},
	}
}

func evidenceOf(facts []diagnosis.Fact) []dialog.Evidence {
	shown := make([]dialog.Evidence, len(facts))
	for i, f := range facts {
		shown[i] = dialog.Evidence{Holds: f.Holds, Text: f.Text, Source: f.Source, At: f.At}
	}
	return shown
}

func fieldText(f action.Field) string {
	switch f.Name {
	case "errors":
		return human.Count(f.Value, "error")
	case "warnings":
		return human.Count(f.Value, "warning")
	}
	return fmt.Sprintf("%s %d", f.Name, f.Value)
}

// certainty says in words how sure a plan is.
func certainty(p *action.Plan, evidence []dialog.Evidence) string {
	e := p.Evidence()
	text := "Velero has not started it, and will not after this. This is your decision; the evidence does not call for it."
	switch {
	case p.Effect() == action.Nudge:
		text = "Very high: all artifacts are stored; Velero will finish it."
	case len(e.Server.Running) == 0:
		text = "No pod was recognised as a Velero server, and nothing that works on it wrote in the last five minutes. A server that veltui does not recognise may still return to it."
	case p.From == "InProgress":
		text = "High: the server that worked on it is gone."
	}
	for _, e := range evidence {
		if !e.Holds {
			return text + " But see below what is unknown or contradicting."
		}
	}
	return text
}

// Apply applies a plan, and says in words what came of it.
func (f finalizeEngine) Apply(ctx context.Context, plan dialog.Plan, dryRun bool, report func(dialog.Progress)) dialog.Outcome {
	p, ok := plan.Engine.(action.Plan)
	if !ok {
		return dialog.Outcome{State: string(action.Refused), Headline: "Refused: nothing was written.", Tone: dialog.Bad, Message: "this plan was not made by veltui"}
	}
	o, err := f.Finalizer.Apply(ctx, p, dryRun, func(p action.Progress) {
		progress := dialog.Progress{Step: string(p.Step), Seen: p.Phase}
		if a := p.Attempt; a != nil {
			progress.Attempt = &dialog.Attempt{Number: a.Number, Err: a.Err, Last: a.Last, Next: a.Next, Left: a.Left}
		}
		report(progress)
	})
	shown := outcomeOf(&o, err, p.Action != action.Finalize, f.keys)
	if o.State == action.Changed && o.Plan.Action != "" && !o.Plan.Same(&p) {
		next := planOf(o.Plan)
		shown.Next = &next
	}
	return shown
}

// outcomeOf puts an outcome of finalize into words. byVelero is true where
// Velero does the rest, so that no phase was written.
func outcomeOf(o *action.Outcome, err error, byVelero bool, named keys.Map) dialog.Outcome {
	shown := dialog.Outcome{
		State: string(o.State), Message: o.Message, Warnings: o.Warnings,
		Checked: o.State == action.Checked, Sent: o.Sent == action.Landed, Unfinished: o.State == action.Unfinished,
	}
	shown.Headline, shown.Tone = headline(o, byVelero)
	shown.Remains = remains(o, err, named)
	if o.Log != "" {
		shown.Files = []dialog.File{{What: "the log", Path: o.Log}, {What: "the resource as it was", Path: o.Copy}}
	}
	return shown
}

// stateToTell is the state, but that of what was refused or overtaken after
// something was sent: that it was stopped then, and how far it came, is what
// matters.
func stateToTell(o *action.Outcome) action.State {
	if o.Sent != action.NotSent && (o.State == action.Refused || o.State == action.Changed) {
		return action.Unfinished
	}
	return o.State
}

func headline(o *action.Outcome, byVelero bool) (string, dialog.Tone) {
	switch stateToTell(o) {
	case action.Settled:
		if byVelero {
			return "Done.", dialog.Good
		}
		return "Done: it is " + o.Phase + ".", dialog.Good
	case action.NoEffect:
		return "Done, but it had no effect.", dialog.Mixed
	case action.Checked:
		return "Checked: nothing was written.", dialog.Good
	case action.Moving:
		if byVelero {
			return "Requested, and under way.", dialog.UnderWay
		}
		return "Under way: it is " + o.Phase + ".", dialog.UnderWay
	case action.Reverted:
		return "Reverted: it is " + o.Phase + ".", dialog.Bad
	case action.Deleted:
		return "Deleted.", dialog.Bad
	case action.Changed:
		return "It changed in the meantime: nothing was written.", dialog.Mixed
	case action.Refused:
		return "Refused: nothing was written.", dialog.Bad
	case action.Altered:
		return "In doubt: the answer is not what was requested.", dialog.Bad
	}
	switch o.Sent {
	case action.Partly:
		return "Stopped halfway: some of the patches were applied.", dialog.Bad
	case action.Landed:
		return "Stopped after the patch was applied.", dialog.Mixed
	case action.Doubtful:
		return "Stopped, and in doubt: the patch was sent.", dialog.Bad
	}
	return "Stopped: nothing was written.", dialog.Mixed
}

// remains is what a person should do next.
func remains(o *action.Outcome, err error, named keys.Map) string {
	finalize := named.Key("finalize")
	switch stateToTell(o) {
	case action.Settled, action.Checked:
		return "Nothing."
	case action.Moving:
		return "Check it again later: Velero has not ended it yet. If it stays so, restart the server, which then continues it."
	case action.NoEffect:
		return "Velero has not picked it up. See the server's log. Restarting the server may help (" + finalize + ", then " + named.Key("next-option") + ", shows what that fails)."
	case action.Reverted:
		return "Leave it alone for now: a Velero server is working on it. If it stays as it is, restart the server, which marks this job and every other job in progress Failed."
	case action.Deleted:
		return "Find out who deleted it: a person, its expiry, or Velero's sync, which removes backups that are not in the object store."
	case action.Changed:
		return "Review it again before you decide."
	case action.Altered:
		return "Look at the object itself (y on its page): a webhook or a proxy changes what is written. Find out which before you try again."
	case action.Refused:
		return "See why above. Nothing has changed, so you may try again."
	}
	switch o.Sent {
	case action.Partly:
		return "Check its volumes: some were cancelled. " + finalize + " shows the rest."
	case action.Landed:
		return "Check its phase in a minute or two: veltui did not watch it to the end."
	case action.Doubtful:
		return "Press " + finalize + " to check. If the job's annotations name the attempt that is in the log, the patch was applied."
	}
	if err != nil {
		return finalize + " tries again; nothing is half done."
	}
	return ""
}
