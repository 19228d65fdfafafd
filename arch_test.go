package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/veltui/veltui"

// imports is the whole picture: for every package of the product, those of our
// own that it imports, from the top down. No more and no less may be true.
// docs/dev/architecture.md draws it.
var imports = map[string][]string{
	"internal/assets":            nil,
	"inspect":                    {"action", "assess", "assess/coverage", "collector", "collector/cache", "diagnosis", "internal/client", "internal/human", "internal/safefile", "internal/sanitize", "internal/statedir", "job", "job/forecast", "job/forecast/history", "restore/dryrun", "restore/preflight", "restore/prepare", "restore/restorespec", "restore/target", "restore/verify", "retry", "session", "stored/artifact", "stored/logs", "stored/outcome", "velero", "velero/decode", "watch"},
	"":                           {"cmd"},
	"cmd":                        {"action", "assess", "assess/coverage", "collector", "collector/cache", "demo", "diagnosis", "etcd", "inspect", "internal/assets", "internal/client", "internal/config", "internal/glob", "internal/human", "internal/safefile", "internal/sanitize", "internal/statedir", "job", "job/forecast/history", "restore/dryrun", "restore/preflight", "restore/restorespec", "restore/target", "restore/verify", "retry", "say/describe", "say/document", "say/narrate", "say/report", "session", "stored/artifact", "stored/logs", "stored/outcome", "ui", "ui/draw", "ui/guide", "ui/keys", "ui/tabs", "ui/terminal", "velero", "velero/decode", "watch"},
	"ui":                         {"action", "assess", "assess/coverage", "diagnosis", "inspect", "internal/human", "job", "job/forecast", "restore/restorespec", "say/describe", "say/document", "say/narrate", "ui/command", "ui/detail", "ui/dialog", "ui/draw", "ui/fetch", "ui/guide", "ui/jobview", "ui/keys", "ui/pager", "ui/restoreform", "ui/tabs", "ui/terminal", "velero", "velero/decode", "watch"},
	"ui/tabs":                    {"assess", "assess/coverage", "diagnosis", "etcd", "internal/human", "job", "say/describe", "say/document", "ui/detail", "ui/draw", "velero", "watch"},
	"ui/detail":                  {"assess", "say/describe", "ui/draw", "ui/keys", "ui/pager", "watch"},
	"ui/dialog":                  {"action", "inspect", "internal/human", "internal/sanitize", "job", "ui/draw", "ui/fetch", "ui/keys", "velero"},
	"ui/jobview":                 {"assess", "collector", "diagnosis", "inspect", "internal/human", "job", "restore/restorespec", "restore/target", "restore/verify", "say/describe", "stored/artifact", "stored/logs", "stored/outcome", "ui/detail", "ui/draw", "ui/fetch", "ui/keys", "ui/pager", "velero", "velero/decode"},
	"ui/command":                 {"ui/draw"},
	"ui/fetch":                   nil,
	"ui/guide":                   {"ui/draw", "ui/keys"},
	"ui/pager":                   {"internal/human", "ui/draw", "ui/fetch", "ui/keys"},
	"ui/keys":                    {"ui/draw"},
	"ui/draw":                    {"assess", "diagnosis", "internal/assets", "internal/human", "job", "velero"},
	"ui/terminal":                {"internal/sanitize"},
	"assess":                     {"assess/coverage", "collector", "diagnosis", "etcd", "internal/human", "job", "job/forecast", "stored/artifact", "velero", "watch"},
	"assess/coverage":            {"collector", "internal/human", "stored/artifact", "velero"},
	"say/describe":               {"assess", "diagnosis", "internal/human", "job", "say/document", "velero", "watch"},
	"action":                     {"diagnosis", "internal/client", "internal/human", "internal/kubectl", "internal/safefile", "internal/sanitize", "job", "retry", "session", "stored/artifact", "velero", "velero/decode"},
	"watch":                      {"diagnosis", "etcd", "internal/client", "internal/sanitize", "job", "session", "velero", "velero/decode"},
	"ui/restoreform":             {"assess", "collector", "inspect", "internal/human", "internal/kubectl", "internal/sanitize", "job", "restore/preflight", "restore/restorespec", "ui/draw", "ui/fetch", "ui/keys", "velero"},
	"restore/preflight":          {"collector", "internal/human", "internal/sanitize", "restore/fields", "restore/modifier", "restore/prepare", "restore/restorespec", "restore/target", "stored/artifact", "velero"},
	"restore/prepare":            {"restore/modifier", "restore/target", "velero"},
	"restore/modifier":           {"internal/glob"},
	"say/report":                 {"assess", "internal/human", "internal/sanitize", "job", "say/document", "stored/artifact", "stored/logs", "stored/outcome", "velero"},
	"say/document":               {"action", "assess", "assess/coverage", "collector", "diagnosis", "etcd", "internal/config", "internal/human", "internal/sanitize", "job", "restore/preflight", "restore/target", "restore/verify", "session", "stored/outcome", "velero", "velero/decode", "watch"},
	"restore/verify":             {"internal/human", "internal/sanitize", "job", "restore/fields", "restore/prepare", "restore/target", "stored/artifact", "stored/outcome", "velero"},
	"restore/fields":             {"internal/human", "internal/sanitize", "restore/target"},
	"restore/dryrun":             {"collector", "internal/client", "internal/human", "internal/kubectl", "internal/sanitize", "restore/preflight", "restore/prepare", "restore/target", "retry", "session", "stored/outcome"},
	"restore/target":             {"internal/client", "internal/sanitize", "session", "velero/decode"},
	"restore/restorespec":        {"collector", "internal/glob", "internal/human", "internal/kubectl", "velero"},
	"internal/client":            nil,
	"internal/config":            nil,
	"say/narrate":                {"assess", "diagnosis", "internal/human", "job", "velero", "watch"},
	"stored/logs":                {"internal/client", "internal/human", "internal/sanitize", "job", "retry", "session", "stored/artifact", "velero"},
	"stored/artifact":            {"internal/human", "internal/sanitize", "job", "retry", "session", "velero", "velero/decode"},
	"stored/outcome":             {"collector", "internal/human", "internal/sanitize", "job", "stored/artifact", "velero"},
	"job/forecast":               {"job", "velero"},
	"job/forecast/history":       {"internal/statedir", "job/forecast"},
	"collector":                  {"collector/internal/inflate", "internal/glob", "internal/human", "job/forecast", "velero"},
	"collector/cache":            {"collector", "internal/statedir"},
	"collector/internal/inflate": nil,
	"diagnosis":                  {"internal/human", "job", "velero", "velero/decode"},
	"etcd":                       {"diagnosis", "internal/human", "job", "velero/decode"},
	"job":                        {"velero", "velero/decode"},
	"velero":                     {"internal/glob"},
	"velero/decode":              {"internal/sanitize"},
	"internal/glob":              nil,
	"internal/kubectl":           nil,
	"session":                    {"internal/client", "internal/sanitize", "retry"},
	"retry":                      nil,
	"internal/human":             nil,
	"internal/sanitize":          nil,
	"internal/statedir":          {"internal/safefile"},
	"internal/safefile":          {"internal/kubectl"},
	"demo":                       {"demo/cluster", "demo/replay", "demo/responder", "demo/scene", "demo/store"},
	"demo/responder":             {"demo/cluster", "demo/store"},
	"demo/replay":                {"demo/cluster"},
	"demo/cluster":               nil,
	"demo/scene":                 nil,
	"demo/store":                 nil,
	"testbed":                    nil,
}

