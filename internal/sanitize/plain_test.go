package sanitize

import (
	"encoding/json"
	"strings"
	"testing"
)

// What comes of plain JSON is clean.
func FuzzPlainJSON(f *testing.F) {
	for _, text := range []string{
		`{"a":"b"}`, `{"a":"\u001b"}`, "{\"a\":\"\x7f\"}", `{"a":"é"}`, `{"` + strings.Repeat("a", MaxLineRunes) + `":1}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var texts map[string]string
		if !IsPlainJSON([]byte(text)) || json.Unmarshal([]byte(text), &texts) != nil {
			return
		}
		for name, value := range texts {
			if String(name) != name || String(value) != value {
				t.Errorf("%q is not plain", text)
			}
		}
	})
}
