package collector

import "slices"

// Position is where in its steps a restore is.
type Position struct {
	Step     int    // index into Steps; len(Steps) when all is done
	Resource string // what is being restored now; empty when all is done
	Done, Of int    // items of the step
}

// Position says what a restore works on after done items. A restore that is
// beyond the estimate is in its last step.
func (e Estimate) Position(done int) Position {
	done = max(done, 0)
	for i, step := range e.Steps {
		if done < step.Items {
			return Position{i, step.Resource, done, step.Items}
		}
		done -= step.Items
	}
	return Position{Step: len(e.Steps)}
}

// Remaining are the steps that are not done after done items, the current one
// with what is left of it.
func (e Estimate) Remaining(done int) []Step {
	at := e.Position(done)
	if at.Step == len(e.Steps) {
		return nil
	}
	left := slices.Clone(e.Steps[at.Step:])
	left[0].Items -= at.Done
	return left
}
