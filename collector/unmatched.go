package collector

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// WordMatcher tells what single words of a restore's filters match in the backup, by the rules of the filters. Its work
// is bounded; what would take too long counts as matched.
type WordMatcher struct {
	fates      *Fates
	budget     *workBudget
	resources  []string // of the backup's items, sorted
	namespaces []string // of the backup's items, and those that are items, sorted
	resolver   *resolver
}

// NewWordMatcher returns a WordMatcher for a restore.
func (f *Fates) NewWordMatcher() *WordMatcher {
	r, x := f.simulation, f.simulation.index
	m := &WordMatcher{fates: f, budget: r.budget.renewBudget(), resolver: newResolver(r.targetResources)}
	namespaces := map[string]bool{}
	for _, b := range x.Buckets {
		resource := x.Strings.string(b.Resource)
		if n := len(m.resources); n == 0 || m.resources[n-1] != resource { // buckets are sorted by resource
			m.resources = append(m.resources, resource)
		}
		if namespace := x.Strings.string(b.Namespace); namespace != "" {
			namespaces[namespace] = true
		}
		for item := b.First; item < b.End && resource == dirNamespaces; item++ {
			namespaces[x.Names.string(item)] = true
		}
	}
	m.namespaces = slices.Sorted(maps.Keys(namespaces))
	return m
}

// Resources returns the resources of the backup, sorted.
func (m *WordMatcher) Resources() []string { return m.resources }

// Namespaces returns the namespaces of the backup, sorted.
func (m *WordMatcher) Namespaces() []string { return m.namespaces }

// ResolveResource returns the resource that a word stands for in the target or in Kubernetes, such as a short name;
// empty for none.
func (m *WordMatcher) ResolveResource(word string) string {
	for _, known := range []*resolver{m.resolver, newResolver(defaultResources(nil))} {
		if r, ok := known.resolveWord(word, m.budget); ok {
			return r.GroupResource()
		}
	}
	return ""
}

// MatchesResource reports whether a word of the filters of resources matches a resource of the backup.
func (m *WordMatcher) MatchesResource(word string) bool {
	return m.matchesAny(resourceFilter(m.resolver, []string{word}, nil, m.budget), m.resources)
}

// MatchesNamespace reports whether a word of the filters of namespaces matches a namespace of the backup.
func (m *WordMatcher) MatchesNamespace(word string) bool {
	return m.matchesAny(glob.NewFilter([]string{word}, nil, m.budget.filters), m.namespaces)
}

func (m *WordMatcher) matchesAny(f *glob.Filter, names []string) bool {
	return slices.ContainsFunc(names, f.Matches) || len(f.CostlyPatterns()) > 0 || !m.budget.canContinue(len(names))
}

// MatchesKind reports whether a kind is one of the backup's resources, as resource policies write it.
func (m *WordMatcher) MatchesKind(word string) bool {
	return len(m.ResourcesOfKind(word)) > 0 || m.MatchesResource(strings.ToLower(word))
}

// ResourcesOfKind returns the backup's resources of a kind, as resource policies write it.
func (m *WordMatcher) ResourcesOfKind(word string) (found []string) {
	f := resourceFilter(m.resolver, []string{strings.ToLower(word)}, nil, m.budget)
	for _, resource := range m.resources {
		isKind := f.Matches(resource)
		for of, other := range m.fates.Kinds {
			isKind = isKind || other == resource && strings.EqualFold(of[1], word)
		}
		if isKind {
			found = append(found, resource)
		}
	}
	return found
}

// MatchesLabels reports whether a selector matches an item of the backup. absent are its keys that no item has, if it
// matchesAny none.
func (m *WordMatcher) MatchesLabels(selector *metav1.LabelSelector) (matched bool, absent []string) {
	x := m.fates.simulation.index
	if x.NamesOnly || selector == nil || !m.budget.filters.Spend(x.Sets.countStrings()) {
		return true, nil
	}
	s, err := newLabelSelection(m.budget, x, veleroapi.RestoreSpec{LabelSelector: selector})
	if err != nil || s.selectsAll {
		return true, nil
	}
	lacking := map[string]bool{}
	for _, r := range s.required {
		switch r.Operator() {
		case selection.NotIn, selection.NotEquals, selection.DoesNotExist: // met by items without the label
		default:
			lacking[r.Key()] = true
		}
	}
	for _, set := range x.SetOf {
		switch s.resultBySet[set] {
		case selectionPending:
			s.resultBySet[set] = s.judgeLabels(x.Sets.bytesOf(set))
			for key := range s.currentSet {
				delete(lacking, key)
			}
		case selectionUnmatched:
			continue
		}
		if s.resultBySet[set] != selectionUnmatched {
			return true, nil
		}
	}
	return false, slices.Sorted(maps.Keys(lacking))
}

// EachLabelledItem calls visit for each item as [Fates.EachItem] does. During the visit, labels returns the item's
// labels, and false if they were not read.
func (f *Fates) EachLabelledItem(visit func(i Item, labels func() (map[string]string, bool))) error {
	current := uint32(0)
	labels := func() (map[string]string, bool) { return f.simulation.index.labelsOf(current) }
	return f.eachItem(func(item uint32, i Item) {
		current = item
		visit(i, labels)
	})
}

// labelsOf returns the labels of an item, and false if they were not read.
func (x *Index) labelsOf(item uint32) (map[string]string, bool) {
	if x.NamesOnly || x.Flags[item]&(flagUnchecked|flagUndecodable) != 0 {
		return nil, false
	}
	all := map[string]string{}
	for packed := x.Sets.bytesOf(x.SetOf[item]); len(packed) >= 8; packed = packed[8:] {
		key, value := binary.LittleEndian.Uint32(packed), binary.LittleEndian.Uint32(packed[4:])
		all[x.Strings.string(key)] = x.Strings.string(value)
	}
	return all, true
}
