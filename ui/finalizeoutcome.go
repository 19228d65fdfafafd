package ui

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/finalize"

	"github.com/veltui/veltui/ui/draw"
)

// outcomeLines say how an execution ended, and what remains to be done.
func outcomeLines(c draw.Canvas, o *finalize.Outcome, ran choice, err error) []string {
	head, style := outcomeWords(c, o, ran)
	lines := para(c, style, head, 2)
	lines = append(lines, para(c, c.Theme.Text, sentence(o.Message), 6)...)
	if next := afterChange(o, ran); next != nil {
		lines = append(lines, "")
		if why, advice := next.refusal(); why != "" {
			lines = append(lines, termed(c, "Now", "refused: "+why, c.Theme.Text)...)
			lines = append(lines, termed(c, "Helps", advice, c.Theme.Text)...)
		} else {
			lines = append(lines, termed(c, "Now", next.words()+" (enter looks at this new plan)", c.Theme.Strong)...)
		}
	}
	for _, w := range o.Warnings {
		lines = append(lines, para(c, c.Theme.Waiting, "Warning: "+w+".", 4)...)
	}
	if remains := remainsToDo(o, err); remains != "" {
		lines = append(lines, "", c.Theme.Strong.Render("What remains to be done"))
		lines = append(lines, para(c, c.Theme.Text, remains, 8)...)
	}
	if _, willNot, _ := ran.effects(); o.Sent == finalize.Landed {
		lines = append(lines, listLines(c, "It did not", willNot)...)
	}
	if o.Log != "" {
		lines = append(lines, "", c.Theme.Strong.Render("On this machine"))
		for _, place := range []struct{ what, path string }{{"the log", o.Log}, {"the resource as it was", o.Copy}} {
			lines = append(lines, place.what+":")
			lines = append(lines, strings.Split(ansi.Hardwrap("  "+place.path, max(c.Width, 1), true), "\n")...)
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

func outcomeWords(c draw.Canvas, o *finalize.Outcome, ran choice) (string, lipgloss.Style) {
	switch stateToTell(o) {
	case finalize.Settled:
		if ran.way != nil {
			return "Done.", c.Theme.Good
		}
		return "Done: it is " + o.Phase + ".", c.Theme.Good
	case finalize.NoEffect:
		return "Done, but nothing came of it.", c.Theme.Waiting
	case finalize.Checked:
		return "Checked: nothing was written.", c.Theme.Good
	case finalize.Moving:
		if ran.way != nil {
			return "Asked for, and under way.", c.Theme.Running
		}
		return "Under way: it is " + o.Phase + ".", c.Theme.Running
	case finalize.Reverted:
		return "Written over: it is " + o.Phase + ".", c.Theme.Bad
	case finalize.Deleted:
		return "Gone: it was deleted.", c.Theme.Bad
	case finalize.Changed:
		return "Changed meanwhile: nothing was written.", c.Theme.Waiting
	case finalize.Refused:
		return "Refused: nothing was written.", c.Theme.Bad
	}
	switch o.Sent {
	case finalize.Partly:
		return "Stopped halfway: some of the patches were carried out.", c.Theme.Bad
	case finalize.Landed:
		return "Stopped after the patch was carried out.", c.Theme.Waiting
	case finalize.Doubtful:
		return "Stopped, and in doubt: the patch was sent.", c.Theme.Bad
	}
	return "Stopped: nothing was written.", c.Theme.Waiting
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
func summaryLines(c draw.Canvas, targets []target, ends []string) []string {
	lines := []string{c.Theme.Strong.Render("What became of the " + count(len(targets), "marked job")), ""}
	for i, t := range targets {
		end := ends[i]
		if end == "" {
			end = "not looked at"
		}
		lines = append(lines, c.Theme.Strong.Render(t.String()))
		for _, part := range c.Sized(c.Width-3, 0).Wrap(end, 5) {
			lines = append(lines, "   "+part)
		}
	}
	return lines
}
