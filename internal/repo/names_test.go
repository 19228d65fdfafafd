package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestNamesInArchitectureExist holds the Go names in docs/dev/architecture.md against the code: a name in backticks with
// a dot or an inner capital is declared somewhere, as `name`, `Type.member` or `package.Name`.
func TestNamesInArchitectureExist(t *testing.T) {
	declared := declaredNames(t)
	text, err := os.ReadFile("docs/dev/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Za-z]+)?)`")
	found := 0
	for _, match := range name.FindAllStringSubmatch(string(text), -1) {
		if !isGoName(match[1]) {
			continue
		}
		found++
		if !declared[match[1]] {
			t.Errorf("docs/dev/architecture.md names %s, which is not declared", match[1])
		}
	}
	if found < 20 {
		t.Errorf("%d Go names found in docs/dev/architecture.md: too few to be all of them", found)
	}
}

// isGoName reports whether a word in backticks is a name of the code, and not a command, a folder or a file.
func isGoName(word string) bool {
	if before, after, dotted := strings.Cut(word, "."); dotted {
		return before != "" && after != "go" && after != "md"
	}
	return strings.IndexFunc(word[1:], unicode.IsUpper) >= 0 && !strings.HasPrefix(word, "Test")
}

// declaredNames collects what the product declares: functions, types, values, and members of types.
func declaredNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, path := range goSources(t) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		addDeclaredNames(names, filepath.Base(filepath.Dir(path)), file)
	}
	return names
}

func addDeclaredNames(names map[string]bool, pkg string, file *ast.File) {
	add := func(owner, name string) {
		if owner != "" {
			names[owner+"."+name] = true
			return
		}
		names[name], names[pkg+"."+name] = true, true
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			add(receiverName(d), d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						add("", n.Name)
					}
				case *ast.TypeSpec:
					add("", s.Name.Name)
					for _, member := range memberNames(s.Type) {
						add(s.Name.Name, member)
					}
				}
			}
		}
	}
}

// receiverName returns the name of a method's type, empty for a function.
func receiverName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	expression := f.Recv.List[0].Type
	for {
		switch e := expression.(type) {
		case *ast.StarExpr:
			expression = e.X
		case *ast.IndexExpr:
			expression = e.X
		case *ast.IndexListExpr:
			expression = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// memberNames returns the fields of a struct, or the methods of an interface.
func memberNames(expression ast.Expr) (names []string) {
	var fields *ast.FieldList
	switch e := expression.(type) {
	case *ast.StructType:
		fields = e.Fields
	case *ast.InterfaceType:
		fields = e.Methods
	default:
		return nil
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
