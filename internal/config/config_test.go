package config

import (
	"reflect"
	"strings"
	"testing"
)

// sample has a setting of each kind.
var sample = []Setting{
	{
		Name:        "theme",
		Description: "Colours.",
		Default:     "auto",
		Example:     "light",
		Flag:        "theme",
		Env:         "T_THEME",
		Allowed:     []string{"auto", "dark", "light"},
	},
	{
		Name:        "fps",
		Kind:        Number,
		Min:         1,
		Max:         60,
		Description: "Frames.",
		Default:     "30",
		Example:     "4",
		Flag:        "fps",
		Env:         "T_FPS",
	},
	{
		Name:        "read-only",
		Kind:        Bool,
		Description: "No writes.",
		Default:     "false",
		Example:     "true",
		Flag:        "read-only",
		Env:         "T_READ_ONLY",
		Sticky:      true,
	},
	{Name: "ascii", Kind: Bool, Description: "ASCII.", Default: "false", Example: "true", Flag: "ascii", Env: "T_ASCII"},
	{Name: "namespace", Description: "Namespace.", Default: "found", Example: "velero", Flag: "namespace", Env: "T_NAMESPACE"},
	{
		Name:        "columns",
		Kind:        List,
		Description: "Columns.",
		Default:     "all",
		Example:     "[name]",
		Env:         "T_COLUMNS",
		Allowed:     []string{"name", "stage", "eta"},
	},
	{Name: "keys", Kind: Map, Description: "Keys.", Default: "theirs", Example: "{open: o}", Fields: []Setting{
		{Name: "open", Kind: List, Check: func(text string) string {
			if text == "ctrl+c" {
				return "ctrl+c always quits"
			}
			return ""
		}},
		{Name: "finalize", Kind: List},
	}},
}

func TestMistakesAreToldWithTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown key":      {"theme: dark\nthmee: dark", []string{`f:2:1: unknown key "thmee" (did you mean theme?)`}},
		"nothing near":     {"wallpaper: dark", []string{`f:1:1: unknown key "wallpaper"`}},
		"case":             {"FPS: 4", []string{`f:1:1: unknown key "FPS" (did you mean fps?)`}},
		"value":            {"theme: drak", []string{`f:1:8: theme: "drak" must be one of auto, dark, light (did you mean dark?)`}},
		"no bool":          {"ascii: yes", []string{`f:1:8: ascii: "yes" must be true or false`}},
		"no number":        {"fps: many", []string{`f:1:6: fps: "many" must be a whole number from 1 to 60`}},
		"out of range":     {"fps: 0\nascii: true", []string{`f:1:6: fps: "0" must be a whole number from 1 to 60`}},
		"huge number":      {"fps: 99999999999999999999", []string{`must be a whole number`}},
		"a list":           {"theme: [dark]", []string{`f:1:8: theme: expected a text, found a list`}},
		"keys for a bool":  {"ascii: {a: b}", []string{`f:1:8: ascii: expected true or false, found keys with values`}},
		"keys for a list":  {"columns: {a: b}", []string{`f:1:10: columns: expected a list, found keys with values`}},
		"no value":         {"theme:\nfps: 4", []string{`theme: the key has no value`}},
		"twice":            {"fps: 4\ntheme: dark\nfps: 5", []string{`f:3:1: key "fps" is there twice, first in line 1`}},
		"in a list":        {"columns: [name, stage, name]", []string{`f:1:24: columns: "name" is in the list twice`}},
		"wrong in a list":  {"columns:\n  - name\n  - stge", []string{`f:3:5: columns: "stge" must be one of name, stage, eta (did you mean stage?)`}},
		"a list in a list": {"columns: [[name]]", []string{`columns: expected a text, found a list`}},
		"empty list":       {"columns: []", []string{`columns: the list is empty`}},
		"inside":           {"keys:\n  opne: o\n  open: ctrl+c", []string{`f:2:3: keys: unknown key "opne" (did you mean open?)`, `f:3:9: keys.open: ctrl+c always quits`}},
		"no mapping":       {"keys: o", []string{`f:1:7: keys: expected keys with values, found the text "o"`}},
		"no file of ours":  {"- a\n- b", []string{`f:1:1: expected keys with values, found a list`}},
		"a word":           {"hello", []string{`f:1:1: expected keys with values, found the text "hello"`}},
		"all at once":      {"thmee: a\nfps: x\nascii: 1", []string{"f:1:1:", "f:2:6:", "f:3:8:"}},
		"anchor":           {"theme: &a dark", []string{`f:1:8: theme: anchors (&) and aliases (*) are not supported`}},
		"merge":            {"keys: &k {open: o}\n<<: *k", []string{`anchors`, `unknown key "<<"`}},
		"tag":              {"theme: !!binary ZGFyaw==", []string{`f:1:8: theme: the tag "!!binary" is not supported`}},
		"two documents":    {"theme: dark\n---\nfps: 4", []string{`second YAML document`}},
		"syntax":           {"theme: dark\n  fps: 4", []string{"f:2: it is not valid YAML"}},
		"tab":              {"keys:\n\topen: o", []string{"f:2: it is not valid YAML"}},
		"binary":           {"theme: dark\n\x00\x01", []string{"f:2: the control character 0x00 is not allowed"}},
		"not UTF-8":        {"theme: dark\n\n\xff\xfe", []string{"f:3: the byte 0xff is not UTF-8"}},
		"escape":           {"theme: \"\\e[2J\\u202e\"", []string{`theme: "\x1b[2J\u202e" must be`}},
		"too large":        {strings.Repeat("# x\n", MaxFileSize), []string{"f: the file has more than 65536 bytes"}},
		"deep":             {strings.Repeat("[", 20000), []string{"not valid YAML"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Parse("f", []byte(c.text), sample)
			told := strings.Split(problems.Error(), "\n")
			if len(told) != len(c.want) {
				t.Fatalf("%d mistakes, want %d:\n%v", len(told), len(c.want), problems)
			}
			for i, want := range c.want {
				if !strings.Contains(told[i], want) {
					t.Errorf("want %q in %q", want, told[i])
				}
			}
		})
	}
}

func TestNothingIsNoMistake(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# only a comment\n", "---\n", "null", "\ufeff# a byte order mark"} {
		if values, problems := Parse("f", []byte(text), sample); len(values)+len(problems) > 0 {
			t.Errorf("%q: %v %v", text, values, problems)
		}
	}
}

