package ui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/diagnosis"
)

// choiceLines draw what is to be done and why, or why nothing is, then all
// evidence, then what follows, then the command.
func (c canvas) choiceLines(choices []choice, chosen int, age time.Duration) []string {
	now := choices[chosen]
	will, willNot, then := now.effects()
	var lines []string
	title := "Why it looks stuck"
	if chosen > 0 || !now.possible() { // not what the evidence asks for
		title = "What was found"
	}
	if why, advice := now.refusal(); why != "" {
		lines = append(lines, c.termed("Refused", sentence(why), c.theme.bad)...)
		lines = append(lines, c.termed("Helps", advice, c.theme.text)...)
	} else {
		lines = append(lines, c.termed("Plan", now.words(), c.theme.strong)...)
	}
	lines = append(lines, c.termed("Why", sentence(now.why()), c.theme.text)...)
	if now.possible() {
		lines = append(lines, c.termed("Sure?", now.certainty(), c.theme.text)...)
	}
	word := "Then"
	for _, text := range then {
		lines = append(lines, c.termed(word, sentence(text), c.theme.text)...)
		word = ""
	}
	lines = append(lines, c.choicesList(choices, chosen)...)
	effects := append(c.listLines("It will", will), c.listLines("It will not", willNot)...)
	evidence := c.evidenceLines(title, now.facts(), age)
	if now.other() { // what a restart fails matters more than what was found
		effects, evidence = evidence, effects
	}
	lines = append(append(lines, evidence...), effects...)
	return append(lines, c.commandLines(now.commands())...)
}

// evidenceLines draw all facts, doubts first.
func (c canvas) evidenceLines(title string, facts []diagnosis.Fact, age time.Duration) []string {
	var lines []string
	holds, open := dividedFacts(facts)
	if len(open) > 0 {
		lines = append(lines, "", c.theme.strong.Render("Not known, or against it"))
		for _, f := range open {
			lines = append(lines, c.factLines(f)...)
		}
	}
	lines = append(lines, "", c.theme.strong.Render(title)+c.theme.dim.Render(" (looked at "+Duration(age)+" ago; r looks again)"))
	for _, f := range holds {
		lines = append(lines, c.factLines(f)...)
	}
	return lines
}

// dividedFacts are what holds, and what could not be found out or speaks
// against it.
func dividedFacts(facts []diagnosis.Fact) (holds, open []diagnosis.Fact) {
	for _, f := range facts {
		if f.Holds {
			holds = append(holds, f)
		} else {
			open = append(open, f)
		}
	}
	return holds, open
}

// choicesList names what may be chosen, if there is more than one thing.
func (c canvas) choicesList(choices []choice, chosen int) []string {
	if len(choices) < 2 {
		return nil
	}
	lines := []string{"", c.theme.strong.Render("Ways out") + c.theme.dim.Render(" (w takes the next one)")}
	for i, choice := range choices {
		sign, style := " ", c.theme.text
		if i == chosen {
			sign, style = c.glyphs.cursor, c.theme.selected
		}
		lines = append(lines, " "+c.theme.accent.Render(sign)+" "+style.Render(c.cut(choice.title(), c.width-3)))
	}
	return lines
}

// factLines are a fact with its source and age at the right.
func (c canvas) factLines(f diagnosis.Fact) []string {
	sign, style := c.glyphs.done, c.theme.good
	if !f.Holds {
		sign, style = c.glyphs.open, c.theme.waiting
	}
	seen := f.Source
	if !f.At.IsZero() {
		seen += ", " + since(c.now, f.At)
	}
	seen = " (" + seen + ")"
	wrapped := c.sized(c.width-3-lipgloss.Width(seen), 0).wrap(f.Text, 3)
	if c.width < 50 {
		wrapped = c.sized(c.width-3, 0).wrap(f.Text+seen, 4)
		seen = ""
	}
	var lines []string
	for i, text := range wrapped {
		if i > 0 {
			lines = append(lines, "   "+text)
			continue
		}
		lines = append(lines, c.split(" "+style.Render(sign)+" "+text, c.theme.dim.Render(seen)))
	}
	return lines
}

// termed is a word at the left and what belongs to it.
func (c canvas) termed(word, text string, style lipgloss.Style) []string {
	const width = 8
	if strings.Trim(text, ".") == "" {
		return nil
	}
	var lines []string
	for _, part := range c.sized(c.width-width, 0).wrap(text, 8) {
		lines = append(lines, c.cell(c.theme.dim, word, width, false)+style.Render(part))
		word = ""
	}
	return lines
}

func (c canvas) listLines(title string, items []string) []string {
	if len(items) == 0 {
		return nil
	}
	lines := []string{"", c.theme.strong.Render(title)}
	for _, item := range items {
		sign := " - "
		for _, part := range c.sized(c.width-3, 0).wrap(item, 6) {
			lines = append(lines, sign+part)
			sign = "   "
		}
	}
	return lines
}

// commandLines show the commands in whole, broken anywhere.
func (c canvas) commandLines(commands []string) []string {
	if len(commands) == 0 {
		return nil
	}
	lines := []string{"", c.theme.strong.Render("The same with kubectl") + c.theme.dim.Render(" (y copies it)")}
	for _, command := range commands {
		lines = append(lines, strings.Split(ansi.Hardwrap(command, max(c.width, 1), true), "\n")...)
	}
	return lines
}

// para is wrapped text in one style.
func (c canvas) para(style lipgloss.Style, text string, most int) []string {
	lines := c.wrap(text, most)
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return lines
}

// lookingLines say what is being looked at.
func (c canvas) lookingLines(t target, took time.Duration) []string {
	lines := c.para(c.theme.strong, "Looking at "+t.String()+" ... "+Duration(took), 2)
	lines = append(lines, "")
	for _, what := range []string{
		"the resource itself, afresh, and its volumes",
		"Velero's server: whether one runs, and since when",
		"what is stored: results, resource list, volume information (by DownloadRequest; this may take a minute)",
		"your right to patch it, and the phases that the CRD allows",
	} {
		sign := " " + c.glyphs.ahead + " "
		for _, part := range c.sized(c.width-3, 0).wrap(what, 3) {
			lines = append(lines, c.theme.dim.Render(sign)+part)
			sign = "   "
		}
	}
	return lines
}
