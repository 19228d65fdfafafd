package dialog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view/remedy"
	"github.com/veltui/veltui/ui/keys"
)

func (d *Dialog) Bindings() []keys.Binding { return d.keyBindings }

func (d *Dialog) HasHelp() bool {
	return d.stage == StageChoosing || d.stage == StageEvidenceFailed || d.stage == StageResult || d.stage == StageSummary
}

// SwallowsKey reports whether the stage still ignores keys, and counts the key.
func (d *Dialog) SwallowsKey() bool {
	now := d.options.Clock()
	d.isBurst, d.anyKeyAt = now.Sub(d.anyKeyAt) < keys.BurstInterval, now
	if d.ignoresKeys {
		d.lastKeyAt, d.ignoredKey = now, true
	}
	return d.ignoresKeys
}

func (d *Dialog) IgnoresKeys() bool { return d.ignoresKeys }

func (d *Dialog) newBindings() []keys.Binding {
	on := func(stages ...Stage) func() bool { return func() bool { return slices.Contains(stages, d.stage) } }
	act := func(do func() tea.Cmd) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			d.showMessage("")
			return do()
		}
	}
	impossible := keys.UnavailableUnless(
		func() bool { return d.chosenPlan().IsPossible() },
		"veltui cannot do this, for the reason above",
	)
	unreadable := keys.UnavailableUnless(d.options.IsLargeEnough, "the terminal is too small to show the plan")
	noOption := keys.UnavailableUnless(
		func() bool { return len(d.planChoices) > 1 },
		"the evidence supports no other option",
	)
	noJob := keys.UnavailableUnless(func() bool { return len(d.options.Jobs) > 1 }, "no other job is marked")
	noCommand := keys.UnavailableUnless(
		func() bool { return len(d.chosenPlan().Commands) > 0 },
		"there is no command for it",
	)
	notStop := keys.UnavailableUnless(func() bool { return !d.isStopping }, "it is already stopping")
	plan, ended := on(StageChoosing), on(StageEvidenceFailed, StageResult, StageSummary)
	keyedPlan := func() bool { return d.stage == StageChoosing && d.isConfirmedByKey() }
	typedPlan := func() bool { return d.stage == StageChoosing && !d.isConfirmedByKey() }
	// The dialog can skip to another job before a plan is applied, or when a change has left a new plan.
	between := func() bool { return d.stage == StageChoosing || d.stage == StageEvidenceFailed || d.nextPlan() != nil }
	all := []keys.Binding{
		{
			Keys:               []string{"enter", "tab"},
			Label:              "enter",
			Description:        "type the name",
			DynamicDescription: d.confirmationRequest,
			InFooter:           true,
			Active:             typedPlan,
			Unavailable:        impossible,
			Do:                 act(d.startTyping),
		},
		{
			Keys:        []string{"enter"},
			Label:       "enter",
			Description: "apply",
			InFooter:    true,
			Writes:      true,
			Active:      keyedPlan,
			Unavailable: unavailableForEither(impossible, unreadable),
			Do:          act(d.confirmByKey),
		},
		{
			Keys:        []string{"enter"},
			Label:       "enter",
			Description: "confirm",
			InFooter:    true,
			Writes:      true,
			Active:      on(StageTyping),
			Unavailable: unreadable,
			Do:          act(d.confirmName),
		},
		{
			Keys:               []string{"enter"},
			Label:              "enter",
			DynamicDescription: d.continueText,
			InFooter:           true,
			Active:             ended,
			Do:                 act(d.continueAfterEnd),
		},
		{
			Keys:        []string{"esc"},
			Label:       "esc",
			Description: "back",
			InFooter:    true,
			Active:      on(StageGathering, StageChoosing, StageEvidenceFailed, StageResult, StageSummary),
			Do:          act(d.closeOrSummarize),
		},
		{
			Name:        "dry-run",
			Keys:        []string{"d"},
			Label:       "d",
			Description: "dry run",
			InFooter:    true,
			Active:      plan,
			Unavailable: impossible,
			Do:          act(func() tea.Cmd { return d.startRun(true) }),
		},
		{
			Name:        "next-option",
			Keys:        []string{"w"},
			Label:       "w",
			Description: "next option",
			InFooter:    true,
			Active:      plan,
			Unavailable: noOption,
			Do:          act(d.chooseNextPlan),
		},
		{
			Name:        "next-job",
			Keys:        []string{"n"},
			Label:       "n",
			Description: "next job",
			InFooter:    true,
			Active:      between,
			Unavailable: noJob,
			Do:          act(d.goToNextJob),
		},
		{
			Name:        "copy-command",
			Keys:        []string{"y"},
			Label:       "y",
			Description: "copy command",
			InFooter:    true,
			Active:      plan,
			Unavailable: noCommand,
			Do:          act(d.copyCommand),
		},
		{
			Name:        "look-again",
			Keys:        []string{"r"},
			Label:       "r",
			Description: "look again",
			Active:      on(StageChoosing, StageEvidenceFailed, StageResult),
			Do:          act(d.gatherEvidence),
		},
		{
			Keys:        []string{"esc"},
			Label:       "esc",
			Description: "back to the plan",
			InFooter:    true,
			Active:      on(StageTyping),
			Do:          act(d.stopTyping),
		},
		{
			Keys:        []string{"esc", "enter"},
			Label:       "esc",
			Description: "close, and watch on",
			InFooter:    true,
			Active:      d.canLeaveWhileObserving,
			Do:          act(d.leaveWhileObserving),
		},
		{
			Keys:        []string{"esc"},
			Label:       "esc",
			Description: "stop",
			InFooter:    true,
			Active:      func() bool { return d.stage == StageApplying && !d.canLeaveWhileObserving() },
			Unavailable: notStop,
			Do:          act(d.requestStop),
		},
	}
	for i := range all {
		all[i].Group = keys.GroupChange
	}
	all = append(all, keys.ActiveWhen(on(StageTyping), keys.ScrollBindings(d.scrollText)...)...)
	return append(
		all,
		keys.ActiveWhen(func() bool { return d.stage != StageTyping }, keys.MotionBindings(d.scrollText)...)...)
}

