package collector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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

// resourceFilter resolves the words of a Restore to group-resources first.
// What cannot be resolved is taken literally (Velero issue 2461).
func resourceFilter(resources *resolver, includes, excludes []string, w *work) *glob.Filter {
	canonical := func(words []string, keepStar bool) (out []string) {
		for _, word := range words {
			if !w.goOn(1) {
				return nil
			}
			if r, ok := resources.resolve(word, w); ok && word != "*" {
				word = r.GroupResource()
			}
			if word != "" && (word != "*" || keepStar) {
				out = append(out, word)
			}
		}
		return out
	}
	return glob.NewFilter(canonical(includes, true), canonical(excludes, false), w.filters)
}

// namespaceFilter makes the filter of source namespaces. present are the
// namespaces of the backup; they matter only where patterns are expanded.
func namespaceFilter(v version, includes, excludes, present []string, w *work) (*glob.Filter, error) {
	isPattern := func(s string) bool { return strings.ContainsAny(s, wildcards) }
	if !v.expandsNamespaces() || len(includes) == 0 || slices.Contains(includes, "*") ||
		!slices.ContainsFunc(slices.Concat(includes, excludes), isPattern) {
		return glob.NewFilter(includes, excludes, w.filters), nil
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
	return glob.NewFilter(slices.Concat(in, beyondIn), slices.Concat(out, beyondOut), w.filters), nil
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

// selection says which label sets of an Index a Restore selects, each looked at once.
type selection struct {
	x      *Index
	all    bool
	and    []requirement
	or     [][]requirement // any of them, where anyOf is true
	anyOf  bool
	memo   []verdict
	text   string     // all strings of the Index
	set    labels.Set // the one that is looked at
	budget *glob.Budget
}

// requirement is one condition on labels. Its values are looked at one after the other.
type requirement struct {
	labels.Requirement
	values int
}

type verdict int8

const (
	unseen verdict = iota
	selected
	notSelected
	unjudged // beyond the budget
)

func newSelection(w *work, x *Index, spec velerov1.RestoreSpec) (*selection, error) {
	s := &selection{x: x, budget: w.filters, anyOf: len(spec.OrLabelSelectors) > 0}
	read := func(from *metav1.LabelSelector) (all []requirement, selectable bool, err error) {
		selector, err := metav1.LabelSelectorAsSelector(from)
		if err != nil {
			return nil, false, err
		}
		requirements, selectable := selector.Requirements()
		for _, r := range requirements {
			all = append(all, requirement{r, len(r.ValuesUnsorted())})
		}
		return all, selectable, nil
	}
	var err error
	if spec.LabelSelector != nil {
		if s.and, _, err = read(spec.LabelSelector); err != nil {
			return nil, fmt.Errorf("label selector: %w", err)
		}
	}
	for _, one := range spec.OrLabelSelectors {
		if !w.goOn(1) {
			return s, nil
		}
		requirements, selectable, err := read(one)
		if err != nil {
			return nil, fmt.Errorf("or-label selector: %w", err)
		}
		if selectable { // null selects nothing
			s.or = append(s.or, requirements)
		}
	}
	if s.all = len(s.and) == 0 && !s.anyOf; !s.all {
		s.memo = make([]verdict, x.Sets.len())
		s.text, s.set = string(x.Strings.Data), labels.Set{}
	}
	return s, nil
}

// selects says whether an item is selected by its labels; known is false where
// that takes too long. It must not be called when all are.
func (s *selection) selects(item uint32) (yes, known bool) {
	set := s.x.SetOf[item]
	if s.memo[set] == unseen {
		s.memo[set] = s.judge(s.x.Sets.bytes(set))
	}
	return s.memo[set] == selected, s.memo[set] != unjudged
}

func (s *selection) judge(packed []byte) verdict {
	if !s.budget.Spend(1 + len(packed)/4) {
		return unjudged
	}
	clear(s.set)
	for ; len(packed) >= 8; packed = packed[8:] { // the last of several equal keys counts, as in encoding/json
		s.set[s.string(binary.LittleEndian.Uint32(packed))] = s.string(binary.LittleEndian.Uint32(packed[4:]))
	}
	if v := s.meets(s.and); v != selected {
		return v
	}
	for _, requirements := range s.or {
		if v := s.meets(requirements); v != notSelected {
			return v
		}
	}
	if s.anyOf {
		return notSelected
	}
	return selected
}

// string is a string of the Index, without a copy.
func (s *selection) string(id uint32) string {
	if id == 0 {
		return s.text[:s.x.Strings.End[0]]
	}
	return s.text[s.x.Strings.End[id-1]:s.x.Strings.End[id]]
}

// meets says whether the set at hand meets all requirements.
func (s *selection) meets(requirements []requirement) verdict {
	for i := range requirements {
		r := &requirements[i]
		if !s.budget.Spend(1 + r.values) {
			return unjudged
		}
		if !r.Matches(s.set) {
			return notSelected
		}
	}
	return selected
}
