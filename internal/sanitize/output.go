package sanitize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Frame returns what a program draws with nothing in it but text, line feeds and colours (SGR):
// each other character that could steer a terminal becomes a question mark, so that rows keep
// their width. It is the last step before a screen.
func Frame(s string) string {
	var b strings.Builder
	done := 0 // what is before is in b
	for i := 0; i < len(s); {
		if s[i] >= 0x20 && s[i] < 0x7f || s[i] == '\n' {
			i++
			continue
		}
		if n := colorSize(s[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !drawable(r, s[i:]) {
			b.WriteString(s[done:i])
			b.WriteByte('?')
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func drawable(r rune, s string) bool { return r == '\n' || isEncoded(r, s) && !harmful(r) }

const maxColor = 64 // bytes of a sequence that sets colours

// colorSize is the length of the SGR sequence that s begins with, 0 for none.
func colorSize(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < min(len(s), maxColor); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// Writer passes on harmless text to a terminal, a pipe or a file, for several goroutines.
type Writer struct {
	next  io.Writer
	mu    sync.Mutex
	begun []byte // a character that the last write ended in
}

// NewWriter cleans as [Text] does. Each write is a text of its own, but for characters that were cut in two.
func NewWriter(next io.Writer) *Writer { return &Writer{next: next} }

func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.begun, p...)
	whole := wholeRunes(text)
	w.begun = append([]byte(nil), text[whole:]...)
	if whole == 0 {
		return len(p), nil
	}
	if _, err := io.WriteString(w.next, Text(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// wholeRunes is the length of text without a rune at its end that may go on.
func wholeRunes(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if start := len(text) - back; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				return start
			}
			break
		}
	}
	return len(text)
}

// JSON cleans every string in valid JSON, keys included, as [Text] does, and keeps the rest: decoded it is
// harmless text, and it holds no control, C1 or bidi character, escaped or not, but line feeds and tabs.
func JSON(data []byte) []byte {
	if isCleanJSON(data) {
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	for {
		start := bytes.IndexByte(data, '"')
		if start < 0 {
			return append(out, data...)
		}
		out = append(out, data[:start]...)
		size := literalSize(data[start:])
		out = append(out, cleanLiteral(data[start:start+size])...)
		data = data[start+size:]
	}
}

// isCleanJSON is the quick answer for ASCII without escapes of controls.
func isCleanJSON(data []byte) bool {
	for i, c := range data {
		switch {
		case c >= 0x7f, c < 0x20 && c != '\n' && c != '\t':
			return false
		case c == '\\' && i+1 < len(data) && bytes.IndexByte([]byte("ubfr"), data[i+1]) >= 0:
			return false
		}
	}
	return true
}

// literalSize is the length of the string literal that data begins with.
func literalSize(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

func cleanLiteral(literal []byte) []byte {
	var s string
	if err := json.Unmarshal(literal, &s); err != nil {
		return quoted(Text(string(literal)))
	}
	if clean := Text(s); clean != s || !utf8.Valid(literal) {
		return quoted(clean)
	}
	return literal
}

func quoted(s string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return []byte("null") // strings can always be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// YAML writes JSON as YAML with the same strings. What would not read back stays JSON, which is
// YAML too: the library refuses keys of more than 1,024 bytes, and takes the key << for a merge.
func YAML(data []byte) []byte {
	data = escapeControls(data)
	text, err := yaml.JSONToYAML(data)
	if err == nil && sameDocument(data, text) {
		return text
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		return data
	}
	return append(bytes.TrimSpace(indented.Bytes()), '\n')
}

func sameDocument(data, text []byte) bool {
	var before, after any
	back, err := yaml.YAMLToJSON(text)
	return err == nil && json.Unmarshal(data, &before) == nil && json.Unmarshal(back, &after) == nil &&
		reflect.DeepEqual(before, after)
}

// escapeControls writes what YAML's library refuses as JSON's escapes.
func escapeControls(data []byte) []byte {
	refused := func(r rune) bool { return r >= 0x7f && !unicode.IsGraphic(r) }
	if bytes.IndexFunc(data, refused) < 0 {
		return data
	}
	var out []byte
	for _, r := range string(data) {
		switch {
		case !refused(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
