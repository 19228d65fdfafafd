package sanitize

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

func TestJSONCleansStringsAndKeys(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":1.5,"b":[true,null,"x"]}`, `{"a":1.5,"b":[true,null,"x"]}`},
		{`{"a\u001b":"\u009b\n\t\u202e"}`, `{"a\\x1b":"\\u009b\n\t\\u202e"}`},
		{"{\"a\":\"\u009b\x7f\"}", `{"a":"\\u009b\\x7f"}`},
		{"\"\x9b\"", "\"\ufffd\""},
		{`"\\u001b \" \\"`, `"\\u001b \" \\"`},
		{`"\b\f\r"`, `"\\x08\\x0c "`},
		{`"<a&b>\u003c"`, `"<a&b>\u003c"`},
	} {
		if got := string(JSON([]byte(c.in))); got != c.want {
			t.Errorf("JSON(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestWriterCleansWhatPasses(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, part := range []string{"a\x1b[2J\tb\n", "\xe6\x97", "\xa5\xc2", "\x9b1m", "\u0301\xff", "\xc3(", "prompt: "} {
		if n, err := w.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	if want := "a\\x1b[2J\tb\n日\\u009b1m\\u0301\\xff\\xc3(prompt: "; b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
}

func TestFrameLetsColoursPassAndNothingElse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\x1b[1;38;5;12mred\x1b[0m ─█日\n\x1b[m", "\x1b[1;38;5;12mred\x1b[0m ─█日\n\x1b[m"},
		{"\x1b]52;c;aGk=\x07", "?]52;c;aGk=?"},
		{"\x1b[2J\x1b[?25l\x1b[1", "?[2J?[?25l?[1"},
		{"a\u009bm\x9b\u202e\u200b\r\t", "a?m?????"},
		{"\x1b[" + strings.Repeat("1;", 100) + "m", "?[" + strings.Repeat("1;", 100) + "m"},
	} {
		if got := Frame(c.in); got != c.want {
			t.Errorf("Frame(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestYAMLReadsBack(t *testing.T) {
	for name, value := range map[string]any{
		"plain":       map[string]any{"a": "b", "n": 1e300, "null": nil, "y": "n", "t": "2026-11-21", "d": "1e3"},
		"controls":    map[string]any{"a": "\x7f\u0085\u009b\u2028\ufffe\U000e0041\x00\x1b\r\n"},
		"merge":       map[string]any{"<<": "x", "a": map[string]any{"<<": map[string]any{"k": "v"}}},
		"a long key":  map[string]any{strings.Repeat("k", 2000): "x"},
		"indicators":  map[string]any{"!!binary": "&a", "*a": "- x", "? k": "|", "#": ": #", "": "~"},
		"white space": map[string]any{" a ": " \n\n", "\t": "\t\n x"},
	} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text := YAMLFromJSON(data)
		var back any
		if text[0] == '{' {
			err = json.Unmarshal(text, &back)
		} else {
			err = yaml.Unmarshal(text, &back)
		}
		if err != nil || !reflect.DeepEqual(back, value) {
			t.Errorf("%s: %v\n%q was read back as\n%q from\n%s", name, err, value, back, text)
		}
	}
}

func FuzzOutput(f *testing.F) {
	for _, p := range payloads {
		f.Add(p.in, 3)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		document, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		clean := JSON(document)
		if err := json.Unmarshal(clean, &got); err != nil {
			t.Fatalf("%q became %q: %v", document, clean, err)
		}
		for k, v := range got {
			assertHarmless(t, k+v, 25*len(s), layoutChars)
		}
		if !isSameDocument(document, YAMLFromJSON(document)) && YAMLFromJSON(document)[0] != '{' {
			t.Fatalf("%q became %q", document, YAMLFromJSON(document))
		}
		var b bytes.Buffer
		w := NewWriter(&b)
		cut = min(max(cut, 0), len(s))
		_, _ = w.Write([]byte(s[:cut]))
		_, _ = w.Write([]byte(s[cut:]))
		assertHarmless(t, b.String(), 12*len(s), layoutChars)
		frame := Frame(s)
		if again := Frame(frame); again != frame || !utf8.ValidString(frame) {
			t.Fatalf("%q became %q, then %q", s, frame, again)
		}
	})
}

func BenchmarkFrame(b *testing.B) {
	row := strings.Repeat("\x1b[1mnightly-crm\x1b[0m ███──── 42%  ", 6) + "\n"
	frame := strings.Repeat(row, 60)
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		Frame(frame)
	}
}

// TestYAMLStringsAreNotFolded: a command in YAML can be copied whole.
func TestYAMLStringsAreNotFolded(t *testing.T) {
	command := "kubectl" + strings.Repeat(" --flag=value", 30)
	if got := string(YAMLFromJSON([]byte(`{"command":"` + command + `"}`))); got != "command: "+command+"\n" {
		t.Errorf("%q", got)
	}
}
