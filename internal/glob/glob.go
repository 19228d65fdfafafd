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

// These are the errors to distinguish with errors.Is. Any other error of Compile would be Velero's, too.
var (
	// ErrTooComplex means that a pattern may take too long to compile. Velero would compile it.
	ErrTooComplex = errors.New("too long or too many wildcards")
	// ErrTooManySteps means that a match was given up.
	ErrTooManySteps = errors.New("matching takes too many steps")
)

const (
	// maxPatternBytes and maxWildcards limit a pattern: compiling takes the cube of its wildcards. Names have at most 317
	// bytes, and usual patterns a handful of wildcards.
	maxPatternBytes = 1024
	maxWildcards    = 64
	maxNameBytes    = 1 << 16 // bytes
)

// IsPattern reports whether a pattern is more than a name that matches itself.
func IsPattern(pattern string) bool {
	return strings.ContainsAny(pattern, "*?[{\\\x00\uFFFD") || !utf8.ValidString(pattern)
}

// Pattern is a compiled pattern. It may be used by several goroutines.
type Pattern struct {
	text      string
	root      *node
	nodeCount int
}

func countWildcards(pattern string) (n int) {
	for i := range len(pattern) {
		if strings.IndexByte("*?[{,", pattern[i]) >= 0 {
			n++
		}
	}
	return n
}

// compileCost returns about how many steps Compile takes.
func compileCost(pattern string) int {
	parts := 1 + 2*countWildcards(pattern) // including the texts between the wildcards
	if len(pattern) > maxPatternBytes || parts > 1+2*maxWildcards {
		return len(pattern)
	}
	return len(pattern) + parts*parts*parts
}

