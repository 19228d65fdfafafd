package glob

import (
	"slices"
	"unicode/utf8"

	"github.com/gobwas/glob/match"
)

// matchState is the state of matching one name. Its methods follow the library's package match (v0.2.3), which is
// authoritative.
type matchState struct {
	name         string
	steps, limit int
	answerCache  map[subproblem]bool
}

// subproblem is the question whether a node matches name[start:end]. The library answers the same question
// repeatedly.
type subproblem struct{ node, start, end int }

func (m *matchState) spendSteps(steps int) bool {
	m.steps += steps
	return m.steps <= m.limit
}

func (m *matchState) matchNode(n *node, start, end int) bool {
	if n == nil {
		return start == end
	}
	switch tree := n.Matcher.(type) {
	case match.BTree:
		q := subproblem{n.id, start, end}
		matched, known := m.answerCache[q]
		if !known {
			matched = m.matchTree(n, tree, start, end)
			if m.answerCache == nil {
				m.answerCache = map[subproblem]bool{}
			}
			m.answerCache[q] = matched
		}
		return matched
	case match.Row:
		return m.spendSteps(1+end-start) && utf8.RuneCountInString(m.name[start:end]) == n.Len() && m.matchRow(n, start, end)
	case match.AnyOf:
		for _, part := range n.parts {
			if !m.spendSteps(1) {
				return false
			}
			if m.matchNode(part, start, end) {
				return true
			}
		}
		return false
	}
	return m.spendSteps(n.costFactor()*(1+end-start)) && n.Match(m.name[start:end])
}

// matchTree reports whether n.value matches somewhere with left before and right after it. Like the library, it does
// not search the bytes that left and right need at least, nor an empty string.
func (m *matchState) matchTree(n *node, tree match.BTree, start, end int) bool {
	size := end - start
	if tree.LengthRunes > size {
		return false
	}
	from, to := max(tree.LeftLengthRunes, 0), size
	if tree.RightLengthRunes >= 0 {
		to -= tree.RightLengthRunes
	}
	for from < to {
		at, lengths := m.findMatch(n.value, start+from, start+to)
		if at < 0 {
			return false
		}
		from += at
		if m.matchNode(n.left, start, start+from) {
			for i := len(lengths) - 1; i >= 0; i-- {
				if !m.spendSteps(1) {
					return false
				}
				if m.matchNode(n.right, start+min(from+lengths[i], size), end) {
					return true
				}
			}
		}
		_, step := utf8.DecodeRuneInString(m.name[start+from : end])
		from += step
	}
	return false
}

// findMatch returns the first position in name[start:end] where a node matches, relative to start, and the lengths of
// the matches there; -1 if there is none, or if the steps are used up.
func (m *matchState) findMatch(n *node, start, end int) (at int, lengths []int) {
	steps := n.costFactor() * (1 + end - start)
	switch n.Matcher.(type) {
	case match.BTree:
		return -1, nil // the library does not search
	case match.Row:
		for i := range m.name[start:end] {
			if end-start-i < n.Len() || !m.spendSteps(1) {
				break
			}
			if m.matchRow(n, start+i, end) {
				return i, []int{n.Len()}
			}
		}
		return -1, nil
	case match.AnyOf:
		return m.findAnyMatch(n, start, end)
	case match.EveryOf:
		steps *= 1 + end - start // the library compares all ends with all ends
	}
	if !m.spendSteps(steps) {
		return -1, nil
	}
	return n.Index(m.name[start:end])
}

func (m *matchState) findAnyMatch(n *node, start, end int) (at int, lengths []int) {
	at = -1
	for _, part := range n.parts {
		if !m.spendSteps(1) {
			return -1, nil
		}
		i, found := m.findMatch(part, start, end)
		switch {
		case i < 0 || at >= 0 && i > at:
		case at < 0 || i < at:
			at, lengths = i, found
		default:
			m.spendSteps(len(lengths) + len(found))
			lengths = slices.Concat(lengths, found)
			slices.Sort(lengths)
			lengths = slices.Compact(lengths)
		}
	}
	return at, lengths
}

// matchRow matches parts of fixed lengths one after the other. The caller checks the rest of the name.
func (m *matchState) matchRow(n *node, start, end int) bool {
	for _, part := range n.parts {
		if !m.spendSteps(1) {
			return false
		}
		text := m.name[start:end]
		last, runes := 0, 0
		for last = range text {
			if runes++; runes == part.Len() {
				break
			}
		}
		if !m.spendSteps(runes) || runes < part.Len() {
			return false
		}
		_ = text[:last+1] // panics where the library does
		if !m.matchNode(part, start, start+last+1) {
			return false
		}
		start += last + 1
	}
	return true
}

// node is one of the library's matchers with a number, and its parts.
type node struct {
	match.Matcher
	id    int
	parts []*node // of alternatives or a row
	// value is a tree's matcher between left and right; nil matches nothing.
	value, left, right *node
}

func (p *Pattern) buildNode(m match.Matcher) *node {
	if m == nil {
		return nil
	}
	p.nodeCount++
	n := &node{Matcher: m, id: p.nodeCount}
	switch m := m.(type) {
	case match.BTree:
		n.value, n.left, n.right = p.buildNode(m.Value), p.buildNode(m.Left), p.buildNode(m.Right)
	case match.AnyOf:
		n.parts = p.buildNodes(m.Matchers)
	case match.Row:
		n.parts = p.buildNodes(m.Matchers)
	}
	return n
}

func (p *Pattern) buildNodes(parts match.Matchers) []*node {
	all := make([]*node, len(parts))
	for i, part := range parts {
		all[i] = p.buildNode(part)
	}
	return all
}

// costFactor returns how many times the library scans the text to match a node that it matches itself.
func (n *node) costFactor() int {
	switch m := n.Matcher.(type) {
	case match.EveryOf: // of simple matchers
		return 1 + len(m.Matchers)
	case match.PrefixSuffix:
		return 1 + len(m.Suffix)
	case match.List:
		return 1 + len(m.List)
	}
	return 1
}
