package repo

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/report"
)

// printed are the documents that commands print, by the names of their schemas. Those
// with a header have the kind as name.
var printed = map[string]any{
	"Change":                     document.Change{},
	"Check":                      document.Check{},
	"Config":                     document.Config{},
	"Coverage":                   document.Coverage{},
	"Description":                describe.Document{},
	"Estimate":                   document.Estimate{},
	"EtcdBackupList":             document.EtcdBackupList{},
	"Explanation":                document.Explanation{},
	"Finalization":               document.Finalization{},
	"Job":                        document.Job{},
	"JobList":                    document.JobList{},
	"LogLine":                    document.LogLine{},
	"Prediction":                 document.Prediction{},
	"Preflight":                  document.Preflight{},
	"Report":                     report.Document{},
	"Results":                    document.Results{},
	"Schedule":                   document.Schedule{},
	"ScheduleList":               document.List[document.Schedule]{},
	"BackupStorageLocation":      document.StorageLocation{},
	"BackupStorageLocationList":  document.List[document.StorageLocation]{},
	"VolumeSnapshotLocation":     document.StorageLocation{},
	"VolumeSnapshotLocationList": document.List[document.StorageLocation]{},
	"BackupRepository":           document.Repository{},
	"BackupRepositoryList":       document.List[document.Repository]{},
	"DeleteBackupRequest":        document.Deletion{},
	"DeleteBackupRequestList":    document.List[document.Deletion]{},
	"Verification":               document.Verification{},
	"Version":                    document.Version{},
	"WaitResult":                 document.WaitResult{},
}

// docs/schema has what the types of the documents are in JSON Schema. The tests of cmd
// hold what commands print against it.
func TestDocsOfSchemas(t *testing.T) {
	files, err := filepath.Glob("docs/schema/*.json")
	if err != nil || !*update && len(files) != len(printed) {
		t.Errorf("%d schemas of %d documents: %v; run make docs", len(files), len(printed), err)
	}
	comments := map[string]map[string]string{}
	for name, d := range printed {
		s := schemas{t: t, comments: comments, defs: map[string]any{}, types: map[string]reflect.Type{}}
		schema := s.object(reflect.TypeOf(d))
		schema["$schema"], schema["title"], schema["$defs"] = "https://json-schema.org/draft/2020-12/schema", name, s.defs
		if kind, ok := schema["properties"].(map[string]any)["apiVersion"]; ok {
			kind.(map[string]any)["const"] = document.NewHeader(name).APIVersion
			if name != "Job" { // its kind is Backup or Restore
				schema["properties"].(map[string]any)["kind"].(map[string]any)["const"] = name
			}
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(schema); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("docs/schema", name+".json")
		if *update {
			if err := errors.Join(
				os.MkdirAll("docs/schema", 0o755),
				os.WriteFile(path, want.Bytes(), 0o644),
			); err != nil {
				t.Fatal(err)
			}
		} else if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what its type says: run make docs (%v)", path, err)
		}
	}
}

// schemas makes the schema of one document.
type schemas struct {
	t *testing.T
	// comments are those of each package that was read, by type or type and field.
	comments map[string]map[string]string
	// defs are the schemas of types by their names, and types whose they are.
	defs  map[string]any
	types map[string]reflect.Type
}

// of returns the schema of a value.
func (s *schemas) of(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[document.Moment]():
		return map[string]any{"type": []string{"string", "null"}, "format": "date-time"}
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[document.Number]():
		return map[string]any{"type": []string{"number", "null"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		if s.types[t.Name()] == nil {
			s.types[t.Name()] = t
			s.defs[t.Name()] = s.object(t)
		}
		if s.types[t.Name()] != t {
			s.t.Fatalf("two types are called %s: %s and %s", t.Name(), t, s.types[t.Name()])
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	}
	s.t.Fatalf("a document holds a %s", t)
	return nil
}

// object returns the schema of a struct. Fields that are always there are required.
func (s *schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			of := s.object(f.Type)
			for name, property := range of["properties"].(map[string]any) {
				properties[name] = property
			}
			required = append(required, of["required"].([]string)...)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			s.t.Fatalf("%s.%s has no name in JSON", t, f.Name)
		case options == "":
			required = append(required, name)
		}
		property := s.of(f.Type)
		if text := s.comment(t, "."+f.Name); text != "" {
			property["description"] = text
		}
		properties[name] = property
	}
	object := map[string]any{"type": "object", "properties": properties, "required": required}
	if text := s.comment(t, ""); text != "" {
		object["description"] = text
	}
	return object
}

// comment returns the comment of a type, or of its field.
func (s *schemas) comment(t reflect.Type, field string) string {
	path := strings.TrimPrefix(t.PkgPath(), "github.com/veltui/veltui/")
	if s.comments[path] == nil {
		s.comments[path] = map[string]string{}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				s.t.Fatal(err)
			}
			readComments(file, s.comments[path])
		}
	}
	name, _, _ := strings.Cut(t.Name(), "[") // of a generic type
	return strings.Join(strings.Fields(s.comments[path][name+field]), " ")
}

// readComments reads those of a file's structs and of their fields.
func readComments(file *ast.File, into map[string]string) {
	for _, d := range file.Decls {
		types, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range types.Specs {
			of, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			fields, ok := of.Type.(*ast.StructType)
			if !ok {
				continue
			}
			into[of.Name.Name] = types.Doc.Text()
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					into[of.Name.Name+"."+name.Name] = f.Doc.Text() + f.Comment.Text()
				}
			}
		}
	}
}
