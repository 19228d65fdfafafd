package diagnosis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// constants are the names and values of the reasons, from the source.
func constants(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if made, ok := spec.Values[0].(*ast.CallExpr); ok {
				value := made.Args[0].(*ast.BasicLit)
				found[spec.Names[0].Name] = strings.Trim(value.Value, `"`)
			}
		}
		return true
	})
	return found
}

// Reasons are API: each is documented, and nothing is documented that is not one.
func TestReasonsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	jobs, _, _ := strings.Cut(string(raw), "\n# OpenShift's etcd backups\n") // package etcd has a test of its own
	for line := range strings.Lines(jobs) {
		if name, _, ok := strings.Cut(
			strings.TrimPrefix(line, "| `"),
			"`",
		); ok && strings.HasPrefix(line, "| `") &&
			name != strings.ToLower(name) {
			if documented[name] {
				t.Errorf("%s is documented twice", name)
			}
			documented[name] = true
		}
	}
	all := constants(t)
	if len(all) < 30 {
		t.Fatalf("only %d reasons found", len(all))
	}
	for name, value := range all {
		if name != value {
			t.Errorf("%s is %q", name, value)
		}
		if !documented[value] {
			t.Errorf("%s is not in docs/reasons.md", value)
		}
		delete(documented, value)
	}
	for name := range documented {
		t.Errorf("docs/reasons.md documents %s, which is no reason", name)
	}
}