func TestManyMistakesAreCut(t *testing.T) {
	_, problems := Parse("f", []byte(strings.Repeat("? [a]\n", 1000)), sample)
	if lines := strings.Split(
		problems.Error(),
		"\n",
	); len(lines) != maxProblems+1 ||
		lines[maxProblems] != "and 980 more" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// Whoever is asked last wins: the default, the file, the environment, the flag.
func TestPrecedence(t *testing.T) {
	file, problems := Parse("f", []byte("theme: dark\nread-only: false\ncolumns: [eta, name]"), sample)
	if problems != nil {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		setting, env, flag string
		text               string
		source             Source
	}{
		{"theme", "", "", "dark", FromFile},
		{"theme", "light", "", "light", FromEnvironment},
		{"theme", "light", "auto", "auto", FromFlag},
		{"theme", "", "auto", "auto", FromFlag},
		{"fps", "", "", "", FromDefault},
		{"fps", "7", "", "7", FromEnvironment},
		{"ascii", "1", "", "true", FromEnvironment},
		{"ascii", "F", "", "false", FromEnvironment},
		{"read-only", "", "", "false", FromFile},
		{"read-only", "", "true", "true", FromFlag},
		{"read-only", "1", "false", "true", FromEnvironment},
		{"read-only", "maybe", "false", "true", FromEnvironment},
		{"read-only", "0", "true", "true", FromFlag},
		{"columns", "", "", "eta,name", FromFile},
		{"columns", "stage, eta", "", "stage,eta", FromEnvironment},
	} {
		env := func(name string) string {
			if findSetting(sample, c.setting).Env == name {
				return c.env
			}
			return ""
		}
		in, problems := Resolve(
			sample,
			file,
			env,
			func(name string) (string, bool) { return c.flag, name == c.setting && c.flag != "" },
		)
		if problems != nil {
			t.Fatal(problems)
		}
		for _, s := range in {
			if s.Name == c.setting && (s.Value.JoinTexts() != c.text || s.Source != c.source) {
				t.Errorf("%+v: %q from %s", c, s.Value.JoinTexts(), s.Source)
			}
		}
	}
}

func noEnv(string) string { return "" }

func noFlag(string) (string, bool) { return "", false }

func TestMistakesInTheEnvironment(t *testing.T) {
	env := map[string]string{"T_FPS": "x", "T_COLUMNS": "name,stge,name", "T_ASCII": "maybe"}
	_, problems := Resolve(sample, nil, func(name string) string { return env[name] }, noFlag)
	for _, want := range []string{`T_FPS: "x" must be`, `T_COLUMNS: "stge" must be one of`, `T_COLUMNS: "name" is in the list twice`, `T_ASCII: "maybe" must be true or false`} {
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("want %q in:\n%v", want, problems)
		}
	}
}

// What is printed says the same when it is read.
func TestDocumentReadsBack(t *testing.T) {
	const text = "theme: dark\nfps: 4\nread-only: true\nnamespace: \"a: #b\\u202e\"\ncolumns: [eta]\nkeys:\n  open: [enter, \"?\", \"n\"]\n"
	file, problems := Parse("f", []byte(text), sample)
	if problems != nil {
		t.Fatal(problems)
	}
	in, _ := Resolve(sample, file, noEnv, noFlag)
	document := FormatYAML(in, func(EffectiveSetting) string { return "f" })
	again, problems := Parse("f", document, sample)
	if problems != nil || !reflect.DeepEqual(withoutPlaces(file), withoutPlaces(again)) {
		t.Errorf("%v\n%s", problems, document)
	}
	// With all examples taken up, it is a file too.
	in, _ = Resolve(sample, nil, noEnv, noFlag)
	document = FormatYAML(in, nil)
	lines := strings.Split(string(document), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "# ") {
			lines[i] = line[1:]
		}
	}
	if values, problems := Parse(
		"f",
		[]byte(strings.Join(lines, "\n")),
		sample,
	); problems != nil ||
		len(values) != len(sample) {
		t.Errorf("%v: %v", problems, lines)
	}
}

func withoutPlaces(values []Value) []Value {
	var plain []Value
	for _, v := range values {
		plain = append(
			plain,
			Value{Name: v.Name, Text: v.Text, Items: withoutPlaces(v.Items), Fields: withoutPlaces(v.Fields)},
		)
	}
	return plain
}

// No file makes the parser fail or tell something that is no line of text; what
// it finds right reads back.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"theme: dark", "keys: {open: [a, b]}", "a: &a [*a]", "columns:\n- name\n", "%YAML 1.1\n---\n", "? - a\n: b", "\"\\x1b\": 1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, problems := Parse("f", data, sample)
		for _, p := range problems {
			if strings.ContainsAny(p.Error(), "\n\x1b\x00\u202e") {
				t.Errorf("%q", p.Error())
			}
		}
		if len(problems) > 0 {
			return
		}
		in, _ := Resolve(sample, values, noEnv, noFlag)
		document := FormatYAML(in, func(EffectiveSetting) string { return "f" })
		if again, problems := Parse("f", document, sample); problems != nil || len(again) != len(values) {
			t.Errorf("%v\n%s", problems, document)
		}
	})
}
