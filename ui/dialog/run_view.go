package dialog

import (
	"fmt"
	"time"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/draw"
)

// slowAnswer is how long an attempt may take before that is worth a word.
const slowAnswer = 3 * time.Second

// runLines draw an application under way. now is our own clock's.
func runLines(c draw.Canvas, r *run, s runState, now time.Time) []string {
	what, shown := change(&r.plan), steps
	if r.dryRun {
		what, shown = "dry run: "+what, steps[:2]
	}
	var lines []string
	roomy := c.Width >= 50
	if roomy {
		lines = append(c.Para(c.Theme.Strong, what, 3), "")
	}
	for _, step := range shown {
		lines = append(lines, stepLines(c, step, &r.plan, s, now)...)
	}
	if roomy {
		lines = append(lines, "")
	}
	if left, known := s.left(now); known && !s.reached(action.StepObserve) {
		lines = append(lines, c.Para(c.Theme.Text, human.Duration(left)+" left of the deadline.", 2)...)
	}
	return append(lines, c.Para(c.Theme.Text, writtenSoFar(r, s), 3)...)
}

// reached reports whether a run has come to a step.
func (s *runState) reached(name action.Step) bool {
	_, begun := s.step(name)
	return begun
}

// stepLines draw one step: its sign, how long it took or takes, and what its
// attempts met.
func stepLines(c draw.Canvas, step step, plan *action.Plan, s runState, now time.Time) []string {
	known, begun := s.step(step.name)
	switch {
	case !begun:
		return []string{c.Theme.Dim.Render(c.Glyphs.Ahead + " " + step.what)}
	case !known.ended.IsZero():
		return []string{c.Split(c.Theme.Good.Render(c.Glyphs.Done)+" "+step.what, c.Theme.Dim.Render(human.Duration(known.ended.Sub(known.began))))}
	}
	lines := []string{c.Split(c.Theme.Running.Render(c.Glyphs.Now)+" "+c.Theme.Strong.Render(step.what), c.Theme.Dim.Render(human.Age(known.began, now)))}
	inner := c.Sized(c.Width-4, 0)
	add := func(drawn []string) {
		for _, line := range drawn {
			lines = append(lines, "    "+line)
		}
	}
	if step.name == action.StepObserve {
		if known.seen != "" {
			add(inner.Wrap("so far: "+known.seen, 2))
		}
		add(inner.Wrap(observing(plan), 2))
		return lines
	}
	if known.attempts == 0 && now.Sub(known.began) >= slowAnswer {
		add(inner.Para(c.Theme.Waiting, "attempt 1 is under way; no answer yet", 1))
	}
	if known.failure == "" {
		return lines
	}
	add(inner.Para(c.Theme.Bad, fmt.Sprintf("attempt %d: %s", known.attempts, known.failure), 4))
	switch next := known.next - now.Sub(known.at); {
	case known.last:
	case next > 0:
		add(inner.Wrap(fmt.Sprintf("attempt %d in %s", known.attempts+1, human.Duration(next+time.Second-1)), 1))
	default:
		add(inner.Wrap(fmt.Sprintf("attempt %d is under way", known.attempts+1), 1))
	}
	return lines
}

// writtenSoFar says how far a run has come in what matters.
func writtenSoFar(r *run, s runState) string {
	switch {
	case r.dryRun:
		return "A dry run writes nothing."
	case s.reached(action.StepObserve):
		return "The change was applied. veltui now watches the result; press esc twice to stop watching."
	case s.reached(action.StepPatch):
		return "veltui is sending the change. Before each retry it reads the job again."
	}
	return "Nothing has been written so far."
}
