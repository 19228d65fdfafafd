package collector

import (
	"encoding/binary"
	"fmt"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/glob"
)

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
