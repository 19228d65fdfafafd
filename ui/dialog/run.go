package dialog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/job"
)

// run is one application of a plan. It goes on whether or not the dialog is open: the
// screen takes the newest state when it can, and is never waited for.
type run struct {
	ticket  *ticket
	options Options
	plan    action.Plan
	subject *job.Job
	dryRun  bool
	cancel  context.CancelCauseFunc
	told    chan struct{} // there is news
	done    chan struct{} // closed when outcome is set

	mu    sync.Mutex
	state runState
	// begun and forsaken exclude each other: a run that the program's end
	// overtook is never begun.
	begun, forsaken bool
	outcome         outcome
}

// ErrStopped is why an application ends that a person has stopped.
var ErrStopped = errors.New("you stopped it")

// runState is what an application has told so far. It is not changed once read.
type runState struct{ steps []stepState }

// stepState is what was told about one step.
type stepState struct {
	name     action.Step
	began    time.Time
	ended    time.Time
	attempts int
	// failure is what the last attempt met; next and left are counted from at.
	failure    string
	last       bool
	next, left time.Duration
	at         time.Time
	seen       string
}

func newRun(of *ticket, about *job.Job, plan action.Plan, dryRun bool, o Options) *run {
	return &run{ticket: of, options: o, subject: about, plan: plan, dryRun: dryRun,
		told: make(chan struct{}, 1), done: make(chan struct{})}
}

// execute applies the plan. It runs in a command.
func (r *run) execute(ctx context.Context) tea.Msg {
	r.mu.Lock()
	if r.forsaken {
		r.mu.Unlock()
		return nil
	}
	r.begun = true
	// Stands if Apply panics.
	r.outcome.State, r.outcome.Message = action.Unfinished, "veltui has a defect and does not know whether anything was sent"
	r.mu.Unlock()
	defer close(r.done)
	defer r.cancel(nil)
	ended, err := r.options.Actions.Apply(ctx, r.plan, r.dryRun, func(p action.Progress) { r.report(p, r.options.Clock()) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome = outcome{ended, err, r.plan}
	return runEnded{r.ticket, r.outcome}
}

// forsake makes sure that a run which has not begun never does, and reports
// whether it had not.
func (r *run) forsake() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forsaken = !r.begun
	return r.forsaken
}

// exitMessage is one line for the user's own terminal about what was done.
func (r *run) exitMessage() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf("%s: %s: %s: %s", subject(r.subject), change(&r.plan), r.outcome.State, r.outcome.Message)
	if r.outcome.Log != "" {
		text += " (the log: " + r.outcome.Log + ")"
	}
	return text
}

// news waits for the next word of the application.
func (r *run) news() tea.Cmd {
	return r.options.Guard(func() tea.Msg {
		select {
		case <-r.told:
			return runProgressed{r.ticket, r.read()}
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

// report notes what the application reports; it does not wait.
func (r *run) report(p action.Progress, now time.Time) {
	r.mu.Lock()
	r.state.note(p, now)
	r.mu.Unlock()
	select {
	case r.told <- struct{}{}:
	default:
	}
}

func (s *runState) note(p action.Progress, now time.Time) {
	last := len(s.steps) - 1
	if last < 0 || s.steps[last].name != p.Step {
		if last >= 0 {
			s.steps[last].ended = now
		}
		s.steps = append(s.steps, stepState{name: p.Step, began: now, at: now})
		last++
	}
	step := &s.steps[last]
	if p.Phase != "" {
		step.seen = p.Phase
	}
	if a := p.Attempt; a != nil {
		step.attempts, step.at, step.failure, step.last, step.next, step.left = a.Number, now, "", a.Last, a.Next, a.Left
		if a.Err != nil {
			step.failure = a.Err.Error()
		}
	}
}

// step is what is known of a step, false if it has not begun.
func (s *runState) step(name action.Step) (stepState, bool) {
	for _, known := range s.steps {
		if known.name == name {
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
