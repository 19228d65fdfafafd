package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type Kind int

const (
	Text Kind = iota
	Bool
	Number
	List // of texts; a single text is a list of one
	Map  // of settings
)

// Setting describes one setting.
type Setting struct {
	Name string
	Kind Kind
	// What says what it does; Default what holds where nobody sets it, in words.
	What, Default string
	Example       string
	// Flag, without dashes, and Env say the same; empty for none.
	Flag, Env string
	// Stays says that a flag cannot take back a true that the environment says.
	Stays bool
	// Path is a file's: a relative one starts at the configuration file's folder.
	Path bool
	// Allowed are the only texts that there can be; nil for any.
	Allowed []string
	// Least and Most bound a Number.
	Least, Most int
	// Check says what is wrong with a text, empty for nothing; nil allows any.
	Check  func(text string) string
	Fields []Setting
}

// Value is what one setting is set to.
type Value struct {
	Name string
	// Line and Column say where in a file it stands, from 1; 0 elsewhere.
	Line, Column int
	// Text is the value of a Text, Bool ("true", "false") or Number.
	Text string
	// Items are the elements of a List, and Fields the settings in a Map.
	Items, Fields []Value
}

func (v Value) Texts() []string {
	texts := make([]string, len(v.Items))
	for i, item := range v.Items {
		texts[i] = item.Text
	}
	return texts
}

// fault says what is wrong with one text of a setting, empty for nothing.
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
		return fmt.Sprintf("%s must be one of %s%s", quote(text), strings.Join(s.Allowed, ", "), Suggestion(text, s.Allowed))
	case s.Check != nil:
		return s.Check(text)
	}
	return ""
}

const longest = 60

// quote shows a text of somebody else's in an error.
func quote(text string) string {
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return strconv.Quote(text)
}

// Suggestion names, in brackets, what a misspelt text probably means; empty if nothing is near.
func Suggestion(text string, known []string) string {
	best, distance := "", max(len(text)/3, 1)+1
	for _, k := range known {
		if d := edits(strings.ToLower(text), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
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
