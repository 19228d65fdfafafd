package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every command has a page; each is one that man can read, where there is a man.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	if _, stderr, code := called(t, "veltui", "man", dir); code != ExitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 15 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !holdsAll(string(text), ".TH \"VELTUI", ".SH NAME\nveltui", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH SEE ALSO") {
			t.Errorf("%s:\n%s", page, text)
		}
		if groff, err := exec.LookPath("groff"); err == nil && strings.HasSuffix(page, "-get.1") {
			if out, err := exec.Command(groff, "-man", "-Tascii", "-ww", "-z", page).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v, %s", page, err, out)
			}
		}
	}
	root, err := os.ReadFile(filepath.Join(dir, "veltui.1"))
	if err != nil || !holdsAll(string(root), ".SH EXIT STATUS", "the job is stuck or orphaned", `\-\-kubeconfig`, `.BR veltui\-get (1)`, ".SH EXAMPLES") {
		t.Errorf("%v:\n%s", err, root)
	}
	if got := roff(".a\\b 'c' -d"); got != `\&.a\eb 'c' \-d` {
		t.Errorf("%s", got)
	}
	if _, _, code := called(t, "veltui", "man"); code != ExitUsage {
		t.Errorf("exit code %d without a folder", code)
	}
}
