package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

type Kind int

const (
	Text Kind = iota
	Bool
	Number
	List // of texts; a single text is a list of one
	Map  // of settings
)

type Setting struct {
	Name string
	Kind Kind
	// What says what it does; Default what holds where it is not set, in words.
	What, Default string
	Example       string
	Flag, Env     string                   // without dashes, or empty
	Stays         bool                     // a flag cannot take back a true of the environment
	Path          bool                     // of a file; a relative one starts at the configuration's folder
	Allowed       []string                 // the only texts; nil for any
	Least, Most   int                      // of a Number
	Check         func(text string) string // says what is wrong with a text; nil allows any
	Fields        []Setting
}

// Value is what one setting is set to.
type Value struct {
	Name          string
	Line, Column  int     // where it stands in a file, from 1; 0 elsewhere
	Text          string  // of a Text, Bool ("true", "false") or Number
	Items, Fields []Value // of a List, and of a Map
}

func (v Value) Texts() []string {
	texts := make([]string, len(v.Items))
	for i, item := range v.Items {
		texts[i] = item.Text
	}
	return texts
}

func (s *Setting) fault(text string) string {
	switch s.Kind {
	case Bool:
		if text != "true" && text != "false" {
			return fmt.Sprintf("%s must be true or false", quote(text))
		}
	case Number:
		if n, err := strconv.Atoi(text); err != nil || n < s.Least || n > s.Most {
			return fmt.Sprintf("%s must be a whole number from %d to %d", quote(text), s.Least, s.Most)
		}
	}
	switch {
	case s.Allowed != nil && !slices.Contains(s.Allowed, text):
		return fmt.Sprintf(
			"%s must be one of %s%s",
			quote(text),
			strings.Join(s.Allowed, ", "),
			Suggestion(text, s.Allowed),
		)
	case s.Check != nil:
		return s.Check(text)
	}
	return ""
}

const longest = 60

func quote(text string) string {
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return strconv.Quote(text)
}

// Suggestion names, in brackets, what a misspelt text probably means; empty if nothing is near.
func Suggestion(text string, known []string) string {
	best := Nearest(text, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// Nearest is what a misspelt text probably means, empty if nothing is near.
func Nearest(text string, known []string) string {
	best, distance := "", max(len(text)/3, 1)+1
	for _, k := range known {
		if d := edits(strings.ToLower(text), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits counts the letters to insert, delete, replace or swap with their neighbour.
func edits(a, b string) int {
	if len(a) > longest {
		return len(a)
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

type Source string

const (
	FromFlag        Source = "flag"
	FromEnvironment Source = "environment"
	FromFile        Source = "file"
	FromDefault     Source = "default"
)

type InForce struct {
	*Setting
	Value  Value
	Source Source
}

// Resolve finds the value of every setting: flags win over the environment, that over the file.
// flag returns a value and whether it was given. Problems are those of the environment.
func Resolve(
	settings []Setting,
	file []Value,
	env func(string) string,
	flag func(string) (string, bool),
) ([]InForce, Problems) {
	var problems Problems
	all := make([]InForce, len(settings))
	for i := range settings {
		s := &settings[i]
		all[i] = InForce{Setting: s, Source: FromDefault}
		if at := slices.IndexFunc(file, func(v Value) bool { return v.Name == s.Name }); at >= 0 {
			all[i].Value, all[i].Source = file[at], FromFile
		}
		stays := false
		if text := env(s.Env); s.Env != "" && text != "" {
			v, faults := s.fromEnvironment(text)
			problems = append(problems, faults...)
			all[i].Value, all[i].Source = v, FromEnvironment
			stays = s.Stays && v.Text == "true"
		}
		if s.Flag == "" || stays {
			continue
		}
		if text, ok := flag(s.Flag); ok {
			all[i].Value, all[i].Source = s.split(text), FromFlag
		}
	}
	return all, problems
}

// fromEnvironment reads a variable: a Bool as Go does, a List with commas.
func (s *Setting) fromEnvironment(text string) (Value, Problems) {
	if s.Kind == Bool {
		yes, err := strconv.ParseBool(text)
		switch {
		case err == nil:
			text = strconv.FormatBool(yes)
		case s.Stays:
			text = "true" // what is not a clear no
		}
	}
	v := s.split(text)
	var problems Problems
	for i, item := range v.Items {
		if slices.ContainsFunc(v.Items[:i], func(before Value) bool { return before.Text == item.Text }) {
			problems = append(problems, Problem{File: s.Env, Text: quote(item.Text) + " is in the list twice"})
		}
	}
	for _, part := range append(slices.Clone(v.Items), Value{Text: v.Text}) {
		if part.Text == "" {
			continue
		}
		if why := s.fault(part.Text); why != "" {
			problems = append(problems, Problem{File: s.Env, Text: why})
		}
	}
	return v, problems
}

func (s *Setting) split(text string) Value {
	v := Value{Name: s.Name, Text: text}
	if s.Kind != List {
		return v
	}
	v.Text = ""
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			v.Items = append(v.Items, Value{Text: part})
		}
	}
	return v
}

// Joined is the value as one text, with commas in a List.
func (v Value) Joined() string {
	if v.Items == nil {
		return v.Text
	}
	return strings.Join(v.Texts(), ",")
}

const proseWidth = 78

// Document is the configuration in force as YAML that can be saved: each setting with its text,
// default and origin. What is not set is an example behind a #.
func Document(all []InForce, from func(InForce) string) []byte {
	var b bytes.Buffer
	for _, s := range all {
		b.WriteByte('\n')
		for _, line := range wrapped(s.What+" Default: "+s.Default+".", proseWidth-2) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		if s.Source == FromDefault {
			fmt.Fprintf(&b, "#%s: %s\n", s.Name, s.Example)
		} else {
			fmt.Fprintf(&b, "%s: %s  # %s\n", s.Name, s.yaml(s.Value), from(s))
		}
	}
	return b.Bytes()
}

// yaml is a value as YAML in one line.
func (s *Setting) yaml(v Value) string {
	var value yaml.Node
	_ = value.Encode(s.JSON(v)) // texts, numbers and truths always have a form
	// Inside a list in brackets every text is one line.
	list, _ := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{&value}})
	return strings.TrimSuffix(strings.TrimPrefix(string(list), "["), "]\n")
}

func (s *Setting) JSON(v Value) any {
	switch s.Kind {
	case Bool:
		return v.Text == "true"
	case Number:
		n, _ := strconv.Atoi(v.Text)
		return n
	case List:
		return v.Texts()
	case Map:
		fields := map[string]any{}
		for _, field := range v.Fields {
			fields[field.Name] = find(s.Fields, field.Name).JSON(field)
		}
		return fields
	}
	return v.Text
}

func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
