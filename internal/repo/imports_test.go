package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestImportsAreGrouped: imports of the standard library stand apart from all others.
func TestImportsAreGrouped(t *testing.T) {
	files := token.NewFileSet()
	for _, name := range goSources(t) {
		file, err := parser.ParseFile(files, name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(file.Imports); i++ {
			before, after := file.Imports[i-1], file.Imports[i]
			isApart := files.Position(after.Pos()).Line > files.Position(before.End()).Line+1
			if isStandard(t, before) != isStandard(t, after) && !isApart {
				t.Errorf("%s: no empty line between imports of the standard library and others", files.Position(after.Pos()))
			}
		}
	}
}

func isStandard(t *testing.T, imported *ast.ImportSpec) bool {
	t.Helper()
	path, err := strconv.Unquote(imported.Path.Value)
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ := strings.Cut(path, "/")
	return !strings.Contains(host, ".")
}
