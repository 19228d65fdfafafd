package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
		switch {
		case s.Source == FromDefault:
			fmt.Fprintf(&b, "#%s: %s\n", s.Name, s.Example)
		case s.Kind == Map:
			fmt.Fprintf(&b, "%s:  # %s\n%s", s.Name, from(s), s.written(s.Value))
		default:
			fmt.Fprintf(&b, "%s: %s  # %s\n", s.Name, s.written(s.Value), from(s))
		}
	}
	return b.Bytes()
}

// written is a value as YAML: one line, or a line for each field of a Map.
func (s *Setting) written(v Value) string {
	switch s.Kind {
	case Bool, Number:
		return v.Text
	case List:
		texts := v.Texts()
		for i, text := range texts {
			texts[i] = writtenText(text)
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case Map:
		var lines strings.Builder
		for _, field := range v.Fields {
			fmt.Fprintf(&lines, "  %s: %s\n", field.Name, find(s.Fields, field.Name).written(field))
		}
		return lines.String()
	}
	return writtenText(v.Text)
}

// unquoted is text that no reader of YAML takes for anything else.
var unquoted = regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9_./]+$`)

// notText are words that some readers take for something else.
var notText = []string{"true", "false", "yes", "no", "on", "off", "null"}

func writtenText(text string) string {
	if unquoted.MatchString(text) && !slices.Contains(notText, strings.ToLower(text)) {
		return text
	}
	quoted, _ := json.Marshal(text) // a string always has a form, which is YAML too
	return string(quoted)
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
