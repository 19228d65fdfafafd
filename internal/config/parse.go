package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/veltui/veltui/internal/human"
)

const MaxFileSize = 64 << 10

type Problem struct {
	File         string // a file, a flag or an environment variable
	Line, Column int    // 0 if there are none
	Text         string
}

func (p Problem) Error() string {
	switch {
	case p.Line == 0:
		return p.File + ": " + p.Text
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

const maxProblems = 20

type Problems []Problem

func (p Problems) Error() string {
	var lines []string
	for i, problem := range p {
		if i == maxProblems {
			lines = append(lines, "and "+human.More(len(p)-i))
			break
		}
		lines = append(lines, problem.Error())
	}
	return strings.Join(lines, "\n")
}

// Parse parses a file's YAML and returns all mistakes at once. Anchors, aliases and tags are refused, so that a small
// file stays small.
func Parse(file string, data []byte, settings []Setting) ([]Value, Problems) {
	p := parser{file: file}
	return p.parseDocument(data, settings), p.problems
}

type parser struct {
	file     string
	problems Problems
}

func (p *parser) addProblem(line, column int, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.file, line, column, fmt.Sprintf(format, args...)})
}

func (p *parser) addProblemAt(n *yaml.Node, path, format string, args ...any) {
	if path != "" {
		path += ": "
	}
	p.addProblem(n.Line, n.Column, "%s%s", path, fmt.Sprintf(format, args...))
}

func (p *parser) parseDocument(data []byte, settings []Setting) []Value {
	if len(data) > MaxFileSize {
		p.addProblem(0, 0, "the file has more than %d bytes, so it cannot be a configuration", MaxFileSize)
		return nil
	}
	if !p.checkText(data) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		p.addSyntaxError(err)
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		p.addProblem(second.Line, 0, "a second YAML document starts here; one is allowed")
	} else if !errors.Is(err, io.EOF) {
		p.addSyntaxError(err)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	return p.parseMapping(root, "", settings)
}

// checkText reports whether the data is text. It adds a problem for a character that YAML forbids: the library reports
// it without a line.
func (p *parser) checkText(data []byte) bool {
	line := 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			p.addProblem(line, 0, "the byte 0x%02x is not UTF-8; the file is not text", data[i])
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			p.addProblem(line, 0, "the control character 0x%02x is not allowed", r)
			return false
		case r == '\n':
			line++
		}
		i += size
	}
	return true
}

var yamlErrorPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (p *parser) addSyntaxError(err error) {
	text := err.Error()
	line := 0
	if found := yamlErrorPrefix.FindStringSubmatch(text); found != nil {
		line, _ = strconv.Atoi(found[1])
		text = text[len(found[0]):]
	}
	p.addProblem(line, 0, "it is not valid YAML: %s", text)
}

func (p *parser) parseMapping(n *yaml.Node, path string, settings []Setting) []Value {
	if !p.checkPlainNode(n, path) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.addProblemAt(n, path, "expected keys with values, found %s", describeNode(n))
		return nil
	}
	var values []Value
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			p.addProblemAt(key, path, "expected a key, found %s", describeNode(key))
			continue
		}
		if first, twice := lines[key.Value]; twice {
			p.addProblemAt(key, path, "key %s is there twice, first in line %d", quoteShort(key.Value), first)
			continue
		}
		lines[key.Value] = key.Line
		s := findSetting(settings, key.Value)
		if s == nil {
			var names []string
			for _, s := range settings {
				names = append(names, s.Name)
			}
			p.addProblemAt(key, path, "unknown key %s%s", quoteShort(key.Value), SuggestionText(key.Value, names))
			continue
		}
		full := s.Name
		if path != "" {
			full = path + "." + s.Name
		}
		if v, ok := p.parseValue(value, full, s); ok && (s.Kind != Map || v.Fields != nil) {
			v.Name, v.Line, v.Column = s.Name, key.Line, key.Column
			values = append(values, v)
		}
	}
	return values
}

func (p *parser) parseValue(n *yaml.Node, path string, s *Setting) (Value, bool) {
	before := len(p.problems)
	var v Value
	switch {
	case !p.checkPlainNode(n, path):
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		p.addProblemAt(n, path, "the key has no value")
	case s.Kind == Map:
		v.Fields = p.parseMapping(n, path, s.Fields)
	case s.Kind == List && n.Kind == yaml.SequenceNode:
		v.Items = p.parseItems(n, path, s)
	case s.Kind == List && n.Kind != yaml.ScalarNode:
		p.addProblemAt(n, path, "expected a list, found %s", describeNode(n))
	case s.Kind == List:
		v.Items = []Value{p.parseText(n, path, s)}
	default:
		v = p.parseText(n, path, s)
	}
	return v, s.Kind == Map || len(p.problems) == before
}

func (p *parser) parseItems(n *yaml.Node, path string, s *Setting) []Value {
	var items []Value
	lines := map[string]int{}
	if len(n.Content) == 0 {
		p.addProblemAt(n, path, "the list is empty")
	}
	for _, element := range n.Content {
		item := p.parseText(element, path, s)
		if _, twice := lines[item.Text]; twice && item.Text != "" {
			p.addProblemAt(element, path, "%s is in the list twice", quoteShort(item.Text))
		}
		lines[item.Text] = element.Line
		items = append(items, item)
	}
	return items
}

func (p *parser) parseText(n *yaml.Node, path string, s *Setting) Value {
	switch {
	case !p.checkPlainNode(n, path):
	case n.Kind != yaml.ScalarNode:
		p.addProblemAt(
			n,
			path,
			"expected %s, found %s",
			cmp.Or(map[Kind]string{Bool: "true or false", Number: "a number"}[s.Kind], "a text"),
			describeNode(n),
		)
	default:
		if why := s.invalidReason(n.Value); why != "" {
			p.addProblemAt(n, path, "%s", why)
		}
		return Value{Line: n.Line, Column: n.Column, Text: n.Value}
	}
	return Value{}
}

// checkPlainNode reports whether a node is a plain key, list or text, and adds a problem for other YAML features.
func (p *parser) checkPlainNode(n *yaml.Node, path string) bool {
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "":
		p.addProblemAt(n, path, "anchors (&) and aliases (*) are not supported; write the value in full")
	case n.Style&yaml.TaggedStyle != 0:
		p.addProblemAt(n, path, "the tag %s is not supported", quoteShort(n.Tag))
	default:
		return true
	}
	return false
}

func describeNode(n *yaml.Node) string {
	kinds := map[yaml.Kind]string{
		yaml.MappingNode:  "keys with values",
		yaml.SequenceNode: "a list",
		yaml.AliasNode:    "an alias",
	}
	return cmp.Or(kinds[n.Kind], "the text "+quoteShort(n.Value))
}

func findSetting(settings []Setting, name string) *Setting {
	if i := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name }); i >= 0 {
		return &settings[i]
	}
	return nil
}
