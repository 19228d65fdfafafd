package config

import (
	"slices"
	"strconv"
	"strings"
)

type Source string

const (
	FromFlag        Source = "flag"
	FromEnvironment Source = "environment"
	FromFile        Source = "file"
	FromDefault     Source = "default"
)

// InForce is one setting with the value that holds.
type InForce struct {
	*Setting
	Value  Value
	Source Source
}

// Resolve finds the value of every setting: flags win over the environment, that over the file.
// flag returns a value and whether it was given. Problems are those of the environment.
func Resolve(settings []Setting, file []Value, env func(string) string, flag func(string) (string, bool)) ([]InForce, Problems) {
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

// split makes a Value of a text.
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
