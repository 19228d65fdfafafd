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
	switch tree := n.Matcher.(type) {
	case match.BTree:
		q := question{n.id, start, end}
		matched, known := m.known[q]
		if !known {
			matched = m.tree(n, tree, start, end)
			if m.known == nil {
				m.known = map[question]bool{}
			}
			m.known[q] = matched
		}
		return matched
	case match.Row:
		return m.spend(1+end-start) && utf8.RuneCountInString(m.name[start:end]) == n.Len() && m.row(n, start, end)
	case match.AnyOf:
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
	return m.spend(n.weight()*(1+end-start)) && n.Match(m.name[start:end])
}

// tree looks for n.value with left before and right behind it, as the library does: not in the
// bytes that left and right need at least, nor in an empty string.
func (m *matching) tree(n *node, tree match.BTree, start, end int) bool {
	size := end - start
	if tree.LengthRunes > size {
		return false
	}
	from, to := max(tree.LeftLengthRunes, 0), size
	if tree.RightLengthRunes >= 0 {
		to -= tree.RightLengthRunes
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
	steps := n.weight() * (1 + end - start)
	switch n.Matcher.(type) {
	case match.BTree:
		return -1, nil // the library does not look
	case match.Row:
		for i := range m.name[start:end] {
			if end-start-i < n.Len() || !m.spend(1) {
				break
			}
			if m.row(n, start+i, end) {
				return i, []int{n.Len()}
			}
		}
		return -1, nil
	case match.AnyOf:
		return m.indexAny(n, start, end)
	case match.EveryOf:
		steps *= 1 + end - start // it compares all ends with all ends
	}
	if !m.spend(steps) {
		return -1, nil
	}
	return n.Index(m.name[start:end])
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
			if runes++; runes == part.Len() {
				break
			}
		}
		if !m.spend(runes) || runes < part.Len() {
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

// node is a matcher of the library's with a number, and its parts.
type node struct {
	match.Matcher
	id    int
	parts []*node // of alternatives or a row
	// value, of a tree, lies between what left and right match; nil matches nothing.
	value, left, right *node
}

func (p *Pattern) build(m match.Matcher) *node {
	if m == nil {
		return nil
	}
	p.nodes++
	n := &node{Matcher: m, id: p.nodes}
	switch m := m.(type) {
	case match.BTree:
		n.value, n.left, n.right = p.build(m.Value), p.build(m.Left), p.build(m.Right)
	case match.AnyOf:
		n.parts = p.buildAll(m.Matchers)
	case match.Row:
		n.parts = p.buildAll(m.Matchers)
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

// weight is how many times the library looks through the text for what it matches itself.
func (n *node) weight() int {
	switch m := n.Matcher.(type) {
	case match.EveryOf: // of simple ones
		return 1 + len(m.Matchers)
	case match.PrefixSuffix:
		return 1 + len(m.Suffix)
	case match.List:
		return 1 + len(m.List)
	}
	return 1
}
