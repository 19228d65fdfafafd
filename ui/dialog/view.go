package dialog

import (
	"cmp"
	"fmt"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/remedy"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// maxWidth is the largest width of a dialog: longer lines are hard to read.
const maxWidth = 100

func (d *Dialog) View(c draw.Canvas, behind string) string {
	boxed := c.WithSize(min(c.Width, maxWidth), c.Height)
	inner := boxed.BoxInterior()
	border := c.Theme.Accent.UnsetBold()
	if d.isWarning {
		border = c.Theme.Bad.UnsetBold()
	}
	return c.OverlayBox(
		boxed.RenderBox(
			draw.Box{
				Border:   border,
				Title:    d.titleText(),
				Text:     d.renderText(inner),
				Pinned:   d.renderPinned(inner),
				Viewport: &d.textView,
			},
		),
		behind,
	)
}

func (d *Dialog) titleText() string {
	what := cmp.Or(d.options.Title, "Finalize")
	j := d.currentJob()
	text := what + " " + j.Kind.Noun() + " " + j.Namespace + "/" + j.Name
	switch {
	case d.stage == StageSummary:
		return what
	case len(d.options.Jobs) > 1:
		return fmt.Sprintf("%d of %d: %s", d.jobIndex+1, len(d.options.Jobs), text)
	}
	return text
}

func (d *Dialog) renderText(c draw.Canvas) []string {
	now := d.options.Clock()
	switch d.stage {
	case StageGathering:
		lines := append(
			c.RenderParagraph(
				c.Theme.Strong,
				"Gathering evidence about "+jobReference(d.currentJob())+" ... "+human.Duration(now.Sub(d.stageEnteredAt)),
				2,
			),
			"",
		)
		for _, what := range remedy.GatheredEvidence(d.options.ProposePlan != nil) {
			lines = append(lines, c.RenderBullet(" "+c.Theme.Dim.Render(c.Glyphs.Ahead)+" ", what, 3)...)
		}
		return lines
	case StageEvidenceFailed:
		lines := c.RenderParagraph(c.Theme.Bad, "veltui could not gather the evidence, so it can do nothing:", 2)
		return append(
			append(lines, c.WrapText(d.plansAnswer.Err.Error(), 8)...),
			"",
			d.options.Keys.FirstKey("look-again")+" checks again.",
		)
	case StageApplying:
		return renderRun(c, d.currentRun, now)
	case StageResult:
		return d.outcome.renderOutcome(c, d.options.Keys)
	case StageSummary:
		return renderSummary(c, d.options.Jobs, d.results)
	}
	return renderPlan(c, d.planChoices, d.chosenPlanIndex, now.Sub(d.gatheredAt), d.options.Keys)
}

// renderPinned draws the lines that stay below the text: the answer to the last key, and what to do next.
func (d *Dialog) renderPinned(c draw.Canvas) []string {
	style := c.Theme.Good
	if d.isWarning {
		style = c.Theme.Bad
	}
	var note []string
	if d.message != "" {
		note = c.RenderParagraph(style, d.message, 3)
	}
	switch {
	case d.stage == StageChoosing && d.chosenPlan().IsPossible():
		request := "Press enter to apply"
		if !d.isConfirmedByKey() {
			request += "; you will be asked to type " + d.confirmationText()
		}
		if d.ignoredKey {
			request = "Keys pressed before you could read this were ignored. " + request
		}
		return append(note, c.RenderParagraph(c.Theme.Strong, request, 6)...)
	case d.stage == StageTyping:
		d.input.SetWidth(max(c.Width-4, 1))
		d.input.SetCursor(d.input.Position()) // scrolls to what fits into the new width
		if cluster := d.chosenPlan().Evidence().Cluster.String(); cluster != "" {
			note = append(note, c.RenderParagraph(c.Theme.Text, "The cluster is "+cluster+".", 4)...)
		}
		lines := append(note, c.RenderParagraph(c.Theme.Text, "Type "+d.confirmationText()+" and press enter:", 6)...)
		return append(lines, c.Theme.Accent.Render(c.Glyphs.Cursor)+" "+d.input.View())
	case d.stage == StageApplying:
		return append(note, d.renderStopLines(c)...)
	}
	return note
}

func (d *Dialog) renderStopLines(c draw.Canvas) []string {
	switch {
	case d.isQuitting:
		return c.RenderParagraph(c.Theme.Waiting, "Stopping. veltui ends as soon as it knows what was sent.", 2)
	case d.isStopping:
		return c.RenderParagraph(c.Theme.Waiting, "Stopping. Finding out what was sent ...", 2)
	case d.stopRequested:
		return c.RenderParagraph(
			c.Theme.Strong,
			"Stop? esc again stops it, "+d.options.Keys.FirstKey("quit")+" again stops it and quits; any other key goes on.",
			2,
		)
	}
	return nil
}

const labelWidth = 10

func renderPlan(c draw.Canvas, choices []action.Plan, chosen int, age time.Duration, named keys.Overrides) []string {
	p := &choices[chosen]
	var lines []string
	add := func(label, text string, style lipgloss.Style) {
		lines = append(lines, c.RenderLabelled(label, labelWidth, style, text, 8)...)
	}
	if p.IsPossible() {
		add("Plan", remedy.ChangeSummary(p), c.Theme.Strong)
	} else {
		add("Refused", draw.FormatSentence(remedy.RefusalReason(p)), c.Theme.Bad)
		add("Helps", p.Advice, c.Theme.Text)
	}
	add("Cluster", p.Evidence().Cluster.String(), c.Theme.Text)
	if !p.IsProposed() {
		add("Why", draw.FormatSentence(p.EvidenceText), c.Theme.Text)
	}
	if p.IsPossible() && !p.IsProposed() {
		add("Certainty", remedy.CertaintyText(p), c.Theme.Text)
	}
	label := human.Capitalize(remedy.ThenTitle)
	for _, text := range p.Afterwards {
		add(label, draw.FormatSentence(text), c.Theme.Text)
		label = ""
	}
	lines = append(lines, renderOptions(c, choices, chosen, named)...)
	effects := append(
		c.RenderTitledList(human.Capitalize(remedy.WillTitle), p.Will),
		c.RenderTitledList(human.Capitalize(remedy.WillNotTitle), p.WillNot)...)
	title := "What was found"
	if chosen == 0 && p.IsPossible() && !p.IsProposed() {
		title = "Why it looks stuck"
	}
	evidence := renderEvidence(c, p, title, age, named)
	if p.Action != action.Finalize { // the effects matter more than the evidence
		effects, evidence = evidence, effects
	}
	lines = append(append(lines, evidence...), effects...)
	if len(p.Commands) == 0 {
		return lines
	}
	lines = append(
		lines,
		"",
		c.Theme.Strong.Render(
			"The same with "+p.CommandProgram(),
		)+c.Theme.Dim.Render(
			" ("+named.FirstKey("copy-command")+" copies it)",
		),
	)
	for _, command := range p.Commands {
		lines = append(lines, c.WrapCommand(command)...)
	}
	return lines
}

func renderEvidence(c draw.Canvas, p *action.Plan, title string, age time.Duration, named keys.Overrides) []string {
	var lines, found []string
	for _, list := range view.NewFactLists(p.Facts()) {
		var drawn []string
		for _, f := range list.Facts {
			drawn = append(drawn, c.RenderFact(f)...)
		}
		if !list.Doubt {
			found = drawn
			continue
		}
		lines = append(append(lines, "", c.Theme.Strong.Render(human.Capitalize(list.Title))), drawn...)
	}
	title = c.Theme.Strong.Render(title) +
		c.Theme.Dim.Render(" (seen "+human.Duration(age)+" ago; "+named.FirstKey("look-again")+" checks again)")
	return append(append(lines, "", title), found...)
}

func renderOptions(c draw.Canvas, choices []action.Plan, chosen int, named keys.Overrides) []string {
	if len(choices) < 2 {
		return nil
	}
	lines := []string{
		"",
		c.Theme.Strong.Render("Options") + c.Theme.Dim.Render(" ("+named.FirstKey("next-option")+" cycles)"),
	}
	for i := range choices {
		sign, style := " ", c.Theme.Text
		if i == chosen {
			sign, style = c.Glyphs.Cursor, c.Theme.Selected
		}
		lines = append(
			lines,
			" "+c.Theme.Accent.Render(sign)+" "+style.Render(c.Truncate(remedy.PlanTitle(&choices[i]), c.Width-3)),
		)
	}
	return lines
}

// slowAttemptAfter is how long an attempt may take before the dialog mentions it.
const slowAttemptAfter = 3 * time.Second

func renderRun(c draw.Canvas, r *planRun, now time.Time) []string {
	s := r.lastState()
	what, shown := remedy.ChangeSummary(&r.plan), remedy.Steps
	if r.dryRun {
		what, shown = "dry run: "+what, remedy.Steps[:2]
	}
	var lines []string
	roomy := c.Width >= 50
	if roomy {
		lines = append(c.RenderParagraph(c.Theme.Strong, what, 3), "")
	}
	for _, step := range shown {
		lines = append(lines, renderStep(c, step, &r.plan, &s, now)...)
	}
	if roomy {
		lines = append(lines, "")
	}
	if left, known := s.timeLeft(now); known && !s.hasReached(action.StepObserve) {
		lines = append(lines, c.RenderParagraph(c.Theme.Text, human.Duration(left)+" left of the deadline.", 2)...)
	}
	if r.hasEffect() {
		return append(
			lines,
			c.RenderParagraph(c.Theme.Good, r.effectText()+
				". You can close this: veltui watches on and tells you if somebody reverts it.", 3)...)
	}
	return append(lines, c.RenderParagraph(c.Theme.Text, writtenText(r.dryRun, &s), 3)...)
}

func renderStep(c draw.Canvas, step remedy.Step, plan *action.Plan, s *runState, now time.Time) []string {
	known, begun := s.findStep(step.Name)
	switch {
	case !begun:
		return []string{c.Theme.Dim.Render(c.Glyphs.Ahead + " " + step.Task)}
	case !known.endedAt.IsZero():
		return []string{
			c.AlignEnds(
				c.Theme.Good.Render(c.Glyphs.Done)+" "+step.Task,
				c.Theme.Dim.Render(human.Duration(known.endedAt.Sub(known.startedAt))),
			),
		}
	}
	lines := []string{
		c.AlignEnds(
			c.Theme.Running.Render(c.Glyphs.Current)+" "+c.Theme.Strong.Render(step.Task),
			c.Theme.Dim.Render(human.Age(known.startedAt, now)),
		),
	}
	inner := c.WithSize(c.Width-4, 0)
	add := func(drawn []string) { lines = append(lines, draw.IndentLines(drawn, 4)...) }
	if step.Name == action.StepObserve {
		if known.phase != "" && plan.Kind != "Schedule" { // a schedule's phase says nothing about a pause
			add(inner.WrapText("so far: "+known.phase, 2))
		}
		add(inner.WrapText(remedy.ObservationText(plan), 2))
		return lines
	}
	last := known.lastProgress.Attempt
	if last == nil && now.Sub(known.startedAt) >= slowAttemptAfter {
		add(inner.RenderParagraph(c.Theme.Waiting, "attempt 1 is under way; no answer yet", 1))
	}
	if last == nil || last.Err == nil {
		return lines
	}
	add(inner.RenderParagraph(c.Theme.Bad, fmt.Sprintf("attempt %d: %s", last.Number, last.Err), 4))
	switch next := last.Delay - now.Sub(known.attemptedAt); {
	case last.Last:
	case next > 0:
		add(inner.WrapText(fmt.Sprintf("attempt %d in %s", last.Number+1, human.Duration(next+time.Second-1)), 1))
	default:
		add(inner.WrapText(fmt.Sprintf("attempt %d is under way", last.Number+1), 1))
	}
	return lines
}

func writtenText(dryRun bool, s *runState) string {
	switch {
	case dryRun:
		return "A dry run writes nothing."
	case s.hasReached(action.StepObserve):
		return "The change was applied. veltui now watches the result; press esc twice to stop watching."
	case s.hasReached(action.StepSend):
		return "veltui is sending the change. Before each retry it reads the job again."
	}
	return "Nothing has been written so far."
}
