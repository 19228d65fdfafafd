package dialog

import (
	"cmp"
	"fmt"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// widest is how wide a dialog gets: longer lines are hard to read.
const widest = 100

func (d *Dialog) View(c draw.Canvas, behind string) string {
	boxed := c.Sized(min(c.Width, widest), c.Height)
	inner := boxed.Inner()
	border := c.Theme.Accent.UnsetBold()
	if d.alarm {
		border = c.Theme.Bad.UnsetBold()
	}
	return c.Over(
		boxed.Box(
			draw.Box{Border: border, Title: d.title(), Text: d.text(inner), Pinned: d.pinned(inner), View: &d.view},
		),
		behind,
	)
}

func (d *Dialog) title() string {
	what := cmp.Or(d.options.Title, "Finalize")
	j := d.job()
	text := what + " " + j.Kind.Word() + " " + j.Namespace + "/" + j.Name
	switch {
	case d.stage == Summary:
		return what
	case len(d.options.Jobs) > 1:
		return fmt.Sprintf("%d of %d: %s", d.at+1, len(d.options.Jobs), text)
	}
	return text
}

func (d *Dialog) text(c draw.Canvas) []string {
	now := d.options.Clock()
	switch d.stage {
	case Looking:
		lines := append(
			c.Para(
				c.Theme.Strong,
				"Gathering evidence about "+subject(d.job())+" ... "+human.Duration(now.Sub(d.since)),
				2,
			),
			"",
		)
		for _, what := range gathering(d.options.Propose != nil) {
			lines = append(lines, c.Item(" "+c.Theme.Dim.Render(c.Glyphs.Ahead)+" ", what, 3)...)
		}
		return lines
	case Unseen:
		lines := c.Para(c.Theme.Bad, "veltui could not gather the evidence, so it can do nothing:", 2)
		return append(
			append(lines, c.Wrap(d.found.Err.Error(), 8)...),
			"",
			d.options.Keys.Key("look-again")+" checks again.",
		)
	case Applying:
		return runLines(c, d.run, now)
	case Ended:
		return d.outcome.lines(c, d.options.Keys)
	case Summary:
		return summaryLines(c, d.options.Jobs, d.results)
	}
	return planLines(c, d.choices, d.chosen, now.Sub(d.seen), d.options.Keys)
}

// pinned stays below the text: the answer to the last key, and what to do next.
func (d *Dialog) pinned(c draw.Canvas) []string {
	style := c.Theme.Good
	if d.alarm {
		style = c.Theme.Bad
	}
	var note []string
	if d.note != "" {
		note = c.Para(style, d.note, 3)
	}
	switch {
	case d.stage == Choosing && d.plan().Possible():
		return append(note, c.Para(c.Theme.Strong, "Press enter to apply; you will be asked to type "+d.wanted(), 6)...)
	case d.stage == Typing:
		d.input.SetWidth(max(c.Width-4, 1))
		d.input.SetCursor(d.input.Position()) // shows what fits into the new width
		if cluster := d.plan().Evidence().Cluster.String(); cluster != "" {
			note = append(note, c.Para(c.Theme.Text, "The cluster is "+cluster+".", 4)...)
		}
		lines := append(note, c.Para(c.Theme.Text, "Type "+d.wanted()+" and press enter:", 6)...)
		return append(lines, c.Theme.Accent.Render(c.Glyphs.Cursor)+" "+d.input.View())
	case d.stage == Applying:
		return append(note, d.stopLines(c)...)
	}
	return note
}

func (d *Dialog) stopLines(c draw.Canvas) []string {
	switch {
	case d.leaving:
		return c.Para(c.Theme.Waiting, "Stopping. veltui ends as soon as it knows what was sent.", 2)
	case d.stopping:
		return c.Para(c.Theme.Waiting, "Stopping. Finding out what was sent ...", 2)
	case d.asked:
		return c.Para(
			c.Theme.Strong,
			"Stop? esc again stops it, "+d.options.Keys.Key("quit")+" again stops it and quits; any other key goes on.",
			2,
		)
	}
	return nil
}

const labelWidth = 10

func planLines(c draw.Canvas, choices []action.Plan, chosen int, age time.Duration, named keys.Map) []string {
	p := &choices[chosen]
	var lines []string
	add := func(label, text string, style lipgloss.Style) {
		lines = append(lines, c.Labelled(label, labelWidth, style, text, 8)...)
	}
	if p.Possible() {
		add("Plan", change(p), c.Theme.Strong)
	} else {
		add("Refused", draw.Sentence(refusal(p)), c.Theme.Bad)
		add("Helps", p.Advice, c.Theme.Text)
	}
	add("Cluster", p.Evidence().Cluster.String(), c.Theme.Text)
	if !p.Proposed() {
		add("Why", draw.Sentence(p.Why), c.Theme.Text)
	}
	if p.Possible() && !p.Proposed() {
		add("Certainty", certainty(p), c.Theme.Text)
	}
	label := "Then"
	for _, text := range p.Then {
		add(label, draw.Sentence(text), c.Theme.Text)
		label = ""
	}
	lines = append(lines, optionLines(c, choices, chosen, named)...)
	effects := append(c.Titled("It will", p.Will), c.Titled("It will not", p.WillNot)...)
	title := "What was found"
	if chosen == 0 && p.Possible() && !p.Proposed() {
		title = "Why it looks stuck"
	}
	evidence := evidenceLines(c, p, title, age, named)
	if p.Action != action.Finalize { // what it leads to matters more than what was found
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
			"The same with "+p.Program(),
		)+c.Theme.Dim.Render(
			" ("+named.Key("copy-command")+" copies it)",
		),
	)
	for _, command := range p.Commands {
		lines = append(lines, c.Command(command)...)
	}
	return lines
}

