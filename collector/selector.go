package collector

import (
	"encoding/binary"
	"fmt"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selection says which label sets of an Index a Restore selects. Every set is
// looked at once, however many items carry it.
type selection struct {
	x    *Index
	all  bool
	and  labels.Selector
	or   []labels.Selector
	memo []int8 // 0 unknown, 1 selected, -1 not
}

func newSelection(x *Index, spec velerov1.RestoreSpec) (*selection, error) {
	s := &selection{x: x, and: labels.Everything()}
	var err error
	if spec.LabelSelector != nil {
		if s.and, err = metav1.LabelSelectorAsSelector(spec.LabelSelector); err != nil {
			return nil, fmt.Errorf("label selector: %w", err)
		}
	}
	for _, one := range spec.OrLabelSelectors {
		selector, err := metav1.LabelSelectorAsSelector(one)
		if err != nil {
			return nil, fmt.Errorf("or-label selector: %w", err)
		}
		s.or = append(s.or, selector)
	}
	if s.all = s.and.Empty() && len(s.or) == 0; !s.all {
		s.memo = make([]int8, x.sets.len())
	}
	return s, nil
}

// selects says whether an item is selected by its labels.
func (s *selection) selects(item uint32) bool {
	if s.all {
		return true
	}
	set := s.x.setOf[item]
	if s.memo[set] == 0 {
		s.memo[set] = -1
		if s.matches(labelSet{s.x, s.x.sets.bytes(set)}) {
			s.memo[set] = 1
		}
	}
	return s.memo[set] > 0
}

func (s *selection) matches(set labelSet) bool {
	if !s.and.Matches(set) {
		return false
	}
	for _, selector := range s.or {
		if selector.Matches(set) {
			return true
		}
	}
	return len(s.or) == 0
}

// labelSet is one set of an Index as labels.Labels. Of equal keys the last
// counts, as in encoding/json.
type labelSet struct {
	x      *Index
	packed []byte
}

func (l labelSet) Lookup(key string) (string, bool) {
	for i := len(l.packed) - 8; i >= 0; i -= 8 {
		if string(l.x.strings.bytes(binary.LittleEndian.Uint32(l.packed[i:]))) == key {
			return l.x.strings.string(binary.LittleEndian.Uint32(l.packed[i+4:])), true
		}
	}
	return "", false
}

func (l labelSet) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

func (l labelSet) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}
