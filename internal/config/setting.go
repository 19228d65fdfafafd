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
	List // of texts; a single text is a list of one element
	Map  // of settings
)

type Setting struct {
	Name string
	Kind Kind
	// Description says what the setting does; Default describes the value if it is not set.
	Description, Default string
	Example              string
	Flag, Env            string                   // without dashes, or empty
	Sticky               bool                     // a flag cannot override a true from the environment
	IsPath               bool                     // a file's path, relative to the configuration's folder
	Allowed              []string                 // the allowed texts; nil for any
	Min, Max             int                      // the limits of a Number
	Check                func(text string) string // says what is wrong with a text; nil allows any
	Fields               []Setting
}

// Value is the value of one setting.
type Value struct {
	Name          string
	Line, Column  int     // position in a file, from 1; 0 elsewhere
	Text          string  // of a Text, Bool ("true", "false") or Number
	Items, Fields []Value // of a List, and of a Map
}

func (v Value) ItemTexts() []string {
	texts := make([]string, len(v.Items))
	for i, item := range v.Items {
		texts[i] = item.Text
	}
	return texts
}

func (s *Setting) invalidReason(text string) string {
	switch s.Kind {
	case Bool:
		if text != "true" && text != "false" {
			return fmt.Sprintf("%s must be true or false", quoteShort(text))
		}
	case Number:
		if n, err := strconv.Atoi(text); err != nil || n < s.Min || n > s.Max {
			return fmt.Sprintf("%s must be a whole number from %d to %d", quoteShort(text), s.Min, s.Max)
		}
	}
	switch {
	case s.Allowed != nil && !slices.Contains(s.Allowed, text):
		return fmt.Sprintf(
			"%s must be one of %s%s",
			quoteShort(text),
			strings.Join(s.Allowed, ", "),
			SuggestionText(text, s.Allowed),
		)
	case s.Check != nil:
		return s.Check(text)
	}
	return ""
}

const maxQuotedRunes = 60

func quoteShort(text string) string {
	if runes := []rune(text); len(runes) > maxQuotedRunes {
		text = string(runes[:maxQuotedRunes]) + "…"
	}
	return strconv.Quote(text)
}

// SuggestionText returns, in brackets, the name that a misspelt text probably means; empty if none is close.
func SuggestionText(text string, known []string) string {
	best := NearestName(text, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// NearestName returns the name that a misspelt text probably means, empty if none is close.
func NearestName(text string, known []string) string {
	best, distance := "", max(len(text)/3, 1)+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(text), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance returns the number of letters to insert, delete, replace or swap with their neighbour.
func editDistance(a, b string) int {
	if len(a) > maxQuotedRunes {
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

type EffectiveSetting struct {
	*Setting
	Value  Value
	Source Source
}

// Resolve returns the effective value of every setting: flags override the environment, and the environment overrides
// the file. flag returns a value and whether it was given. The problems are those of the environment.
func Resolve(
	settings []Setting,
	file []Value,
	env func(string) string,
	flag func(string) (string, bool),
) ([]EffectiveSetting, Problems) {
	var problems Problems
	all := make([]EffectiveSetting, len(settings))
	for i := range settings {
		s := &settings[i]
		all[i] = EffectiveSetting{Setting: s, Source: FromDefault}
		if at := slices.IndexFunc(file, func(v Value) bool { return v.Name == s.Name }); at >= 0 {
			all[i].Value, all[i].Source = file[at], FromFile
		}
		stays := false
		if text := env(s.Env); s.Env != "" && text != "" {
			v, faults := s.parseEnvironment(text)
			problems = append(problems, faults...)
			all[i].Value, all[i].Source = v, FromEnvironment
			stays = s.Sticky && v.Text == "true"
		}
		if s.Flag == "" || stays {
			continue
		}
		if text, ok := flag(s.Flag); ok {
			all[i].Value, all[i].Source = s.parseText(text), FromFlag
		}
	}
	return all, problems
}

// parseEnvironment parses a variable: a Bool like strconv.ParseBool, a List separated by commas.
func (s *Setting) parseEnvironment(text string) (Value, Problems) {
	if s.Kind == Bool {
		yes, err := strconv.ParseBool(text)
		switch {
		case err == nil:
			text = strconv.FormatBool(yes)
		case s.Sticky:
			text = "true" // anything that is not clearly false
		}
	}
	v := s.parseText(text)
	var problems Problems
	for i, item := range v.Items {
		if slices.ContainsFunc(v.Items[:i], func(before Value) bool { return before.Text == item.Text }) {
			problems = append(problems, Problem{File: s.Env, Text: quoteShort(item.Text) + " is in the list twice"})
		}
	}
	for _, part := range append(slices.Clone(v.Items), Value{Text: v.Text}) {
		if part.Text == "" {
			continue
		}
		if why := s.invalidReason(part.Text); why != "" {
			problems = append(problems, Problem{File: s.Env, Text: why})
		}
	}
	return v, problems
}

func (s *Setting) parseText(text string) Value {
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

// JoinTexts returns the value as one text; a List is joined with commas.
func (v Value) JoinTexts() string {
	if v.Items == nil {
		return v.Text
	}
	return strings.Join(v.ItemTexts(), ",")
}

const proseWidth = 78

// FormatYAML returns the effective configuration as YAML that can be saved: each setting with its description,
// default and origin. A setting that is not set is a commented example.
func FormatYAML(all []EffectiveSetting, from func(EffectiveSetting) string) []byte {
	var b bytes.Buffer
	for _, s := range all {
		b.WriteByte('\n')
		for _, line := range wrapText(s.Description+" Default: "+s.Default+".", proseWidth-2) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		if s.Source == FromDefault {
			fmt.Fprintf(&b, "#%s: %s\n", s.Name, s.Example)
		} else {
			fmt.Fprintf(&b, "%s: %s  # %s\n", s.Name, s.formatYAML(s.Value), from(s))
		}
	}
	return b.Bytes()
}

// formatYAML returns a value as one line of YAML.
func (s *Setting) formatYAML(v Value) string {
	var value yaml.Node
	_ = value.Encode(s.JSONValue(v)) // texts, numbers and booleans can always be encoded
	// Inside a flow-style list every text is on one line.
	list, _ := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{&value}})
	return strings.TrimSuffix(strings.TrimPrefix(string(list), "["), "]\n")
}

func (s *Setting) JSONValue(v Value) any {
	switch s.Kind {
	case Bool:
		return v.Text == "true"
	case Number:
		n, _ := strconv.Atoi(v.Text)
		return n
	case List:
		return v.ItemTexts()
	case Map:
		fields := map[string]any{}
		for _, field := range v.Fields {
			fields[field.Name] = findSetting(s.Fields, field.Name).JSONValue(field)
		}
		return fields
	}
	return v.Text
}

func wrapText(text string, width int) []string {
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
