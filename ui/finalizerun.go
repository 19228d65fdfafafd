package ui

import (
	"context"
	"errors"
	"fmt"
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
	if c.way != nil {
		return f.Take(ctx, *c.way, dryRun, report)
	}
	return f.Execute(ctx, *c.plan, dryRun, report)
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

// runSteps are the steps in their order, and what each does.
var runSteps = []struct {
	step finalize.Step
	what string
}{
	{finalize.StepLook, "look again at the evidence"},
	{finalize.StepDryRun, "let the API server check it (dry run)"},
	{finalize.StepPatch, "send it"},
	{finalize.StepObserve, "observe what comes of it"},
}

// slowAnswer is how long an attempt may take before that is worth a word.
const slowAnswer = 3 * time.Second

// runLines draw an execution under way. now is our own clock's.
func (c canvas) runLines(r *run, s runState, now time.Time) []string {
	what := r.choice.words()
	if r.dryRun {
		what = "dry run: " + what
	}
	var lines []string
	roomy := c.width >= 50
	if roomy {
		lines = append(c.para(c.theme.strong, what, 3), "")
	}
	for _, known := range runSteps {
		if r.dryRun && known.step != finalize.StepLook && known.step != finalize.StepDryRun {
			continue
		}
		lines = append(lines, c.stepLines(known.what, r, s, known.step, now)...)
	}
	if roomy {
		lines = append(lines, "")
	}
	if left, known := s.left(now); known {
		if _, observes := s.of(finalize.StepObserve); !observes {
			lines = append(lines, c.para(c.theme.text, Duration(left)+" left of the deadline.", 2)...)
		}
	}
	return append(lines, c.para(c.theme.text, writtenSoFar(r, s), 3)...)
}

// stepLines draw one step: its sign, how long it took or takes, and what its
// attempts met.
func (c canvas) stepLines(what string, r *run, s runState, step finalize.Step, now time.Time) []string {
	known, begun := s.of(step)
	if !begun {
		return []string{c.theme.dim.Render(c.glyphs.ahead + " " + what)}
	}
	if !known.ended.IsZero() {
		return []string{c.split(c.theme.good.Render(c.glyphs.done)+" "+what, c.theme.dim.Render(Duration(known.ended.Sub(known.began))))}
	}
	lines := []string{c.split(c.theme.running.Render(c.glyphs.now)+" "+c.theme.strong.Render(what), c.theme.dim.Render(Duration(now.Sub(known.began))))}
	inner := c.sized(c.width-4, 0)
	add := func(style func(...string) string, text string, most int) {
		for _, line := range inner.wrap(text, most) {
			lines = append(lines, "    "+style(line))
		}
	}
	if step == finalize.StepObserve {
		if known.phase != "" {
			add(c.theme.text.Render, "so far: "+known.phase, 2)
		}
		if r.choice.plan != nil {
			add(c.theme.text.Render, "watched until it has ended, and for "+Duration(finalize.DefaultObserve)+" at least", 2)
		}
		return lines
	}
	if took := now.Sub(known.began); known.attempts == 0 && took >= slowAnswer {
		add(c.theme.waiting.Render, "attempt 1 is under way; no answer yet", 1)
	}
	if known.failure != "" {
		add(c.theme.bad.Render, fmt.Sprintf("attempt %d: %s", known.attempts, known.failure), 4)
		if next := known.next - now.Sub(known.at); next > 0 && !known.last {
			add(c.theme.text.Render, fmt.Sprintf("attempt %d in %s", known.attempts+1, Duration(next+time.Second-1)), 1)
		} else if !known.last {
			add(c.theme.text.Render, fmt.Sprintf("attempt %d is under way", known.attempts+1), 1)
		}
	}
	return lines
}

// writtenSoFar says how far a run has come in what matters.
func writtenSoFar(r *run, s runState) string {
	_, patching := s.of(finalize.StepPatch)
	_, observing := s.of(finalize.StepObserve)
	switch {
	case r.dryRun:
		return "A dry run writes nothing."
	case observing:
		return "The patch was carried out. What is left is only to see what comes of it; esc, twice, ends that."
	case patching:
		return "The patch is being sent; before it is sent again, the job is read."
	}
	return "Nothing has been written so far."
}
