package glob

import (
	"slices"
	"unicode/utf8"

	"github.com/gobwas/glob/match"
)

// matching is one name being matched. Its methods follow those of the library's package match
// (v0.2.3), which has the last word.
type matching struct {
	name         string
	steps, limit int
	known        map[question]bool
}

// question is whether a tree matches name[start:end]; the library repeats them.
type question struct{ node, start, end int }

func (m *matching) spend(steps int) bool {
	m.steps += steps
	return m.steps <= m.limit
}

func (m *matching) match(n *node, start, end int) bool {
	if n == nil {
		return start == end
	}
	switch n.kind {
	case isTree:
		q := question{n.id, start, end}
		matched, known := m.known[q]
		if !known {
			matched = m.tree(n, start, end)
			if m.known == nil {
				m.known = map[question]bool{}
			}
			m.known[q] = matched
		}
		return matched
	case isRow:
		return m.spend(1+end-start) && utf8.RuneCountInString(m.name[start:end]) == n.runes && m.row(n, start, end)
	case isAnyOf:
		for _, part := range n.parts {
			if !m.spend(1) {
				return false
			}
			if m.match(part, start, end) {
				return true
			}
		}
		return false
	}
	return m.spend(n.weight*(1+end-start)) && n.leaf.Match(m.name[start:end])
}

// tree looks for n.value with left before and right behind it, as the library does: not in the
// bytes that left and right need at least, nor in an empty string.
func (m *matching) tree(n *node, start, end int) bool {
	size := end - start
	if n.runes > size {
		return false
	}
	from, to := max(n.leftRunes, 0), size
	if n.rightRunes >= 0 {
		to -= n.rightRunes
	}
	for from < to {
		at, lengths := m.index(n.value, start+from, start+to)
		if at < 0 {
			return false
		}
		from += at
		if m.match(n.left, start, start+from) {
			for i := len(lengths) - 1; i >= 0; i-- {
				if !m.spend(1) {
					return false
				}
				if m.match(n.right, start+min(from+lengths[i], size), end) {
					return true
				}
			}
		}
		_, step := utf8.DecodeRuneInString(m.name[start+from : end])
		from += step
	}
	return false
}

// index finds the first place in name[start:end] where a node matches, counted from start, and
// how long the matches there are; -1 for none, or without steps.
func (m *matching) index(n *node, start, end int) (at int, lengths []int) {
	switch n.kind {
	case isTree:
		return -1, nil // the library does not look
	case isRow:
		for i := range m.name[start:end] {
			if end-start-i < n.runes || !m.spend(1) {
				break
			}
			if m.row(n, start+i, end) {
				return i, []int{n.runes}
			}
		}
		return -1, nil
	case isAnyOf:
		return m.indexAny(n, start, end)
	}
	steps := n.weight * (1 + end - start)
	if _, all := n.leaf.(match.EveryOf); all {
		steps *= 1 + end - start // it compares all ends with all ends
	}
	if !m.spend(steps) {
		return -1, nil
	}
	return n.leaf.Index(m.name[start:end])
}

func (m *matching) indexAny(n *node, start, end int) (at int, lengths []int) {
	at = -1
	for _, part := range n.parts {
		if !m.spend(1) {
			return -1, nil
		}
		i, found := m.index(part, start, end)
		switch {
		case i < 0 || at >= 0 && i > at:
		case at < 0 || i < at:
			at, lengths = i, found
		default:
			m.spend(len(lengths) + len(found))
			lengths = slices.Concat(lengths, found)
			slices.Sort(lengths)
			lengths = slices.Compact(lengths)
		}
	}
	return at, lengths
}

// row matches parts of fixed lengths one after the other. The caller judges what comes behind.
func (m *matching) row(n *node, start, end int) bool {
	for _, part := range n.parts {
		if !m.spend(1) {
			return false
		}
		text := m.name[start:end]
		last, runes := 0, 0
		for last = range text {
			if runes++; runes == part.runes {
				break
			}
		}
		if !m.spend(runes) || runes < part.runes {
			return false
		}
		_ = text[:last+1] // panics where the library does
		if !m.match(part, start, start+last+1) {
			return false
		}
		start += last + 1
	}
	return true
}

type nodeKind uint8

const (
	isLeaf nodeKind = iota
	isTree
	isAnyOf
	isRow
)

type node struct {
	id    int
	kind  nodeKind
	runes int // how many it matches, as the library has it; -1 if that varies

	// leaf is matched by the library, which looks through the text weight times.
	leaf   match.Matcher
	weight int

	parts []*node // of alternatives or a row

	// value, of a tree, lies between what left and right match; nil matches nothing.
	value, left, right    *node
	leftRunes, rightRunes int
}

func (p *Pattern) build(m match.Matcher) *node {
	if m == nil {
		return nil
	}
	p.nodes++
	n := &node{id: p.nodes, runes: m.Len()}
	switch m := m.(type) {
	case match.BTree:
		n.kind = isTree
		n.value, n.left, n.right = p.build(m.Value), p.build(m.Left), p.build(m.Right)
		n.leftRunes, n.rightRunes = m.LeftLengthRunes, m.RightLengthRunes
	case match.AnyOf:
		n.kind, n.parts = isAnyOf, p.buildAll(m.Matchers)
	case match.Row:
		n.kind, n.parts = isRow, p.buildAll(m.Matchers)
	default:
		n.leaf, n.weight = m, weightOf(m)
	}
	return n
}

func (p *Pattern) buildAll(parts match.Matchers) []*node {
	all := make([]*node, len(parts))
	for i, part := range parts {
		all[i] = p.build(part)
	}
	return all
}

func weightOf(m match.Matcher) int {
	switch m := m.(type) {
	case match.EveryOf: // of simple ones
		return 1 + len(m.Matchers)
	case match.PrefixSuffix:
		return 1 + len(m.Suffix)
	case match.List:
		return 1 + len(m.List)
	}
	return 1
}
