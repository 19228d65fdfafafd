package dialog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view/remedy"
	"github.com/veltui/veltui/ui/fetch"
)

// planRun is one run of a plan. It never waits for the screen.
type planRun struct {
	options       Options
	plan          action.Plan
	targetJob     *job.Job
	dryRun        bool
	outcomeAnswer fetch.Answer[runOutcome]
	progress      *fetch.Progress[runState]
	cancel        context.CancelFunc // stops the run with ErrStopped
	stopCtx       context.Context
	done          chan struct{} // closed when outcome is set

	mu       sync.Mutex
	reported runState
	// hasStarted and startPrevented exclude each other: a run that the program's end overtakes never begins.
	hasStarted, startPrevented bool
	wasLeftEarly               bool // true if the dialog was closed: then an unwatched result is not a failure
	outcome                    runOutcome
}

// ErrStopped is the error of a run that a person has stopped.
var ErrStopped = errors.New("you stopped it")

// runState is the progress that a run has reported so far. It is not changed once read.
type runState struct{ steps []stepState }

type stepState struct {
	name               action.Step
	startedAt, endedAt time.Time
	lastProgress       action.Progress // of the last attempt, which ended at attemptedAt
	attemptedAt        time.Time
	phase              string
	phaseSince         time.Time // when the phase was first seen
}

func newPlanRun(about *job.Job, plan action.Plan, dryRun bool, o Options) *planRun {
	r := &planRun{
		options:   o,
		targetJob: about,
		plan:      plan,
		dryRun:    dryRun,
		progress:  fetch.NewProgress[runState](),
		done:      make(chan struct{}),
	}
	r.stopCtx, r.cancel = context.WithCancel(context.Background())
	return r
}

func (r *planRun) applyPlan(ctx context.Context) (runOutcome, error) {
	r.mu.Lock()
	if r.startPrevented {
		r.mu.Unlock()
		return runOutcome{}, nil
	}
	r.hasStarted = true
	// This outcome remains if ApplyPlan panics.
	r.outcome.State = action.StateUnfinished
	r.outcome.Message = "veltui has a defect and does not know whether anything was sent"
	r.mu.Unlock()
	defer close(r.done)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.stopCtx, func() { cancel(ErrStopped) })()
	ended, err := r.options.Engine.ApplyPlan(
		ctx,
		r.plan,
		r.dryRun,
		func(p action.Progress) { r.reportProgress(p, r.options.Clock()) },
	)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome = runOutcome{ended, err, r.plan}
	return r.outcome, nil
}

// preventStart prevents a run that has not begun from starting, and reports whether it succeeded.
func (r *planRun) preventStart() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startPrevented = !r.hasStarted
	return r.startPrevented
}

func (r *planRun) wroteNothing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome.Sent == action.NotSent
}

// exitMessage returns one line about the result, for the user's own terminal.
func (r *planRun) exitMessage() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := string(r.outcome.State) + ": " + r.outcome.Message
	if r.wasLeftEarly && r.outcome.isUnobserved() {
		result = r.outcome.resultText()
	}
	text := fmt.Sprintf("%s: %s: %s", jobReference(r.targetJob), remedy.ChangeSummary(&r.plan), result)
	if len(r.outcome.UndoCommands) > 0 {
		text += "; to undo it: " + r.outcome.UndoCommands[0]
	}
	return text + human.InParens(human.Prefixed("the log: ", r.outcome.AuditLogPath))
}

// reportProgress records the progress of the run, without waiting.
func (r *planRun) reportProgress(p action.Progress, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported.recordProgress(p, now)
	r.progress.ReportProgress(runState{slices.Clone(r.reported.steps)})
}

func (r *planRun) lastState() runState {
	if last := r.progress.LastReport(); last != nil {
		return *last
	}
	return runState{}
}

func (s *runState) recordProgress(p action.Progress, now time.Time) {
	last := len(s.steps) - 1
	if last < 0 || s.steps[last].name != p.Step {
		if last >= 0 {
			s.steps[last].endedAt = now
		}
		s.steps = append(s.steps, stepState{name: p.Step, startedAt: now, attemptedAt: now})
		last++
	}
	step := &s.steps[last]
	if p.Phase != "" && p.Phase != step.phase {
		step.phase, step.phaseSince = p.Phase, now
	}
	if p.Attempt != nil {
		step.lastProgress, step.attemptedAt = p, now
	}
}

// findStep returns the state of a step, false if the step has not begun.
func (s *runState) findStep(name action.Step) (stepState, bool) {
	at := slices.IndexFunc(s.steps, func(known stepState) bool { return known.name == name })
	if at < 0 {
		return stepState{}, false
	}
	return s.steps[at], true
}

func (s *runState) hasReached(name action.Step) bool {
	_, begun := s.findStep(name)
	return begun
}

func (s *runState) timeLeft(now time.Time) (time.Duration, bool) {
	for _, step := range slices.Backward(s.steps) {
		if last := step.lastProgress.Attempt; last != nil {
			return max(last.Remaining-now.Sub(step.attemptedAt), 0), true
		}
	}
	return 0, false
}
