package etcd

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Reasons are API: each has a line in its section of docs/reasons.md, and nothing
// else has.
func TestReasonsAreDocumented(t *testing.T) {
	source, err := os.ReadFile("reason.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(doc), "\n# OpenShift's etcd backups\n")
	if !found {
		t.Fatal("docs/reasons.md has no section of its own for them")
	}
	section, _, _ = strings.Cut(section, "<!-- attention-reasons") // those of the first screen
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\|").FindAllStringSubmatch(section, -1) {
		if documented[m[1]] {
			t.Errorf("%s is documented twice", m[1])
		}
		documented[m[1]] = true
	}
	reasons := regexp.MustCompile(`(?m)^\t(\w+) += diagnosis\.NewReason\("(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(reasons) < 30 {
		t.Fatalf("only %d reasons found", len(reasons))
	}
	for _, m := range reasons {
		if m[1] != m[2] {
			t.Errorf("%s is %q", m[1], m[2])
		}
		if !documented[m[2]] {
			t.Errorf("%s is not documented", m[2])
		}
		delete(documented, m[2])
	}
	for name := range documented {
		t.Errorf("docs/reasons.md documents %s, which is no reason", name)
	}
}
