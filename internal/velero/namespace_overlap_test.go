package velero

import (
	"fmt"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestTakes(t *testing.T) {
	for _, c := range []struct {
		in, out string
		takes   string
		not     string
	}{
		{"", "", "a", ""},
		{"*", "a*", "b", "a,ab"},
		{"a-?,[!b]x", "", "a-1,ax", "a-,bx"},
		{"[^a]x", "", "^x,ax", "bx"}, // "^" is no negation to Velero
		{"a", "a", "", "a"},
	} {
		list := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, ",")
		}
		n := IncludeExclude{list(c.in), list(c.out)}
		for _, name := range list(c.takes) {
			if !n.Matches(name) {
				t.Errorf("%+v does not take %s", n, name)
			}
		}
		for _, name := range list(c.not) {
			if n.Matches(name) {
				t.Errorf("%+v takes %s", n, name)
			}
		}
	}
}

// TestRefusedPatterns: a backup that Velero refuses takes nothing.
func TestRefusedPatterns(t *testing.T) {
	plain := IncludeExclude{Includes: []string{"a", "aa"}}
	for pattern, refused := range map[string]bool{
		"a*": false, "a?": false, "[a]a": false, "a**": true, "[]a": true, "a[": true, "a]*": true, "{a,aa}*": true, "!a*": true, "[b-a]a": true,
	} {
		n := IncludeExclude{Includes: []string{"a", pattern}}
		if o := n.FindOverlap(plain, []string{"a", "aa"}); o.Exists == refused {
			t.Errorf("%q: %+v", pattern, o)
		}
	}
}

// TestHostileFilters: filters that would keep a matcher busy for years, and
// lists that are long, are compared in a moment, and err on the side of an
// overlap.
func TestHostileFilters(t *testing.T) {
	hostile := strings.Repeat("*a", 24) + "*b*" + strings.Repeat("a*", 24)
	var known, many, patterns []string
	for i := range 20_000 {
		known = append(known, fmt.Sprintf("%s%d", strings.Repeat("a", 50), i))
		many = append(many, fmt.Sprintf("n-%d", i))
		patterns = append(patterns, fmt.Sprintf("p-%d-*", i))
	}
	other := IncludeExclude{Includes: []string{"a*"}}
	if o := (IncludeExclude{Includes: []string{hostile}}).FindOverlap(other, known); !o.Exists || o.Certain {
		t.Errorf("a hostile pattern: %v, certain %v", o.Exists, o.Certain)
	}
	if o := (IncludeExclude{Includes: many}).FindOverlap(
		IncludeExclude{Includes: append(many, "x")},
		nil,
	); !o.Exists || !o.Certain ||
		len(o.Names) != len(many) {
		t.Errorf("long lists: %v, certain %v, %d names", o.Exists, o.Certain, len(o.Names))
	}
	if o := (IncludeExclude{Includes: patterns}).FindOverlap(
		IncludeExclude{Includes: append(patterns[1:], "q*")},
		nil,
	); !o.Exists ||
		o.Certain {
		t.Errorf("many patterns: %v, certain %v", o.Exists, o.Certain)
	}
	r := &veleroapi.Restore{
		Spec: veleroapi.RestoreSpec{IncludedNamespaces: []string{hostile}, NamespaceMapping: map[string]string{}},
	}
	for _, name := range known {
		r.Spec.NamespaceMapping[name] = "target"
	}
	if !MayRestoreInto(r, nil, "target") {
		t.Error("it may restore into a namespace, and it is denied")
	}
}
