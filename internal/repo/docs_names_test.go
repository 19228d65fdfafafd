package repo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/veltui/veltui/internal/cmd"
)

// Names in the documents are those of the code: files, tests, and words such as
// reasons, types, variables and flags.
func TestDocsNames(t *testing.T) {
	var code strings.Builder
	for _, suffix := range []string{".go", ".yaml", ".yml", ".mk", "Makefile", ".sh"} {
		for _, path := range files(t, suffix) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	text := code.String()
	known := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		known[word] = true
	}
	camel := regexp.MustCompile(`^[A-Za-z]+\.?[A-Z][a-z]+[A-Z]\w*$|^VEL(TUI|ERO)_\w+$`)
	test := regexp.MustCompile(`\b(Test|Fuzz|Benchmark)[A-Z]\w+`)
	file := regexp.MustCompile(`^[\w./-]+/[\w.-]+\.(go|md|sh|ya?ml|mk|svg|json|jsonl)$`)
	flagName := regexp.MustCompile(`^--[a-z][a-z-]+$`)
	root := cmd.Root()
	for _, d := range docs(t) {
		for _, m := range test.FindAllString(d.text, -1) {
			if !strings.Contains(text, "func "+m) { // TestSlowLine... is all that begin so
				t.Errorf("%s names %s, and there is no such test", d.path, m)
			}
		}
		for _, c := range d.code {
			first, _, _ := strings.Cut(c, "/")
			_, ours := os.Stat(first)
			_, there := os.Stat(c)
			_, beside := os.Stat(filepath.Join(filepath.Dir(d.path), c))
			words := strings.FieldsFunc(c, func(r rune) bool { return r == '.' })
			switch {
			case file.MatchString(c) && ours == nil && first != "bin" && d.path != "docs/dev/velero.md" && there != nil && beside != nil:
				t.Errorf("%s names the file %s, which is not there", d.path, c)
			case camel.MatchString(c) && !known[words[len(words)-1]] && d.path != "docs/dev/velero.md": // which names Velero's
				t.Errorf("%s names %s, which no code has", d.path, c)
			case flagName.MatchString(c) && !strings.Contains(text, c) && !strings.Contains(text, `"`+c[2:]+`"`) && root.PersistentFlags().Lookup(c[2:]) == nil && d.path != "docs/commands.md":
				t.Errorf("%s names the flag %s, which no code has", d.path, c)
			}
		}
	}
}

// docs/json.md has the fields that the commands print, and no others.
func TestDocsOfJSON(t *testing.T) {
	fields := map[string]bool{}
	schemas, err := filepath.Glob("docs/schema/*.json")
	if err != nil || len(schemas) == 0 {
		t.Fatalf("%d schemas, %v", len(schemas), err)
	}
	for _, path := range schemas {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var schema any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		collectProperties(schema, fields)
	}
	var text string
	named := map[string]bool{}
	word := regexp.MustCompile(`[a-z]\w*`)
	for _, d := range docs(t) {
		if d.path != "docs/json.md" {
			continue
		}
		text = strings.Join(append(d.code, d.blocks...), " ")
		for line := range strings.Lines(d.prose) {
			if cells := strings.Split(line, "|"); len(cells) > 2 {
				for _, m := range inlineCode.FindAllStringSubmatch(cells[1], -1) {
					for _, w := range word.FindAllString(m[1], -1) {
						named[w] = true
					}
				}
			}
		}
	}
	for field := range fields {
		if !regexp.MustCompile(`\b` + field + `\b`).MatchString(text) {
			t.Errorf("docs/json.md does not say what %s is", field)
		}
	}
	for name := range named {
		if !fields[name] {
			t.Errorf("docs/json.md has a field %s, which nothing prints", name)
		}
	}
}

// collectProperties adds the names of all properties in a JSON Schema.
func collectProperties(schema any, names map[string]bool) {
	switch schema := schema.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name := range properties {
			names[name] = true
		}
		for _, part := range schema {
			collectProperties(part, names)
		}
	case []any:
		for _, part := range schema {
			collectProperties(part, names)
		}
	}
}

// Each line of docs/security.md names a test that holds it, and docs/dev/architecture.md names every package.
func TestDocsAreWhole(t *testing.T) {
	for _, d := range docs(t) {
		switch d.path {
		case "docs/security.md":
			for line := range strings.Lines(d.prose) {
				if strings.HasPrefix(line, "| ") && !strings.Contains(line, "| held by |") &&
					!strings.Contains(line, "`Test") {
					t.Errorf("%s: no test holds this line:\n%s", d.path, line)
				}
			}
		case "docs/dev/architecture.md":
			for name := range imports {
				if name != "" && !strings.Contains(name, "collector/internal/") && !strings.Contains(d.text, name) {
					t.Errorf("%s does not name package %s", d.path, name)
				}
			}
		}
	}
}
