package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkSchema holds what a command printed with -o json against its schema, which is made
// of the types: what is printed has all fields that it has to have, and no other.
func checkSchema(t *testing.T, stdout string, args []string) {
	t.Helper()
	at := slices.Index(args, "-o")
	if at < 0 || at+1 == len(args) || args[at+1] != "json" || args[0] == "rbac" || stdout == "" {
		return
	}
	var document map[string]any
	if json.Unmarshal([]byte(stdout), &document) != nil {
		return // more than one, or part of one, of which the test tells
	}
	name, _ := document["kind"].(string)
	switch {
	case document["apiVersion"] == nil:
		name = "LogLine"
	case document["outcome"] != nil && document["plan"] != nil && name != "Finalization":
		return // a Change has the kind of what it is about, and no schema yet
	case name == "Backup" || name == "Restore":
		name = "Job"
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema", name+".json"))
	if err != nil {
		t.Errorf("%v prints a document without a schema: %v", args, err)
		return
	}
	var root schema
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	if err := root.check(document, root.Defs); err != nil {
		t.Errorf("%v: the document is not what its schema says: %v", args, err)
	}
}

// schema is what docs/schema uses of JSON Schema.
type schema struct {
	Type                 any                `json:"type"`
	Const                any                `json:"const"`
	Ref                  string             `json:"$ref"`
	Items                *schema            `json:"items"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Required             []string           `json:"required"`
	Defs                 map[string]*schema `json:"$defs"`
}

func (s *schema) check(value any, defs map[string]*schema) error {
	if s.Ref != "" {
		return defs[strings.TrimPrefix(s.Ref, "#/$defs/")].check(value, defs)
	}
	of := ""
	switch value := value.(type) {
	case nil:
		of = "null"
	case string:
		of = "string"
	case bool:
		of = "boolean"
	case float64:
		of = "number"
		if value == math.Trunc(value) && s.Type == "integer" {
			of = "integer"
		}
	case []any:
		of = "array"
		for i, element := range value {
			if err := s.Items.check(element, defs); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case map[string]any:
		of = "object"
		for _, name := range s.Required {
			if _, ok := value[name]; !ok {
				return fmt.Errorf("%s is missing", name)
			}
		}
		for name, field := range value {
			property := s.Properties[name]
			if property == nil {
				property = s.AdditionalProperties
			}
			if property == nil {
				return fmt.Errorf("%s is in no schema", name)
			}
			if err := property.check(field, defs); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	types, several := s.Type.([]any)
	switch {
	case s.Const != nil && s.Const != value:
		return fmt.Errorf("%v instead of %v", value, s.Const)
	case s.Type != nil && s.Type != of && !(several && slices.Contains(types, any(of))):
		return fmt.Errorf("a %s instead of %v", of, s.Type)
	}
	return nil
}
