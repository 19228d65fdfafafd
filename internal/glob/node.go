package glob

import "github.com/gobwas/glob/match"

type nodeKind uint8

const (
	isLeaf nodeKind = iota
	isTree
	isAnyOf
	isRow
)

// node is a matcher of the library.
type node struct {
	id    int
	kind  nodeKind
	runes int // how many it matches, as the library has it; -1 if that varies

	// leaf is matched by the library, which looks through the text weight times.
	leaf   match.Matcher
	weight int

	parts []*node // of alternatives or a row

	// value, of a tree, lies behind what left matches and before what right
	// does; where they are nil there is nothing.
	value, left, right    *node
	leftRunes, rightRunes int
}

// build makes nodes of a compiled matcher; nil of nil.
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
