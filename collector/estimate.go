package collector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
)

// Estimate is an estimate of what a restore will restore.
type Estimate struct {
	Total int // the Restore's status.progress.totalItems and itemsRestored once it has ended
	// Resources are the counted items by resource, in the order in which they are restored. Namespaces are those of the
	// target, after the mapping. Namespaces that the restore creates count under "namespaces".
	Resources []ResourceCount
	// Steps are the steps that the counter of restored items goes through, in order; they sum up to Total. Not all items
	// of a step are of its resource: items bring others along, and the first item in a namespace creates the namespace.
	Steps []Step
	// AdditionalItems are the items that are not of their step's own resource, in the order of the steps. With them, the
	// steps sum up to Resources.
	AdditionalItems []AdditionalItems
	SelectedCount   int // how many items the filters select: the total that Velero shows first
	// CountedBefore is how many items are restored before Velero first writes how many, CountSteps what it counts then.
	CountedBefore int
	CountSteps    []job.CountStep
	Assumptions   []string // sentences that state the assumptions
	Refusals      []string // why Velero would fail the Restore instead; there are no items then
	// Partial is true if the backup could not be read in full, if the spec selects by labels that the Index does not
	// have, or if a filter takes too many steps to evaluate.
	Partial bool
}

// Step is one resource's turn in a restore.
type Step = forecast.ResourceStep

// AdditionalItems are items that another resource's step restores: claims that pods
// bring along, a namespace that its first item makes.
type AdditionalItems struct {
	Step     int // index into Steps
	Resource string
	Items    int // how many of the step's items
}

// Estimate returns what a restore from x restores in the target that d describes. Its only error is the cause of ctx,
// if ctx ends early.
//
// The work is bounded for any spec: by the size of the index and of spec, and by a number of steps for the patterns
// and selectors. Items for which the steps do not suffice count as restored, which is stated as an assumption.
func (x *Index) Estimate(ctx context.Context, spec RestoreInput, d Discovery) (Estimate, error) {
	w := newWorkBudget(ctx)
	e := x.estimateRestore(w, spec, d)
	if w.err != nil {
		return Estimate{}, fmt.Errorf("estimating a restore: %w", w.err)
	}
	return e, nil
}

func (x *Index) estimateRestore(w *workBudget, spec RestoreInput, d Discovery) Estimate {
	e := Estimate{Partial: x.Incomplete, Refusals: RefusalReasons(spec.Restore)}
	if e.Refusals != nil || w.err != nil {
		return e
	}
	r, err := newSimulation(w, x, spec, d)
	if err != nil {
		e.Refusals = []string{fmt.Sprintf("The restore would end at once: %v.", err)}
		return e
	}
	r.processAll()
	if w.err != nil {
		return e
	}
	e.Total, e.SelectedCount, e.Steps, e.AdditionalItems = r.total, r.selected, r.steps, r.additionalItems
	e.CountedBefore, e.CountSteps = r.countedBefore, r.countSteps
	e.Resources = r.resourceCounts()
	e.Partial = e.Partial || r.uncheckedCount > 0 || r.overBudgetCount > 0 || len(r.costlyPatterns()) > 0 ||
		r.isPolicyUnchecked()
	e.Assumptions = r.listAssumptions()
	return e
}

// ItemEstimate returns the estimate as Velero counts its items. It has no steps if the estimate is partial.
func (e Estimate) ItemEstimate() job.ItemEstimate {
	if e.Partial {
		return job.ItemEstimate{Items: e.Total}
	}
	return job.ItemEstimate{
		Items: e.Total, Selected: e.SelectedCount, RestoredBefore: e.CountedBefore, Steps: e.CountSteps,
	}
}

// resourceCounts returns the counted items by resource, in the order of the restore.
func (r *simulation) resourceCounts() []ResourceCount {
	all := make([]ResourceCount, 0, len(r.byResource))
	for _, count := range r.byResource {
		all = append(all, *count)
	}
	rank := r.rankResources()
	slices.SortFunc(all, func(a, b ResourceCount) int {
		return cmp.Or(rank[a.Resource]-rank[b.Resource], strings.Compare(a.Resource, b.Resource))
	})
	return all
}

// rankResources returns the place of each resource in the order of the restore, counted from its end: resources that
// are only brought along or created come last.
func (r *simulation) rankResources() map[string]int {
	rank := map[string]int{}
	for i, resource := range slices.Backward(r.resourceOrder) {
		rank[resource] = i - len(r.resourceOrder)
	}
	return rank
}

// Position is the position of a restore in its steps.
type Position struct {
	Step        int    // index into Steps; len(Steps) when all is done
	Resource    string // the resource being restored; empty when all is done
	Done, Total int    // items of the step
}

// PositionAfter returns the position of a restore after done items; beyond the estimate, the end of the steps.
func (e Estimate) PositionAfter(done int) Position {
	done = max(done, 0)
	for i, step := range e.Steps {
		if done < step.Items {
			return Position{i, step.Resource, done, step.Items}
		}
		done -= step.Items
	}
	return Position{Step: len(e.Steps)}
}

