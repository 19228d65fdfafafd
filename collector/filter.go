package collector

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/glob"
)

// nonRestorable are never restored, whatever a Restore says (pkg/controller/restore_controller.go).
var nonRestorable = []string{
	"nodes", "events", "events.events.k8s.io", "backups.velero.io", "restores.velero.io",
	"resticrepositories.velero.io", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io",
	"backuprepositories.velero.io",
}

// NonRestorable are the resources that Velero adds to each spec.excludedResources.
func NonRestorable() []string { return slices.Clone(nonRestorable) }

type filter struct {
	includes, excludes *glob.Set
	budget             *glob.Budget
	memo               map[string]bool
}

func newFilter(includes, excludes []string, budget *glob.Budget) *filter {
	return &filter{
		includes: glob.NewSet(includes, budget), excludes: glob.NewSet(excludes, budget),
		budget: budget, memo: map[string]bool{},
	}
}

// lets says whether s is let through. An empty include list means all. What
// cannot be found out in time counts as let through; beyond says so.
func (f *filter) lets(s string) bool {
	verdict, known := f.memo[s]
	if !known {
		excluded, _ := f.excludes.Match(s, f.budget)
		verdict = !excluded
		if verdict && f.includes.Len() > 0 && !f.includes.Has("*") {
			included, known := f.includes.Match(s, f.budget)
			verdict = included || !known
		}
		f.memo[s] = verdict
	}
	return verdict
}

func (f *filter) beyond() []string {
	return slices.Concat(f.includes.Beyond(), f.excludes.Beyond())
}

// everything says whether the lists leave nothing out.
func (f *filter) everything() bool {
	return f.excludes.Len() == 0 && (f.includes.Len() == 0 || f.includes.Len() == 1 && f.includes.Has("*"))
}

// resourceFilter resolves the words of a Restore to group-resources first.
// What cannot be resolved is taken literally (Velero issue 2461).
func resourceFilter(resources *resolver, includes, excludes []string, w *work) *filter {
	canonical := func(words []string, keepStar bool) (out []string) {
		for _, word := range words {
			if !w.goOn(1) {
				return nil
			}
			if word == "*" {
				if keepStar {
					out = append(out, word)
				}
				continue
			}
			if r, ok := resources.resolve(word, w); ok {
				word = r.groupResource()
			}
			if word != "" {
				out = append(out, word)
			}
		}
		return out
	}
	return newFilter(canonical(includes, true), canonical(excludes, false), w.filters)
}

// namespaceFilter makes the filter of source namespaces. present are the
// namespaces of the backup; they matter only where patterns are expanded.
func namespaceFilter(v version, includes, excludes, present []string, w *work) (*filter, error) {
	isPattern := func(s string) bool { return strings.ContainsAny(s, wildcards) }
	if !v.expandsNamespaces() || len(includes) == 0 || slices.Contains(includes, "*") || !slices.ContainsFunc(slices.Concat(includes, excludes), isPattern) {
		return newFilter(includes, excludes, w.filters), nil
	}
	if slices.Contains(excludes, "*") {
		return nil, fmt.Errorf("wildcard \"*\" is not allowed in excluded namespaces")
	}
	in, beyondIn, err := expand(includes, present, w.filters)
	if err != nil {
		return nil, err
	}
	out, beyondOut, err := expand(excludes, present, w.filters)
	if err != nil {
		return nil, err
	}
	// A pattern that matches nothing leaves an empty list, which means all; one
	// that takes too long is kept as it is, and reported.
	return newFilter(slices.Concat(in, beyondIn), slices.Concat(out, beyondOut), w.filters), nil
}

const wildcards = "*?[{"

// expand replaces patterns by the namespaces that they match (pkg/util/wildcard/
// expand.go of 1.18.0). beyond are those for which the budget does not suffice.
func expand(words, present []string, b *glob.Budget) (out, beyond []string, err error) {
	matched := map[string]bool{}
	for _, word := range words {
		if !strings.ContainsAny(word, wildcards) {
			matched[word] = true
			continue
		}
		if strings.Contains(word, "**") {
			return nil, nil, fmt.Errorf("namespace pattern %.60q: consecutive asterisks", word)
		}
		p, err := b.Compile(word)
		if errors.Is(err, glob.ErrTooComplex) || errors.Is(err, glob.ErrSteps) {
			beyond = append(beyond, word)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, namespace := range present {
			yes, err := b.Match(p, namespace)
			if err != nil {
				beyond = append(beyond, word)
				break
			}
			if yes {
				matched[namespace] = true
			}
		}
	}
	return slices.Collect(maps.Keys(matched)), beyond, nil
}
