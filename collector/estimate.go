package collector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job/forecast"
)

// Estimate is what a restore will restore.
type Estimate struct {
	Total int // the Restore's status.progress.totalItems and itemsRestored when it has ended
	// Resources are the counted items by resource, in the order in which they are restored. Namespaces are
	// those of the target, after the mapping. Namespaces that the restore makes count under "namespaces".
	Resources []ResourceCount
	// Steps is what the counter of restored items goes through, in order; they sum up to Total. A step's items are
	// not all of its resource: items bring others along, and the first item of a namespace makes the namespace.
	Steps []Step
	// Brought are the items of steps that are not of the step's own resource, in
	// the order of the steps. With them the steps sum up to Resources.
	Brought     []Brought
	Selected    int      // how many items the filters select. It is the total that Velero shows first.
	Assumptions []string // sentences about what was taken for granted
	Refused     []string // why Velero would fail the Restore instead, if it would. There are no items then.
	// Partial says that the backup could not be read wholly, that labels were asked for which the
	// Index does not have, or that a filter takes too many steps to be worked out.
	Partial bool
}

// Step is one resource's turn in a restore.
type Step = forecast.Step

// Brought are items that another resource's step restores: claims that pods
// bring along, a namespace that its first item makes.
type Brought struct {
	Step     int // index into Steps
	Resource string
	Items    int // of the step's
}

// Estimate works out what a restore from x restores, on the target that d
// describes. Its only error is the cause of ctx, when that ends before.
//
// The work is bounded whatever spec says: with the size of the index and of spec, and by a number of steps for
// the patterns and selectors. What those do not suffice for counts as restored, and is an assumption.
func (x *Index) Estimate(ctx context.Context, spec RestoreSpec, d Discovery) (Estimate, error) {
	w := newWork(ctx)
	e := x.estimate(w, spec, d)
	if w.err != nil {
		return Estimate{}, fmt.Errorf("estimating a restore: %w", w.err)
	}
	return e, nil
}

func (x *Index) estimate(w *work, spec RestoreSpec, d Discovery) Estimate {
	e := Estimate{Partial: x.Incomplete, Refused: Refusals(spec.Restore)}
	if e.Refused != nil || w.err != nil {
		return e
	}
	r, err := newRestore(w, x, spec, d)
	if err != nil {
		e.Refused = []string{fmt.Sprintf("The restore would end at once: %v.", err)}
		return e
	}
	r.run()
	if w.err != nil {
		return e
	}
	e.Total, e.Selected, e.Steps, e.Brought = r.total, r.selected, r.steps, r.brought
	e.Resources = r.counts()
	e.Partial = e.Partial || r.unread > 0 || r.unjudged > 0 || len(r.beyond()) > 0 || r.policyUnread()
	e.Assumptions = r.assumptions()
	return e
}

// MostPublished returns the highest total that Velero publishes while it restores these
// items. It counts CustomResourceDefinitions twice until their second pass is over, and
// namespaces that it made until the end (pkg/restore/restore.go, execute and
// processSelectedResource; 1.14 to 1.18.3). The result is 0 if the estimate is not sure.
func (e Estimate) MostPublished() int {
	if e.Partial {
		return 0
	}
	most := e.Selected
	for _, r := range e.Resources {
		if r.Resource == dirCRDs || r.Resource == dirNamespaces {
			most += r.Items
		}
	}
	return most
}

// counts are the items by resource, in the order of the restore.
func (r *restore) counts() []ResourceCount {
	all := make([]ResourceCount, 0, len(r.byResource))
	for _, count := range r.byResource {
		all = append(all, *count)
	}
	rank := map[string]int{}
	for i, resource := range slices.Backward(r.order) {
		rank[resource] = i - len(r.order) // what is only brought along, or made, comes last
	}
	slices.SortFunc(all, func(a, b ResourceCount) int {
		return cmp.Or(rank[a.Resource]-rank[b.Resource], strings.Compare(a.Resource, b.Resource))
	})
	return all
}

// Position is where in its steps a restore is.
type Position struct {
	Step     int    // index into Steps; len(Steps) when all is done
	Resource string // what is being restored now; empty when all is done
	Done, Of int    // items of the step
}

// Position says what a restore works on after done items; beyond the estimate, its last step.
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

// assumptions states what Estimate could not know.
func (r *restore) assumptions() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	spec := r.spec.Restore
	if !r.spec.Existing.Known && len(r.made) > 0 {
		say(
			"Of the target's namespaces only %s are taken as existing; %s as made by the restore: %s.",
			strings.Join(
				everyCluster,
				", ",
			),
			human.Plural(len(r.made), "more is counted", "more are counted"),
			someOf(r.made),
		)
	}
	if !r.live {
		say("The target is taken to serve the kinds of Kubernetes 1.36, Velero's own and those of the backup's CRDs.")
	}
	if len(r.unknownWords) > 0 {
		say(
			"The target does not know %s, so Velero takes it literally, though a CRD of the backup has that name.",
			someOf(r.unknownWords),
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
	case r.policyUnread():
		say("The resource policy %q was not looked at; it may leave items out.", spec.ResourcePolicy.Name)
	}
	if r.usesSnapshots && r.spec.Server.CSI == nil {
		say("Claims in the backup name their volume snapshots, so the server is taken to run with EnableCSI.")
	}
	if r.forced > 0 {
		// pkg/restore/actions/csi/pvc_action.go, Execute and isResourceExist.
		say(
			"Volume snapshots that the filters leave out, counted with their claims in namespaces that exist: %d. A "+
				"claim that exists brings none.",
			r.forced,
		)
	}
	if r.undecodable > 0 {
		say("Selected objects that cannot be decoded: %d. Velero leaves them out, with an error each.", r.undecodable)
	}
	if r.unread > 0 {
		say("Items whose labels were not read: %d. They are counted as if the selector selected them.", r.unread)
	}
	if patterns := r.beyond(); len(patterns) > 0 {
		say(
			"These patterns take too many steps to match and are taken to leave nothing out: %s. Velero itself may hang on "+
				"them.",
			quoted(patterns),
		)
	}
	if r.unjudged > 0 {
		say("The label selectors take too many steps. Items that are counted as if they were selected: %d.", r.unjudged)
	}
	switch server := r.spec.Server; {
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
	if r.x.Incomplete {
		say("The backup could not be read wholly; more items may be restored.")
	}
	return all
}

func (r *restore) beyond() []string {
	return slices.Concat(r.resources.Beyond(), r.spaces.Beyond(), r.policy.tooMuch())
}

func quoted(words []string) string {
	short := make([]string, len(words))
	for i, word := range words {
		short[i] = fmt.Sprintf("%.40q", word)
	}
	return someOf(short)
}

func someOf(words []string) string {
	slices.Sort(words)
	const few = 5
	if len(words) <= few {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:few], ", "), len(words)-few)
}

const (
	// filterSteps bounds the matching of one Estimate: less than half a second.
	filterSteps = 64 << 20
	// checkEvery is how many steps may lie between two looks at the context, but for one match.
	checkEvery = 4096
)

// work counts the steps of one Estimate, about one item, word or byte each, until ctx ends.
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
