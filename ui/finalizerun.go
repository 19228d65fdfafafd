package ui

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/finalize"
)

// run is one execution of a plan. It goes on whether or not anybody looks: the
// screen takes the newest state when it can, and is never waited for.
type run struct {
	number int
	choice choice
	target target
	dryRun bool
	began  time.Time
	cancel context.CancelCauseFunc
	told   chan struct{} // there is news
	done   chan struct{} // closed when end is set

	mu    sync.Mutex
	state runState
	// begun and forsaken exclude each other: a run that the program's end
	// overtook is never begun.
	begun, forsaken bool
	end             runEnded
}

// errStopped is why an execution ends that a person has stopped.
var errStopped = errors.New("you stopped it")

// runState is what an execution has told so far. It is not changed once read.
type runState struct{ steps []stepState }

// stepState is what was told about one step.
type stepState struct {
	step     finalize.Step
	began    time.Time
	ended    time.Time
	attempts int
	// failure is what the last attempt met; next and left are counted from at.
	failure    string
	last       bool
	next, left time.Duration
	at         time.Time
	phase      string
}

func newRun(number int, t target, c choice, dryRun bool, cancel context.CancelCauseFunc, now time.Time) *run {
	return &run{number: number, target: t, choice: c, dryRun: dryRun, cancel: cancel, began: now, told: make(chan struct{}, 1), done: make(chan struct{})}
}

// execute carries the plan out. It runs in a command.
func (r *run) execute(ctx context.Context, f Finalizer, clock func() time.Time) tea.Msg {
	r.mu.Lock()
	if r.forsaken {
		r.mu.Unlock()
		return nil
	}
	r.begun = true
	// Stands if Execute panics.
	r.end = runEnded{number: r.number, err: errors.New("veltui has a defect"), outcome: finalize.Outcome{
		State: finalize.Unfinished, Sent: finalize.Doubtful, Message: "veltui has a defect; whether the patch was sent is not known",
	}}
	r.mu.Unlock()
	defer close(r.done)
	defer r.cancel(nil)
	outcome, err := r.choice.carryOut(ctx, f, r.dryRun, func(p finalize.Progress) { r.tell(p, clock()) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end.outcome, r.end.err = outcome, err
	return r.end
}

func (c choice) carryOut(ctx context.Context, f Finalizer, dryRun bool, report func(finalize.Progress)) (finalize.Outcome, error) {
	return f.Apply(ctx, *c.plan, dryRun, report)
}

// forsake makes sure that a run which has not begun never does, and reports
// whether it had not.
func (r *run) forsake() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forsaken = !r.begun
	return r.forsaken
}

// news waits for the next word of the execution.
func (r *run) news() tea.Cmd {
	return guarded(func() tea.Msg {
		select {
		case <-r.told:
			return runProgressed{r.number, r.read()}
		case <-r.done:
			return nil
		}
	})
}

func (r *run) read() runState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return runState{slices.Clone(r.state.steps)}
}

// tell takes what the execution reports; it does not wait.
func (r *run) tell(p finalize.Progress, now time.Time) {
	r.mu.Lock()
	r.state.take(p, now)
	r.mu.Unlock()
	select {
	case r.told <- struct{}{}:
	default:
	}
}

func (s *runState) take(p finalize.Progress, now time.Time) {
	last := len(s.steps) - 1
	if last < 0 || s.steps[last].step != p.Step {
		if last >= 0 {
			s.steps[last].ended = now
		}
		s.steps = append(s.steps, stepState{step: p.Step, began: now, at: now})
		last++
	}
	step := &s.steps[last]
	if p.Phase != "" {
		step.phase = p.Phase
	}
	if a := p.Attempt; a != nil {
		step.attempts, step.at, step.failure, step.last, step.next, step.left = a.Number, now, "", a.Last, a.Next, a.Left
		if a.Err != nil {
			step.failure = a.Err.Error()
		}
	}
}

// of is what is known of a step, false if it has not begun.
func (s *runState) of(step finalize.Step) (stepState, bool) {
	for _, known := range s.steps {
		if known.step == step {
			return known, true
		}
	}
	return stepState{}, false
}

// left is how much of the deadline is left.
func (s *runState) left(now time.Time) (time.Duration, bool) {
	for _, step := range slices.Backward(s.steps) {
		if step.attempts > 0 {
			return max(step.left-now.Sub(step.at), 0), true
		}
	}
	return 0, false
}
