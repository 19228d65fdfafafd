package velero

import (
	"errors"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/glob"
)

// Namespaces is a namespace filter (pkg/util/collections/includes_excludes.go). No Includes stand for all.
type Namespaces struct {
	Includes []string
	Excludes []string
}

func NamespacesOf(o metav1.Object) Namespaces {
	switch o := o.(type) {
	case *velerov1.Backup:
		return Namespaces{o.Spec.IncludedNamespaces, o.Spec.ExcludedNamespaces}
	case *velerov1.Restore:
		return Namespaces{o.Spec.IncludedNamespaces, o.Spec.ExcludedNamespaces}
	}
	return Namespaces{}
}

func (n Namespaces) Takes(name string) bool {
	return newNamespaceFilter(n, newFilterBudget()).Takes(name)
}

// Matcher is Takes for many names.
func (n Namespaces) Matcher() func(name string) bool {
	return newNamespaceFilter(n, newFilterBudget()).Takes
}

// Valid is false for patterns that Velero refuses in a filter of namespaces.
func (n Namespaces) Valid() bool { return newNamespaceFilter(n, newFilterBudget()).valid() }

// Overlap is which namespaces two filters both take.
type Overlap struct {
	// Any is false if they have no namespace in common; the rest is not set then.
	Any bool
	// Certain is false where only patterns meet, so that it depends on unknown namespaces.
	Certain bool
	// Names are the namespaces or patterns; empty means all namespaces.
	Names []string
}

// Overlap compares two filters as Velero's queue does (pkg/controller/backup_queue_controller.go,
// detectNSConflictsInternal, since 1.18.0). known are the cluster's namespaces; if nil, what may
// overlap counts as overlapping.
func (n Namespaces) Overlap(o Namespaces, known []string) Overlap {
	budget := newFilterBudget()
	x, y := newNamespaceFilter(n, budget), newNamespaceFilter(o, budget)
	if !x.valid() || !y.valid() {
		return Overlap{}
	}
	if known != nil {
		both := slices.DeleteFunc(
			slices.Clone(known),
			func(name string) bool { return !x.Takes(name) || !y.Takes(name) },
		)
		if len(both) == 0 {
			return Overlap{}
		}
		if x.TakesRest() && y.TakesRest() {
			both = nil
		}
		return Overlap{Any: true, Certain: x.certain() && y.certain(), Names: both}
	}
	switch {
	case x.TakesRest() && y.TakesRest():
		// It is not usual to exclude every namespace of a cluster by name.
		return Overlap{Any: !x.Excludes("*") && !y.Excludes("*"), Certain: true}
	case x.TakesRest():
		return overlapWithAll(x, y)
	case y.TakesRest():
		return overlapWithAll(y, x)
	}
	return overlapOfLists(x, y)
}

// overlapWithAll compares a filter that takes everything with one that lists.
func overlapWithAll(all, listed *namespaceFilter) Overlap {
	var names, perhaps []string
	for _, p := range listed.lists.Includes {
		switch {
		case all.Excludes(p) || listed.Excludes(p):
		case isPattern(p):
			perhaps = append(perhaps, p)
		case all.Takes(p) && listed.Takes(p):
			names = append(names, p)
		}
	}
	return meeting(names, perhaps, all, listed)
}

func overlapOfLists(a, b *namespaceFilter) Overlap {
	var names, perhaps, patterns []string
	seen := map[string]bool{}
	add := func(list []string, s string) []string {
		if seen[s] {
			return list
		}
		seen[s] = true
		return append(list, s)
	}
	for _, p := range slices.Concat(a.lists.Includes, b.lists.Includes) {
		if !isPattern(p) && a.Takes(p) && b.Takes(p) {
			names = add(names, p)
		}
	}
	for _, q := range b.lists.Includes {
		if isPattern(q) && !a.Excludes(q) {
			patterns = append(patterns, q)
		}
	}
	for _, p := range a.lists.Includes {
		if !isPattern(p) || b.Excludes(p) {
			continue
		}
		// Beyond the budget everything may meet.
		if !a.budget.Spend(len(patterns)) ||
			slices.ContainsFunc(patterns, func(q string) bool { return mayMeet(p, q) }) {
			perhaps = add(perhaps, p)
		}
	}
	return meeting(names, perhaps, a, b)
}

