package repo

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/veltui/veltui"

// imports is the whole picture: for every package of the product, those of our
// own that it imports, from the top down. No more and no less may be true.
// docs/dev/architecture.md draws it.
var imports = map[string][]string{
	"assets": nil,
	"internal/cluster": {
		"collector", "collector/cache", "internal/action", "internal/assess", "internal/assess/coverage",
		"internal/client", "internal/diagnosis", "internal/human", "internal/job", "internal/job/forecast",
		"internal/job/forecast/history", "internal/restore/dryrun", "internal/restore/live",
		"internal/restore/preflight", "internal/restore/prepare", "internal/restore/restorespec",
		"internal/restore/verify", "internal/safefile", "internal/sanitize", "internal/session",
		"internal/statedir", "internal/stored/artifact", "internal/stored/logs", "internal/stored/results",
		"internal/velero", "internal/velero/decode", "retry", "watch",
	},
	"": {"internal/cmd"},
	"internal/cmd": {
		"assets", "collector", "collector/cache", "internal/action", "internal/assess",
		"internal/assess/coverage", "internal/client", "internal/cluster", "internal/config",
		"internal/demo", "internal/diagnosis", "internal/etcd", "internal/glob", "internal/human",
		"internal/job", "internal/job/forecast/history", "internal/restore/dryrun", "internal/restore/live",
		"internal/restore/preflight", "internal/restore/restorespec", "internal/restore/verify",
		"internal/safefile", "internal/sanitize", "internal/session", "internal/statedir",
		"internal/stored/artifact", "internal/stored/logs", "internal/stored/results", "internal/velero",
		"internal/velero/decode", "internal/view", "internal/view/describe", "internal/view/document",
		"internal/view/narrate", "internal/view/report", "internal/view/resource", "retry", "ui", "ui/draw",
		"ui/guide", "ui/keys", "ui/terminal", "watch",
	},
	"ui": {
		"internal/action", "internal/assess", "internal/assess/coverage", "internal/cluster",
		"internal/diagnosis", "internal/human", "internal/job", "internal/job/forecast",
		"internal/restore/restorespec", "internal/velero", "internal/velero/decode", "internal/view",
		"internal/view/describe", "internal/view/document", "internal/view/narrate",
		"internal/view/resource", "ui/command", "ui/detail", "ui/dialog", "ui/draw", "ui/fetch", "ui/guide", "ui/jobview", "ui/keys", "ui/pager",
		"ui/restoreform", "ui/terminal", "watch",
	},
	"internal/view/resource": {
		"internal/assess", "internal/assess/coverage", "internal/diagnosis", "internal/etcd",
		"internal/human", "internal/job", "internal/velero", "internal/view", "internal/view/describe",
		"internal/view/document", "watch",
	},
	"ui/detail": {"internal/assess", "internal/view", "ui/draw", "ui/keys", "ui/pager"},
	"ui/dialog": {
		"internal/action", "internal/cluster", "internal/human", "internal/job", "internal/sanitize",
		"internal/velero", "ui/draw", "ui/fetch", "ui/keys",
	},
	"ui/jobview": {
		"collector", "internal/assess", "internal/cluster", "internal/diagnosis", "internal/human",
		"internal/job", "internal/restore/live", "internal/restore/restorespec", "internal/restore/verify",
		"internal/stored/artifact", "internal/stored/logs", "internal/stored/results", "internal/velero",
		"internal/velero/decode", "internal/view", "internal/view/describe", "ui/detail", "ui/draw",
		"ui/fetch", "ui/keys", "ui/pager",
	},
	"ui/command": {"ui/draw"},
	"ui/fetch":   nil,
	"ui/guide":   {"ui/draw", "ui/keys"},
	"ui/pager":   {"internal/human", "ui/draw", "ui/fetch", "ui/keys"},
	"ui/keys":    {"ui/draw"},
	"ui/draw": {
		"assets", "internal/assess", "internal/diagnosis", "internal/human", "internal/job",
		"internal/velero", "internal/view",
	},
	"ui/terminal": {"internal/sanitize"},
	"internal/assess": {
		"collector", "internal/assess/coverage", "internal/diagnosis", "internal/etcd", "internal/human",
		"internal/job", "internal/job/forecast", "internal/stored/artifact", "internal/velero", "watch",
	},
	"internal/assess/coverage": {"collector", "internal/human", "internal/stored/artifact", "internal/velero"},
	"internal/view": {
		"internal/assess", "internal/diagnosis", "internal/human", "internal/job", "internal/velero", "watch",
	},
	"internal/view/describe": {
		"internal/assess", "internal/diagnosis", "internal/human", "internal/job", "internal/velero",
		"internal/view", "internal/view/document", "watch",
	},
	"internal/action": {
		"internal/client", "internal/diagnosis", "internal/human", "internal/job", "internal/kubectl",
		"internal/safefile", "internal/sanitize", "internal/session", "internal/stored/artifact",
		"internal/velero", "internal/velero/decode", "retry",
	},
	"watch": {
		"internal/client", "internal/diagnosis", "internal/etcd", "internal/job", "internal/sanitize",
		"internal/session", "internal/velero", "internal/velero/decode",
	},
	"ui/restoreform": {
		"collector", "internal/assess", "internal/cluster", "internal/human", "internal/job",
		"internal/kubectl", "internal/restore/preflight", "internal/restore/restorespec",
		"internal/sanitize", "internal/velero", "ui/draw", "ui/fetch", "ui/keys",
	},
	"internal/restore/preflight": {
		"collector", "internal/human", "internal/restore/diff", "internal/restore/live",
		"internal/restore/modifier", "internal/restore/prepare", "internal/restore/restorespec",
		"internal/sanitize", "internal/stored/artifact", "internal/velero",
	},
	"internal/restore/prepare":  {"internal/restore/live", "internal/restore/modifier", "internal/velero"},
	"internal/restore/modifier": {"internal/glob"},
	"internal/view/report": {
		"internal/assess", "internal/human", "internal/job", "internal/sanitize", "internal/stored/artifact",
		"internal/stored/logs", "internal/stored/results", "internal/velero", "internal/view/document",
	},
	"internal/view/document": {
		"collector", "internal/action", "internal/assess", "internal/assess/coverage", "internal/config",
		"internal/diagnosis", "internal/etcd", "internal/human", "internal/job", "internal/restore/live",
		"internal/restore/preflight", "internal/restore/verify", "internal/sanitize", "internal/session",
		"internal/stored/results", "internal/velero", "internal/velero/decode", "watch",
	},
	"internal/restore/verify": {
		"internal/human", "internal/job", "internal/restore/diff", "internal/restore/live",
		"internal/restore/prepare", "internal/sanitize", "internal/stored/artifact",
		"internal/stored/results", "internal/velero",
	},
	"internal/restore/diff": {"internal/human", "internal/restore/live", "internal/sanitize"},
	"internal/restore/dryrun": {
		"collector", "internal/client", "internal/human", "internal/kubectl", "internal/restore/live",
		"internal/restore/preflight", "internal/restore/prepare", "internal/sanitize", "internal/session",
		"internal/stored/results", "retry",
	},
	"internal/restore/live": {
		"internal/client", "internal/sanitize", "internal/session", "internal/velero/decode",
	},
	"internal/restore/restorespec": {
		"collector", "internal/glob", "internal/human", "internal/kubectl", "internal/velero",
	},
	"internal/client": nil,
	"internal/config": nil,
	"internal/view/narrate": {
		"internal/assess", "internal/diagnosis", "internal/human", "internal/job", "internal/velero",
		"watch",
	},
	"internal/stored/logs": {
		"internal/client", "internal/human", "internal/job", "internal/sanitize", "internal/session",
		"internal/stored/artifact", "internal/velero", "retry",
	},
	"internal/stored/artifact": {
		"internal/human", "internal/job", "internal/sanitize", "internal/session", "internal/velero",
		"internal/velero/decode", "retry",
	},
	"internal/stored/results": {
		"collector", "internal/human", "internal/job", "internal/sanitize", "internal/stored/artifact",
		"internal/velero",
	},
	"internal/job/forecast":         {"internal/job", "internal/velero"},
	"internal/job/forecast/history": {"internal/job/forecast", "internal/statedir"},
	"collector": {
		"collector/internal/inflate", "internal/glob", "internal/human", "internal/job/forecast",
		"internal/velero",
	},
	"collector/cache":            {"collector", "internal/statedir"},
	"collector/internal/inflate": nil,
	"internal/diagnosis":         {"internal/human", "internal/job", "internal/velero", "internal/velero/decode"},
	"internal/etcd":              {"internal/diagnosis", "internal/human", "internal/job", "internal/velero/decode"},
	"internal/job":               {"internal/velero", "internal/velero/decode"},
	"internal/velero":            {"internal/glob"},
	"internal/velero/decode":     {"internal/sanitize"},
	"internal/glob":              nil,
	"internal/kubectl":           nil,
	"internal/session":           {"internal/client", "internal/sanitize", "retry"},
	"retry":                      nil,
	"internal/human":             nil,
	"internal/sanitize":          nil,
	"internal/statedir":          {"internal/safefile"},
	"internal/safefile":          {"internal/kubectl"},
	"internal/demo": {
		"internal/demo/cluster", "internal/demo/replay", "internal/demo/responder", "internal/demo/scene",
		"internal/demo/store",
	},
	"internal/demo/responder": {"internal/demo/cluster", "internal/demo/store"},
	"internal/demo/replay":    {"internal/demo/cluster"},
	"internal/demo/cluster":   nil,
	"internal/demo/scene":     nil,
	"internal/demo/store":     nil,
	"internal/repo":           nil,
	"internal/testbed":        nil,
}

// noClients are packages of others that these packages must not know: most do no
// I/O, and a command's tables are no screens.
var noClients = map[string][]string{
	"internal/cmd":             {"charm.land"},
	"ui":                       {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"internal/velero":          {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/job":             {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/diagnosis":       {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/etcd":            {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"collector":                {"k8s.io/client-go", "net/http", "os"},
	"internal/assess":          {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/assess/coverage": {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view":            {"charm.land", "k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/narrate":    {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/describe":   {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/resource":   {"charm.land", "k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/document":   {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/job/forecast":    {"k8s.io", "net/http", "os"},
	"internal/stored/results":  {"k8s.io", "net/http", "os"},
	"ui/dialog":                {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/detail":                {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/jobview":               {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/draw":                  {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/guide":                 {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/keys":                  {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/fetch":                 {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/terminal":              {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"internal/glob":            {"k8s.io", "net/http", "os"},
	"internal/sanitize":        {"net/http", "os"},
	"internal/human":           {"k8s.io", "net/http", "os"},
	"internal/kubectl":         {"k8s.io", "net/http", "os"},

	// They keep files for packages that do no I/O.
	"collector/cache":               {"k8s.io/client-go", "net/http"},
	"internal/job/forecast/history": {"k8s.io", "net/http"},
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
