package glob

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gobwas/glob"
	"github.com/gobwas/glob/match"
)

// Errors that callers tell apart with errors.Is. Any other error of Compile is Velero's too.
var (
	// ErrTooComplex is a pattern that may take too long to compile. Velero would compile it.
	ErrTooComplex = errors.New("too long or too many wildcards")
	// ErrSteps is a match that was given up.
	ErrSteps = errors.New("matching takes too many steps")
)

const (
	// maxBytes and maxWildcards bound what is compiled, which takes the cube of the wildcards.
	// Names have at most 317 bytes, and usual patterns a handful of wildcards.
	maxBytes     = 1024
	maxWildcards = 64
	maxName      = 1 << 16 // bytes
)

// Special reports whether a pattern is more than a name that matches itself.
func Special(pattern string) bool {
	return strings.ContainsAny(pattern, "*?[{\\\x00\uFFFD") || !utf8.ValidString(pattern)
}

// Pattern is a compiled pattern. It may be used by several goroutines.
type Pattern struct {
	text  string
	root  *node
	nodes int
}

func wildcards(pattern string) (n int) {
	for i := range len(pattern) {
		if strings.IndexByte("*?[{,", pattern[i]) >= 0 {
			n++
		}
	}
	return n
}

// compileSteps is about what Compile takes.
func compileSteps(pattern string) int {
	parts := 1 + 2*wildcards(pattern) // with the texts between
	if len(pattern) > maxBytes || parts > 1+2*maxWildcards {
		return len(pattern)
	}
	return len(pattern) + parts*parts*parts
}

// Compile compiles a pattern. The error is ErrTooComplex, or that of Velero.
func Compile(pattern string) (p *Pattern, err error) {
	if len(pattern) > maxBytes || wildcards(pattern) > maxWildcards {
		return nil, fmt.Errorf("pattern %.60q: %w", pattern, ErrTooComplex)
	}
	defer func() {
		if value := recover(); value != nil { // the library indexes beyond its slices
			p, err = nil, fmt.Errorf("pattern %.60q: %v", pattern, value)
		}
	}()
	compiled, err := glob.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %.60q: %w", pattern, err)
	}
	matcher, ok := compiled.(match.Matcher)
	if !ok {
		return nil, fmt.Errorf("pattern %.60q: %w", pattern, ErrTooComplex)
	}
	p = &Pattern{text: pattern}
	p.root = p.build(matcher)
	return p, nil
}

// Match reports whether the pattern matches a whole name, and in how many steps, of about a byte
// each. The error is ErrSteps beyond limit steps, and for names that are too long.
func (p *Pattern) Match(name string, limit int) (matched bool, steps int, err error) {
	if len(name) > maxName {
		return false, 1, ErrSteps
	}
	defer func() {
		if recover() != nil { // what the library cannot match matches nothing
			matched, err = false, nil
		}
	}()
	m := matching{name: name, limit: limit}
	matched = m.match(p.root, 0, len(name))
	if m.steps > limit {
		return false, m.steps, ErrSteps
	}
	return matched, m.steps, nil
}

// Budget is how many steps may be taken. It is used by one goroutine.
type Budget struct {
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

// Set is a list of names and patterns of a filter of Velero's (globStringSet in
// pkg/util/collections/includes_excludes.go): sorted, and cut at a pattern that does not compile.
type Set struct {
	words    []string        // all, sorted
	names    map[string]bool // those that stand for themselves
	patterns []*Pattern
	// uncompiled is true if the budget did not even suffice to compile some.
	uncompiled bool
	beyond     []string
}

const maxBeyond = 10 // patterns that are remembered

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

func (s *Set) Has(word string) bool {
	_, found := slices.BinarySearch(s.words, word)
	return found
}

// Beyond are some of the patterns for which steps did not suffice so far.
func (s *Set) Beyond() []string { return s.beyond }

// Match reports whether anything in the list matches. known is false if the budget does not suffice to say no.
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

// Filter is what Velero takes by two lists: all where nothing is included, or *
// (pkg/util/collections/includes_excludes.go). What the budget does not suffice for is taken; see Beyond.
type Filter struct {
	includes, excludes *Set
	budget             *Budget
	verdicts           map[string]bool
}

// NewFilter compiles both lists with steps of b, which matching then takes, too.
func NewFilter(includes, excludes []string, b *Budget) *Filter {
	return &Filter{NewSet(includes, b), NewSet(excludes, b), b, map[string]bool{}}
}

func (f *Filter) Takes(name string) bool {
	verdict, known := f.verdicts[name]
	if !known {
		excluded, _ := f.excludes.Match(name, f.budget)
		if verdict = !excluded; verdict && !f.TakesRest() {
			included, known := f.includes.Match(name, f.budget)
			verdict = included || !known
		}
		f.verdicts[name] = verdict
	}
	return verdict
}

// TakesRest reports whether all is taken that is not excluded.
func (f *Filter) TakesRest() bool { return len(f.includes.words) == 0 || f.includes.Has("*") }

// TakesAll reports whether nothing is left out.
func (f *Filter) TakesAll() bool { return f.TakesRest() && len(f.excludes.words) == 0 }

// Excludes reports whether a word is in the list of what is excluded, as it stands.
func (f *Filter) Excludes(word string) bool { return f.excludes.Has(word) }

// Beyond are some of the patterns for which steps did not suffice so far.
func (f *Filter) Beyond() []string { return slices.Concat(f.includes.Beyond(), f.excludes.Beyond()) }

// Quote returns the pattern that matches a name alone.
func Quote(name string) string { return glob.QuoteMeta(name) }
