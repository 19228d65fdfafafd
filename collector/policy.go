package collector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// filterPolicy is the resource policy of a restore, resolved like in Velero (pkg/restore/restore.go,
// resolveRestoreClusterScopedFilterPolicy, resolveRestoreNamespacedFilterPolicies, getNamespaceFilter; 1.18.3).
type filterPolicy struct {
	budget      *workBudget
	kinds       map[string]string         // by resource, as far as known from the target or the backup's CRDs
	cluster     *objectFilters            // nil for none
	namespaces  []*objectFilters          // in the policy's order
	byNamespace map[string]*objectFilters // by namespace
	filters     []*objectFilter           // all
}

// objectFilters holds the filters of a namespace, or of the cluster scope.
type objectFilters struct {
	namespaces     *glob.Set // names and patterns
	byResource     map[string]*objectFilter
	catchAll       *objectFilter // for the resources that are not listed; nil leaves them out
	hasUnknownKind bool          // true if a kind is unknown
}

type objectFilter struct {
	selection *labelSelection
	names     *glob.Filter
	words     []string // the kinds as written in the policy
}

func (r *simulation) newPolicy(from *velero.FilterPolicy, known *resolver) (*filterPolicy, error) {
	p := &filterPolicy{budget: r.budget, kinds: map[string]string{}, byNamespace: map[string]*objectFilters{}}
	for _, k := range withDefinitions(r.targetResources, r.index.Kinds) {
		if name := k.GroupResource(); p.kinds[name] == "" {
			p.kinds[name] = k.Kind
		}
	}
	var err error
	if from.Cluster != nil {
		if p.cluster, err = p.resolveFilters(r.index, from.Cluster.Filters, known); err != nil {
			return nil, err
		}
	}
	for _, n := range from.Namespaced {
		filters, err := p.resolveFilters(r.index, n.Filters, known)
		if err != nil {
			return nil, err
		}
		filters.namespaces = glob.NewSet(n.Namespaces, p.budget.filters)
		p.namespaces = append(p.namespaces, filters)
		for _, name := range n.Namespaces {
			p.byNamespace[name] = filters // a name takes precedence over other filters' patterns
		}
	}
	return p, nil
}

func (p *filterPolicy) resolveFilters(x *Index, from []velero.ObjectFilter, known *resolver) (*objectFilters, error) {
	f := &objectFilters{byResource: map[string]*objectFilter{}}
	for _, one := range from {
		if !p.budget.canContinue(1) {
			return f, nil
		}
		resolved, err := p.newFilter(x, &one)
		if err != nil {
			return nil, err
		}
		if one.IsCatchAll() {
			f.catchAll = resolved
			continue
		}
		for _, word := range resolved.words {
			if r, ok := known.resolveWord(word, p.budget); ok {
				word = r.GroupResource()
			} else {
				f.hasUnknownKind = true
			}
			if f.byResource[word] != nil {
				return nil, fmt.Errorf("ambiguous policy: duplicate kind %q detected", word)
			}
			f.byResource[word] = resolved
		}
	}
	return f, nil
}

func (p *filterPolicy) newFilter(x *Index, from *velero.ObjectFilter) (*objectFilter, error) {
	selectors := slices.DeleteFunc(
		slices.Clone(from.LabelSelectors()),
		func(s *metav1.LabelSelector) bool { return !velero.HasConditions(s) },
	)
	f := &objectFilter{names: glob.NewFilter(from.Names, from.ExcludedNames, p.budget.filters)}
	for _, kind := range from.Kinds {
		f.words = append(f.words, strings.ToLower(kind))
	}
	var err error
	if len(selectors) == 0 || p.budget.filters.Spend(x.Sets.countStrings()) { // the size of a selection's memo
		f.selection, err = newLabelSelection(p.budget, x, veleroapi.RestoreSpec{OrLabelSelectors: selectors})
	}
	p.filters = append(p.filters, f)
	return f, err
}

// findFilter returns the filter of a resource in a namespace, nil if the policy leaves the resource out; ok is false
// if the policy does not cover it.
func (p *filterPolicy) findFilter(resource, namespace string) (f *objectFilter, ok bool) {
	if p == nil {
		return nil, false
	}
	if namespace == "" {
		f = p.cluster.findByResource(resource, p.kinds)
		return f, f != nil
	}
	filters := p.namespaceFilters(namespace)
	if filters == nil {
		return nil, false
	}
	if f = filters.byResource[resource]; f == nil && (filters.catchAll != nil || filters.hasUnknownKind) {
		f = filters.findByResource(resource, p.kinds)
	}
	if f == nil {
		f = filters.catchAll
	}
	return f, true
}

// findByResource returns the filter that lists a resource, else its kind.
func (f *objectFilters) findByResource(resource string, kinds map[string]string) *objectFilter {
	if f == nil {
		return nil
	}
	if listed := f.byResource[resource]; listed != nil {
		return listed
	}
	kind := kinds[resource]
	for _, word := range slices.Sorted(maps.Keys(f.byResource)) {
		if slices.ContainsFunc(f.byResource[word].words, func(w string) bool { return strings.EqualFold(w, kind) }) {
			return f.byResource[word]
		}
	}
	return nil
}

// namespaceFilters returns the filters for the namespace's name, else for the first matching pattern; nil for none.
func (p *filterPolicy) namespaceFilters(namespace string) *objectFilters {
	f, found := p.byNamespace[namespace]
	for i := 0; !found && i < len(p.namespaces); i++ {
		matched, known := p.namespaces[i].namespaces.Match(namespace, p.budget.filters)
		if matched {
			f = p.namespaces[i]
		}
		found = matched || !known
	}
	p.byNamespace[namespace] = f
	return f
}

// costlyPatterns returns the patterns that take too many steps.
func (p *filterPolicy) costlyPatterns() []string {
	if p == nil {
		return nil
	}
	var all []string
	for _, n := range p.namespaces {
		all = append(all, n.namespaces.CostlyPatterns()...)
	}
	for _, f := range p.filters {
		all = append(all, f.names.CostlyPatterns()...)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// isPolicyUnchecked reports whether a policy that was not read may leave items out.
func (r *simulation) isPolicyUnchecked() bool {
	return r.input.Restore.ResourcePolicy != nil && r.policy == nil && r.version.readsPolicies()
}
