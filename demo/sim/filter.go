package sim

import (
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// names is an include list with an exclude list that wins over it
// (pkg/util/collections/includes_excludes.go).
type names struct{ included, excluded []string }

func (n names) match(name string) bool {
	if matchAny(n.excluded, name) {
		return false
	}
	return len(n.included) == 0 || matchAny(n.included, name)
}

// everything reports whether nothing is filtered.
func (n names) everything() bool {
	return len(n.excluded) == 0 && (len(n.included) == 0 || slices.Equal(n.included, []string{"*"}))
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}

// conflicts are the entries that stand in both lists, as validation errors.
func (n names) conflicts(what string) []string {
	var errs []string
	for _, name := range n.excluded {
		if slices.Contains(n.included, name) {
			errs = append(errs, "Invalid included/excluded "+what+" lists: excludes list cannot contain an item in the includes list: "+name)
		}
	}
	return errs
}

// resourceNames turns the words of a filter into group-resources as discovery
// would: plural, kind and group form are understood, anything else is kept.
func (c *Cluster) resourceNames(words []string) []string {
	resolved := make([]string, 0, len(words))
	for _, word := range words {
		resolved = append(resolved, c.resourceName(strings.ToLower(word)))
	}
	return resolved
}

func (c *Cluster) resourceName(word string) string {
	for _, i := range c.Items {
		if word == i.Resource || word == i.GroupResource() || word == strings.ToLower(i.Kind) {
			return i.GroupResource()
		}
	}
	return word
}

// selectors match an item if all of the first and any of the others do; what
// is nil or empty does not ask for anything.
type selectors struct {
	all labels.Selector
	any []labels.Selector
}

func newSelectors(one *metav1.LabelSelector, or []*metav1.LabelSelector) (selectors, error) {
	var s selectors
	if one != nil {
		parsed, err := metav1.LabelSelectorAsSelector(one)
		if err != nil {
			return s, err
		}
		s.all = parsed
	}
	for _, each := range or {
		parsed, err := metav1.LabelSelectorAsSelector(each)
		if err != nil {
			return s, err
		}
		s.any = append(s.any, parsed)
	}
	return s, nil
}

func (s selectors) match(item *Item) bool {
	set := labels.Set(item.Labels)
	if s.all != nil && !s.all.Matches(set) {
		return false
	}
	return len(s.any) == 0 || slices.ContainsFunc(s.any, func(one labels.Selector) bool { return one.Matches(set) })
}
