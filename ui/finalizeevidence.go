package ui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// choiceLines draw what is to be done and why, or why nothing is, then all
// evidence, then what follows, then the command.
func choiceLines(c draw.Canvas, choices []choice, chosen int, age time.Duration) []string {
	now := choices[chosen]
	will, willNot, then := now.effects()
	var lines []string
	title := "Why it looks stuck"
	if chosen > 0 || !now.possible() { // not what the evidence asks for
		title = "What was found"
	}
	if why, advice := now.refusal(); why != "" {
		lines = append(lines, termed(c, "Refused", sentence(why), c.Theme.Bad)...)
		lines = append(lines, termed(c, "Helps", advice, c.Theme.Text)...)
	} else {
		lines = append(lines, termed(c, "Plan", now.words(), c.Theme.Strong)...)
	}
	lines = append(lines, termed(c, "Why", sentence(now.why()), c.Theme.Text)...)
	if now.possible() {
		lines = append(lines, termed(c, "Sure?", now.certainty(), c.Theme.Text)...)
	}
	word := "Then"
	for _, text := range then {
		lines = append(lines, termed(c, word, sentence(text), c.Theme.Text)...)
		word = ""
	}
	lines = append(lines, choicesList(c, choices, chosen)...)
	effects := append(listLines(c, "It will", will), listLines(c, "It will not", willNot)...)
	evidence := evidenceLines(c, title, now.facts(), age)
	if now.way != nil { // what a restart fails matters more than what was found
		effects, evidence = evidence, effects
	}
	lines = append(append(lines, evidence...), effects...)
	return append(lines, commandLines(c, now.commands())...)
}

// evidenceLines draw all facts, doubts first.
func evidenceLines(c draw.Canvas, title string, facts []job.Fact, age time.Duration) []string {
	var lines []string
	holds, open := dividedFacts(facts)
	if len(open) > 0 {
		lines = append(lines, "", c.Theme.Strong.Render("Not known, or against it"))
		for _, f := range open {
			lines = append(lines, factLines(c, f)...)
		}
	}
	lines = append(lines, "", c.Theme.Strong.Render(title)+c.Theme.Dim.Render(" (looked at "+Duration(age)+" ago; r looks again)"))
	for _, f := range holds {
		lines = append(lines, factLines(c, f)...)
	}
	return lines
}

// dividedFacts are what holds, and what could not be found out or speaks
// against it.
func dividedFacts(facts []job.Fact) (holds, open []job.Fact) {
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
func choicesList(c draw.Canvas, choices []choice, chosen int) []string {
	if len(choices) < 2 {
		return nil
	}
	lines := []string{"", c.Theme.Strong.Render("Ways out") + c.Theme.Dim.Render(" (w takes the next one)")}
	for i, choice := range choices {
		sign, style := " ", c.Theme.Text
		if i == chosen {
			sign, style = c.Glyphs.Cursor, c.Theme.Selected
		}
		lines = append(lines, " "+c.Theme.Accent.Render(sign)+" "+style.Render(c.Cut(choice.title(), c.Width-3)))
	}
	return lines
}

// factLines are a fact with its source and age at the right.
func factLines(c draw.Canvas, f job.Fact) []string {
	sign, style := c.Glyphs.Done, c.Theme.Good
	if !f.Holds {
		sign, style = c.Glyphs.Open, c.Theme.Waiting
	}
	seen := f.Source
	if !f.At.IsZero() {
		seen += ", " + since(c.Now, f.At)
	}
	seen = " (" + seen + ")"
	wrapped := c.Sized(c.Width-3-lipgloss.Width(seen), 0).Wrap(f.Text, 3)
	if c.Width < 50 {
		wrapped = c.Sized(c.Width-3, 0).Wrap(f.Text+seen, 4)
		seen = ""
	}
	var lines []string
	for i, text := range wrapped {
		if i > 0 {
			lines = append(lines, "   "+text)
			continue
		}
		lines = append(lines, c.Split(" "+style.Render(sign)+" "+text, c.Theme.Dim.Render(seen)))
	}
	return lines
}

// termed is a word at the left and what belongs to it.
func termed(c draw.Canvas, word, text string, style lipgloss.Style) []string {
	const width = 8
	if strings.Trim(text, ".") == "" {
		return nil
	}
	var lines []string
	for _, part := range c.Sized(c.Width-width, 0).Wrap(text, 8) {
		lines = append(lines, c.Cell(c.Theme.Dim, word, width, false)+style.Render(part))
		word = ""
	}
	return lines
}

func listLines(c draw.Canvas, title string, items []string) []string {
	if len(items) == 0 {
		return nil
	}
	lines := []string{"", c.Theme.Strong.Render(title)}
	for _, item := range items {
		sign := " - "
		for _, part := range c.Sized(c.Width-3, 0).Wrap(item, 6) {
			lines = append(lines, sign+part)
			sign = "   "
		}
	}
	return lines
}

// commandLines show the commands in whole, broken anywhere.
func commandLines(c draw.Canvas, commands []string) []string {
	if len(commands) == 0 {
		return nil
	}
	lines := []string{"", c.Theme.Strong.Render("The same with kubectl") + c.Theme.Dim.Render(" (y copies it)")}
	for _, command := range commands {
		lines = append(lines, strings.Split(ansi.Hardwrap(command, max(c.Width, 1), true), "\n")...)
	}
	return lines
}

// para is wrapped text in one style.
func para(c draw.Canvas, style lipgloss.Style, text string, most int) []string {
	lines := c.Wrap(text, most)
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return lines
}

// lookingLines say what is being looked at.
func lookingLines(c draw.Canvas, t target, took time.Duration) []string {
	lines := para(c, c.Theme.Strong, "Looking at "+t.String()+" ... "+Duration(took), 2)
	lines = append(lines, "")
	for _, what := range []string{
		"the resource itself, afresh, and its volumes",
		"Velero's server: whether one runs, and since when",
		"what is stored: results, resource list, volume information (by DownloadRequest; this may take a minute)",
		"your right to patch it, and the phases that the CRD allows",
	} {
		sign := " " + c.Glyphs.Ahead + " "
		for _, part := range c.Sized(c.Width-3, 0).Wrap(what, 3) {
			lines = append(lines, c.Theme.Dim.Render(sign)+part)
			sign = "   "
		}
	}
	return lines
}
