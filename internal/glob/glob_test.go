package glob

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/glob"
)

// theirs is what the library itself says; ok is false where it cannot compile
// the pattern, or fails on it.
func theirs(pattern, name string) (matched, ok bool) {
	defer func() {
		if recover() != nil {
			matched = false
		}
	}()
	g, err := glob.Compile(pattern)
	if err != nil {
		return false, false
	}
	ok = true
	return g.Match(name), ok
}

// same compares with the library.
func same(t *testing.T, pattern, name string) {
	t.Helper()
	want, ok := theirs(pattern, name)
	p, err := Compile(pattern)
	if errors.Is(err, ErrTooComplex) {
		t.Fatalf("%q: %v", pattern, err)
	}
	if (err == nil) != ok {
		t.Fatalf("%q: %v, the library compiles it: %v", pattern, err, ok)
	}
	if err != nil {
		return
	}
	matched, steps, err := p.Match(name, bound)
	if err != nil || matched != want {
		t.Fatalf("%q on %q: %v (%d steps, %v), the library says %v", pattern, name, matched, steps, err, want)
	}
	if !IsPattern(pattern) && matched != (pattern == name) {
		t.Fatalf("%q on %q: %v, but it is not special", pattern, name, matched)
	}
}

// bound is the most steps that a short pattern takes on a short name.
const bound = 1_000_000

// TestSameAsTheLibrary draws patterns and names from few letters, so that they
// meet.
func TestSameAsTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(letters []string, most int) string {
		var s strings.Builder
		for range r.IntN(most + 1) {
			s.WriteString(letters[r.IntN(len(letters))])
		}
		return s.String()
	}
	matches, each := 0, 30_000
	if testing.Short() {
		each = 1_000
	}
	for _, letters := range []string{"ab*", "ab*?", "a*{},", "ab?{},*[]!-", "ab*?{},[]!-\\", "aé*?{},", "a-.b*?"} {
		parts := append(strings.Split(letters, ""), "[!a]", "{a,b*}", "{,a}", "**", "?*")
		for range each {
			pattern, name := draw(parts, 9), draw([]string{"a", "b", "-", "é"}, 9)
			same(t, pattern, name)
			if matched, _ := theirs(pattern, name); matched {
				matches++
			}
		}
	}
	if matches < each/6 {
		t.Errorf("only %d matches: the names are too far from the patterns", matches)
	}
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}

// TestQuirks are patterns about which the library has an opinion of its own.
func TestQuirks(t *testing.T) {
	for _, pattern := range []string{"{a*b*c,d*}*", "[!ab][!ab]", "{,a}b", "{", "{a", "a}b", "a,b", "\\*", "a\x00b", "??", "[a-c]?", "[!a-c]*", "*{a,b}*{c,d}*", "\uFFFD", "\xff"} {
		for _, name := range []string{"", "a", "b", "ab", "aa", "cc", "a}b", "a,b", "*", "d", "dd", "axbxc", "xaxcx", "é", "ab\x00"} {
			same(t, pattern, name)
		}
	}
}

// TestHostilePatterns come to an end in few steps. The library needs longer
// than anybody waits for the second one.
func TestHostilePatterns(t *testing.T) {
	name := strings.Repeat("a", 60)
	for _, pattern := range []string{
		strings.Repeat("*a", 49) + "b",
		strings.Repeat("*a", 20) + "*b*" + strings.Repeat("a*", 20),
		"*" + strings.Repeat("?*a*", 20) + "b*",
		strings.Repeat("{a,aa,a*}", 9) + "b*",
		strings.Repeat("{a*,*a,aa}*", 8) + "b",
		strings.Repeat("{", 60) + "a*b*c" + strings.Repeat("}", 60),
		strings.Repeat("[!b]*", 16) + "b*",
		strings.Repeat("?", 64), strings.Repeat("*", 64), strings.Repeat("a?", 64), strings.Repeat("{,", 32), strings.Repeat("[a-b]x", 64),
	} {
		begin := time.Now()
		p, err := Compile(pattern)
		if err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		compiled := time.Since(begin)
		_, steps, err := p.Match(name, 50_000_000)
		if took := compiled.Nanoseconds(); took > int64(1000*compileCost(pattern)) && took > 1e9 {
			t.Errorf("%.20q: compiled in %v, which counts as %d steps", pattern, compiled, compileCost(pattern))
		}
		t.Logf("%-60.60s compiled in %v, %d steps in %v", pattern, compiled, steps, time.Since(begin)-compiled)
		if err != nil {
			t.Errorf("%q: %v after %d steps", pattern, err, steps)
		}
		if _, steps, err := p.Match(name, 10); steps > 10 && !errors.Is(err, ErrTooManySteps) || steps > 100_000 {
			t.Errorf("%q: %d steps of 10, %v", pattern, steps, err)
		}
	}
	for _, pattern := range []string{strings.Repeat("*a", 500), strings.Repeat("{", 1000), strings.Repeat("x", 2000) + "*"} {
		if _, err := Compile(pattern); !errors.Is(err, ErrTooComplex) {
			t.Errorf("%.20q...: %v", pattern, err)
		}
	}
}

