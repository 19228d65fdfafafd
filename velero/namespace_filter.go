package velero

import (
	"errors"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/glob"
)

// filterSteps is what matching two filters may take: some milliseconds.
const filterSteps = 1 << 20

func newFilterBudget() *glob.Budget { return &glob.Budget{Left: filterSteps} }

// namespaceFilter is a filter that is ready to match. What the budget does not
// suffice for is taken, and nothing is certain any more.
type namespaceFilter struct {
	Namespaces
	// all is true if every namespace that is not excluded is taken.
	all                bool
	includes, excludes *glob.Set
	budget             *glob.Budget
}

func newNamespaceFilter(n Namespaces, budget *glob.Budget) *namespaceFilter {
	return &namespaceFilter{
		Namespaces: n, all: len(n.Includes) == 0 || slices.Contains(n.Includes, "*"),
		includes: glob.NewSet(n.Includes, budget), excludes: glob.NewSet(n.Excludes, budget), budget: budget,
	}
}

func (f *namespaceFilter) takes(name string) bool {
	if excluded, _ := f.excludes.Match(name, f.budget); excluded {
		return false
	}
	if f.all {
		return true
	}
	included, known := f.includes.Match(name, f.budget)
	return included || !known
}

func (f *namespaceFilter) certain() bool {
	return len(f.includes.Beyond()) == 0 && len(f.excludes.Beyond()) == 0
}

// valid is false for patterns that Velero refuses: such a backup takes no
// namespace, and fails its validation when its turn comes
// (pkg/util/wildcard/expand.go, ShouldExpandWildcards and ExpandWildcards,
// since 1.18.0).
func (f *namespaceFilter) valid() bool {
	if f.all {
		return true // patterns are not expanded then, and so not checked here
	}
	if !slices.ContainsFunc(f.Includes, isPattern) && !slices.ContainsFunc(f.Excludes, isPattern) {
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
	return !slices.ContainsFunc(f.Includes, refused) && !slices.ContainsFunc(f.Excludes, refused)
}

func isPattern(s string) bool { return strings.ContainsAny(s, "*?[") }

// bracketsMatch reports whether every bracket has its other one, with something
// in between.
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

// RestoresInto reports whether a restore may write into a namespace, as far as
// its own filter and mapping and its backup's filter tell. Backup may be nil.
func RestoresInto(r *velerov1.Restore, backup *velerov1.Backup, namespace string) bool {
	budget := newFilterBudget()
	filters := []*namespaceFilter{newNamespaceFilter(NamespacesOf(r), budget)}
	if backup != nil {
		filters = append(filters, newNamespaceFilter(NamespacesOf(backup), budget))
	}
	takes := func(source string) bool {
		for _, f := range filters {
			if !f.takes(source) {
				return false
			}
		}
		return true
	}
	for from, to := range r.Spec.NamespaceMapping {
		if to == namespace && takes(from) {
			return true
		}
	}
	_, movedAway := r.Spec.NamespaceMapping[namespace]
	return !movedAway && takes(namespace)
}
