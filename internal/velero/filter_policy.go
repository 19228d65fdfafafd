package velero

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/glob"
)

// FilterPolicy is the part of a resource policy that selects objects by kind, name and labels
// (internal/resourcepolicies/resource_policies.go, 1.18.3).
type FilterPolicy struct {
	Version    string             `json:"version"`
	Cluster    *ClusterFilters    `json:"clusterScopedFilterPolicy,omitempty"`
	Namespaced []NamespaceFilters `json:"namespacedFilterPolicies,omitempty"`
}

// ClusterFilters are the filters of kinds without a namespace.
type ClusterFilters struct {
	Filters []ObjectFilter `json:"resourceFilters"`
}

// NamespaceFilters are the filters of some namespaces, by name or pattern.
type NamespaceFilters struct {
	Namespaces []string       `json:"namespaces"`
	Filters    []ObjectFilter `json:"resourceFilters"`
}

// ObjectFilter selects objects of some kinds.
type ObjectFilter struct {
	Kinds         []string                `json:"kinds"`
	Selector      *metav1.LabelSelector   `json:"labelSelector,omitempty"`
	OrSelectors   []*metav1.LabelSelector `json:"orLabelSelectors,omitempty"`
	Names         []string                `json:"names,omitempty"`
	ExcludedNames []string                `json:"excludedNames,omitempty"`
}

// PolicyVersion is the only version of resource policies.
const PolicyVersion = "v1"

// DecodePolicy reads the data of a ConfigMap with resource policies as getResourcePoliciesFromConfig does.
func DecodePolicy(data map[string]string, into any) error {
	if len(data) != 1 {
		return errors.New("the ConfigMap must have exactly one key")
	}
	for _, text := range data {
		return yaml.UnmarshalStrict([]byte(text), into)
	}
	return nil
}

// ParseRestorePolicy reads the resource policy of a restore, and checks it as ValidateForRestore does.
func ParseRestorePolicy(data map[string]string) (*FilterPolicy, error) {
	var p struct {
		Volumes []any `json:"volumePolicies"`
		Include any   `json:"includeExcludePolicy"`
		FilterPolicy
	}
	if err := DecodePolicy(data, &p); err != nil {
		return nil, err
	}
	if len(p.Volumes) > 0 || p.Include != nil {
		return nil, errors.New("a restore has no volumePolicies and no includeExcludePolicy")
	}
	return &p.FilterPolicy, p.Validate()
}

// Validate returns why Velero refuses the version or the filters (validateNamespacedFilterPolicies,
// validateClusterScopedFilterPolicy).
func (p *FilterPolicy) Validate() error {
	if p.Version != PolicyVersion {
		return fmt.Errorf("its version is %q, not %s", p.Version, PolicyVersion)
	}
	budget := newFilterBudget()
	patterns := map[string]bool{}
	for _, n := range p.Namespaced {
		for _, pattern := range n.Namespaces {
			if patterns[pattern] || !(IncludeExclude{Includes: []string{pattern}}).IsValid() {
				return fmt.Errorf("its namespacedFilterPolicies name %q twice, or it is not valid", pattern)
			}
			patterns[pattern] = true
		}
		if len(n.Namespaces) == 0 {
			return errors.New("one of its namespacedFilterPolicies names no namespace")
		}
		if err := validateFilters(n.Filters, true, budget); err != nil {
			return fmt.Errorf("its namespacedFilterPolicies: %w", err)
		}
	}
	if p.Cluster != nil {
		if err := validateFilters(p.Cluster.Filters, false, budget); err != nil {
			return fmt.Errorf("its clusterScopedFilterPolicy: %w", err)
		}
	}
	return nil
}

func validateFilters(filters []ObjectFilter, mayCatchAll bool, budget *glob.Budget) error {
	if len(filters) == 0 {
		return errors.New("there is no filter")
	}
	kinds := map[string]bool{}
	for _, f := range filters {
		if f.IsCatchAll() && (!mayCatchAll || len(f.Names)+len(f.ExcludedNames) > 0) {
			return errors.New("a filter of all kinds is one too many, or has names")
		}
		mayCatchAll = mayCatchAll && !f.IsCatchAll()
		for _, kind := range f.Kinds {
			if kinds[kind] && kind != "*" {
				return fmt.Errorf("two filters name %s", kind)
			}
			kinds[kind] = true
		}
		if HasConditions(f.Selector) && len(f.OrSelectors) > 0 {
			return errors.New("a filter has labelSelector and orLabelSelectors")
		}
		for _, s := range append([]*metav1.LabelSelector{f.Selector}, f.OrSelectors...) {
			if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
				return err
			}
		}
		for _, name := range slices.Concat(f.Names, f.ExcludedNames) {
			if !glob.IsPattern(name) {
				continue
			}
			if _, err := budget.Compile(
				name,
			); err != nil && !errors.Is(err, glob.ErrTooComplex) &&
				!errors.Is(err, glob.ErrTooManySteps) {
				return err
			}
		}
	}
	return nil
}

// IsCatchAll does what ResourceFilter.IsCatchAll does.
func (f ObjectFilter) IsCatchAll() bool {
	return len(f.Kinds) == 0 || slices.Equal(f.Kinds, []string{"*"})
}

// LabelSelectors returns the selectors of which an object must match one; with none, all objects match.
func (f ObjectFilter) LabelSelectors() []*metav1.LabelSelector {
	if HasConditions(f.Selector) {
		return []*metav1.LabelSelector{f.Selector}
	}
	return f.OrSelectors
}

// MatchesLabels selects as listResourceByLabelsPerNamespace does: an empty selector counts as none.
func (f ObjectFilter) MatchesLabels(set labels.Set) bool {
	selectors := f.LabelSelectors()
	return len(selectors) == 0 || slices.ContainsFunc(selectors, func(s *metav1.LabelSelector) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		return HasConditions(s) && err == nil && selector.Matches(set)
	})
}

// MatchesName reports whether the filter accepts a name.
func (f ObjectFilter) MatchesName(name string) bool {
	return IncludeExclude{Includes: f.Names, Excludes: f.ExcludedNames}.Matches(name)
}

// HasConditions returns false for a selector that is absent or empty (IsPresentLabelSelector).
func HasConditions(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}