// noClients are packages of others that these packages must not know: most do no
// I/O, and a command's tables are no screens.
var noClients = map[string][]string{
	"cmd":               {"charm.land"},
	"ui":                {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"velero":            {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"job":               {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"diagnosis":         {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"etcd":              {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"collector":         {"k8s.io/client-go", "net/http", "os"},
	"assess":            {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"assess/coverage":   {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"say/narrate":       {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"say/describe":      {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"say/document":      {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"job/forecast":      {"k8s.io", "net/http", "os"},
	"stored/outcome":    {"k8s.io", "net/http", "os"},
	"ui/dialog":         {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/detail":         {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/tabs":           {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/jobview":        {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/draw":           {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/guide":          {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/keys":           {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/fetch":          {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/terminal":       {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"internal/glob":     {"k8s.io", "net/http", "os"},
	"internal/sanitize": {"net/http", "os"},
	"internal/human":    {"k8s.io", "net/http", "os"},
	"internal/kubectl":  {"k8s.io", "net/http", "os"},

	// They keep files for packages that do no I/O.
	"collector/cache":      {"k8s.io/client-go", "net/http"},
	"job/forecast/history": {"k8s.io", "net/http"},
}

// TestRootOfUI keeps the root of ui small.
func TestRootOfUI(t *testing.T) {
	files, err := filepath.Glob("ui/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	if len(files) == 0 || len(files) >= 20 {
		t.Errorf("%d files at the root of ui: what belongs together gets a room", len(files))
	}
}

// TestProductLinksNoScheme keeps out of the program what links every kind of
// Kubernetes, a fifth of its size; package internal/client does without.
func TestProductLinksNoScheme(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"k8s.io/client-go/kubernetes/scheme", "k8s.io/client-go/discovery", "sigs.k8s.io/controller-runtime/pkg/client"} {
		if slices.Contains(strings.Fields(string(deps)), not) {
			t.Errorf("the program links %s", not)
		}
	}
}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func TestImportRules(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if top, _, _ := strings.Cut(name, "/"); top == "e2e" || top == "tools" {
			continue // they stand outside the product and may use all of it
		}
		seen[name] = true
		allowed, known := imports[name]
		if !known {
			t.Errorf("%s is not in the import rules: add it there and to docs/dev/architecture.md", name)
		}
		var found []string
		for _, imported := range p.Imports {
			if other, ours := strings.CutPrefix(imported, module+"/"); ours {
				found = append(found, other)
				if !slices.Contains(allowed, other) {
					t.Errorf("%s imports %s, which the import rules do not allow", name, other)
				}
			}
			for _, banned := range noClients[name] {
				if imported == banned || strings.HasPrefix(imported, banned+"/") {
					t.Errorf("%s imports %s: it must not know that", name, imported)
				}
			}
		}
		for _, other := range allowed {
			if !slices.Contains(found, other) {
				t.Errorf("%s no longer imports %s: take it out of the import rules", name, other)
			}
		}
	}
	for name := range imports {
		if !seen[name] {
			t.Errorf("the import rules have %s, which is not there", name)
		}
	}
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var packages []listedPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listedPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		packages = append(packages, p)
	}
}
