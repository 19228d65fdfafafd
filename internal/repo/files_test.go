package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fileOpeners are the packages that may open, make and remove any file: they refuse what others could have put there.
var fileOpeners = []string{"internal/safefile", "internal/statedir"}

// otherFiles are the calls elsewhere, and why they are none of a file that veltui keeps. One that says what the program
// does is read with safefile.ReadTrusted, whatever it is.
var otherFiles = map[string]string{
	"internal/action/audit.go os.Remove":              "the lock file of an attempt, which was opened by safefile: a name goes, nothing is read",
	"internal/cmd/restore_file.go os.Open":            "-f: the user names it, and it may be a pipe",
	"internal/cmd/completion.go os.OpenFile":          "the null device",
	"internal/cmd/config_file.go os.ReadDir":          "names of themes; each is read by safefile.ReadTrusted",
	"internal/cmd/demo.go os.DirFS":                   "a recording that the user names",
	"internal/cmd/demo.go os.Open":                    "--scene: the user names it",
	"internal/cmd/estimate.go os.Open":                "--tarball: the user names it, and it may be a pipe",
	"internal/demo/demo.go os.RemoveAll":              "the demo's own folder of internal/demo/serve.go",
	"internal/demo/serve.go os.MkdirTemp":             "a new folder of mode 0700 for the demo's kubeconfig",
	"internal/session/identity.go os.ReadFile":        "the certificate authority that the kubeconfig names",
	"internal/stored/artifact/fetcher.go os.ReadFile": "--cacert: the user names it",
	"internal/stored/logs/store.go os.CreateTemp":     "a new file of mode 0600 that loses its name at once",
	"internal/stored/logs/store.go os.Remove":         "that name, and what could not be saved whole",
	"internal/stored/logs/store.go os.OpenFile":       "a log that the user saves: a new file (O_EXCL) where the user wants it",
}

var systemCalls = regexp.MustCompile(
	`^(Open|Creat$|Rename|Unlink|Rmdir|Mk(dir|fifo|nod)|Link|Symlink|(Fch|Ch)(mod|own)|Truncate)`)

// touchesFiles matches the functions that open, make, change or remove what has a path. To ask for its kind and size
// (Stat, Lstat) opens nothing.
var touchesFiles = map[string]*regexp.Regexp{
	"os": regexp.MustCompile(`^(Open|Create|ReadFile$|WriteFile$|Read(Dir|link)$|Rename|Remove|Mkdir|Link$|Symlink|` +
		`Ch(mod|own|times)|Lchown|Truncate|DirFS|CopyFS|StartProcess)`),
	"io/ioutil":             regexp.MustCompile(`^(Read(Dir|File)|WriteFile|Temp)`),
	"syscall":               systemCalls,
	"golang.org/x/sys/unix": systemCalls,
}

// TestFilesAreOpenedPrivately holds that what veltui keeps is opened by the packages that look whose it is.
func TestFilesAreOpenedPrivately(t *testing.T) {
	found := map[string]bool{}
	for _, path := range productFiles(t) {
		for _, call := range fileCalls(t, path) {
			if slices.Contains(fileOpeners, filepath.ToSlash(filepath.Dir(path))) {
				found["opener"] = true
				continue
			}
			name := filepath.ToSlash(path) + " " + call
			if found[name] = true; otherFiles[name] == "" {
				t.Errorf(
					"%s: use internal/safefile or internal/statedir, or say why veltui does not keep this file",
					name,
				)
			}
		}
	}
	for name := range otherFiles {
		if !found[name] {
			t.Errorf("%s is no longer called: take it out of the list", name)
		}
	}
	if !found["opener"] {
		t.Error("the packages that may open files call nothing: the check does not see them")
	}
}

var notProduct = []string{"bin", "e2e", "tools", "testbed", "testdata"}

// productFiles lists the sources of the program, for all systems.
func productFiles(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (entry.Name()[0] == '.' || slices.Contains(notProduct, entry.Name())):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	return paths
}

// fileCalls lists the functions of a source that touch files, also those that it only passes on.
func fileCalls(t *testing.T, path string) (calls []string) {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{} // by their names in this source
	for _, imported := range source.Imports {
		name, err := strconv.Unquote(imported.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if touchesFiles[name] == nil {
			continue
		}
		local := name[strings.LastIndex(name, "/")+1:]
		if imported.Name != nil {
			local = imported.Name.Name
		}
		if local == "." {
			t.Errorf("%s imports %s without a name", path, name)
		}
		packages[local] = name
	}
	ast.Inspect(source, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok {
			touches := touchesFiles[packages[x.Name]]
			if touches != nil && touches.MatchString(selector.Sel.Name) {
				calls = append(calls, x.Name+"."+selector.Sel.Name)
			}
		}
		return true
	})
	return calls
}
