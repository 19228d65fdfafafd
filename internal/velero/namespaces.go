package velero

import (
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// IncludeExclude is a namespace filter (pkg/util/collections/includes_excludes.go). Empty Includes stand for all.
type IncludeExclude struct {
	Includes []string
	Excludes []string
}

func NamespaceFilterOf(o metav1.Object) IncludeExclude {
	switch o := o.(type) {
	case *veleroapi.Backup:
		return IncludeExclude{o.Spec.IncludedNamespaces, o.Spec.ExcludedNamespaces}
	case *veleroapi.Restore:
		return IncludeExclude{o.Spec.IncludedNamespaces, o.Spec.ExcludedNamespaces}
	}
	return IncludeExclude{}
}

func (n IncludeExclude) Matches(name string) bool {
	return newNamespaceFilter(n, newFilterBudget()).Matches(name)
}

// Matcher returns a function that does what Matches does, for many names.
func (n IncludeExclude) Matcher() func(name string) bool {
	return newNamespaceFilter(n, newFilterBudget()).Matches
}

// IsValid returns false for patterns that Velero refuses in a namespace filter.
func (n IncludeExclude) IsValid() bool { return newNamespaceFilter(n, newFilterBudget()).isValid() }

// Overlap is the set of namespaces that two filters both accept.
type Overlap struct {
	// Exists is false if the filters have no namespace in common; then the other fields are not set.
	Exists bool
	// Certain is false where only patterns overlap, so that the result depends on unknown namespaces.
	Certain bool
	// Names are the namespaces or patterns; empty means all namespaces.
	Names []string
}

// FindOverlap compares two filters as Velero's queue does (pkg/controller/backup_queue_controller.go,
// detectNSConflictsInternal, since 1.18.0). known are the cluster's namespaces; if nil, filters that may overlap
// count as overlapping.
func (n IncludeExclude) FindOverlap(o IncludeExclude, known []string) Overlap {
	budget := newFilterBudget()
	x, y := newNamespaceFilter(n, budget), newNamespaceFilter(o, budget)
	if !x.isValid() || !y.isValid() {
		return Overlap{}
	}
	if known != nil {
		both := slices.DeleteFunc(
			slices.Clone(known),
			func(name string) bool { return !x.Matches(name) || !y.Matches(name) },
		)
		if len(both) == 0 {
			return Overlap{}
		}
		if x.MatchesByDefault() && y.MatchesByDefault() {
			both = nil
		}
		return Overlap{Exists: true, Certain: x.isCertain() && y.isCertain(), Names: both}
	}
	switch {
	case x.MatchesByDefault() && y.MatchesByDefault():
		// It is unusual to exclude every namespace of a cluster by name.
		return Overlap{Exists: !x.HasExclude("*") && !y.HasExclude("*"), Certain: true}
	case x.MatchesByDefault():
		return overlapWithAll(x, y)
	case y.MatchesByDefault():
		return overlapWithAll(y, x)
	}
	return overlapOfLists(x, y)
}

// overlapWithAll compares a filter that accepts everything with a filter that lists namespaces.
func overlapWithAll(all, listed *namespaceFilter) Overlap {
	var names, perhaps []string
	for _, p := range listed.lists.Includes {
		switch {
		case all.HasExclude(p) || listed.HasExclude(p):
		case isPattern(p):
			perhaps = append(perhaps, p)
		case all.Matches(p) && listed.Matches(p):
			names = append(names, p)
		}
	}
	return overlapFromNames(names, perhaps, all, listed)
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
		if !isPattern(p) && a.Matches(p) && b.Matches(p) {
			names = add(names, p)
		}
	}
	for _, q := range b.lists.Includes {
		if isPattern(q) && !a.HasExclude(q) {
			patterns = append(patterns, q)
		}
	}
	for _, p := range a.lists.Includes {
		if !isPattern(p) || b.HasExclude(p) {
			continue
		}
		// Beyond the budget, everything may overlap.
		if !a.budget.Spend(len(patterns)) ||
			slices.ContainsFunc(patterns, func(q string) bool { return canBothMatch(p, q) }) {
			perhaps = add(perhaps, p)
		}
	}
	return overlapFromNames(names, perhaps, a, b)
}

