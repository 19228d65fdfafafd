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
	set  labelSet
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
		s.set = labelSet{text: string(x.strings.data), end: x.strings.end, ids: map[string]uint32{}}
	}
	return s, nil
}

// selects says whether an item is selected by its labels. It must not be
// called when all are.
func (s *selection) selects(item uint32) bool {
	set := s.x.setOf[item]
	if s.memo[set] == 0 {
		s.memo[set] = -1
		if s.set.packed = s.x.sets.bytes(set); s.matches(&s.set) {
			s.memo[set] = 1
		}
	}
	return s.memo[set] > 0
}

func (s *selection) matches(set *labelSet) bool {
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

// labelSet is one set of an Index as labels.Labels. Keys are compared by their
// number; each is looked up once.
type labelSet struct {
	text   string // all strings of the Index, so that parts of it need no copy
	end    []uint32
	ids    map[string]uint32
	packed []byte
}

func (l *labelSet) at(id uint32) string {
	if id == 0 {
		return l.text[:l.end[0]]
	}
	return l.text[l.end[id-1]:l.end[id]]
}

// id is the number of a key, or one that no key has.
func (l *labelSet) id(key string) uint32 {
	id, known := l.ids[key]
	if !known {
		for id = 0; int(id) < len(l.end) && l.at(id) != key; {
			id++
		}
		l.ids[key] = id
	}
	return id
}

// Lookup returns the last of several equal keys, as encoding/json does.
func (l *labelSet) Lookup(key string) (string, bool) {
	id := l.id(key)
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
