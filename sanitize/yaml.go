package sanitize

import (
	"bytes"
	"encoding/json"
	"reflect"

	"sigs.k8s.io/yaml"
)

// YAML writes JSON as YAML. What would not read back as it was stays JSON,
// indented, which is YAML too: the library refuses control characters and keys
// of more than 1,024 bytes, and writes the key << so that it means a merge.
func YAML(data []byte) []byte {
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
