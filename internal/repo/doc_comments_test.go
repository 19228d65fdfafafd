package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// identifierStart matches a comment that begins with an identifier of several words and a verb.
var identifierStart = regexp.MustCompile(`^([a-z]+[A-Z]\w*) (?:is|are|has|\w+s)\b`)

// TestCommentsNameWhatTheyDescribe: a comment that begins with an identifier begins with that of its declaration.
// A rename that forgets the comment above sends the reader to a name that no longer exists.
func TestCommentsNameWhatTheyDescribe(t *testing.T) {
	files := token.NewFileSet()
	for _, name := range goSources(t) {
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range declarationComments(file) {
			m := identifierStart.FindStringSubmatch(c.text)
			if m != nil && !slices.Contains(c.names, m[1]) {
				t.Errorf("%s: the comment of %s begins with %s",
					files.Position(c.position), strings.Join(c.names, ", "), m[1])
			}
		}
	}
}

// declarationComment is the comment of the declaration of names.
type declarationComment struct {
	position token.Pos
	text     string
	names    []string
}

func declarationComments(file *ast.File) []declarationComment {
	var comments []declarationComment
	add := func(comment *ast.CommentGroup, names ...*ast.Ident) {
		if comment == nil || len(names) == 0 {
			return
		}
		c := declarationComment{position: comment.Pos(), text: comment.Text()}
		for _, n := range names {
			c.names = append(c.names, n.Name)
		}
		comments = append(comments, c)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			add(n.Doc, n.Name)
		case *ast.GenDecl:
			if len(n.Specs) == 1 {
				add(n.Doc, specNames(n.Specs[0])...)
			}
		case *ast.TypeSpec:
			add(n.Doc, n.Name)
		case *ast.ValueSpec:
			add(n.Doc, n.Names...)
		case *ast.Field:
			add(n.Doc, n.Names...)
			add(n.Comment, n.Names...)
		}
		return true
	})
	return comments
}

func specNames(spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}
