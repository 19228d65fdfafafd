package dialog

import (
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/velero"
)

// Watched says that a dialog which was left knows whether its change has held.
type Watched struct{ Of *Dialog }

// Watching reports whether the dialog was left while veltui watches the result.
func (d *Dialog) Watching() bool { return d.behind && d.run != nil }

// holds reports whether the job has ended as the change wanted: only that nobody reverts it is still watched.
func (d *Dialog) holds() bool {
	return d.stage == Applying && d.run != nil && len(d.options.Jobs) == 1 && !d.run.dryRun && !d.stopping &&
		!d.leaving &&
		d.run.holds()
}

func (r *run) holds() bool {
	s := r.state()
	watch, begun := s.step(action.StepObserve)
	return r.plan.Action == action.Finalize && begun &&
		(watch.seen == velero.PhaseCompleted || watch.seen == velero.PhasePartiallyFailed || watch.seen == velero.PhaseFailed)
}

// leaveBehind closes the dialog; the result is watched on.
func (d *Dialog) leaveBehind() tea.Cmd {
	d.behind = true
	d.run.mu.Lock()
	d.run.behind = true
	d.run.mu.Unlock()
	return d.close()
}

// unwatched reports whether the change was applied, but its result not watched to the end.
func (o *outcome) unwatched() bool { return o.State == action.Unfinished && o.Sent == action.Landed }

// result is what became of a change that was left behind, in a clause.
func (o *outcome) result() string {
	switch {
	case o.unwatched():
		return "the patch was applied, and it was " + o.Phase + " when veltui stopped watching"
	case o.State == action.Settled:
		return "it stays " + o.Phase + "; nobody has reverted it"
	}
	return string(o.State) + ": " + o.Message
}

// Result says what became of the job, once the dialog was left.
func (d *Dialog) Result() string { return subject(d.job()) + ": " + d.outcome.result() + "." }
