package dialog

import (
	"time"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

const labelWidth = 10

// planLines draw what is to be done and why, or why nothing is, then all
// evidence, then what follows, then the command.
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
	add("Why", draw.Sentence(p.Why), c.Theme.Text)
	if p.Possible() {
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
	if chosen == 0 && p.Possible() {
		title = "Why it looks stuck"
	}
	evidence := evidenceLines(c, p, title, age, named)
	if p.Action != action.Finalize { // what a restart fails matters more than what was found
		effects, evidence = evidence, effects
	}
	lines = append(append(lines, evidence...), effects...)
	if len(p.Commands) == 0 {
		return lines
	}
	lines = append(lines, "", c.Theme.Strong.Render("The same with kubectl")+c.Theme.Dim.Render(" ("+named.Key("copy-command")+" copies it)"))
	for _, command := range p.Commands {
		lines = append(lines, c.Command(command)...)
	}
	return lines
}

// evidenceLines draw all evidence, doubts first.
func evidenceLines(c draw.Canvas, p *action.Plan, title string, age time.Duration, named keys.Map) []string {
	var holds, doubts []string
	for _, e := range p.Facts() {
		seen := e.Source
		if !e.At.IsZero() {
			seen += ", " + human.Age(e.At, c.Now)
		}
		drawn := c.Observed(e.Holds, e.Text, seen)
		if e.Holds {
			holds = append(holds, drawn...)
		} else {
			doubts = append(doubts, drawn...)
		}
	}
	var lines []string
	if len(doubts) > 0 {
		lines = append(append(lines, "", c.Theme.Strong.Render("Unknown or contradicting")), doubts...)
	}
	title = c.Theme.Strong.Render(title) + c.Theme.Dim.Render(" (seen "+human.Duration(age)+" ago; "+named.Key("look-again")+" looks again)")
	return append(append(lines, "", title), holds...)
}

// optionLines name what may be chosen, if there is more than one thing.
func optionLines(c draw.Canvas, choices []action.Plan, chosen int, named keys.Map) []string {
	if len(choices) < 2 {
		return nil
	}
	lines := []string{"", c.Theme.Strong.Render("Options") + c.Theme.Dim.Render(" ("+named.Key("next-option")+" cycles)")}
	for i := range choices {
		sign, style := " ", c.Theme.Text
		if i == chosen {
			sign, style = c.Glyphs.Cursor, c.Theme.Selected
		}
		lines = append(lines, " "+c.Theme.Accent.Render(sign)+" "+style.Render(c.Cut(title(&choices[i]), c.Width-3)))
	}
	return lines
}
