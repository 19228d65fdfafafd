package inspect

import (
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Document is a resource as YAML, without managed fields.
type Document struct {
	Kind, Name string
	// Lines are those of its YAML, without styles.
	Lines []string
}

// Section are the lines of one field at the top, without those of others.
func (d Document) Section(field string) []string {
	from := slices.Index(d.Lines, field+":")
	if from < 0 {
		return nil
	}
	to := from + 1
	for to < len(d.Lines) && strings.HasPrefix(d.Lines[to], " ") || to < len(d.Lines) && strings.HasPrefix(d.Lines[to], "-") {
		to++
	}
	return d.Lines[from:to]
}

// NewDocument is an object, which is clean, as a document.
func NewDocument(kind, name string, object any) (Document, error) {
	lines, err := documentLines(object)
	return Document{Kind: kind, Name: name, Lines: lines}, err
}

// documentLines is an object as YAML. What the library cannot write so, such as a
// key of more than 1,024 bytes, is in JSON, which is YAML too.
func documentLines(object any) ([]string, error) {
	text, err := yaml.Marshal(object)
	if err != nil {
		if text, err = json.MarshalIndent(object, "", "  "); err != nil {
			return nil, err
		}
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), nil
}
