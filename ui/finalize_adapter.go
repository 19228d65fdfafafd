package ui

import (
	"context"
	"fmt"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/dialog"
)

// Finalizer looks into jobs that nobody works on any more, and moves them on.
// Whatever it answers is safe to draw. Its methods end with ctx.
type Finalizer interface {
	// Allowed asks the API server whether we may change jobs of a kind; why
	// says why not, and is empty if we may.
	Allowed(ctx context.Context, namespace string, kind job.Kind) (why string, err error)
	// Gather reads all that a plan for one job rests on. It may take minutes.
	Gather(ctx context.Context, namespace string, kind job.Kind, name string) (finalize.Evidence, error)
	// Execute carries out a plan, as [finalize.Finalizer.Execute] does.
	Execute(ctx context.Context, plan finalize.Plan, dryRun bool, report func(finalize.Progress)) (finalize.Outcome, error)
	// Take does something else than writing a phase, as [finalize.Finalizer.Take] does.
	Take(ctx context.Context, way finalize.Way, dryRun bool, report func(finalize.Progress)) (finalize.Outcome, error)
}

// finalizeEngine shows package finalize to the dialog: its plans, and the ways
// that write no phase. This file is all that package ui knows of it.
type finalizeEngine struct {
	Finalizer
	request finalize.Request
}

var _ dialog.Engine = finalizeEngine{}

var finalizeLooks = []string{
	"the resource itself, as it is now, and its volumes",
	"Velero's server: whether one runs, and since when",
	"what is stored: results, resource list, volume information (by DownloadRequest; this may take a minute)",
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
		return nil, fmt.Errorf("it was deleted, and there is another %s; close this, and look at that one first", about)
	}
	return finalizePlans(e, f.request), nil
}

// finalizePlans are what the evidence leaves to choose from, its own plan first.
// Where that is a refusal there may be other phases that a person can decide
// for; a restart, the roughest, comes last, and only where nothing better is.
func finalizePlans(e finalize.Evidence, r finalize.Request) []dialog.Plan {
	own := finalize.Draft(e, r)
	refused := own.Action == finalize.Refuse
	found := []dialog.Plan{planOf(own)}
	found[0].EvidenceTitle = "Why it looks stuck"
	if refused {
		found[0].EvidenceTitle = "What was found"
	}
	ways := finalize.Ways(e, r)
	for _, w := range ways {
		if w.Action != finalize.Restart {
			found = append(found, wayOf(w, own))
		}
	}
	if !refused {
		return found
	}
	for _, phase := range []string{"PartiallyFailed", "Failed"} {
		asked := r
		asked.Phase = phase
		if other := finalize.Draft(e, asked); other.Action != finalize.Refuse {
			found = append(found, planOf(other))
		}
	}
	for _, w := range ways {
		if w.Action == finalize.Restart {
			found = append(found, wayOf(w, own))
		}
	}
	return found
}

