package ui

import (
	"fmt"
	"time"

	"github.com/veltui/veltui/finalize"

	"github.com/veltui/veltui/ui/draw"
)

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
func runLines(c draw.Canvas, r *run, s runState, now time.Time) []string {
	what := r.choice.words()
	if r.dryRun {
		what = "dry run: " + what
	}
	var lines []string
	roomy := c.Width >= 50
	if roomy {
		lines = append(para(c, c.Theme.Strong, what, 3), "")
	}
	for _, known := range runSteps {
		if r.dryRun && known.step != finalize.StepLook && known.step != finalize.StepDryRun {
			continue
		}
		lines = append(lines, stepLines(c, known.what, r, s, known.step, now)...)
	}
	if roomy {
		lines = append(lines, "")
	}
	if left, known := s.left(now); known {
		if _, observes := s.of(finalize.StepObserve); !observes {
			lines = append(lines, para(c, c.Theme.Text, Duration(left)+" left of the deadline.", 2)...)
		}
	}
	return append(lines, para(c, c.Theme.Text, writtenSoFar(r, s), 3)...)
}

// stepLines draw one step: its sign, how long it took or takes, and what its
// attempts met.
func stepLines(c draw.Canvas, what string, r *run, s runState, step finalize.Step, now time.Time) []string {
	known, begun := s.of(step)
	if !begun {
		return []string{c.Theme.Dim.Render(c.Glyphs.Ahead + " " + what)}
	}
	if !known.ended.IsZero() {
		return []string{c.Split(c.Theme.Good.Render(c.Glyphs.Done)+" "+what, c.Theme.Dim.Render(Duration(known.ended.Sub(known.began))))}
	}
	lines := []string{c.Split(c.Theme.Running.Render(c.Glyphs.Now)+" "+c.Theme.Strong.Render(what), c.Theme.Dim.Render(Duration(now.Sub(known.began))))}
	inner := c.Sized(c.Width-4, 0)
	add := func(style func(...string) string, text string, most int) {
		for _, line := range inner.Wrap(text, most) {
			lines = append(lines, "    "+style(line))
		}
	}
	if step == finalize.StepObserve {
		if known.phase != "" {
			add(c.Theme.Text.Render, "so far: "+known.phase, 2)
		}
		if r.choice.plan != nil {
			add(c.Theme.Text.Render, "watched until it has ended, and for "+Duration(finalize.DefaultObserve)+" at least", 2)
		}
		return lines
	}
	if took := now.Sub(known.began); known.attempts == 0 && took >= slowAnswer {
		add(c.Theme.Waiting.Render, "attempt 1 is under way; no answer yet", 1)
	}
	if known.failure != "" {
		add(c.Theme.Bad.Render, fmt.Sprintf("attempt %d: %s", known.attempts, known.failure), 4)
		if next := known.next - now.Sub(known.at); next > 0 && !known.last {
			add(c.Theme.Text.Render, fmt.Sprintf("attempt %d in %s", known.attempts+1, Duration(next+time.Second-1)), 1)
		} else if !known.last {
			add(c.Theme.Text.Render, fmt.Sprintf("attempt %d is under way", known.attempts+1), 1)
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