func evidenceLines(c draw.Canvas, p *action.Plan, title string, age time.Duration, named keys.Map) []string {
	var holds, doubts []string
	for _, e := range p.Facts() {
		if e.Holds {
			holds = append(holds, c.Observed(e)...)
		} else {
			doubts = append(doubts, c.Observed(e)...)
		}
	}
	var lines []string
	if len(doubts) > 0 {
		lines = append(append(lines, "", c.Theme.Strong.Render("Unknown or contradicting")), doubts...)
	}
	title = c.Theme.Strong.Render(
		title,
	) + c.Theme.Dim.Render(
		" (seen "+human.Duration(age)+" ago; "+named.Key("look-again")+" checks again)",
	)
	return append(append(lines, "", title), holds...)
}

func optionLines(c draw.Canvas, choices []action.Plan, chosen int, named keys.Map) []string {
	if len(choices) < 2 {
		return nil
	}
	lines := []string{
		"",
		c.Theme.Strong.Render("Options") + c.Theme.Dim.Render(" ("+named.Key("next-option")+" cycles)"),
	}
	for i := range choices {
		sign, style := " ", c.Theme.Text
		if i == chosen {
			sign, style = c.Glyphs.Cursor, c.Theme.Selected
		}
		lines = append(lines, " "+c.Theme.Accent.Render(sign)+" "+style.Render(c.Cut(title(&choices[i]), c.Width-3)))
	}
	return lines
}

// slowAnswer is how long an attempt may take before that is worth a word.
const slowAnswer = 3 * time.Second

func runLines(c draw.Canvas, r *run, now time.Time) []string {
	s := r.state()
	what, shown := change(&r.plan), steps
	if r.dryRun {
		what, shown = "dry run: "+what, steps[:2]
	}
	var lines []string
	roomy := c.Width >= 50
	if roomy {
		lines = append(c.Para(c.Theme.Strong, what, 3), "")
	}
	for _, step := range shown {
		lines = append(lines, stepLines(c, step, &r.plan, &s, now)...)
	}
	if roomy {
		lines = append(lines, "")
	}
	if left, known := s.left(now); known && !s.reached(action.StepObserve) {
		lines = append(lines, c.Para(c.Theme.Text, human.Duration(left)+" left of the deadline.", 2)...)
	}
	if r.holds() {
		watch, _ := s.step(action.StepObserve)
		return append(lines, c.Para(c.Theme.Good, watch.seen+" after "+human.Duration(watch.seenAt.Sub(watch.began))+
			". You can close this: veltui watches on and tells you if somebody reverts it.", 3)...)
	}
	return append(lines, c.Para(c.Theme.Text, writtenSoFar(r.dryRun, &s), 3)...)
}

func stepLines(c draw.Canvas, step step, plan *action.Plan, s *runState, now time.Time) []string {
	known, begun := s.step(step.name)
	switch {
	case !begun:
		return []string{c.Theme.Dim.Render(c.Glyphs.Ahead + " " + step.what)}
	case !known.ended.IsZero():
		return []string{
			c.Split(
				c.Theme.Good.Render(c.Glyphs.Done)+" "+step.what,
				c.Theme.Dim.Render(human.Duration(known.ended.Sub(known.began))),
			),
		}
	}
	lines := []string{
		c.Split(
			c.Theme.Running.Render(c.Glyphs.Now)+" "+c.Theme.Strong.Render(step.what),
			c.Theme.Dim.Render(human.Age(known.began, now)),
		),
	}
	inner := c.Sized(c.Width-4, 0)
	add := func(drawn []string) { lines = append(lines, draw.Indented(drawn, 4)...) }
	if step.name == action.StepObserve {
		if known.seen != "" && plan.Kind != "Schedule" { // whose phase says nothing of a pause
			add(inner.Wrap("so far: "+known.seen, 2))
		}
		add(inner.Wrap(observing(plan), 2))
		return lines
	}
	last := known.attempted.Attempt
	if last == nil && now.Sub(known.began) >= slowAnswer {
		add(inner.Para(c.Theme.Waiting, "attempt 1 is under way; no answer yet", 1))
	}
	if last == nil || last.Err == nil {
		return lines
	}
	add(inner.Para(c.Theme.Bad, fmt.Sprintf("attempt %d: %s", last.Number, last.Err), 4))
	switch next := last.Next - now.Sub(known.at); {
	case last.Last:
	case next > 0:
		add(inner.Wrap(fmt.Sprintf("attempt %d in %s", last.Number+1, human.Duration(next+time.Second-1)), 1))
	default:
		add(inner.Wrap(fmt.Sprintf("attempt %d is under way", last.Number+1), 1))
	}
	return lines
}

func writtenSoFar(dryRun bool, s *runState) string {
	switch {
	case dryRun:
		return "A dry run writes nothing."
	case s.reached(action.StepObserve):
		return "The change was applied. veltui now watches the result; press esc twice to stop watching."
	case s.reached(action.StepPatch):
		return "veltui is sending the change. Before each retry it reads the job again."
	}
	return "Nothing has been written so far."
}
