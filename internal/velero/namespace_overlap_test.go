package velero

import (
	"fmt"
	"strings"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
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
		n := Namespaces{list(c.in), list(c.out)}
		for _, name := range list(c.takes) {
			if !n.Takes(name) {
				t.Errorf("%+v does not take %s", n, name)
			}
		}
		for _, name := range list(c.not) {
			if n.Takes(name) {
				t.Errorf("%+v takes %s", n, name)
			}
		}
	}
}

// TestRefusedPatterns: a backup that Velero refuses takes nothing.
func TestRefusedPatterns(t *testing.T) {
	plain := Namespaces{Includes: []string{"a", "aa"}}
	for pattern, refused := range map[string]bool{
		"a*": false, "a?": false, "[a]a": false, "a**": true, "[]a": true, "a[": true, "a]*": true, "{a,aa}*": true, "!a*": true, "[b-a]a": true,
	} {
		n := Namespaces{Includes: []string{"a", pattern}}
		if o := n.Overlap(plain, []string{"a", "aa"}); o.Any == refused {
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
	other := Namespaces{Includes: []string{"a*"}}
	if o := (Namespaces{Includes: []string{hostile}}).Overlap(other, known); !o.Any || o.Certain {
		t.Errorf("a hostile pattern: %v, certain %v", o.Any, o.Certain)
	}
	if o := (Namespaces{Includes: many}).Overlap(
		Namespaces{Includes: append(many, "x")},
		nil,
	); !o.Any || !o.Certain ||
		len(o.Names) != len(many) {
		t.Errorf("long lists: %v, certain %v, %d names", o.Any, o.Certain, len(o.Names))
	}
	if o := (Namespaces{Includes: patterns}).Overlap(
		Namespaces{Includes: append(patterns[1:], "q*")},
		nil,
	); !o.Any ||
		o.Certain {
		t.Errorf("many patterns: %v, certain %v", o.Any, o.Certain)
	}
	r := &velerov1.Restore{
		Spec: velerov1.RestoreSpec{IncludedNamespaces: []string{hostile}, NamespaceMapping: map[string]string{}},
	}
	for _, name := range known {
		r.Spec.NamespaceMapping[name] = "target"
	}
	if !RestoresInto(r, nil, "target") {
		t.Error("it may restore into a namespace, and it is denied")
	}
}
