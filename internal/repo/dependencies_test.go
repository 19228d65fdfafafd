package repo

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const dependenciesDoc = "docs/dev/dependencies.md"

// TestDirectDependenciesAreDocumented holds that the first table of docs/dev/dependencies.md has a row for each direct
// requirement of go.mod, and no other row.
func TestDirectDependenciesAreDocumented(t *testing.T) {
	var documented []string
	for _, row := range tableRows(t, dependenciesDoc, "module") {
		documented = append(documented, strings.Split(row[0], ", ")...)
		if row[1] == "" {
			t.Errorf("%s does not say why %s is here", dependenciesDoc, row[0])
		}
	}
	compareNames(t, dependenciesDoc, documented, "go.mod", readModule(t, "go.mod").direct())
}

// TestToolModulesAreDocumented holds the same of the second table, which has a row for each module under tools/ with
// what its go.mod requires directly.
func TestToolModulesAreDocumented(t *testing.T) {
	rows := map[string][]string{}
	var documented []string
	for _, row := range tableRows(t, dependenciesDoc, "folder") {
		folder := strings.Trim(row[0], "`")
		documented = append(documented, folder)
		rows[folder] = strings.Split(row[1], ", ")
	}
	var modules []string
	for _, path := range files(t, "go.mod") {
		if folder := filepath.ToSlash(filepath.Dir(path)); folder != "." {
			modules = append(modules, folder)
		}
	}
	compareNames(t, dependenciesDoc, documented, "the tree", modules)
	for _, folder := range modules {
		if row, ok := rows[folder]; ok {
			mod := filepath.Join(folder, "go.mod")
			compareNames(t, dependenciesDoc+" at "+folder, row, mod, readModule(t, mod).direct())
		}
	}
}

// compareNames reports names that only one of two lists has, and those that the first list has twice.
func compareNames(t *testing.T, doc string, documented []string, source string, actual []string) {
	t.Helper()
	for _, name := range actual {
		if !slices.Contains(documented, name) {
			t.Errorf("%s has no row for %s, which %s has", doc, name, source)
		}
	}
	for i, name := range documented {
		switch {
		case !slices.Contains(actual, name):
			t.Errorf("%s names %s, which %s does not have", doc, name, source)
		case slices.Contains(documented[:i], name):
			t.Errorf("%s names %s twice", doc, name)
		}
	}
}

// tableRows returns the cells of the rows of the only table in a document whose first heading is as given.
func tableRows(t *testing.T, path, heading string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inTable := false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case cells[0] == heading:
			inTable = true
		case inTable && strings.Trim(cells[0], "-") != "":
			rows = append(rows, cells)
		}
	}
	if len(rows) < 5 {
		t.Fatalf("%s: the table that begins with %q has %d rows", path, heading, len(rows))
	}
	return rows
}

// moduleFile is what `go mod edit -json` prints of a go.mod, as far as these tests need it.
type moduleFile struct {
	Require []struct {
		Path     string
		Indirect bool
	}
	Tool []struct{ Path string }
}

func readModule(t *testing.T, path string) (m moduleFile) {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", path).Output()
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	if err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
	return m
}

// direct returns what the module asks for itself: the modules whose packages it imports, and the programs it pins.
func (m moduleFile) direct() (paths []string) {
	for _, r := range m.Require {
		if !r.Indirect && r.Path != "github.com/veltui/veltui" {
			paths = append(paths, r.Path)
		}
	}
	for _, tool := range m.Tool {
		paths = append(paths, tool.Path)
	}
	return paths
}