func (d *Dialog) scrollText(m keys.Motion) {
	keys.ScrollViewport(&d.textView, m)
	d.stopRequested = false
}

// HandleWheel scrolls the text, and does nothing else.
func (d *Dialog) HandleWheel(lines int) { d.textView.SetYOffset(d.textView.YOffset() + lines) }

// HandleTyping handles a key without a binding. Any such key takes back a request to stop.
func (d *Dialog) HandleTyping(msg tea.Msg) tea.Cmd {
	d.stopRequested = false
	if d.stage != StageTyping {
		return nil
	}
	d.showMessage("")
	var cmd tea.Cmd
	d.input, cmd = d.input.Update(msg)
	return cmd
}

// HandlePaste puts pasted text into the field. A paste never confirms.
func (d *Dialog) HandlePaste(msg tea.PasteMsg) tea.Cmd {
	switch {
	case d.stage == StageChoosing && d.isConfirmedByKey():
		d.showWarning("A paste does nothing here.")
		return nil
	case d.stage == StageChoosing:
		d.showWarning("Press enter first, then paste.")
		return nil
	}
	msg.Content = strings.TrimSpace(msg.Content)
	return d.HandleTyping(msg)
}

func (d *Dialog) closeDialog() tea.Cmd {
	d.closed = true
	return nil
}

// closeOrSummarize closes the dialog, or shows the results first if there were several jobs.
func (d *Dialog) closeOrSummarize() tea.Cmd {
	d.plansAnswer.Close()
	worked := slices.ContainsFunc(d.results, func(result string) bool { return result != "" })
	if d.stage == StageSummary || len(d.options.Jobs) == 1 || !worked {
		return d.closeDialog()
	}
	return d.enterStage(StageSummary)
}

func (d *Dialog) goToNextJob() tea.Cmd {
	if d.results[d.jobIndex] == "" {
		d.results[d.jobIndex] = "skipped"
		if len(d.planChoices) > 0 && !d.planChoices[0].IsPossible() {
			d.results[d.jobIndex] = "refused: " + remedy.RefusalReason(&d.planChoices[0])
		}
	}
	if d.jobIndex == len(d.options.Jobs)-1 {
		return d.closeOrSummarize()
	}
	d.jobIndex++
	return d.gatherEvidence()
}

func (d *Dialog) chooseNextPlan() tea.Cmd {
	d.chosenPlanIndex = (d.chosenPlanIndex + 1) % len(d.planChoices)
	d.textView.GotoTop()
	d.input.Reset()
	return nil
}

func (d *Dialog) isConfirmedByKey() bool { return d.chosenPlan().Confirmation() == action.ConfirmByKey }

