package repo

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is how many columns a line of the program may have; a tab counts as one.
const maxColumns = 120

// TestLinesAreShort holds that no line of the program, its tools and its end-to-end tests is too long to be read. The
// tests of packages are free.
func TestLinesAreShort(t *testing.T) {
	for _, path := range goSources(t) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		for number := 1; lines.Scan(); number++ {
			if n := utf8.RuneCount(lines.Bytes()); n > maxColumns {
				t.Errorf("%s:%d has %d columns, and %d are the most", path, number, n, maxColumns)
			}
		}
		if err := lines.Err(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		_ = file.Close()
	}
}

// goSources lists all Go sources that are no tests of a package.
func goSources(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (entry.Name()[0] == '.' || path == "bin"):
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
