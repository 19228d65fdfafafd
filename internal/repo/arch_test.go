package repo

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
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
		"internal/job/forecast/history", "internal/kubectl", "internal/restore/dryrun", "internal/restore/identity",
		"internal/restore/live", "internal/restore/preflight", "internal/restore/prepare", "internal/restore/restorespec",
		"internal/restore/verify", "internal/safefile", "internal/sanitize", "internal/session", "internal/statedir",
		"internal/stored/artifact", "internal/stored/logs", "internal/stored/results", "internal/velero",
		"internal/velero/decode", "internal/velero/veleroapi", "retry", "watch",
	},
	"": {"internal/cmd"},
	"internal/cmd": {
		"assets", "collector", "collector/cache", "internal/action", "internal/assess", "internal/assess/coverage",
		"internal/client", "internal/cluster", "internal/config", "internal/demo", "internal/diagnosis",
		"internal/etcd", "internal/filetype", "internal/glob", "internal/human", "internal/job", "internal/job/forecast",
		"internal/job/forecast/history", "internal/restore/dryrun", "internal/restore/live",
		"internal/restore/preflight", "internal/restore/restorespec", "internal/restore/verify", "internal/safefile",
		"internal/sanitize", "internal/session", "internal/statedir", "internal/stored/artifact",
		"internal/stored/logs", "internal/stored/results", "internal/velero", "internal/velero/decode",
		"internal/velero/veleroapi", "internal/view", "internal/view/describe", "internal/view/document",
		"internal/view/narrate", "internal/view/remedy", "internal/view/report", "internal/view/resource",
		"internal/view/text", "retry", "ui", "ui/draw", "ui/guide", "ui/keys", "ui/terminal", "watch",
	},
	"ui": {
		"collector", "internal/action", "internal/assess", "internal/assess/coverage", "internal/cluster",
		"internal/diagnosis", "internal/human", "internal/job", "internal/job/forecast",
		"internal/restore/restorespec", "internal/velero", "internal/velero/decode", "internal/velero/veleroapi",
		"internal/view", "internal/view/describe", "internal/view/document", "internal/view/narrate",
		"internal/view/resource", "ui/command", "ui/detail", "ui/dialog", "ui/draw", "ui/fetch", "ui/guide",
		"ui/jobview", "ui/keys", "ui/pager", "ui/restoreform", "ui/terminal", "watch",
	},
	"internal/view/resource": {
		"internal/assess", "internal/assess/coverage", "internal/diagnosis", "internal/etcd", "internal/human",
		"internal/job", "internal/velero", "internal/velero/veleroapi", "internal/view", "internal/view/describe",
		"internal/view/document", "watch",
	},
	"ui/detail": {"internal/assess", "internal/human", "internal/view", "ui/draw", "ui/keys", "ui/pager"},
	"ui/dialog": {
		"internal/action", "internal/human", "internal/job", "internal/sanitize", "internal/velero", "internal/view",
		"internal/view/remedy", "ui/draw", "ui/fetch", "ui/keys",
	},
	"ui/jobview": {
		"collector", "internal/assess", "internal/cluster", "internal/diagnosis", "internal/human", "internal/job",
		"internal/restore/live", "internal/restore/restorespec", "internal/restore/verify",
		"internal/stored/artifact", "internal/stored/logs", "internal/stored/results", "internal/velero",
		"internal/view", "internal/view/describe", "ui/detail", "ui/draw", "ui/fetch", "ui/keys", "ui/pager",
	},
	"ui/command": {"ui/draw"},
	"ui/fetch":   nil,
	"ui/guide":   {"ui/draw", "ui/keys"},
	"ui/pager":   {"internal/human", "ui/draw", "ui/fetch", "ui/keys"},
	"ui/keys":    {"ui/draw"},
	"ui/draw": {
		"assets", "internal/assess", "internal/diagnosis", "internal/human", "internal/job", "internal/velero",
		"internal/view", "internal/view/text",
	},
	"ui/terminal": {"internal/sanitize"},
	"internal/assess": {
		"collector", "internal/assess/coverage", "internal/diagnosis", "internal/etcd", "internal/human",
		"internal/job", "internal/job/forecast", "internal/kubectl", "internal/stored/artifact", "internal/velero",
		"internal/velero/veleroapi", "watch",
	},
	"internal/assess/coverage": {
		"collector", "internal/human", "internal/stored/artifact", "internal/velero", "internal/velero/veleroapi",
	},
	"internal/view": {
		"collector", "internal/assess", "internal/diagnosis", "internal/human", "internal/job",
		"internal/job/forecast", "internal/restore/live", "internal/restore/preflight", "internal/restore/verify",
		"internal/stored/results", "internal/velero", "internal/velero/decode", "internal/velero/veleroapi", "watch",
	},
	"internal/view/describe": {
		"internal/assess", "internal/diagnosis", "internal/human", "internal/job", "internal/velero",
		"internal/velero/veleroapi", "internal/view", "internal/view/document", "watch",
	},
	"internal/action": {
		"internal/client", "internal/diagnosis", "internal/human", "internal/job", "internal/kubectl",
		"internal/safefile", "internal/sanitize", "internal/session", "internal/stored/artifact", "internal/velero",
		"internal/velero/decode", "internal/velero/veleroapi", "retry",
	},
	"watch": {
		"internal/client", "internal/diagnosis", "internal/etcd", "internal/job", "internal/sanitize",
		"internal/session", "internal/velero", "internal/velero/decode", "internal/velero/veleroapi",
	},
	"ui/restoreform": {
		"collector", "internal/assess", "internal/cluster", "internal/human", "internal/job", "internal/kubectl",
		"internal/restore/preflight", "internal/restore/restorespec", "internal/sanitize", "internal/velero",
		"internal/velero/veleroapi", "internal/view", "ui/draw", "ui/fetch", "ui/keys",
	},
	"internal/restore/preflight": {
		"collector", "internal/glob", "internal/human", "internal/platform", "internal/restore/diff",
		"internal/restore/identity", "internal/restore/live", "internal/restore/modifier", "internal/restore/prepare",
		"internal/restore/restorespec", "internal/sanitize", "internal/stored/artifact", "internal/velero", "internal/velero/veleroapi",
	},
	"internal/restore/identity": {"collector", "internal/restore/live", "internal/restore/modifier"},
	"internal/restore/prepare": {
		"internal/restore/diff", "internal/restore/live", "internal/restore/modifier", "internal/velero",
		"internal/velero/veleroapi",
	},
	"internal/restore/modifier": {"internal/glob", "internal/velero/veleroapi"},
	"internal/view/report": {
		"internal/assess", "internal/diagnosis", "internal/human", "internal/job",
		"internal/stored/artifact", "internal/stored/logs", "internal/stored/results", "internal/velero",
		"internal/view", "internal/view/document", "internal/view/markdown",
	},
	"internal/view/document": {
		"collector", "internal/action", "internal/assess", "internal/assess/coverage", "internal/config",
		"internal/diagnosis", "internal/etcd", "internal/human", "internal/job", "internal/restore/live",
		"internal/restore/preflight", "internal/restore/verify", "internal/sanitize", "internal/session",
		"internal/stored/results", "internal/velero", "internal/velero/decode", "internal/velero/veleroapi", "watch",
	},
	"internal/restore/verify": {
		"internal/human", "internal/job", "internal/platform", "internal/restore/diff", "internal/restore/live",
		"internal/restore/prepare", "internal/sanitize", "internal/stored/artifact", "internal/stored/results",
		"internal/velero", "internal/velero/veleroapi",
	},
	"internal/restore/diff": {"internal/human", "internal/restore/live", "internal/sanitize"},
	"internal/restore/dryrun": {
		"collector", "internal/client", "internal/human", "internal/kubectl", "internal/platform",
		"internal/restore/identity", "internal/restore/live", "internal/restore/preflight", "internal/restore/prepare", "internal/sanitize",
		"internal/session", "internal/stored/results", "internal/velero/veleroapi", "retry",
	},
	"internal/restore/live": {
		"internal/client", "internal/sanitize", "internal/session", "internal/velero", "internal/velero/decode",
		"internal/velero/veleroapi",
	},
	"internal/restore/restorespec": {
		"collector", "internal/glob", "internal/human", "internal/kubectl", "internal/velero",
		"internal/velero/veleroapi",
	},
	"internal/client": nil,
	"internal/config": {"internal/human"},
	"internal/view/narrate": {
		"internal/assess", "internal/diagnosis", "internal/human", "internal/job", "internal/velero",
		"internal/view", "internal/view/speech", "watch",
	},
	"internal/stored/logs": {
		"internal/client", "internal/human", "internal/job", "internal/sanitize", "internal/session",
		"internal/stored/artifact", "internal/velero", "internal/velero/veleroapi", "retry",
	},
	"internal/stored/artifact": {
		"internal/filetype", "internal/human", "internal/job", "internal/sanitize", "internal/session",
		"internal/velero", "internal/velero/decode", "internal/velero/veleroapi", "retry",
	},
	"internal/stored/results": {
		"collector", "internal/human", "internal/job", "internal/sanitize", "internal/stored/artifact",
		"internal/velero",
	},
	"internal/job/forecast":         {"internal/job", "internal/velero"},
	"internal/job/forecast/history": {"internal/job/forecast", "internal/statedir"},
	"internal/job/forecast/score":   nil,
	"collector": {
		"collector/internal/inflate", "internal/filetype", "internal/glob", "internal/human", "internal/job",
		"internal/job/forecast", "internal/platform", "internal/velero", "internal/velero/veleroapi",
	},
	"collector/cache":            {"collector", "internal/statedir"},
	"collector/internal/inflate": nil,
	"internal/diagnosis": {
		"internal/human", "internal/job", "internal/kubectl", "internal/velero", "internal/velero/decode",
		"internal/velero/veleroapi",
	},
	"internal/etcd": {
		"internal/diagnosis", "internal/human", "internal/job", "internal/kubectl", "internal/velero",
		"internal/velero/decode",
	},
	"internal/job":           {"internal/velero", "internal/velero/decode", "internal/velero/veleroapi"},
	"internal/velero":        {"internal/glob", "internal/human", "internal/velero/veleroapi"},
	"internal/velero/decode": {"internal/sanitize"},
	"internal/glob":          nil,
	"internal/kubectl":       nil,
	"internal/platform":      nil,
	"internal/session":       {"internal/client", "internal/sanitize", "retry"},
	"retry":                  nil,
	"internal/human":         nil,
	"internal/filetype":      {"internal/sanitize"},
	"internal/sanitize":      nil,
	"internal/statedir":      {"internal/safefile"},
	"internal/safefile":      {"internal/kubectl"},
	"internal/demo": {
		"internal/demo/cluster", "internal/demo/replay", "internal/demo/responder", "internal/demo/scene",
		"internal/demo/store",
	},
	"internal/demo/responder":   {"internal/demo/cluster", "internal/demo/store"},
	"internal/demo/replay":      {"internal/demo/cluster"},
	"internal/demo/cluster":     nil,
	"internal/demo/scene":       nil,
	"internal/demo/store":       nil,
	"internal/repo":             nil,
	"internal/testbed":          {"internal/velero/veleroapi"},
	"internal/testbed/fixture":  nil,
	"internal/testbed/evidence": {"internal/action", "internal/diagnosis", "internal/job", "internal/velero"},
	"internal/velero/veleroapi": nil,
	"internal/view/markdown": {
		"internal/diagnosis", "internal/human", "internal/sanitize", "internal/stored/results", "internal/view",
	},
	"internal/view/text":   {"internal/human", "internal/sanitize", "internal/view"},
	"internal/view/speech": {"internal/human", "internal/view"},
	"internal/view/remedy": {"internal/action", "internal/human", "internal/velero", "internal/view"},
}

