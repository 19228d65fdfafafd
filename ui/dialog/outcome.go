package dialog

import (
	"cmp"
	"strings"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view/remedy"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// buildPlans returns the plans for the evidence, finalizing first. If the plan is refused, a person may decide for
// another phase. A restart, the most drastic plan, comes last, and only where there is nothing better.
func buildPlans(e action.Evidence, r action.Request) []action.Plan {
	if r.Volume != "" {
		p, _ := action.PlanFor(action.CancelVolumes, e, r)
		return []action.Plan{p}
	}
	var found, restarts []action.Plan
	for _, p := range action.BuildPlans(e, r) {
		if p.Action == action.Restart {
			restarts = append(restarts, p)
		} else {
			found = append(found, p)
		}
	}
	if found[0].Effect() != action.EffectRefuse {
		return found
	}
	for _, phase := range []string{velero.PhasePartiallyFailed, velero.PhaseFailed} {
		asked := r
		asked.Phase = phase
		if p, _ := action.PlanFor(action.Finalize, e, asked); p.Effect() != action.EffectRefuse {
			found = append(found, p)
		}
	}
	return append(found, restarts...)
}

type runOutcome struct {
	action.Outcome
	err     error
	applied action.Plan
}

// nextPlan returns the plan that replaces the applied one after a change, nil for none.
func (o *runOutcome) nextPlan() *action.Plan {
	if o.State != action.StateChanged || o.Plan.Action == "" || o.Plan.IsEquivalent(&o.applied) {
		return nil
	}
	return &o.Plan
}

// chooseEnding returns the ending of the applied plan, with the user's keys in its text.
func (o *runOutcome) chooseEnding(named keys.Overrides) remedy.Ending {
	end := remedy.NewEnding(&o.applied, &o.Outcome, o.err)
	end.NextStep = strings.NewReplacer(
		"<finalize>", named.FirstKey("finalize"),
		"<next-option>", named.FirstKey("next-option"),
	).Replace(end.NextStep)
	return end
}

func (o *runOutcome) renderOutcome(c draw.Canvas, named keys.Overrides) []string {
	end := o.chooseEnding(named)
	lines := c.RenderParagraph(c.Theme.ToneStyle(end.Headline.Tone), end.Headline.Text, 2)
	lines = append(lines, c.RenderParagraph(c.Theme.Text, draw.FormatSentence(o.Message), 6)...)
	if len(o.UndoCommands) > 0 {
		lines = append(lines, "", c.Theme.Strong.Render("To undo it, before Velero acts on it"))
		for _, command := range o.UndoCommands {
			lines = append(lines, c.WrapForCopying("  "+command)...)
		}
	}
	if next := o.nextPlan(); next != nil {
		lines = append(lines, "")
		if next.IsPossible() {
			lines = append(
				lines,
				c.RenderLabelled(
					"Now",
					labelWidth,
					c.Theme.Strong,
					remedy.ChangeSummary(next)+" (enter looks at this new plan)",
					8,
				)...)
		} else {
			refused := "refused: " + remedy.RefusalReason(next)
			lines = append(lines, c.RenderLabelled("Now", labelWidth, c.Theme.Text, refused, 8)...)
			lines = append(lines, c.RenderLabelled("Helps", labelWidth, c.Theme.Text, next.Advice, 8)...)
		}
	}
	for _, w := range o.Warnings {
		lines = append(lines, c.RenderParagraph(c.Theme.Waiting, "Warning: "+w+".", 4)...)
	}
	if end.NextStep != "" {
		lines = append(lines, "", c.Theme.Strong.Render("What remains to be done"))
		lines = append(lines, c.RenderParagraph(c.Theme.Text, end.NextStep, 8)...)
	}
	if o.AuditLogPath == "" {
		return lines
	}
	lines = append(lines, "", c.Theme.Strong.Render("On this machine"), "the log:")
	lines = append(lines, c.WrapForCopying("  "+o.AuditLogPath)...)
	if o.CopyPath == "" {
		return lines
	}
	lines = append(lines, "the resource as it was:")
	return append(lines, c.WrapForCopying("  "+o.CopyPath)...)
}

func renderSummary(c draw.Canvas, jobs []*job.Job, results []string) []string {
	lines := []string{c.Theme.Strong.Render("Results for the " + human.Count(len(jobs), "marked job")), ""}
	for i, j := range jobs {
		lines = append(lines, c.Theme.Strong.Render(jobReference(j)))
		lines = append(lines, c.RenderBullet("   ", cmp.Or(results[i], "unchecked"), 5)...)
	}
	return lines
}