func overlapFromNames(names, perhaps []string, a, b *namespaceFilter) Overlap {
	if len(names) > 0 {
		return Overlap{Exists: true, Certain: a.isCertain() && b.isCertain(), Names: names}
	}
	return Overlap{Exists: len(perhaps) > 0, Names: perhaps}
}

// canBothMatch reports whether one name could match both patterns, judged by their fixed beginnings and ends. If in
// doubt, it returns true.
func canBothMatch(p, q string) bool {
	pHead, pTail := fixedEnds(p)
	qHead, qTail := fixedEnds(q)
	return (strings.HasPrefix(pHead, qHead) || strings.HasPrefix(qHead, pHead)) &&
		(strings.HasSuffix(pTail, qTail) || strings.HasSuffix(qTail, pTail))
}

func fixedEnds(p string) (head, tail string) {
	return p[:strings.IndexAny(p, "*?[")], p[strings.LastIndexAny(p, "*?]")+1:]
}

// maxFilterSteps is how many steps matching two filters may take: some milliseconds.
const maxFilterSteps = 1 << 20

func newFilterBudget() *glob.Budget { return &glob.Budget{StepsLeft: maxFilterSteps} }

// namespaceFilter is a filter that is ready to match. It accepts what exceeds its budget, and is then no longer
// certain.
type namespaceFilter struct {
	*glob.Filter
	lists  IncludeExclude
	budget *glob.Budget
}

func newNamespaceFilter(n IncludeExclude, budget *glob.Budget) *namespaceFilter {
	return &namespaceFilter{glob.NewFilter(n.Includes, n.Excludes, budget), n, budget}
}

func (f *namespaceFilter) isCertain() bool { return len(f.CostlyPatterns()) == 0 }

// isValid returns false for patterns that Velero refuses; a backup with such a pattern matches no namespace
// (pkg/util/wildcard/expand.go, ShouldExpandWildcards and ExpandWildcards, since 1.18.0).
func (f *namespaceFilter) isValid() bool {
	if f.MatchesByDefault() {
		return true // patterns are not expanded then, so they are not checked here
	}
	if !slices.ContainsFunc(f.lists.Includes, isPattern) && !slices.ContainsFunc(f.lists.Excludes, isPattern) {
		return true
	}
	refused := func(p string) bool {
		if strings.Contains(p, "**") || strings.ContainsAny(p, "|()!{},") || !hasMatchingBrackets(p) {
			return true
		}
		if !isPattern(p) {
			return false
		}
		_, err := f.budget.Compile(p)
		return err != nil && !errors.Is(err, glob.ErrTooManySteps) && !errors.Is(err, glob.ErrTooComplex)
	}
	return !slices.ContainsFunc(f.lists.Includes, refused) && !slices.ContainsFunc(f.lists.Excludes, refused)
}

func isPattern(s string) bool { return strings.ContainsAny(s, "*?[") }

// hasMatchingBrackets reports whether every bracket has its counterpart, with something in between.
func hasMatchingBrackets(p string) bool {
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

// MayRestoreInto reports whether a restore may write into a namespace, judged by its own filter and mapping, and by the
// filter of its backup, if any.
func MayRestoreInto(r *veleroapi.Restore, backup *veleroapi.Backup, namespace string) bool {
	budget := newFilterBudget()
	filters := []*namespaceFilter{newNamespaceFilter(NamespaceFilterOf(r), budget)}
	if backup != nil {
		filters = append(filters, newNamespaceFilter(NamespaceFilterOf(backup), budget))
	}
	takes := func(source string) bool {
		return !slices.ContainsFunc(filters, func(f *namespaceFilter) bool { return !f.Matches(source) })
	}
	for from, to := range r.Spec.NamespaceMapping {
		if to == namespace && takes(from) {
			return true
		}
	}
	_, movedAway := r.Spec.NamespaceMapping[namespace]
	return !movedAway && takes(namespace)
}
