package preflight

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
)

// maxPolicySteps bounds the work of matching names against the patterns of a policy.
const maxPolicySteps = 50_000_000

// policyFilter is a filter of a resource policy with names or labels, and which of them match an item of the backup.
type policyFilter struct {
	velero.ObjectFilter
	namespaces *glob.Filter // nil for the kinds without a namespace
	resources  map[string]bool
	names      []*glob.Filter // of each name
	reached    []bool         // the names that match
	isSelected bool           // an item has the labels
	hasItems   bool
}

// checkPolicyConditions finds the names and the selectors of a resource policy that match no item of their kinds and
// namespaces. A kind that matches nothing is found elsewhere.
func (s *selectionChecker) checkPolicyConditions(policy *velero.FilterPolicy, add func(what, word string)) error {
	budget := &glob.Budget{StepsLeft: maxPolicySteps}
	var filters []*policyFilter
	for _, n := range policy.Namespaced {
		for _, f := range n.Filters {
			filters = append(filters, s.newPolicyFilter(f, glob.NewFilter(n.Namespaces, nil, budget), budget))
		}
	}
	if policy.Cluster != nil {
		for _, f := range policy.Cluster.Filters {
			filters = append(filters, s.newPolicyFilter(f, nil, budget))
		}
	}
	err := s.Fates.EachLabelledItem(func(i collector.Item, itemLabels func() (map[string]string, bool)) {
		for _, f := range filters {
			f.addItem(&i, itemLabels)
		}
	})
	if err != nil {
		return err
	}
	for _, f := range filters {
		for k, name := range f.Names {
			if f.hasItems && !f.reached[k] {
				add("name", name+human.InParens(human.JoinNames(f.Kinds, 3)))
			}
		}
		if f.hasItems && !f.isSelected && len(f.LabelSelectors()) > 0 {
			add("the label selector of", f.kindsText())
		}
	}
	return nil
}

func (f *policyFilter) kindsText() string {
	if f.IsCatchAll() {
		return "all kinds"
	}
	return human.JoinNames(f.Kinds, 3)
}

func (s *selectionChecker) newPolicyFilter(
	of velero.ObjectFilter, namespaces *glob.Filter, budget *glob.Budget,
) *policyFilter {
	f := &policyFilter{ObjectFilter: of, namespaces: namespaces, reached: make([]bool, len(of.Names))}
	if !of.IsCatchAll() {
		f.resources = map[string]bool{}
		for _, kind := range of.Kinds {
			for _, resource := range s.words.ResourcesOfKind(kind) {
				f.resources[resource] = true
			}
		}
	}
	for _, name := range of.Names {
		f.names = append(f.names, glob.NewFilter([]string{name}, nil, budget))
	}
	return f
}

// addItem notes which conditions an item of the backup meets. What would take too long or was not read counts as met.
func (f *policyFilter) addItem(i *collector.Item, itemLabels func() (map[string]string, bool)) {
	if (i.Namespace == "") != (f.namespaces == nil) || f.resources != nil && !f.resources[i.Resource] ||
		f.namespaces != nil && !f.namespaces.Matches(i.Namespace) && len(f.namespaces.CostlyPatterns()) == 0 {
		return
	}
	f.hasItems = true
	isNamed := len(f.names) == 0
	for k, name := range f.names {
		if name.Matches(i.Name) || len(name.CostlyPatterns()) > 0 {
			f.reached[k], isNamed = true, true
		}
	}
	if isNamed && !f.isSelected && len(f.LabelSelectors()) > 0 {
		set, known := itemLabels()
		f.isSelected = !known || f.MatchesLabels(labels.Set(set))
	}
}
