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

// mayImport lists, for every package of the product, which others it may
// import. Imports go one way; docs/architecture.md draws the picture.
var mayImport = map[string][]string{
	"":                 {"cmd"},
	"cmd":              {"ui", "assess", "watch", "action", "artifact", "collector", "forecast", "diagnosis", "job", "velero", "sanitize", "retry", "human", "demo"},
	"ui":               {"assess", "watch", "action", "artifact", "collector", "forecast", "diagnosis", "job", "velero", "assets", "human", "sanitize"},
	"assess":           {"watch", "forecast", "diagnosis", "job", "human"},
	"watch":            {"diagnosis", "job", "velero", "sanitize"},
	"action":           {"kubectl", "diagnosis", "artifact", "retry", "job", "velero", "sanitize", "human"},
	"artifact":         {"job", "velero", "sanitize"},
	"statedir":         nil,
	"forecast":         {"job", "velero"},
	"collector/cache":  {"collector", "statedir"},
	"forecast/history": {"forecast", "statedir"},
	"collector":        {"glob"},
	"diagnosis":        {"job", "velero", "human"},
	"glob":             nil,
	"job":              {"velero", "human"},
	"kubectl":          nil,
	"velero":           {"glob"},
	"velero/decode":    {"sanitize"},
	"retry":            nil,
	"sanitize":         nil,
	"human":            nil,
	"assets":           nil,
	"demo":             nil,
	"testbed":          nil,
}

// noClients are packages with I/O that these packages must not know.
var noClients = map[string][]string{
	"ui":        {"k8s.io/client-go", "net/http", "sigs.k8s.io/controller-runtime"},
	"velero":    {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"job":       {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"diagnosis": {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"collector": {"k8s.io/client-go", "net/http", "os"},
	"assess":    {"k8s.io/client-go", "net/http", "os", "sigs.k8s.io/controller-runtime"},
	"forecast":  {"k8s.io", "net/http", "os"},
	"glob":      {"k8s.io", "net/http", "os"},
	"sanitize":  {"net/http", "os"},
	"human":     {"k8s.io", "net/http", "os"},
	"kubectl":   {"k8s.io", "net/http", "os"},

	// They keep files for packages that do no I/O.
	"collector/cache":  {"k8s.io/client-go", "net/http"},
	"forecast/history": {"k8s.io", "net/http"},
}

// rooms are the packages below ui, with what they may import of their own house.
// The root imports all of them; none imports the root, or a room beside it.
var rooms = map[string][]string{
	"ui/draw":     nil,
	"ui/keys":     {"ui/draw"},
	"ui/terminal": nil,
	"ui/jobview":  {"ui/draw", "ui/keys"},
	"ui/dialog":   {"ui/draw", "ui/keys"},
}

// notToKnow are packages of ours that these must not know: the dialog shows any
// action, and a command's tables are no screens.
var notToKnow = map[string][]string{
	"ui/dialog":  {module + "/finalize", module + "/watch", module + "/diagnosis"},
	"ui/jobview": {module + "/finalize"},
	"ui/draw":    {module + "/finalize", module + "/watch"},
	"cmd":        {"charm.land"},
}

func TestRooms(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, known := rooms[name]
		if strings.HasPrefix(name, "ui/") && !known {
			t.Errorf("%s is not among the rooms: add it there and to docs/architecture.md", name)
		}
		for _, imported := range p.Imports {
			if other, ours := strings.CutPrefix(imported, module+"/"); known && ours && (other == "ui" || strings.HasPrefix(other, "ui/")) && !slices.Contains(allowed, other) {
				t.Errorf("%s imports %s: rooms import only what is below them", name, other)
			}
			for _, banned := range notToKnow[name] {
				if imported == banned || strings.HasPrefix(imported, banned+"/") {
					t.Errorf("%s imports %s, of which it must not know", name, imported)
				}
			}
		}
	}
	files, err := filepath.Glob("ui/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	if len(files) == 0 || len(files) >= 20 {
		t.Errorf("%d files at the root of ui: what belongs together gets a room", len(files))
	}
}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func TestImportRules(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		top, _, _ := strings.Cut(name, "/")
		if top == "e2e" || top == "tools" {
			continue // they stand outside the product and may use all of it
		}
		allowed, known := mayImport[name]
		if !known {
			allowed, known = mayImport[top]
		}
		if !known {
			t.Errorf("%s is not in the import rules: add it there and to docs/architecture.md", name)
		}
		banned, known := noClients[name]
		if !known {
			banned = noClients[top]
		}
		for _, imported := range p.Imports {
			other, ours := strings.CutPrefix(imported, module+"/")
			otherTop, _, _ := strings.Cut(other, "/")
			if ours && otherTop != top && !slices.Contains(allowed, otherTop) {
				t.Errorf("%s imports %s, which the import rules do not allow", name, other)
			}
			for _, banned := range banned {
				if imported == banned || strings.HasPrefix(imported, banned+"/") {
					t.Errorf("%s imports %s: it must do no I/O of its own", name, imported)
				}
			}
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
