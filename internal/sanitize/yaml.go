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

// YAML writes JSON as YAML, without a change to its strings. What would not read
// back as it was stays JSON, indented, which is YAML too: the library refuses
// keys of more than 1,024 bytes, and writes the key << so that it means a merge.
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