func planOf(p finalize.Plan) dialog.Plan {
	shown := dialog.Plan{
		Change: "nothing", Title: "leave it as it is", Why: p.Why, Refusal: p.Refusal, Advice: p.Advice,
		Evidence: evidenceOf(p.Facts()), EvidenceTitle: "What was found",
		Will: p.Will, WillNot: p.WillNot, Then: p.Then, Engine: p,
		Steps: finalizeSteps("watched until it has ended, and for " + human.Duration(finalize.DefaultObserve) + " at least"),
	}
	if p.Command != "" {
		shown.Commands = []string{p.Command}
	}
	if p.Action == finalize.Refuse {
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
	switch {
	case p.Action == finalize.Nudge:
		shown.Title = "move it on to " + p.To
	case p.From == "InProgress":
		shown.Title = "end it as " + p.To
	default:
		shown.Title = "give it up: write " + p.To
	}
	shown.Certainty = certainty(&p, shown.Evidence)
	return shown
}

func wayOf(w finalize.Way, own finalize.Plan) dialog.Plan {
	shown := dialog.Plan{
		Title: w.Title, Change: w.Title, Why: w.Why, Refusal: w.Refusal, Advice: w.Advice,
		Certainty: "It writes no phase: Velero itself does the rest.",
		Evidence:  evidenceOf(own.Facts()), EvidenceTitle: "What was found", EffectsFirst: true, // what a restart fails matters more
		Will: w.Will, WillNot: w.WillNot, Then: w.Then, Commands: w.Commands, Engine: w, Steps: finalizeSteps(""),
	}
	if w.CanTake() {
		return shown
	}
	if shown.Refusal == "" {
		shown.Refusal = "veltui does not do this itself"
	}
	if shown.Title += " (not possible)"; len(w.Commands) > 0 {
		shown.Title = w.Title + " (veltui only shows the command)"
	}
	return shown
}

func finalizeSteps(note string) []dialog.Step {
	return []dialog.Step{
		{Name: string(finalize.StepLook), What: "look again at the evidence"},
		{Name: string(finalize.StepDryRun), What: "let the API server check it (dry run)"},
		{Name: string(finalize.StepPatch), What: "send it", Part: dialog.Sends},
		{Name: string(finalize.StepObserve), What: "observe what comes of it", Part: dialog.Observes, Note: note},
	}
}

func evidenceOf(facts []diagnosis.Fact) []dialog.Evidence {
	shown := make([]dialog.Evidence, len(facts))
	for i, f := range facts {
		shown[i] = dialog.Evidence{Holds: f.Holds, Text: f.Text, Source: f.Source, At: f.At}
	}
	return shown
}

func fieldText(f finalize.Field) string {
	switch f.Name {
	case "errors":
		return human.Count(f.Value, "error")
	case "warnings":
		return human.Count(f.Value, "warning")
	}
	return fmt.Sprintf("%s %d", f.Name, f.Value)
}

// certainty says in words how sure a plan is.
func certainty(p *finalize.Plan, evidence []dialog.Evidence) string {
	e := p.Evidence()
	text := "Velero has not begun with it, and will not then. This is your decision, not what the evidence asks for."
	switch {
	case p.Action == finalize.Nudge:
		text = "Very high: all artifacts are stored; Velero will finish it."
	case len(e.Server.Running) == 0:
		text = "Nobody works on it now. A server that comes back would look at it itself."
	case p.From == "InProgress":
		text = "Nobody works on it: the server that did is gone."
	}
	for _, e := range evidence {
		if !e.Holds {
			return text + " But see below what is unknown, or contradicts it."
		}
	}
	return text
}

// Apply carries out a plan, and says in words what came of it.
func (f finalizeEngine) Apply(ctx context.Context, plan dialog.Plan, dryRun bool, report func(dialog.Progress)) dialog.Outcome {
	told := func(p finalize.Progress) {
		progress := dialog.Progress{Step: string(p.Step), Seen: p.Phase}
		if a := p.Attempt; a != nil {
			progress.Attempt = &dialog.Attempt{Number: a.Number, Err: a.Err, Last: a.Last, Next: a.Next, Left: a.Left}
		}
		report(progress)
	}
	switch p := plan.Engine.(type) {
	case finalize.Way:
		o, err := f.Take(ctx, p, dryRun, told)
		shown := outcomeOf(&o, err, true)
		if o.State == finalize.Changed && o.Way.Action != "" && !o.Way.Same(&p) {
			next := wayOf(o.Way, finalize.Draft(o.Way.Evidence(), f.request))
			shown.Next = &next
		}
		return shown
	case finalize.Plan:
		o, err := f.Execute(ctx, p, dryRun, told)
		shown := outcomeOf(&o, err, false)
		if o.State == finalize.Changed && o.Plan.Action != "" && !o.Plan.Same(&p) {
			next := planOf(o.Plan)
			shown.Next = &next
		}
		return shown
	}
	return dialog.Outcome{State: string(finalize.Refused), Headline: "Refused: nothing was written.", Tone: dialog.Bad, Message: "this is no plan of finalize"}
}
