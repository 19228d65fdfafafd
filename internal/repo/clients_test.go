package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownClients may make HTTP clients, transports or connections past package session,
// with why.
var ownClients = map[string]string{
	"internal/session/transport.go":          "it is the transport",
	"watch/connection.go":                    "it compares configurations, without their functions",
	"internal/stored/artifact/signed_url.go": "the object store's client has checks, limits and redirects of its own, and no credentials of the API server",
	"internal/stored/artifact/tunnel.go":     "upgraded connections have transports of their own, made from a protected configuration",
}

// noProduct are folders whose clients only tests and measurements use, or that hold
// the demo's own server.
var noProduct = []string{"internal/demo", "e2e", "internal/testbed", "tools"}

// TestEveryClientUsesTheTransport fails for a client of an API server that is not
// built on [session.HTTPClient]: its answers would have no limit, and its redirects
// would be followed.
func TestEveryClientUsesTheTransport(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, func(file string, parsed *ast.File, at func(token.Pos) token.Position) {
		for _, found := range ownConnections(parsed) {
			if used[file] = true; ownClients[file] == "" {
				t.Errorf("%s: %s is not built on session.HTTPClient", at(found.Pos()), found.what)
			}
		}
	})
	for file := range ownClients {
		if !used[file] {
			t.Errorf("%s makes no client of its own: take it off the list", file)
		}
	}
}

// TestClientRule knows each way to make a client.
func TestClientRule(t *testing.T) {
	const header = `package p
import (
	"net/http"
	web "net/http"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)
var _ = `
	for code, want := range map[string]bool{
		`rest.TransportFor(nil)`: true, `rest.HTTPClientFor(nil)`: true, `rest.RESTClientFor(nil)`: true, `rest.UnversionedRESTClientFor(nil)`: true,
		`rest.HTTPWrappersForConfig`: true, `dynamic.NewForConfigOrDie(nil)`: true, `kubernetes.NewForConfig`: true, `transport.New(nil)`: true,
		`client.New(nil, client.Options{})`: true, `client.New(nil, o)`: true, `client.NewWithWatch(nil, client.Options{Scheme: nil})`: true,
		`http.Client{}`: true, `&web.Client{}`: true, `new(http.Client)`: true, `http.DefaultClient`: true, `http.DefaultTransport`: true, `http.Get("")`: true,
		`[]http.Client{{}}`: true, `http.Transport{}`: true, `spdy.RoundTripperFor(nil)`: true, `remotecommand.NewSPDYExecutor(nil, "", nil)`: true,
		`rest.Config{Transport: nil}`: true, `&rest.Config{WrapTransport: nil}`: true, `func(c *rest.Config) { c.WrapTransport = nil }`: true,

		`dynamic.NewForConfigAndClient(nil, nil)`: false, `rest.RESTClientForConfigAndClient(nil, nil)`: false, `client.New(nil, client.Options{HTTPClient: c})`: false,
		`dynamic.NewForConfigAndClient(nil, http.DefaultClient)`: true, `func(c *http.Client) *http.Transport { return nil }`: false, `rest.Config{Host: ""}`: false, `other.Client{}`: false,
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", header+code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(ownConnections(parsed)) > 0; got != want {
			t.Errorf("%s: %t, want %t", code, got, want)
		}
	}
}

// eachFile parses the product's files.
func eachFile(t *testing.T, visit func(file string, parsed *ast.File, at func(token.Pos) token.Position)) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if slices.Contains(noProduct, file) || file != "." && strings.HasPrefix(entry.Name(), ".") ||
				entry.Name() == "testdata" ||
				file == "bin" {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(file, parsed, files.Position)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

type ownConnection struct {
	ast.Node
	what string
}

// ownConnections finds what makes clients and transports, or lets go of the one that
// a configuration has.
func ownConnections(file *ast.File) (found []ownConnection) {
	imported := map[string]string{}
	for _, i := range file.Imports {
		of := strings.Trim(i.Path.Value, `"`)
		name := path.Base(of)
		if i.Name != nil {
			name = i.Name.Name
		}
		imported[name] = of
	}
	named := func(n ast.Node) (of, name string) {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok {
				return imported[x.Name], selector.Sel.Name
			}
		}
		return "", ""
	}
	add := func(n ast.Node, what string) { found = append(found, ownConnection{n, what}) }
	types := map[ast.Node]bool{} // types that make nothing
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			types[n.X] = true
		case *ast.CompositeLit:
			if of, name := named(
				n.Type,
			); of == "k8s.io/client-go/rest" && name == "Config" &&
				(hasKey(n, "Transport") || hasKey(n, "WrapTransport")) {
				add(n, "rest.Config with a transport")
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if field, ok := to.(*ast.SelectorExpr); ok && field.Sel.Name == "WrapTransport" {
					add(n, "an assignment to WrapTransport")
				}
			}
		case *ast.CallExpr:
			of, name := named(n.Fun)
			if of == "sigs.k8s.io/controller-runtime/pkg/client" && (name == "New" || name == "NewWithWatch") {
				options, ok := n.Args[len(n.Args)-1].(*ast.CompositeLit)
				if !ok || !hasKey(options, "HTTPClient") {
					add(n, "client."+name)
				}
			}
		case *ast.SelectorExpr:
			of, name := named(n)
			if !types[n] && makesConnection(of, name) {
				add(n, path.Base(of)+"."+name)
			}
		}
		return true
	})
	return found
}

func makesConnection(of, name string) bool {
	switch {
	case of == "net/http":
		return slices.Contains(
			[]string{"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"},
			name,
		)
	case of == "k8s.io/client-go/transport":
		return name == "New" || name == "HTTPWrappersForConfig"
	case strings.HasPrefix(of, "k8s.io/client-go/tools/"):
		return strings.Contains(name, "Dialer") && strings.HasPrefix(name, "NewSPDY") ||
			strings.HasSuffix(name, "Executor")
	case strings.HasPrefix(of, "k8s.io/client-go/transport/"):
		return name == "RoundTripperFor"
	case strings.HasPrefix(of, "k8s.io/"):
		return slices.Contains(
			[]string{
				"TransportFor",
				"HTTPClientFor",
				"RESTClientFor",
				"UnversionedRESTClientFor",
				"HTTPWrappersForConfig",
			},
			name,
		) ||
			strings.HasPrefix(name, "New") && strings.Contains(name, "ForConfig") &&
				!strings.HasSuffix(name, "ForConfigAndClient")
	}
	return false
}

func hasKey(literal *ast.CompositeLit, key string) bool {
	return slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		name, ok := pair.Key.(*ast.Ident)
		return ok && name.Name == key
	})
}
