package glob

import (
	"errors"
	"fmt"
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
	// maxName bounds the names that are matched, in bytes.
	maxName = 1 << 16
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

// wildcards is how many parts a pattern may be cut into, at most.
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
