package ui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/job"
)

// choiceLines draw what is to be done and why, or why nothing is, then all
// evidence, then what follows, then the command.
func (c canvas) choiceLines(choices []choice, chosen int, age time.Duration) []string {
	now := choices[chosen]
	will, willNot, then := now.effects()
	var lines []string
	title := "Why it looks stuck"
	if why, advice := now.refusal(); why != "" {
		title = "What was found"
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
	if now.way != nil { // what a restart fails matters more than what was found
		effects, evidence = evidence, effects
	}
	lines = append(append(lines, evidence...), effects...)
	return append(lines, c.commandLines(now.commands())...)
}

// evidenceLines draw all facts, doubts first.
func (c canvas) evidenceLines(title string, facts []job.Fact, age time.Duration) []string {
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
func (c canvas) factLines(f job.Fact) []string {
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

// outcomeLines say how an execution ended, and what remains to be done.
func (c canvas) outcomeLines(o *finalize.Outcome, ran choice, err error) []string {
	head, style := outcomeWords(c, o, ran)
	lines := c.para(style, head, 2)
	lines = append(lines, c.para(c.theme.text, sentence(o.Message), 6)...)
	if next := afterChange(o, ran); next != nil {
		lines = append(lines, "")
		if why, advice := next.refusal(); why != "" {
			lines = append(lines, c.termed("Now", "refused: "+why, c.theme.text)...)
			lines = append(lines, c.termed("Helps", advice, c.theme.text)...)
		} else {
			lines = append(lines, c.termed("Now", next.words()+" (enter looks at this new plan)", c.theme.strong)...)
		}
	}
	for _, w := range o.Warnings {
		lines = append(lines, c.para(c.theme.waiting, "Warning: "+w+".", 4)...)
	}
	if remains := remainsToDo(o, err); remains != "" {
		lines = append(lines, "", c.theme.strong.Render("What remains to be done"))
		lines = append(lines, c.para(c.theme.text, remains, 8)...)
	}
	if _, willNot, _ := ran.effects(); o.Sent == finalize.Landed {
		lines = append(lines, c.listLines("It did not", willNot)...)
	}
	if o.Log != "" {
		lines = append(lines, "", c.theme.strong.Render("On this machine"))
		for _, place := range []struct{ what, path string }{{"the log", o.Log}, {"the resource as it was", o.Copy}} {
			lines = append(lines, place.what+":")
			lines = append(lines, strings.Split(ansi.Hardwrap("  "+place.path, max(c.width, 1), true), "\n")...)
		}
	}
	return lines
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func outcomeWords(c canvas, o *finalize.Outcome, ran choice) (string, lipgloss.Style) {
	switch o.State {
	case finalize.Settled:
		if ran.way != nil {
			return "Done.", c.theme.good
		}
		return "Done: it is " + o.Phase + ".", c.theme.good
	case finalize.NoEffect:
		return "Done, but nothing came of it.", c.theme.waiting
	case finalize.Checked:
		return "Checked: nothing was written.", c.theme.good
	case finalize.Moving:
		if ran.way != nil {
			return "Asked for, and under way.", c.theme.running
		}
		return "Under way: it is " + o.Phase + ".", c.theme.running
	case finalize.Reverted:
		return "Written over: it is " + o.Phase + ".", c.theme.bad
	case finalize.Deleted:
		return "Gone: it was deleted.", c.theme.bad
	case finalize.Changed:
		return "Changed meanwhile: nothing was written.", c.theme.waiting
	case finalize.Refused:
		return "Refused: nothing was written.", c.theme.bad
	}
	switch o.Sent {
	case finalize.Partly:
		return "Stopped halfway: some of the patches were carried out.", c.theme.bad
	case finalize.Landed:
		return "Stopped after the patch was carried out.", c.theme.waiting
	case finalize.Doubtful:
		return "Stopped, and in doubt: the patch was sent.", c.theme.bad
	}
	return "Stopped: nothing was written.", c.theme.waiting
}

// remainsToDo is what a person should do next.
func remainsToDo(o *finalize.Outcome, err error) string {
	switch o.State {
	case finalize.Settled, finalize.Checked:
		return "Nothing."
	case finalize.Moving:
		return "Look at it again in a while: Velero has not ended it yet. If it stays so, a restart of the server goes on with it."
	case finalize.NoEffect:
		return "Velero did not look at it. See the server's log; a restart of the server may be what helps (f, then w, shows what it fails)."
	case finalize.Reverted:
		return "Leave it alone for now: a Velero server works on it. If it stays as it is, restart the server; at its start it marks it Failed, with everything else that is in progress."
	case finalize.Deleted:
		return "Find out who deleted it: a person, its expiry, or Velero's sync, which removes backups that are not in the object store."
	case finalize.Changed:
		return "Read what is so now, and decide again."
	case finalize.Refused:
		return "See why above. Nothing has changed, so it may be tried again."
	}
	switch o.Sent {
	case finalize.Partly:
		return "Look at its volumes: some were asked to end. f looks at what is left."
	case finalize.Landed:
		return "Look at its phase in a minute or two: whether it holds was not observed to the end."
	case finalize.Doubtful:
		return "Press f again: it looks afresh. If the job's annotations name the attempt that is in the log, the patch was carried out."
	}
	if err != nil {
		return "f tries again; nothing is half done."
	}
	return ""
}

// summaryLines say what became of several jobs.
func (c canvas) summaryLines(targets []target, ends []string) []string {
	lines := []string{c.theme.strong.Render("What became of the " + count(len(targets), "marked job")), ""}
	for i, t := range targets {
		end := ends[i]
		if end == "" {
			end = "not looked at"
		}
		lines = append(lines, c.theme.strong.Render(t.String()))
		for _, part := range c.sized(c.width-3, 0).wrap(end, 5) {
			lines = append(lines, "   "+part)
		}
	}
	return lines
}
