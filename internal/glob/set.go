package glob

import (
	"errors"
	"slices"
)

// Budget is how many steps may be taken. It is used by one goroutine.
type Budget struct {
	// Left is how many steps are left.
	Left int
	// Spent, if not nil, is told of steps as they are taken.
	Spent func(steps int)
}

// Spend takes steps, and reports whether there were that many; otherwise none are left.
func (b *Budget) Spend(steps int) bool {
	enough := steps <= b.Left
	steps = max(0, min(steps, b.Left))
	b.Left -= steps
	if b.Spent != nil && steps > 0 {
		b.Spent(steps)
	}
	return enough
}

// Compile is [Compile], or ErrSteps where that takes more than is left.
func (b *Budget) Compile(pattern string) (*Pattern, error) {
	steps := compileSteps(pattern)
	if steps > b.Left {
		return nil, ErrSteps
	}
	b.Spend(steps)
	return Compile(pattern)
}

// Match is [Pattern.Match] within the budget.
func (b *Budget) Match(p *Pattern, name string) (bool, error) {
	matched, steps, err := p.Match(name, min(b.Left, perName))
	b.Spend(1 + steps)
	return matched, err
}

// perName is the most steps that one pattern gets for one name.
const perName = 1 << 20

// Set is a list of names and patterns as Velero's filters hold them (globStringSet in
// pkg/util/collections/includes_excludes.go): sorted, and cut at a pattern that does not compile.
// It is used by one goroutine.
type Set struct {
	words    []string        // all, sorted
	names    map[string]bool // those that stand for themselves
	patterns []*Pattern
	// uncompiled is true if the budget did not even suffice to compile some.
	uncompiled bool
	beyond     []string
}

// maxBeyond is how many of the patterns are remembered that took too long.
const maxBeyond = 10

// NewSet compiles a list with steps of b; what they do not suffice for is in Beyond.
func NewSet(words []string, b *Budget) *Set {
	s := &Set{words: slices.Compact(slices.Sorted(slices.Values(words))), names: map[string]bool{}}
	for _, word := range s.words {
		if !Special(word) {
			s.names[word] = true
			continue
		}
		p, err := b.Compile(word)
		switch {
		case errors.Is(err, ErrTooComplex), errors.Is(err, ErrSteps):
			s.uncompiled = true
			s.giveUp(word)
		case err != nil:
			return s
		default:
			s.patterns = append(s.patterns, p)
		}
	}
	return s
}

// Len is how many different words the list has.
func (s *Set) Len() int { return len(s.words) }

// Has reports whether the list holds a word as it is.
func (s *Set) Has(word string) bool {
	_, found := slices.BinarySearch(s.words, word)
	return found
}

// Beyond are some of the patterns for which steps did not suffice so far.
func (s *Set) Beyond() []string { return s.beyond }

// Match reports whether anything in the list matches a name. known is false
// where the budget does not suffice to say no.
func (s *Set) Match(name string, b *Budget) (matched, known bool) {
	if s.names[name] {
		return true, true
	}
	known = !s.uncompiled
	for _, p := range s.patterns {
		if b.Left <= 0 {
			s.giveUp(p.text)
			return false, false
		}
		matched, err := b.Match(p, name)
		if matched {
			return true, true
		}
		if err != nil {
			known = false
			s.giveUp(p.text)
		}
	}
	return false, known
}

func (s *Set) giveUp(word string) {
	if !slices.Contains(s.beyond, word) && len(s.beyond) < maxBeyond {
		s.beyond = append(s.beyond, word)
	}
}