// listAssumptions returns sentences about what Estimate could not know.
func (r *simulation) listAssumptions() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	spec := r.input.Restore
	if !r.input.ExistingNamespaces.IsComplete && len(r.createdNamespaces) > 0 {
		say(
			"Of the target's namespaces only %s are taken as existing; %s as made by the restore: %s.",
			strings.Join(
				defaultNamespaces,
				", ",
			),
			human.CountForms(len(r.createdNamespaces), "more is counted", "more are counted"),
			joinSome(r.createdNamespaces),
		)
	}
	if !r.isLive {
		say("The target is taken to serve the kinds of Kubernetes 1.36, Velero's own and those of the backup's CRDs.")
	}
	if len(r.unknownWords) > 0 {
		say(
			"The target does not know %s, so Velero takes it literally, though a CRD of the backup has that name.",
			joinSome(r.unknownWords),
		)
	}
	switch {
	case spec.ResourcePolicy == nil:
	case !r.version.readsPolicies():
		say(
			"Velero %s ignores the resource policy %q: restores have one since 1.18.3.",
			r.version,
			spec.ResourcePolicy.Name,
		)
	case r.isPolicyUnchecked():
		say("The resource policy %q was not looked at; it may leave items out.", spec.ResourcePolicy.Name)
	}
	if r.usesSnapshots && r.input.Server.CSIEnabled == nil {
		say("Claims in the backup name their volume snapshots, so the server is taken to run with EnableCSI.")
	}
	if r.forcedSnapshots > 0 {
		// pkg/restore/actions/csi/pvc_action.go, Execute and isResourceExist.
		say(
			"Volume snapshots that the filters leave out, counted with their claims in namespaces that exist: %d. A "+
				"claim that exists brings none.",
			r.forcedSnapshots,
		)
	}
	if r.undecodableCount > 0 {
		say("Selected objects that cannot be decoded: %d. Velero leaves them out, with an error each.", r.undecodableCount)
	}
	if r.uncheckedCount > 0 {
		say("Items whose labels were not read: %d. They are counted as if the selector selected them.", r.uncheckedCount)
	}
	if patterns := r.costlyPatterns(); len(patterns) > 0 {
		say(
			"These patterns take too many steps to match and are taken to leave nothing out: %s. Velero itself may hang on "+
				"them.",
			quotePatterns(patterns),
		)
	}
	if r.overBudgetCount > 0 {
		say(
			"The label selectors take too many steps. Items that are counted as if they were selected: %d.",
			r.overBudgetCount,
		)
	}
	switch server := r.input.Server; {
	case server.Version != [3]int{}:
	case server.Tag == "":
		say("The version of the Velero server is not known; it is taken for %s.", currentVersion)
	default:
		say(
			"The version %.60q of the Velero server is none of Velero's own; it is taken for %s.",
			server.Tag,
			currentVersion,
		)
	}
	if r.index.Incomplete {
		say("The backup could not be read wholly; more items may be restored.")
	}
	return all
}

func (r *simulation) costlyPatterns() []string {
	return slices.Concat(r.resourceFilter.CostlyPatterns(), r.namespaceFilter.CostlyPatterns(), r.policy.costlyPatterns())
}

func quotePatterns(words []string) string {
	short := make([]string, len(words))
	for i, word := range words {
		short[i] = fmt.Sprintf("%.40q", word)
	}
	return joinSome(short)
}

func joinSome(words []string) string {
	slices.Sort(words)
	const few = 5
	if len(words) <= few {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:few], ", ") + human.AndMore(len(words)-few)
}

const (
	// maxFilterSteps bounds the matching of one Estimate: less than half a second.
	maxFilterSteps = 64 << 20
	// checkEvery is the maximum number of steps between two checks of the context, except within one match.
	checkEvery = 4096
)

// workBudget counts the steps of one Estimate, about one item, word or byte each, until ctx ends.
type workBudget struct {
	cause   func() error // what ended the context
	steps   int
	next    int // when cause is called again
	err     error
	filters *glob.Budget
}

func newWorkBudget(ctx context.Context) *workBudget {
	return (&workBudget{cause: func() error { return context.Cause(ctx) }}).renewBudget()
}

// renewBudget returns a budget of the same size, which ends with the same context.
func (w *workBudget) renewBudget() *workBudget {
	n := &workBudget{cause: w.cause, err: w.cause(), next: checkEvery}
	n.filters = &glob.Budget{StepsLeft: maxFilterSteps, OnSpend: func(steps int) { n.canContinue(steps) }}
	return n
}

// canContinue counts steps and reports whether to continue.
func (w *workBudget) canContinue(steps int) bool {
	if w.steps += steps; w.steps >= w.next && w.err == nil {
		w.next = w.steps + checkEvery
		if w.err = w.cause(); w.err != nil {
			w.filters.StepsLeft = 0
		}
	}
	return w.err == nil
}
