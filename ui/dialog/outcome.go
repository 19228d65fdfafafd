package dialog

import (
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// outcome is how applying a plan ended.
type outcome struct {
	action.Outcome
	err     error
	applied action.Plan
}

// next is the plan that a change has left to apply in place of the other, nil for none.
func (o *outcome) next() *action.Plan {
	if o.State != action.Changed || o.Plan.Action == "" || o.Plan.Same(&o.applied) {
		return nil
	}
	return &o.Plan
}

// byVelero is true where Velero does the rest, so that no phase was written.
func (o *outcome) byVelero() bool { return o.applied.Action != action.Finalize }

// stateToTell is the state, but that of what was refused or overtaken after
// something was sent: that it was stopped then, and how far it came, is what
// matters.
func (o *outcome) stateToTell() action.State {
	if o.Sent != action.NotSent && (o.State == action.Refused || o.State == action.Changed) {
		return action.Unfinished
	}
	return o.State
}

// headline says in one line how it ended, in the style of how good that is.
func (o *outcome) headline(t *draw.Theme) (string, lipgloss.Style) {
	switch o.stateToTell() {
	case action.Settled:
		if o.byVelero() {
			return "Done.", t.Good
		}
		return "Done: it is " + o.Phase + ".", t.Good
	case action.NoEffect:
		return "Done, but it had no effect.", t.Waiting
	case action.Checked:
		return "Checked: nothing was written.", t.Good
	case action.Moving:
		if o.byVelero() {
			return "Requested, and under way.", t.Running
		}
		return "Under way: it is " + o.Phase + ".", t.Running
	case action.Reverted:
		return "Reverted: it is " + o.Phase + ".", t.Bad
	case action.Deleted:
		return "Deleted.", t.Bad
	case action.Changed:
		return "It changed in the meantime: nothing was written.", t.Waiting
	case action.Refused:
		return "Refused: nothing was written.", t.Bad
	case action.Altered:
		return "In doubt: the answer is not what was requested.", t.Bad
	}
	switch o.Sent {
	case action.Partly:
		return "Stopped halfway: some of the patches were applied.", t.Bad
	case action.Landed:
		return "Stopped after the patch was applied.", t.Waiting
	case action.Doubtful:
		return "Stopped, and in doubt: the patch was sent.", t.Bad
	}
	return "Stopped: nothing was written.", t.Waiting
}

// remains is what a person should do next.
func (o *outcome) remains(named keys.Map) string {
	finalize := named.Key("finalize")
	switch o.stateToTell() {
	case action.Settled, action.Checked:
		return "Nothing."
	case action.Moving:
		return "Check it again later: Velero has not ended it yet. If it stays so, restart the server, which then continues it."
	case action.NoEffect:
		return "Velero has not picked it up. See the server's log. Restarting the server may help (" + finalize + ", then " + named.Key("next-option") + ", shows what that fails)."
	case action.Reverted:
		return "Leave it alone for now: a Velero server is working on it. If it stays as it is, restart the server, which marks this job and every other job in progress Failed."
	case action.Deleted:
		return "Find out who deleted it: a person, its expiry, or Velero's sync, which removes backups that are not in the object store."
	case action.Changed:
		return "Review it again before you decide."
	case action.Altered:
		return "Look at the object itself (y on its page): a webhook or a proxy changes what is written. Find out which before you try again."
	case action.Refused:
		return "See why above. Nothing has changed, so you may try again."
	}
	switch o.Sent {
	case action.Partly:
		return "Check its volumes: some were cancelled. " + finalize + " shows the rest."
	case action.Landed:
		return "Check its phase in a minute or two: veltui did not watch it to the end."
	case action.Doubtful:
		return "Press " + finalize + " to check. If the job's annotations name the attempt that is in the log, the patch was applied."
	}
	if o.err != nil {
		return finalize + " tries again; nothing is half done."
	}
	return ""
}

// lines say how applying the plan ended, and what remains to be done.
func (o *outcome) lines(c draw.Canvas, named keys.Map) []string {
	headline, style := o.headline(c.Theme)
	lines := append(c.Para(style, headline, 2), c.Para(c.Theme.Text, draw.Sentence(o.Message), 6)...)
	if next := o.next(); next != nil {
		lines = append(lines, "")
		if next.Possible() {
			lines = append(lines, c.Labelled("Now", labelWidth, c.Theme.Strong, change(next)+" (enter looks at this new plan)", 8)...)
		} else {
			lines = append(lines, c.Labelled("Now", labelWidth, c.Theme.Text, "refused: "+refusal(next), 8)...)
			lines = append(lines, c.Labelled("Helps", labelWidth, c.Theme.Text, next.Advice, 8)...)
		}
	}
	for _, w := range o.Warnings {
		lines = append(lines, c.Para(c.Theme.Waiting, "Warning: "+w+".", 4)...)
	}
	if remains := o.remains(named); remains != "" {
		lines = append(lines, "", c.Theme.Strong.Render("What remains to be done"))
		lines = append(lines, c.Para(c.Theme.Text, remains, 8)...)
	}
	if o.Sent == action.Landed {
		lines = append(lines, c.Titled("It did not", o.applied.WillNot)...)
	}
	if o.Log == "" {
		return lines
	}
	lines = append(lines, "", c.Theme.Strong.Render("On this machine"), "the log:")
	lines = append(append(lines, c.Whole("  "+o.Log)...), "the resource as it was:")
	return append(lines, c.Whole("  "+o.Copy)...)
}

// summaryLines say what became of several jobs.
func summaryLines(c draw.Canvas, jobs []*job.Job, results []string) []string {
	lines := []string{c.Theme.Strong.Render("Results for the " + human.Count(len(jobs), "marked job")), ""}
	for i, j := range jobs {
		result := results[i]
		if result == "" {
			result = "not looked at"
		}
		lines = append(lines, c.Theme.Strong.Render(draw.Subject(j.Kind, j.Name)))
		lines = append(lines, c.Item("   ", result, 5)...)
	}
	return lines
}