func meeting(names, perhaps []string, a, b *namespaceFilter) Overlap {
	if len(names) > 0 {
		return Overlap{Any: true, Certain: a.certain() && b.certain(), Names: names}
	}
	return Overlap{Any: len(perhaps) > 0, Names: perhaps}
}

// mayMeet reports whether one name could match both patterns, by their fixed beginnings and ends. It errs on yes.
func mayMeet(p, q string) bool {
	pHead, pTail := fixedEnds(p)
	qHead, qTail := fixedEnds(q)
	return (strings.HasPrefix(pHead, qHead) || strings.HasPrefix(qHead, pHead)) &&
		(strings.HasSuffix(pTail, qTail) || strings.HasSuffix(qTail, pTail))
}

func fixedEnds(p string) (head, tail string) {
	return p[:strings.IndexAny(p, "*?[")], p[strings.LastIndexAny(p, "*?]")+1:]
}

// filterSteps is what matching two filters may take: some milliseconds.
const filterSteps = 1 << 20

func newFilterBudget() *glob.Budget { return &glob.Budget{Left: filterSteps} }

// namespaceFilter is ready to match. What the budget does not suffice for is taken, and nothing is certain any more.
type namespaceFilter struct {
	*glob.Filter
	lists  Namespaces
	budget *glob.Budget
}

func newNamespaceFilter(n Namespaces, budget *glob.Budget) *namespaceFilter {
	return &namespaceFilter{glob.NewFilter(n.Includes, n.Excludes, budget), n, budget}
}

func (f *namespaceFilter) certain() bool { return len(f.Beyond()) == 0 }

// valid is false for patterns that Velero refuses; such a backup takes no namespace
// (pkg/util/wildcard/expand.go, ShouldExpandWildcards and ExpandWildcards, since 1.18.0).
func (f *namespaceFilter) valid() bool {
	if f.TakesRest() {
		return true // patterns are not expanded then, and so not checked here
	}
	if !slices.ContainsFunc(f.lists.Includes, isPattern) && !slices.ContainsFunc(f.lists.Excludes, isPattern) {
		return true
	}
	refused := func(p string) bool {
		if strings.Contains(p, "**") || strings.ContainsAny(p, "|()!{},") || !bracketsMatch(p) {
			return true
		}
		if !isPattern(p) {
			return false
		}
		_, err := f.budget.Compile(p)
		return err != nil && !errors.Is(err, glob.ErrSteps) && !errors.Is(err, glob.ErrTooComplex)
	}
	return !slices.ContainsFunc(f.lists.Includes, refused) && !slices.ContainsFunc(f.lists.Excludes, refused)
}

func isPattern(s string) bool { return strings.ContainsAny(s, "*?[") }

// bracketsMatch reports whether every bracket has its other one, with something in between.
func bracketsMatch(p string) bool {
	for {
		at := strings.IndexAny(p, "[]")
		if at < 0 {
			return true
		}
		length := strings.IndexByte(p[at:], ']')
		if p[at] == ']' || length < 2 {
			return false
		}
		p = p[at+length+1:]
	}
}

// RestoresInto reports whether a restore may write into a namespace, by its filter and mapping, and its
// backup's, if any.
func RestoresInto(r *velerov1.Restore, backup *velerov1.Backup, namespace string) bool {
	budget := newFilterBudget()
	filters := []*namespaceFilter{newNamespaceFilter(NamespacesOf(r), budget)}
	if backup != nil {
		filters = append(filters, newNamespaceFilter(NamespacesOf(backup), budget))
	}
	takes := func(source string) bool {
		return !slices.ContainsFunc(filters, func(f *namespaceFilter) bool { return !f.Takes(source) })
	}
	for from, to := range r.Spec.NamespaceMapping {
		if to == namespace && takes(from) {
			return true
		}
	}
	_, movedAway := r.Spec.NamespaceMapping[namespace]
	return !movedAway && takes(namespace)
}