// noClients are packages of others that these packages must not know: most do no
// I/O, and a command's tables are no screens.
var noClients = map[string][]string{
	"internal/cmd":                {"charm.land"},
	"ui":                          {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"internal/velero":             {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/job":                {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/diagnosis":          {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/etcd":               {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"collector":                   {"k8s.io/client-go", "net/http", "os"},
	"internal/assess":             {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/assess/coverage":    {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view":               {"charm.land", "k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/narrate":       {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/describe":      {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/resource":      {"charm.land", "k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/markdown":      {"charm.land", "k8s.io", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/text":          {"charm.land", "k8s.io", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/speech":        {"charm.land", "k8s.io", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/view/document":      {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"internal/job/forecast":       {"k8s.io", "net/http", "os"},
	"internal/job/forecast/score": {"k8s.io", "net/http", "os"},
	"internal/stored/results":     {"k8s.io", "net/http", "os"},
	"ui/dialog":                   {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/detail":                   {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/jobview":                  {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/draw":                     {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/guide":                    {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/keys":                     {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/fetch":                    {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"ui/terminal":                 {"k8s.io", "net/http", "sigs.k8s.io/controller-runtime"},
	"internal/glob":               {"k8s.io", "net/http", "os"},
	"internal/sanitize":           {"net/http", "os"},
	"internal/human":              {"k8s.io", "net/http", "os"},
	"internal/filetype":           {"k8s.io", "net/http", "os"},
	"internal/kubectl":            {"k8s.io", "net/http", "os"},
	"internal/platform":           {"k8s.io", "net/http", "os"},

	// They keep files for packages that do no I/O.
	"collector/cache":               {"k8s.io/client-go", "net/http"},
	"internal/job/forecast/history": {"k8s.io", "net/http"},
}

// TestControllerRuntimeHasOnePackage keeps controller-runtime behind internal/client, and client-go's clientset and
// discovery out of the program: internal/client says which requests go which way, and in which encoding. The test bed
// uses all of them.
func TestControllerRuntimeHasOnePackage(t *testing.T) {
	allowed := map[string]bool{"internal/client": true, "internal/testbed": true}
	others := []string{
		"sigs.k8s.io/controller-runtime",
		"k8s.io/client-go/kubernetes",
		"k8s.io/client-go/discovery",
		"k8s.io/client-go/metadata",
	}
	found := map[string]bool{}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if top, _, _ := strings.Cut(name, "/"); top == "e2e" || top == "tools" {
			continue // they stand outside the product and may use all of it
		}
		for _, imported := range p.Imports {
			isOther := func(other string) bool { return imported == other || strings.HasPrefix(imported, other+"/") }
			switch {
			case !slices.ContainsFunc(others, isOther):
			case !allowed[name]:
				t.Errorf("%s imports %s: use internal/client", name, imported)
			default:
				found[name] = true
			}
		}
	}
	if !maps.Equal(found, allowed) {
		t.Errorf("%v import a client of Kubernetes, want %v", found, allowed)
	}
}

// TestVeleroTypesHaveOnePackage keeps Velero's API behind internal/velero/veleroapi, tests included: a release of Velero
// that moves its types changes that package alone. The test bed installs Velero's CRDs.
func TestVeleroTypesHaveOnePackage(t *testing.T) {
	allowed := map[string]string{
		"internal/velero/veleroapi": "github.com/vmware-tanzu/velero/pkg/",
		"internal/testbed":          "github.com/vmware-tanzu/velero/config/crd/",
	}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if !strings.HasPrefix(imported, "github.com/vmware-tanzu/velero/") {
				continue
			}
			if prefix, ok := allowed[name]; !ok || !strings.HasPrefix(imported, prefix) {
				t.Errorf("%s imports %s: use internal/velero/veleroapi", name, imported)
			}
		}
	}
}

type listedPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
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
	cmd := exec.Command("go", "list", "-tags=e2e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
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
