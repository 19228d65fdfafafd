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
)

const MaxSize = 64 << 10

type Problem struct {
	File         string // or a flag or an environment variable
	Line, Column int    // 0 where there are none
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
			lines = append(lines, fmt.Sprintf("and %d more", len(p)-i))
			break
		}
		lines = append(lines, problem.Error())
	}
	return strings.Join(lines, "\n")
}

// Parse reads a file's YAML and finds all mistakes at once. Anchors, aliases and tags are refused,
// so that a small file stays small.
func Parse(file string, data []byte, settings []Setting) ([]Value, Problems) {
	p := parser{file: file}
	return p.parse(data, settings), p.problems
}

type parser struct {
	file     string
	problems Problems
}

func (p *parser) add(line, column int, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.file, line, column, fmt.Sprintf(format, args...)})
}

func (p *parser) at(n *yaml.Node, path, format string, args ...any) {
	if path != "" {
		path += ": "
	}
	p.add(n.Line, n.Column, "%s%s", path, fmt.Sprintf(format, args...))
}

func (p *parser) parse(data []byte, settings []Setting) []Value {
	if len(data) > MaxSize {
		p.add(0, 0, "the file has more than %d bytes, so it cannot be a configuration", MaxSize)
		return nil
	}
	if !p.isText(data) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		p.syntax(err)
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		p.add(second.Line, 0, "a second YAML document starts here; one is allowed")
	} else if !errors.Is(err, io.EOF) {
		p.syntax(err)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	return p.mapping(root, "", settings)
}

// isText finds what no YAML may hold, which the library reports without its line.
func (p *parser) isText(data []byte) bool {
	line := 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			p.add(line, 0, "the byte 0x%02x is not UTF-8; the file is not text", data[i])
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			p.add(line, 0, "the control character 0x%02x is not allowed", r)
			return false
		case r == '\n':
			line++
		}
		i += size
	}
	return true
}

var librarySays = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (p *parser) syntax(err error) {
	text := err.Error()
	line := 0
	if found := librarySays.FindStringSubmatch(text); found != nil {
		line, _ = strconv.Atoi(found[1])
		text = text[len(found[0]):]
	}
	p.add(line, 0, "it is not valid YAML: %s", text)
}

func (p *parser) mapping(n *yaml.Node, path string, settings []Setting) []Value {
	if !p.plain(n, path) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.at(n, path, "expected keys with values, found %s", kindOf(n))
		return nil
	}
	var values []Value
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			p.at(key, path, "expected a key, found %s", kindOf(key))
			continue
		}
		if first, twice := lines[key.Value]; twice {
			p.at(key, path, "key %s is there twice, first in line %d", quote(key.Value), first)
			continue
		}
		lines[key.Value] = key.Line
		s := find(settings, key.Value)
		if s == nil {
			var names []string
			for _, s := range settings {
				names = append(names, s.Name)
			}
			p.at(key, path, "unknown key %s%s", quote(key.Value), Suggestion(key.Value, names))
			continue
		}
		full := s.Name
		if path != "" {
			full = path + "." + s.Name
		}
		if v, ok := p.value(value, full, s); ok && (s.Kind != Map || v.Fields != nil) {
			v.Name, v.Line, v.Column = s.Name, key.Line, key.Column
			values = append(values, v)
		}
	}
	return values
}

func (p *parser) value(n *yaml.Node, path string, s *Setting) (Value, bool) {
	before := len(p.problems)
	var v Value
	switch {
	case !p.plain(n, path):
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		p.at(n, path, "the key has no value")
	case s.Kind == Map:
		v.Fields = p.mapping(n, path, s.Fields)
	case s.Kind == List && n.Kind == yaml.SequenceNode:
		v.Items = p.items(n, path, s)
	case s.Kind == List && n.Kind != yaml.ScalarNode:
		p.at(n, path, "expected a list, found %s", kindOf(n))
	case s.Kind == List:
		v.Items = []Value{p.text(n, path, s)}
	default:
		v = p.text(n, path, s)
	}
	return v, s.Kind == Map || len(p.problems) == before
}

func (p *parser) items(n *yaml.Node, path string, s *Setting) []Value {
	var items []Value
	lines := map[string]int{}
	if len(n.Content) == 0 {
		p.at(n, path, "the list is empty")
	}
	for _, element := range n.Content {
		item := p.text(element, path, s)
		if _, twice := lines[item.Text]; twice && item.Text != "" {
			p.at(element, path, "%s is in the list twice", quote(item.Text))
		}
		lines[item.Text] = element.Line
		items = append(items, item)
	}
	return items
}

func (p *parser) text(n *yaml.Node, path string, s *Setting) Value {
	switch {
	case !p.plain(n, path):
	case n.Kind != yaml.ScalarNode:
		p.at(
			n,
			path,
			"expected %s, found %s",
			cmp.Or(map[Kind]string{Bool: "true or false", Number: "a number"}[s.Kind], "a text"),
			kindOf(n),
		)
	default:
		if why := s.fault(n.Value); why != "" {
			p.at(n, path, "%s", why)
		}
		return Value{Line: n.Line, Column: n.Column, Text: n.Value}
	}
	return Value{}
}

// plain refuses what makes YAML more than keys, lists and texts.
func (p *parser) plain(n *yaml.Node, path string) bool {
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "":
		p.at(n, path, "anchors (&) and aliases (*) are not supported; write the value in full")
	case n.Style&yaml.TaggedStyle != 0:
		p.at(n, path, "the tag %s is not supported", quote(n.Tag))
	default:
		return true
	}
	return false
}

func kindOf(n *yaml.Node) string {
	kinds := map[yaml.Kind]string{
		yaml.MappingNode:  "keys with values",
		yaml.SequenceNode: "a list",
		yaml.AliasNode:    "an alias",
	}
	return cmp.Or(kinds[n.Kind], "the text "+quote(n.Value))
}

func find(settings []Setting, name string) *Setting {
	if i := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name }); i >= 0 {
		return &settings[i]
	}
	return nil
}
