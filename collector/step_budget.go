package collector

import (
	"context"

	"github.com/veltui/veltui/internal/glob"
)

const (
	// filterSteps is what matching patterns and selectors may take in one
	// Estimate: less than half a second. What people write takes a thousandth.
	filterSteps = 64 << 20
	// checkEvery is how many steps may lie between two looks at the context,
	// but for a single match, which is bounded by package glob.
	checkEvery = 4096
)

// work counts the steps of one Estimate, and notices when nobody waits for it
// any more. A step is about one item, word or byte looked at.
type work struct {
	why     func() error // what ended the context
	steps   int
	next    int // where why is asked again
	err     error
	filters *glob.Budget
}

func newWork(ctx context.Context) *work {
	w := &work{why: func() error { return context.Cause(ctx) }, err: context.Cause(ctx), next: checkEvery}
	w.filters = &glob.Budget{Left: filterSteps, Spent: func(steps int) { w.goOn(steps) }}
	return w
}

// goOn counts steps, and reports whether to go on.
func (w *work) goOn(steps int) bool {
	if w.steps += steps; w.steps >= w.next && w.err == nil {
		w.next = w.steps + checkEvery
		if w.err = w.why(); w.err != nil {
			w.filters.Left = 0
		}
	}
	return w.err == nil
}
