package repo

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/cmd"
	"github.com/veltui/veltui/ui/keys"
)

// doc is one document.
type doc struct {
	path, text string
	// prose is the text without code blocks, blocks their lines, and code the code
	// within prose.
	prose        string
	blocks, code []string
}

var inlineCode = regexp.MustCompile("`([^`\n]+)`")

func docs(t *testing.T) []doc {
	t.Helper()
	var all []doc
	for _, path := range files(t, ".md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := doc{path: filepath.ToSlash(path), text: string(text)}
		fenced, words := false, false
		for line := range strings.Lines(d.text) {
			switch {
			case strings.HasPrefix(line, "```"):
				fenced, words = !fenced, strings.HasPrefix(line, "```text")
			case fenced, strings.HasPrefix(line, "    "):
				if !words {
					d.blocks = append(d.blocks, strings.TrimSpace(line))
				}
			default:
				d.prose += line
			}
		}
		for _, m := range inlineCode.FindAllStringSubmatch(d.prose, -1) {
			d.code = append(d.code, strings.ReplaceAll(m[1], `\|`, "|"))
		}
		all = append(all, d)
	}
	if len(all) < 20 {
		t.Fatalf("only %d documents found", len(all))
	}
	return all
}

// files are the paths of the project's files whose names end so.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() &&
			(path == "bin" || path == "dist" || path != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Links between documents lead to files and headings that are there.
func TestDocsLinks(t *testing.T) {
	all := docs(t)
	headings := map[string][]string{}
	for _, d := range all {
		for line := range strings.Lines(d.prose) {
			if hashes, title, ok := strings.Cut(line, " "); ok && strings.Trim(hashes, "#") == "" && hashes != "" {
				headings[d.path] = append(headings[d.path], anchor(title))
			}
		}
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, d := range all {
		for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(d.prose, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, heading, _ := strings.Cut(m[1], "#")
			target := d.path
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(d.path), path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", d.path, m[1])
			} else if heading != "" && !slices.Contains(headings[target], heading) {
				t.Errorf("%s links to %s, and there is no such heading", d.path, m[1])
			}
		}
	}
}

// anchor is what GitHub makes of a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(title))
}

// Command lines in the documents, which have the examples of all commands, are
// such as veltui takes.
func TestDocsCommandLines(t *testing.T) {
	made := regexp.MustCompile(`(?m)^([a-z0-9 -]+):`)
	var targets []string
	for _, file := range append(files(t, ".mk"), "Makefile") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made.FindAllStringSubmatch(string(text), -1) {
			targets = append(targets, strings.Fields(m[1])...)
		}
	}
	for _, d := range docs(t) {
		for _, line := range slices.Concat(d.blocks, d.code) {
			words := shellWords(strings.TrimPrefix(line, "$ "))
			for len(words) > 0 && strings.Contains(words[0], "=") && strings.ToUpper(words[0][:1]) == words[0][:1] {
				words = words[1:] // the environment
			}
			switch {
			case len(words) < 2 || strings.HasSuffix(words[0], ":"):
			case words[0] == "make" && !strings.Contains(words[1], "=") && words[1] != "sure":
				if !slices.Contains(targets, words[1]) {
					t.Errorf("%s: there is no make target %s", d.path, words[1])
				}
			case words[0] == "kubectl" && words[1] == "veltui":
				takes(t, d.path, line, words[2:])
			case filepath.Base(words[0]) == "veltui":
				takes(t, d.path, line, words[1:])
			}
		}
	}
}

// takes checks that veltui takes a command line.
func takes(t *testing.T, path, line string, args []string) {
	t.Helper()
	if len(args) == 0 || strings.HasPrefix(args[0], "[") || strings.Contains(line, "[flags]") ||
		strings.Contains(line, " [") ||
		strings.Contains(line, "...") {
		return // a usage line, or one to fill in
	}
	c, rest, err := cmd.Root().Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil && len(rest) > 0 { // alone it is but the command's name
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil && err != pflag.ErrHelp {
		t.Errorf("%s: %s: %v", path, line, err)
	}
}

// shellWords are the words of a line's first command, as a shell takes it apart.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	quote, any := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, any = r, true
		case strings.ContainsRune("|><&;", r) || r == '#' && word.Len() == 0:
			return append(words, strings.Fields(word.String())...)
		case unicode.IsSpace(r):
			if word.Len() > 0 || any {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(r)
		}
	}
	if word.Len() > 0 || any {
		words = append(words, word.String())
	}
	return words
}

// Keys that the documents name are keys that veltui has.
func TestDocsKeys(t *testing.T) {
	// Those of lines in which one types, `t`, which is a field of recordings, and `x`,
	// which only the demo has.
	known := []string{"ctrl+c", "ctrl+n", "t", "x"}
	for _, a := range slices.Concat(keys.Actions, keys.FixedActions) {
		known = append(known, a.Keys...)
	}
	key := regexp.MustCompile(`^([a-zA-Z?:/]|(ctrl|shift|alt)\+\w+)$`)
	for _, d := range docs(t) {
		for _, code := range d.code {
			if key.MatchString(code) && !slices.Contains(known, code) {
				t.Errorf("%s names the key %s, which does nothing", d.path, code)
			}
		}
	}
}