// Compile compiles a pattern. The error is ErrTooComplex, or the one that Velero would report.
func Compile(pattern string) (p *Pattern, err error) {
	if len(pattern) > maxPatternBytes || countWildcards(pattern) > maxWildcards {
		return nil, fmt.Errorf("pattern %.60q: %w", pattern, ErrTooComplex)
	}
	defer func() {
		if value := recover(); value != nil { // the library may index beyond its slices
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
	p.root = p.buildNode(matcher)
	return p, nil
}

// Match reports whether the pattern matches a whole name, and the number of steps taken, of about one byte each. The
// error is ErrTooManySteps beyond limit steps, and for names that are too long.
func (p *Pattern) Match(name string, limit int) (matched bool, steps int, err error) {
	if len(name) > maxNameBytes {
		return false, 1, ErrTooManySteps
	}
	defer func() {
		if recover() != nil { // a pattern that makes the library panic matches nothing
			matched, err = false, nil
		}
	}()
	m := matchState{name: name, limit: limit}
	matched = m.matchNode(p.root, 0, len(name))
	if m.steps > limit {
		return false, m.steps, ErrTooManySteps
	}
	return matched, m.steps, nil
}

// Budget is the number of steps that may be taken. Only one goroutine may use it.
type Budget struct {
	StepsLeft int
	// OnSpend, if not nil, is called with the steps as they are taken.
	OnSpend func(steps int)
}

// Spend takes steps, and reports whether there were enough; otherwise none are left.
func (b *Budget) Spend(steps int) bool {
	enough := steps <= b.StepsLeft
	steps = max(0, min(steps, b.StepsLeft))
	b.StepsLeft -= steps
	if b.OnSpend != nil && steps > 0 {
		b.OnSpend(steps)
	}
	return enough
}

// Compile is [Compile] within the budget. The error is ErrTooManySteps if it would take more steps than are left.
func (b *Budget) Compile(pattern string) (*Pattern, error) {
	steps := compileCost(pattern)
	if steps > b.StepsLeft {
		return nil, ErrTooManySteps
	}
	b.Spend(steps)
	return Compile(pattern)
}

// Match is [Pattern.Match] within the budget.
func (b *Budget) Match(p *Pattern, name string) (bool, error) {
	matched, steps, err := p.Match(name, min(b.StepsLeft, maxStepsPerName))
	b.Spend(1 + steps)
	return matched, err
}

// maxStepsPerName is the maximum number of steps to match one pattern with one name.
const maxStepsPerName = 1 << 20

// Set is a list of names and patterns of a Velero filter (globStringSet in
// pkg/util/collections/includes_excludes.go): sorted, and cut at a pattern that does not compile.
type Set struct {
	words    []string        // all, sorted
	names    map[string]bool // the words that are no patterns
	patterns []*Pattern
	// uncompiled is true if the budget did not suffice to compile all patterns.
	uncompiled bool
	costly     []string
}

const maxCostlyPatterns = 10 // the number of patterns recorded

// NewSet compiles a list with steps of b; the patterns for which they do not suffice are in CostlyPatterns.
func NewSet(words []string, b *Budget) *Set {
	s := &Set{words: slices.Compact(slices.Sorted(slices.Values(words))), names: map[string]bool{}}
	for _, word := range s.words {
		if !IsPattern(word) {
			s.names[word] = true
			continue
		}
		p, err := b.Compile(word)
		switch {
		case errors.Is(err, ErrTooComplex), errors.Is(err, ErrTooManySteps):
			s.uncompiled = true
			s.noteCostly(word)
		case err != nil:
			return s
		default:
			s.patterns = append(s.patterns, p)
		}
	}
	return s
}

func (s *Set) Contains(word string) bool {
	_, found := slices.BinarySearch(s.words, word)
	return found
}

// CostlyPatterns returns some of the patterns for which the steps did not suffice so far.
func (s *Set) CostlyPatterns() []string { return s.costly }

// Match reports whether any entry of the list matches. known is false if the budget does not suffice to rule out a
// match.
func (s *Set) Match(name string, b *Budget) (matched, known bool) {
	if s.names[name] {
		return true, true
	}
	known = !s.uncompiled
	for _, p := range s.patterns {
		if b.StepsLeft <= 0 {
			s.noteCostly(p.text)
			return false, false
		}
		matched, err := b.Match(p, name)
		if matched {
			return true, true
		}
		if err != nil {
			known = false
			s.noteCostly(p.text)
		}
	}
	return false, known
}

func (s *Set) noteCostly(word string) {
	if !slices.Contains(s.costly, word) && len(s.costly) < maxCostlyPatterns {
		s.costly = append(s.costly, word)
	}
}

// Filter is a Velero filter of two lists, which selects all if nothing or * is included
// (pkg/util/collections/includes_excludes.go). A name for which the budget does not suffice matches; see
// CostlyPatterns.
type Filter struct {
	includes, excludes *Set
	budget             *Budget
	matchCache         map[string]bool
}

// NewFilter compiles both lists with steps of b, from which matching also takes its steps.
func NewFilter(includes, excludes []string, b *Budget) *Filter {
	return &Filter{NewSet(includes, b), NewSet(excludes, b), b, map[string]bool{}}
}

func (f *Filter) Matches(name string) bool {
	verdict, known := f.matchCache[name]
	if !known {
		excluded, _ := f.excludes.Match(name, f.budget)
		if verdict = !excluded; verdict && !f.MatchesByDefault() {
			included, known := f.includes.Match(name, f.budget)
			verdict = included || !known
		}
		f.matchCache[name] = verdict
	}
	return verdict
}

// MatchesByDefault reports whether every name that is not excluded matches.
func (f *Filter) MatchesByDefault() bool {
	return len(f.includes.words) == 0 || f.includes.Contains("*")
}

// MatchesAll reports whether every name matches.
func (f *Filter) MatchesAll() bool { return f.MatchesByDefault() && len(f.excludes.words) == 0 }

// HasExclude reports whether the list of excludes has a word, literally.
func (f *Filter) HasExclude(word string) bool { return f.excludes.Contains(word) }

// CostlyPatterns returns some of the patterns for which the steps did not suffice so far.
func (f *Filter) CostlyPatterns() []string {
	return slices.Concat(f.includes.CostlyPatterns(), f.excludes.CostlyPatterns())
}

// Quote returns the pattern that matches only the given name.
func Quote(name string) string { return glob.QuoteMeta(name) }
