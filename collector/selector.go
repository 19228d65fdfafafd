package collector

import (
	"encoding/binary"
	"fmt"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/glob"
)

// selection says which label sets of an Index a Restore selects. Every set is
// looked at once, however many items carry it.
type selection struct {
	x      *Index
	all    bool
	and    []requirement
	or     [][]requirement // any of them, where anyOf is true
	anyOf  bool
	memo   []verdict
	set    labelSet
	budget *glob.Budget
}

// requirement is one condition on labels. Its values are looked at one after
// the other.
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
	keys := map[string]uint32{}
	read := func(from *metav1.LabelSelector) (all []requirement, selectable bool, err error) {
		selector, err := metav1.LabelSelectorAsSelector(from)
		if err != nil {
			return nil, false, err
		}
		requirements, selectable := selector.Requirements()
		for _, r := range requirements {
			keys[r.Key()] = noLabel
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
		s.set = labelSet{text: string(x.Strings.Data), End: x.Strings.End, ids: keys}
		s.set.findKeys(w)
	}
	return s, nil
}

// selects says whether an item is selected by its labels; known is false where
// that takes too long. It must not be called when all are.
func (s *selection) selects(item uint32) (yes, known bool) {
	set := s.x.SetOf[item]
	if s.memo[set] == unseen {
		s.set.packed = s.x.Sets.bytes(set)
		s.memo[set] = s.judge()
	}
	return s.memo[set] == selected, s.memo[set] != unjudged
}

func (s *selection) judge() verdict {
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

// meets says whether the set at hand meets all requirements.
func (s *selection) meets(requirements []requirement) verdict {
	for i := range requirements {
		r := &requirements[i]
		if !s.budget.Spend(1 + len(s.set.packed)/4 + r.values) { // its key is looked for twice
			return unjudged
		}
		if !r.Matches(&s.set) {
			return notSelected
		}
	}
	return selected
}

// labelSet is one set of an Index as labels.Labels. Keys are compared by their
// number; each is looked up once.
type labelSet struct {
	text   string // all strings of the Index, so that parts of it need no copy
	End    []uint32
	ids    map[string]uint32
	packed []byte
}

func (l *labelSet) at(id uint32) string {
	if id == 0 {
		return l.text[:l.End[0]]
	}
	return l.text[l.End[id-1]:l.End[id]]
}

// noLabel is the number of a key that no item has.
const noLabel = ^uint32(0)

// findKeys looks the numbers of the keys up, all at once.
func (l *labelSet) findKeys(w *work) {
	for id := range uint32(len(l.End)) {
		if !w.goOn(1) {
			return
		}
		if _, wanted := l.ids[l.at(id)]; wanted {
			l.ids[l.at(id)] = id
		}
	}
}

// Lookup returns the last of several equal keys, as encoding/json does.
func (l *labelSet) Lookup(key string) (string, bool) {
	id, known := l.ids[key]
	if !known || id == noLabel {
		return "", false
	}
	for i := len(l.packed) - 8; i >= 0; i -= 8 {
		if binary.LittleEndian.Uint32(l.packed[i:]) == id {
			return l.at(binary.LittleEndian.Uint32(l.packed[i+4:])), true
		}
	}
	return "", false
}

func (l *labelSet) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

func (l *labelSet) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}
