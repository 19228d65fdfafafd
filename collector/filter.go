package collector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// nonRestorable are the resources that no Restore restores (pkg/controller/restore_controller.go).
var nonRestorable = []string{
	"nodes", "events", "events.events.k8s.io", "backups.velero.io", "restores.velero.io",
	"resticrepositories.velero.io", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io",
	"backuprepositories.velero.io",
}

// NonRestorable returns the resources that Velero adds to each spec.excludedResources.
func NonRestorable() []string { return slices.Clone(nonRestorable) }

// resourceFilter returns the filter of resources. It first resolves the words of a Restore to group-resources; a word
// that cannot be resolved is taken literally (Velero issue 2461).
func resourceFilter(resources *resolver, includes, excludes []string, w *workBudget) *glob.Filter {
	canonical := func(words []string, keepStar bool) (out []string) {
		for _, word := range words {
			if !w.canContinue(1) {
				return nil
			}
			if r, ok := resources.resolveWord(word, w); ok && word != "*" {
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

// namespaceFilter returns the filter of source namespaces. present are the namespaces of the backup; they matter only
// where patterns are expanded.
func namespaceFilter(v version, includes, excludes, present []string, w *workBudget) (*glob.Filter, error) {
	isPattern := func(s string) bool { return strings.ContainsAny(s, wildcards) }
	if !v.expandsNamespaces() || len(includes) == 0 || slices.Contains(includes, "*") ||
		!slices.ContainsFunc(slices.Concat(includes, excludes), isPattern) {
		return glob.NewFilter(includes, excludes, w.filters), nil
	}
	if slices.Contains(excludes, "*") {
		return nil, fmt.Errorf("wildcard \"*\" is not allowed in excluded namespaces")
	}
	in, beyondIn, err := expandPatterns(includes, present, w.filters)
	if err != nil {
		return nil, err
	}
	out, beyondOut, err := expandPatterns(excludes, present, w.filters)
	if err != nil {
		return nil, err
	}
	// A pattern that matches nothing leaves an empty list, which means all; a pattern that takes too long is kept as it
	// is, and reported.
	return glob.NewFilter(slices.Concat(in, beyondIn), slices.Concat(out, beyondOut), w.filters), nil
}

const wildcards = "*?[{"

// expandPatterns replaces patterns by the namespaces that they match (pkg/util/wildcard/expand.go of 1.18.0). beyond
// are the patterns for which the budget does not suffice.
func expandPatterns(words, present []string, b *glob.Budget) (out, beyond []string, err error) {
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
		if errors.Is(err, glob.ErrTooComplex) || errors.Is(err, glob.ErrTooManySteps) {
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

// labelSelection decides which label sets of an Index a Restore selects, each set once.
type labelSelection struct {
	index           *Index
	selectsAll      bool
	required        []requirement
	alternatives    [][]requirement // alternatives, used if hasAlternatives is true
	hasAlternatives bool
	resultBySet     []selectionResult
	text            string     // all strings of the Index
	currentSet      labels.Set // the label set being checked
	budget          *glob.Budget
}

// requirement is one condition on labels. Its values are checked one after the other.
type requirement struct {
	labels.Requirement
	values int
}

type selectionResult int8

const (
	selectionPending selectionResult = iota
	selectionMatched
	selectionUnmatched
	selectionOverBudget // beyond the budget
)

func newLabelSelection(w *workBudget, x *Index, spec veleroapi.RestoreSpec) (*labelSelection, error) {
	s := &labelSelection{index: x, budget: w.filters, hasAlternatives: len(spec.OrLabelSelectors) > 0}
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
		if s.required, _, err = read(spec.LabelSelector); err != nil {
			return nil, fmt.Errorf("label selector: %w", err)
		}
	}
	for _, one := range spec.OrLabelSelectors {
		if !w.canContinue(1) {
			return s, nil
		}
		requirements, selectable, err := read(one)
		if err != nil {
			return nil, fmt.Errorf("or-label selector: %w", err)
		}
		if selectable { // null selects nothing
			s.alternatives = append(s.alternatives, requirements)
		}
	}
	if s.selectsAll = len(s.required) == 0 && !s.hasAlternatives; !s.selectsAll {
		s.resultBySet = make([]selectionResult, x.Sets.countStrings())
		s.text, s.currentSet = string(x.Strings.Data), labels.Set{}
	}
	return s, nil
}

// isSelected reports whether an item is selected by its labels; known is false if that takes too long. It must not be
// called if all is true.
func (s *labelSelection) isSelected(item uint32) (yes, known bool) {
	set := s.index.SetOf[item]
	if s.resultBySet[set] == selectionPending {
		s.resultBySet[set] = s.judgeLabels(s.index.Sets.bytesOf(set))
	}
	return s.resultBySet[set] == selectionMatched, s.resultBySet[set] != selectionOverBudget
}

func (s *labelSelection) judgeLabels(packed []byte) selectionResult {
	if !s.budget.Spend(1 + len(packed)/4) {
		return selectionOverBudget
	}
	clear(s.currentSet)
	for ; len(packed) >= 8; packed = packed[8:] { // the last of several equal keys counts, as in encoding/json
		s.currentSet[s.stringAt(binary.LittleEndian.Uint32(packed))] = s.stringAt(binary.LittleEndian.Uint32(packed[4:]))
	}
	if v := s.meetsAll(s.required); v != selectionMatched {
		return v
	}
	for _, requirements := range s.alternatives {
		if v := s.meetsAll(requirements); v != selectionUnmatched {
			return v
		}
	}
	if s.hasAlternatives {
		return selectionUnmatched
	}
	return selectionMatched
}

// stringAt returns a string of the Index without copying it.
func (s *labelSelection) stringAt(id uint32) string {
	if id == 0 {
		return s.text[:s.index.Strings.End[0]]
	}
	return s.text[s.index.Strings.End[id-1]:s.index.Strings.End[id]]
}

// meetsAll reports whether the current label set meets all requirements.
func (s *labelSelection) meetsAll(requirements []requirement) selectionResult {
	for i := range requirements {
		r := &requirements[i]
		if !s.budget.Spend(1 + r.values) {
			return selectionOverBudget
		}
		if !r.Matches(s.currentSet) {
			return selectionUnmatched
		}
	}
	return selectionMatched
}