// TestSet: a list is what Velero takes it for.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		words   []string
		matches string
		not     string
	}{
		{nil, "", "a,*"},
		{[]string{"b", "a*"}, "b,a,ab", "c,ba"},
		{[]string{"[", "Z", "a"}, "Z", "a,["}, // nothing behind "["
		{[]string{"{x,y}.apps"}, "x.apps,y.apps", "x"},
		{[]string{"\xff", "a", "\xff*"}, "a", "\xff"},
	} {
		budget := &Budget{StepsLeft: 1000}
		s := NewSet(c.words, budget)
		for name := range strings.SplitSeq(c.matches, ",") {
			if matched, known := s.Match(name, budget); name != "" && (!matched || !known) {
				t.Errorf("%q does not match %q (%v)", c.words, name, known)
			}
		}
		for name := range strings.SplitSeq(c.not, ",") {
			if matched, known := s.Match(name, budget); matched || !known {
				t.Errorf("%q matches %q (%v)", c.words, name, known)
			}
		}
		if len(s.CostlyPatterns()) > 0 || budget.StepsLeft < 0 {
			t.Errorf("%q: %q beyond, %d left", c.words, s.CostlyPatterns(), budget.StepsLeft)
		}
	}
}

// TestSetBeyondItsBudget says so, and still finds what is cheap to find.
func TestSetBeyondItsBudget(t *testing.T) {
	hostile := strings.Repeat("*a", 20) + "*b*" + strings.Repeat("a*", 20)
	endless := strings.Repeat("*a", 500)
	budget := &Budget{StepsLeft: 1_000_000}
	s := NewSet([]string{hostile, endless, "plain", "a*a", "c*"}, budget)
	for _, cheap := range []string{"plain", "aa", "cd"} {
		if matched, known := s.Match(cheap, budget); !matched || !known {
			t.Errorf("%q: %v, %v", cheap, matched, known)
		}
	}
	if matched, known := s.Match(strings.Repeat("a", 60)+"x", budget); matched || known {
		t.Errorf("%v, %v", matched, known)
	}
	if beyond := s.CostlyPatterns(); !slices.Contains(beyond, endless) || !slices.Contains(beyond, hostile) {
		t.Errorf("%q", beyond)
	}
	if budget.StepsLeft < 0 {
		t.Errorf("%d steps left", budget.StepsLeft)
	}
}

// FuzzMatch: the same answer as the library, within a bound.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{{"a*b", "axb"}, {"{a,b*}?", "bcd"}, {"[!a-c]*", "d"}, {"*a*b*", "xaxbx"}, {"\\*{}", "*"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 14 || len(name) > 14 { // the library would take for ever
			return
		}
		same(t, pattern, name)
	})
}

// FuzzSteps: however long pattern and name are, the steps end at the limit.
func FuzzSteps(f *testing.F) {
	f.Add(strings.Repeat("*a", 49)+"b", strings.Repeat("a", 300))
	f.Add(strings.Repeat("{a*,*a}", 12), strings.Repeat("a", 300))
	f.Fuzz(func(t *testing.T, pattern, name string) {
		p, err := Compile(pattern)
		if err != nil {
			return
		}
		const limit = 20_000
		_, steps, err := p.Match(name, limit)
		// The last thing that is done may go beyond the limit, unless it was
		// found to before.
		if steps > limit && !errors.Is(err, ErrTooManySteps) {
			t.Fatalf("%d steps, %v", steps, err)
		}
		if p.nodeCount > 2*maxPatternBytes {
			t.Fatalf("%d nodes", p.nodeCount)
		}
	})
}
