package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// explain says what is wrong, then what to do, then what it knows: the first of it fits a small terminal.
func TestOrderOfExplain(t *testing.T) {
	files, err := filepath.Glob("testdata/goldens/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	explained := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for command := range strings.SplitSeq(string(text), "\n$ ") {
			if !strings.HasPrefix(command, "veltui explain") || strings.Contains(command[:strings.Index(command, "\n")], "-o ") {
				continue
			}
			explained++
			checkOrder(t, file, command)
		}
	}
	if explained == 0 {
		t.Error("no golden explains a job")
	}
}

// checkOrder holds a text of explain to the order of its parts, and the beginning of what to do to 20 rows of 80.
func checkOrder(t *testing.T, file, text string) {
	t.Helper()
	last, row := "", 0
	parts := []string{"verdict:", "proof:", "next:", "finalize ", "option:", "facts:", "unknown or", "volumes that", "limits of"}
	reached := 0
	for line := range strings.SplitSeq(text, "\n") {
		row += 1 + len(line)/80
		for i, part := range parts {
			if !strings.HasPrefix(line, part) {
				continue
			}
			if i < reached {
				t.Errorf("%s: %q stands behind %q", filepath.Base(file), part, last)
			}
			if last, reached = part, i; part == "option:" && row > 20 || part == "next:" && row > 16 {
				t.Errorf("%s: %q is in row %d of 80 columns", filepath.Base(file), part, row)
			}
		}
	}
}
