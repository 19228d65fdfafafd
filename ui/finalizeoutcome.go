package ui

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/finalize"
)

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
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:] + "."
}

// stateToTell is the state, but that of an execution that was refused or
// overtaken after something was sent: that it was stopped then, and how far it
// came, is what matters.
func stateToTell(o *finalize.Outcome) finalize.State {
	if o.Sent != finalize.NotSent && (o.State == finalize.Refused || o.State == finalize.Changed) {
		return finalize.Unfinished
	}
	return o.State
}

func outcomeWords(c canvas, o *finalize.Outcome, ran choice) (string, lipgloss.Style) {
	switch stateToTell(o) {
	case finalize.Settled:
		if ran.other() {
			return "Done.", c.theme.good
		}
		return "Done: it is " + o.Phase + ".", c.theme.good
	case finalize.NoEffect:
		return "Done, but nothing came of it.", c.theme.waiting
	case finalize.Checked:
		return "Checked: nothing was written.", c.theme.good
	case finalize.Moving:
		if ran.other() {
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
	switch stateToTell(o) {
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
