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
	"github.com/veltui/veltui/ui/fetch"
)

// run is one application of a plan. It never waits for the screen.
type run struct {
	options  Options
	plan     action.Plan
	subject  *job.Job
	dryRun   bool
	ended    fetch.Answer[outcome]
	progress *fetch.Progress[runState]
	stop     context.CancelFunc // ends the application with ErrStopped
	stopped  context.Context
	done     chan struct{} // closed when outcome is set

	mu   sync.Mutex
	told runState
	// begun and forsaken exclude each other: a run overtaken by the program's end never begins.
	begun, forsaken bool
	behind          bool // nobody looks at it any more: that its result is not watched to the end is no failure
	outcome         outcome
}

// ErrStopped is why an application ends that a person has stopped.
var ErrStopped = errors.New("you stopped it")

// runState is what an application has told so far. It is not changed once read.
type runState struct{ steps []stepState }

type stepState struct {
	name         action.Step
	began, ended time.Time
	attempted    action.Progress // of the last attempt, and at is when it ended
	at           time.Time
	seen         string
	seenAt       time.Time // when it was seen first
}

func newRun(about *job.Job, plan action.Plan, dryRun bool, o Options) *run {
	r := &run{
		options:  o,
		subject:  about,
		plan:     plan,
		dryRun:   dryRun,
		progress: fetch.NewProgress[runState](),
		done:     make(chan struct{}),
	}
	r.stopped, r.stop = context.WithCancel(context.Background())
	return r
}

func (r *run) execute(ctx context.Context) (outcome, error) {
	r.mu.Lock()
	if r.forsaken {
		r.mu.Unlock()
		return outcome{}, nil
	}
	r.begun = true
	// Stands if Apply panics.
	r.outcome.State = action.Unfinished
	r.outcome.Message = "veltui has a defect and does not know whether anything was sent"
	r.mu.Unlock()
	defer close(r.done)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.stopped, func() { cancel(ErrStopped) })()
	ended, err := r.options.Inspector.Apply(
		ctx,
		r.plan,
		r.dryRun,
		func(p action.Progress) { r.report(p, r.options.Clock()) },
	)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome = outcome{ended, err, r.plan}
	return r.outcome, nil
}

// forsake keeps a run that has not begun from beginning, and reports whether it did.
func (r *run) forsake() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forsaken = !r.begun
	return r.forsaken
}

func (r *run) wroteNothing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome.Sent == action.NotSent
}

// exitMessage is one line for the user's own terminal about what was done.
func (r *run) exitMessage() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := string(r.outcome.State) + ": " + r.outcome.Message
	if r.behind && r.outcome.unwatched() {
		result = r.outcome.result()
	}
	text := fmt.Sprintf("%s: %s: %s", subject(r.subject), change(&r.plan), result)
	if len(r.outcome.Undo) > 0 {
		text += "; to undo it: " + r.outcome.Undo[0]
	}
	return text + human.Parens(human.Clause("the log: ", r.outcome.Log))
}

// report notes what the application reports; it does not wait.
func (r *run) report(p action.Progress, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told.note(p, now)
	r.progress.Report(runState{slices.Clone(r.told.steps)})
}

func (r *run) state() runState {
	if last := r.progress.Last(); last != nil {
		return *last
	}
	return runState{}
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
	if p.Phase != "" && p.Phase != step.seen {
		step.seen, step.seenAt = p.Phase, now
	}
	if p.Attempt != nil {
		step.attempted, step.at = p, now
	}
}

// step is what is known of a step, false if it has not begun.
func (s *runState) step(name action.Step) (stepState, bool) {
	at := slices.IndexFunc(s.steps, func(known stepState) bool { return known.name == name })
	if at < 0 {
		return stepState{}, false
	}
	return s.steps[at], true
}

func (s *runState) reached(name action.Step) bool {
	_, begun := s.step(name)
	return begun
}

func (s *runState) left(now time.Time) (time.Duration, bool) {
	for _, step := range slices.Backward(s.steps) {
		if last := step.attempted.Attempt; last != nil {
			return max(last.Left-now.Sub(step.at), 0), true
		}
	}
	return 0, false
}
