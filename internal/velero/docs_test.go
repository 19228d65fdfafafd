package velero

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/dev/velero.md"

// anchors are those of a page's headings, as a renderer makes them.
func anchors(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(raw), -1) {
		name := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(h[1]), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

// Every section of docs/dev/velero.md that code or a page cites is there.
func TestCitedSectionsExist(t *testing.T) {
	known, cited := anchors(t), 0
	citation := regexp.MustCompile(`velero\.md((?:#[a-z0-9-]+(?:, )?)+)`)
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".md"):
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// A citation may be broken over two lines of a comment.
		text := regexp.MustCompile(`\n\s*// `).ReplaceAllString(string(raw), " ")
		for _, c := range citation.FindAllStringSubmatch(text, -1) {
			for _, anchor := range regexp.MustCompile(`#[a-z0-9-]+`).FindAllString(c[1], -1) {
				cited++
				if !known[anchor[1:]] {
					t.Errorf("%s cites %s, which is no section of docs/dev/velero.md", path, anchor)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited < 15 {
		t.Errorf("only %d citations found", cited)
	}
}

// Every file of Velero's source that the page names is in the version that veltui
// is built with, or is veltui's own, and defines what is named behind it.
func TestSourcesExist(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware-tanzu/velero").Output()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	sources := regexp.MustCompile("`((?:pkg|internal)/[a-z0-9_/]+\\.go)`((?:,? `[A-Za-z]+`)*)").
		FindAllStringSubmatch(string(raw), -1)
	if len(sources) < 30 {
		t.Fatalf("only %d sources found", len(sources))
	}
	for _, s := range sources {
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), filepath.FromSlash(s[1])))
		if err != nil {
			source, err = os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(s[1])))
		}
		if err != nil {
			t.Errorf("%s: %v", s[1], err)
			continue
		}
		for _, name := range regexp.MustCompile("[A-Za-z]+").FindAllString(s[2], -1) {
			if !regexp.MustCompile(`(func (\([^)]*\) )?|type |\t|const |var )` + name + `\b`).Match(source) {
				t.Errorf("%s does not define %s", s[1], name)
			}
		}
	}
}
