package collector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/velero"
)

// policy is the resource policy of a restore, resolved as Velero does it (pkg/restore/restore.go,
// resolveRestoreClusterScopedFilterPolicy, resolveRestoreNamespacedFilterPolicies, getNamespaceFilter; 1.18.3).
type policy struct {
	work       *work
	kinds      map[string]string         // by resource, as far as the target or the backup's CRDs tell
	cluster    *objectFilters            // nil for none
	namespaces []*objectFilters          // in their order
	found      map[string]*objectFilters // by namespace
	filters    []*objectFilter           // all
}

// objectFilters are those of a namespace, or of what has none.
type objectFilters struct {
	namespaces *glob.Set // names and patterns
	byResource map[string]*objectFilter
	rest       *objectFilter // of the resources that are not listed; nil leaves them out
	unresolved bool          // a kind is not known
}

type objectFilter struct {
	selection *selection
	names     *glob.Filter
	words     []string // the kinds as they are written
}

func (r *restore) newPolicy(from *velero.FilterPolicy, known *resolver) (*policy, error) {
	p := &policy{work: r.work, kinds: map[string]string{}, found: map[string]*objectFilters{}}
	for _, k := range with(r.target, r.x.Kinds) {
		if name := k.GroupResource(); p.kinds[name] == "" {
			p.kinds[name] = k.Kind
		}
	}
	var err error
	if from.Cluster != nil {
		if p.cluster, err = p.resolve(r.x, from.Cluster.Filters, known); err != nil {
			return nil, err
		}
	}
	for _, n := range from.Namespaced {
		filters, err := p.resolve(r.x, n.Filters, known)
		if err != nil {
			return nil, err
		}
		filters.namespaces = glob.NewSet(n.Namespaces, p.work.filters)
		p.namespaces = append(p.namespaces, filters)
		for _, name := range n.Namespaces {
			p.found[name] = filters // a name goes before the patterns of others
		}
	}
	return p, nil
}

func (p *policy) resolve(x *Index, from []velero.ObjectFilter, known *resolver) (*objectFilters, error) {
	f := &objectFilters{byResource: map[string]*objectFilter{}}
	for _, one := range from {
		if !p.work.goOn(1) {
			return f, nil
		}
		resolved, err := p.newFilter(x, &one)
		if err != nil {
			return nil, err
		}
		if one.CatchAll() {
			f.rest = resolved
			continue
		}
		for _, word := range resolved.words {
			if r, ok := known.resolve(word, p.work); ok {
				word = r.GroupResource()
			} else {
				f.unresolved = true
			}
			if f.byResource[word] != nil {
				return nil, fmt.Errorf("ambiguous policy: duplicate kind %q detected", word)
			}
			f.byResource[word] = resolved
		}
	}
	return f, nil
}

func (p *policy) newFilter(x *Index, from *velero.ObjectFilter) (*objectFilter, error) {
	selectors := slices.DeleteFunc(
		slices.Clone(from.Selectors()),
		func(s *metav1.LabelSelector) bool { return !velero.HasConditions(s) },
	)
	f := &objectFilter{names: glob.NewFilter(from.Names, from.ExcludedNames, p.work.filters)}
	for _, kind := range from.Kinds {
		f.words = append(f.words, strings.ToLower(kind))
	}
	var err error
	if len(selectors) == 0 || p.work.filters.Spend(x.Sets.len()) { // which a selection remembers
		f.selection, err = newSelection(p.work, x, velerov1.RestoreSpec{OrLabelSelectors: selectors})
	}
	p.filters = append(p.filters, f)
	return f, err
}

// filter is the one of a resource in a namespace, nil if it is left out; ok is false if the policy says nothing of it.
func (p *policy) filter(resource, namespace string) (f *objectFilter, ok bool) {
	if p == nil {
		return nil, false
	}
	if namespace == "" {
		f = p.cluster.find(resource, p.kinds)
		return f, f != nil
	}
	filters := p.inNamespace(namespace)
	if filters == nil {
		return nil, false
	}
	if f = filters.byResource[resource]; f == nil && (filters.rest != nil || filters.unresolved) {
		f = filters.find(resource, p.kinds)
	}
	if f == nil {
		f = filters.rest
	}
	return f, true
}

// find finds the filter that lists a resource, or else its kind.
func (f *objectFilters) find(resource string, kinds map[string]string) *objectFilter {
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

// inNamespace returns the filters of a namespace: those of its name, else of the first pattern that matches;
// nil for none.
func (p *policy) inNamespace(namespace string) *objectFilters {
	f, found := p.found[namespace]
	for i := 0; !found && i < len(p.namespaces); i++ {
		matched, known := p.namespaces[i].namespaces.Match(namespace, p.work.filters)
		if matched {
			f = p.namespaces[i]
		}
		found = matched || !known
	}
	p.found[namespace] = f
	return f
}

// tooMuch lists patterns that take too many steps.
func (p *policy) tooMuch() []string {
	if p == nil {
		return nil
	}
	var all []string
	for _, n := range p.namespaces {
		all = append(all, n.namespaces.Beyond()...)
	}
	for _, f := range p.filters {
		all = append(all, f.names.Beyond()...)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// policyUnread reports whether a policy may leave items out that nobody has read.
func (r *restore) policyUnread() bool {
	return r.spec.Restore.ResourcePolicy != nil && r.policy == nil && r.version.readsPolicies()
}
