package velero

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The CRDs of the Velero that veltui is built with are those of its version.
func TestSchemaVersionOfThisVelero(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware-tanzu/velero").Output()
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"Backup": "v1.18.0 or later", "Restore": "v1.18.3 or later"} {
		raw, err := os.ReadFile(
			filepath.Join(
				strings.TrimSpace(string(dir)),
				"config",
				"crd",
				"v1",
				"bases",
				"velero.io_"+strings.ToLower(kind)+"s.yaml",
			),
		)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema struct {
							Properties struct {
								Spec, Status struct{ Properties map[string]any }
							}
						}
					}
				}
			}
		}
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			t.Fatal(err)
		}
		properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		if got, known := SchemaVersionsOf(
			kind,
			properties.Spec.Properties,
			properties.Status.Properties,
		); !known ||
			got.String() != want {
			t.Errorf("%s: %v, %v; want %s", kind, got, known, want)
		}
	}
}

func TestSchemaVersions(t *testing.T) {
	some := map[string]any{"x": nil}
	phases := func(names ...any) map[string]any { return map[string]any{"phase": map[string]any{"enum": names}} }
	for _, c := range []struct {
		name, kind   string
		spec, status map[string]any
		want         string
		likely       Version
	}{
		{"a queue", "Backup", some, map[string]any{"queuePosition": nil}, "v1.18.0 or later", Version{1, 18, 0}},
		{"volume groups", "Backup", map[string]any{"volumeGroupSnapshotLabelKey": nil}, some, "v1.17.0 or later, but before v1.18.0", Version{1, 17, 0}},
		{"neither", "Backup", some, some, "a version before v1.17.0", Version{1, 16, 0}},
		{"finalizing", "Restore", some, phases("New", "Finalizing"), "v1.14.0 or later, but before v1.18.3", Version{1, 14, 0}},
		{"not finalizing", "Restore", some, phases("New"), "a version before v1.14.0", Version{1, 13, 0}},
		{"hostile", "Restore", some, map[string]any{"phase": map[string]any{"enum": []any{map[string]any{}, 1, nil}}}, "a version before v1.14.0", Version{1, 13, 0}},
		{"no schema", "Restore", nil, nil, "", Version{}},
		{"another kind", "Schedule", some, some, "", Version{}},
	} {
		got, known := SchemaVersionsOf(c.kind, c.spec, c.status)
		if known != (c.want != "") || known && (got.String() != c.want || got.LikelyVersion() != c.likely) {
			t.Errorf("%s: %v, likely %v; want %q, %v", c.name, got, got.LikelyVersion(), c.want, c.likely)
		}
	}
}
