package sanitize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// JSON cleans every string in valid JSON, keys included, as [Text] does, and keeps the rest:
// decoded it is harmless text, and it holds no control, C1 or bidi character, escaped or not, but
// line feeds and tabs.
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