// confirmByKey applies a plan for which a key is enough. The last key of an unmarked paste is no such key.
func (d *Dialog) confirmByKey() tea.Cmd {
	if d.isBurst {
		d.showWarning("enter came at once with other keys, as from a paste, so nothing was done.")
		return nil
	}
	return d.startRun(false)
}

// confirmationRequest says what a person types to confirm the chosen plan.
func (d *Dialog) confirmationRequest() string {
	if len(d.planChoices) > 0 && d.chosenPlan().Confirmation() == action.ConfirmByContext {
		return "type the context"
	}
	return "type the name"
}

// unavailableForEither returns the first reason of two why a key can do nothing.
func unavailableForEither(first, second func() string) func() string {
	return func() string { return cmp.Or(first(), second()) }
}

func (d *Dialog) startTyping() tea.Cmd { return tea.Batch(d.input.Focus(), d.enterStage(StageTyping)) }

func (d *Dialog) stopTyping() tea.Cmd {
	d.input.Blur()
	return d.enterStage(StageChoosing)
}

func (d *Dialog) confirmName() tea.Cmd {
	switch text := strings.TrimSpace(d.input.Value()); text {
	case "":
		d.showWarning("You typed nothing, so nothing was done.")
	case d.confirmationText():
		return d.startRun(false)
	default:
		d.showWarning(fmt.Sprintf("That is not %s, so nothing was done.", d.confirmationText()))
	}
	return nil
}

// continueAfterEnd handles enter after the end of a stage: it does the one next thing.
func (d *Dialog) continueAfterEnd() tea.Cmd {
	switch next := d.nextPlan(); {
	case d.stage == StageEvidenceFailed:
		return d.gatherEvidence()
	case next != nil:
		cmd := d.showPlans([]action.Plan{*next}, d.options.Clock())
		d.showMessage("The job has changed, so this is a new plan. Review it again.")
		return cmd
	case d.stage == StageResult && len(d.options.Jobs) > 1:
		return d.goToNextJob()
	case d.canOpenChanged():
		d.closed = true
		return d.options.OpenChanged(d.outcome.applied)
	}
	return d.closeDialog()
}

// canOpenChanged reports whether the dialog leads to the resource that the change has left.
func (d *Dialog) canOpenChanged() bool {
	return d.stage == StageResult && d.options.OpenChanged != nil && d.outcome.Sent == action.Landed &&
		d.outcome.State != action.StateDeleted
}

func (d *Dialog) continueText() string {
	switch {
	case d.stage == StageEvidenceFailed:
		return "look again"
	case d.nextPlan() != nil:
		return "see the new plan"
	case d.stage == StageResult && d.jobIndex < len(d.options.Jobs)-1:
		return "next job"
	case d.stage == StageResult && len(d.options.Jobs) > 1:
		return "summary"
	case d.canOpenChanged():
		return "open it"
	}
	return "close"
}

// requestStop stops on the second esc, because an arrow key that arrives in pieces begins with esc. A dry run stops
// at once.
func (d *Dialog) requestStop() tea.Cmd {
	if !d.stopRequested && !d.currentRun.dryRun {
		d.stopRequested = true
		return nil
	}
	d.stopRun()
	return nil
}

func (d *Dialog) stopRun() {
	d.stopRequested, d.isStopping = false, true
	d.currentRun.cancel()
}

// RequestQuit quits the program: at once if no plan is being applied, else when the run has ended. On q, a run that
// may write must be stopped by a second q.
func (d *Dialog) RequestQuit(atOnce bool) tea.Cmd {
	switch {
	case d.currentRun == nil:
		d.plansAnswer.Close()
		return tea.Quit
	case d.isQuitting && atOnce:
		return tea.Quit
	case d.stopRequested, d.isStopping, atOnce, d.currentRun.dryRun:
		d.isQuitting = true
		d.stopRun()
	default:
		d.stopRequested = true
	}
	return nil
}

func (d *Dialog) copyCommand() tea.Cmd {
	text := sanitize.Text(strings.Join(d.chosenPlan().Commands, "\n")) // a terminal may act on pasted control characters
	if !slices.Contains(d.exitLines, text) {
		d.exitLines = append(d.exitLines, text)
	}
	if d.options.NoClipboard {
		d.showMessage("This terminal has no clipboard. veltui prints the command on exit.")
		return nil
	}
	d.showMessage("The command is in the clipboard if your terminal supports OSC 52. veltui also prints it on exit.")
	return tea.SetClipboard(text)
}
