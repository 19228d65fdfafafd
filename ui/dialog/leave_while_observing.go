package dialog

import (
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
)

// ObservationDoneMsg says that a dialog which was left knows whether its change has lasted.
type ObservationDoneMsg struct{ Dialog *Dialog }

// IsObserving reports whether the dialog was left while veltui still watches the result.
func (d *Dialog) IsObserving() bool { return d.wasLeftEarly && d.currentRun != nil }

// canLeaveWhileObserving reports whether the change has had its effect, so that veltui only watches whether somebody
// reverts it.
func (d *Dialog) canLeaveWhileObserving() bool {
	return d.stage == StageApplying && d.currentRun != nil && len(d.options.Jobs) == 1 && !d.currentRun.dryRun &&
		!d.isStopping &&
		!d.isQuitting &&
		d.currentRun.hasEffect()
}

// hasEffect reports whether the change has had its effect: the job has ended, or the schedule is paused or unpaused.
func (r *planRun) hasEffect() bool {
	s := r.lastState()
	watch, begun := s.findStep(action.StepObserve)
	switch r.plan.Action {
	case action.Pause, action.Unpause:
		return begun
	case action.Finalize:
		return begun && (watch.phase == velero.PhaseCompleted || watch.phase == velero.PhasePartiallyFailed ||
			watch.phase == velero.PhaseFailed)
	}
	return false
}

// effectText says what the effect is, for a run that has had it.
func (r *planRun) effectText() string {
	s := r.lastState()
	watch, _ := s.findStep(action.StepObserve)
	if r.plan.Action != action.Finalize {
		return human.Capitalize(string(r.plan.Action)) + "d"
	}
	return watch.phase + " after " + human.Duration(watch.phaseSince.Sub(watch.startedAt))
}

// leaveWhileObserving closes the dialog, while veltui keeps watching the result.
func (d *Dialog) leaveWhileObserving() tea.Cmd {
	d.wasLeftEarly = true
	d.currentRun.mu.Lock()
	d.currentRun.wasLeftEarly = true
	d.currentRun.mu.Unlock()
	return d.closeDialog()
}

// isUnobserved reports whether the change was applied, but its result was not watched to the end.
func (o *runOutcome) isUnobserved() bool {
	return o.State == action.StateUnfinished && o.Sent == action.Landed
}

// resultText returns, as a clause, the result of a change that was left behind.
func (o *runOutcome) resultText() string {
	switch {
	case o.isUnobserved():
		return "the patch was applied, and it was " + o.Phase + " when veltui stopped watching"
	case o.State == action.StateSettled && o.applied.Action != action.Finalize:
		return o.Message
	case o.State == action.StateSettled:
		return "it stays " + o.Phase + "; nobody has reverted it"
	}
	return string(o.State) + ": " + o.Message
}

// ResultText returns the result for the job after the dialog was left.
func (d *Dialog) ResultText() string {
	return jobReference(d.currentJob()) + ": " + d.outcome.resultText() + "."
}
