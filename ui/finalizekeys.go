package ui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/sanitize"
)

// pressed acts on a key; closed says that the dialog is done with.
func (d *finalizeDialog) pressed(a action, msg tea.KeyPressMsg) (closed bool, cmd tea.Cmd) {
	if d.grace.swallow(d.with.clock()) {
		return false, nil
	}
	switch a {
	case actUp, actDown, actPageUp, actPageDown, actHome, actEnd:
		d.scroll(a)
		d.asked = false
		return false, nil
	}
	switch d.stage {
	case stageTyping:
		return false, d.typed(a, msg)
	case stageRunning:
		d.pressedInRun(a)
		return false, nil
	}
	d.say("")
	switch a {
	case actBack:
		return d.back()
	case actLook:
		return false, d.look()
	case actNext:
		return d.next()
	case actConfirm:
		return d.goOn()
	case actDryRun:
		return false, d.begin(true)
	case actCopy:
		return false, d.copyCommand()
	case actWay:
		if len(d.choices) > 1 {
			d.chosen = (d.chosen + 1) % len(d.choices)
			d.top = 0
			d.input.Reset()
		}
	}
	return false, nil
}

// back leaves the dialog; after several jobs what became of each is said.
func (d *finalizeDialog) back() (closed bool, cmd tea.Cmd) {
	d.stop()
	worked := slices.ContainsFunc(d.ends, func(end string) bool { return end != "" })
	if d.stage == stageSummary || len(d.targets) == 1 || !worked {
		return true, nil
	}
	d.await()
	return false, d.enter(stageSummary)
}

// next goes to the next of several jobs.
func (d *finalizeDialog) next() (closed bool, cmd tea.Cmd) {
	if d.ends[d.at] == "" {
		d.ends[d.at] = "skipped"
		if len(d.choices) > 0 && !d.choices[0].possible() {
			d.ends[d.at] = "refused: " + d.choices[0].plan.Refusal
		}
	}
	if d.at == len(d.targets)-1 {
		return d.back()
	}
	d.at++
	return false, d.look()
}

// goOn is what enter does: the next thing that is due, never more than that.
func (d *finalizeDialog) goOn() (closed bool, cmd tea.Cmd) {
	switch d.stage {
	case stagePlan:
		top := d.top
		cmd := tea.Batch(d.input.Focus(), d.enter(stageTyping))
		d.top = top
		return false, cmd
	case stageUnseen:
		return false, d.look()
	case stageEnded:
		if d.replanned() {
			d.choices, d.chosen, d.seen = []choice{*afterChange(&d.outcome, d.ran)}, 0, d.with.clock()
			d.input.Reset()
			d.await()
			d.say("This is the new plan, after what was changed. Read it afresh.")
			return false, d.enter(stagePlan)
		}
		if len(d.targets) > 1 {
			return d.next()
		}
		return true, nil
	case stageSummary:
		return true, nil
	}
	return false, nil
}

// replanned reports whether a change was met that leaves a new plan.
func (d *finalizeDialog) replanned() bool {
	if d.stage != stageEnded {
		return false
	}
	next := afterChange(&d.outcome, d.ran)
	return next != nil && next.possible()
}

// onward says where enter leads from an outcome.
func (d *finalizeDialog) onward() string {
	switch {
	case d.replanned():
		return "see the new plan"
	case d.stage == stageEnded && d.at < len(d.targets)-1:
		return "next job"
	case d.stage == stageEnded && len(d.targets) > 1:
		return "summary"
	case d.stage == stageUnseen:
		return "look again"
	}
	return "close"
}

// typed handles a key while the name is being typed.
func (d *finalizeDialog) typed(a action, msg tea.KeyPressMsg) tea.Cmd {
	switch a {
	case actBack:
		d.input.Blur()
		d.say("")
		top := d.top
		cmd := d.enter(stagePlan)
		d.top = top
		return cmd
	case actConfirm:
		text := strings.TrimSpace(d.input.Value())
		switch {
		case text == "":
			d.warn("Nothing is typed, so nothing is done.")
		case text != d.wanted():
			d.warn(fmt.Sprintf("That is not %s, so nothing is done.", d.wanted()))
		default:
			return d.begin(false)
		}
		return nil
	}
	d.say("")
	var cmd tea.Cmd
	d.input, cmd = d.input.Update(msg)
	return cmd
}

// pasted takes pasted text into the field. It never confirms.
func (d *finalizeDialog) pasted(msg tea.PasteMsg) tea.Cmd {
	switch d.stage {
	case stagePlan:
		d.warn("Press enter first, then paste.")
		return nil
	case stageTyping:
		d.say("")
		msg.Content = strings.TrimSpace(msg.Content)
		var cmd tea.Cmd
		d.input, cmd = d.input.Update(msg)
		return cmd
	}
	return nil
}

// pressedInRun: an execution is stopped by esc, twice, because an arrow key
// that a slow line tears apart begins with one.
func (d *finalizeDialog) pressedInRun(a action) {
	switch {
	case a != actBack:
		d.asked = false
	case d.asked || d.run.dryRun:
		d.stopRun()
	default:
		d.asked = true
	}
}

func (d *finalizeDialog) stopRun() {
	d.asked, d.stopping = false, true
	d.run.cancel(errStopped)
}

// leave is asked for with q, twice while something is written, or at once with
// ctrl+c. The program ends when the execution has.
func (d *finalizeDialog) leave(atOnce bool) tea.Cmd {
	if d.run == nil {
		d.stop()
		return tea.Quit
	}
	if d.leaving && atOnce {
		return tea.Quit
	}
	if d.asked || d.stopping || atOnce || d.run.dryRun {
		d.leaving = true
		d.stopRun()
		return nil
	}
	d.asked = true
	return nil
}

func (d *finalizeDialog) copyCommand() tea.Cmd {
	text := sanitize.Text(d.choice().commandText()) // a terminal may act on what is pasted
	if !slices.Contains(d.said, text) {
		d.said = append(d.said, text)
	}
	d.say("The command is in the clipboard, if your terminal allows that (OSC 52). veltui also prints it when it ends.")
	return tea.SetClipboard(text)
}

const dialogPage = 8

func (d *finalizeDialog) scroll(a action) {
	switch a {
	case actUp:
		d.top--
	case actDown:
		d.top++
	case actPageUp:
		d.top -= dialogPage
	case actPageDown:
		d.top += dialogPage
	case actHome:
		d.top = 0
	case actEnd:
		d.top = 1 << 20
	}
	d.top = max(d.top, 0)
}

// whyNot says why a key of the plan can do nothing.
func (d *finalizeDialog) whyNot(a action) string {
	switch {
	case a == actWay && len(d.choices) < 2:
		return "the evidence leaves no other way"
	case (a == actDryRun || a == actConfirm) && !d.choice().possible():
		return "this cannot be done from here, for the reason above"
	case a == actCopy && len(d.choice().commands()) == 0:
		return "there is no command for it"
	}
	return ""
}

// place is the set of keys that work at the present stage.
func (d *finalizeDialog) place() place {
	switch d.stage {
	case stageTyping:
		return onField
	case stageRunning:
		return onRun
	case stageUnseen, stageEnded, stageSummary:
		return onOutcome
	case stageLooking:
		return onLooking
	}
	return onPlan
}
