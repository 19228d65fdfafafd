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

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// Frame returns a program's frame with nothing but text, line feeds and colours (SGR): every other character that
// could control a terminal becomes a question mark, so that rows keep their width. It is the last step before the
// screen.
func Frame(s string) string {
	var b strings.Builder
	done := 0 // everything before it is in b
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
		if !isDrawable(r, s[i:]) {
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

func isDrawable(r rune, s string) bool { return r == '\n' || isEncoded(r, s) && !isHarmful(r) }

const maxColorBytes = 64 // bytes of an SGR sequence

// colorSize returns the length of the SGR sequence at the start of s, 0 for none.
func colorSize(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < min(len(s), maxColorBytes); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// Writer passes on harmless text to a terminal, a pipe or a file. Several goroutines may use it.
type Writer struct {
	next        io.Writer
	mu          sync.Mutex
	partialRune []byte // the incomplete character at the end of the last write
}

// NewWriter returns a Writer that cleans text like [Text]. Each write is a text of its own, except for characters
// split across writes.
func NewWriter(next io.Writer) *Writer { return &Writer{next: next} }

func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.partialRune, p...)
	whole := wholeRunesSize(text)
	w.partialRune = append([]byte(nil), text[whole:]...)
	if whole == 0 {
		return len(p), nil
	}
	if _, err := io.WriteString(w.next, Text(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// wholeRunesSize returns the length of text without an incomplete rune at its end.
func wholeRunesSize(text []byte) int {
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

// JSON cleans every string in valid JSON, keys included, as [Text] does, and keeps the rest. Decoded, the result is
// harmless text; it has no control, C1 or bidi character, escaped or not, except line feeds and tabs.
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

// isCleanJSON reports whether the data is ASCII without escaped control characters: the fast path of JSON.
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

// literalSize returns the length of the string literal at the start of data.
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
		return quoteJSON(Text(string(literal)))
	}
	if clean := Text(s); clean != s || !utf8.Valid(literal) {
		return quoteJSON(clean)
	}
	return literal
}

func quoteJSON(s string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return []byte("null") // strings can always be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// The library of sigs.k8s.io/yaml folds strings at 80 columns, unless all of the program asks it not to: a folded
// command cannot be copied, and what is folded where depends on the length of names.
func init() { yamlv2.FutureLineWrap() }

// YAMLFromJSON converts JSON to YAML with the same strings. A document that would not read back the same stays
// JSON, which is also YAML: the library refuses keys of more than 1,024 bytes, and takes the key << for a
// merge.
func YAMLFromJSON(data []byte) []byte {
	data = escapeControls(data)
	text, err := yaml.JSONToYAML(data)
	if err == nil && isSameDocument(data, text) {
		return text
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		return data
	}
	return append(bytes.TrimSpace(indented.Bytes()), '\n')
}

func isSameDocument(data, text []byte) bool {
	var before, after any
	back, err := yaml.YAMLToJSON(text)
	return err == nil && json.Unmarshal(data, &before) == nil && json.Unmarshal(back, &after) == nil &&
		reflect.DeepEqual(before, after)
}

// escapeControls writes the characters that the YAML library refuses as JSON escapes.
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
