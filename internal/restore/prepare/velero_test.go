package prepare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// item is an item of testdata/items.json, or what a version of Velero made of it (tools/velero/prepared).
type item struct {
	Name, Resource string
	Restore        veleroapi.RestoreSpec
	Classes        map[string]string
	Body, Made     json.RawMessage
	Skip           bool
	Fails          string
}

func readItems(t *testing.T, path string) (items []item) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &items); err != nil {
		t.Fatal(err)
	}
	return items
}

func read(t *testing.T, body []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(body); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestVeleroMakesTheSame holds what comes of items against what Velero's own actions made of them.
func TestVeleroMakesTheSame(t *testing.T) {
	items := readItems(t, "testdata/items.json")
	versions, err := filepath.Glob("testdata/1.*.json")
	if err != nil || len(versions) == 0 {
		t.Fatal(versions, err)
	}
	for _, path := range versions {
		made := readItems(t, path)
		if len(made) != len(items) {
			t.Fatalf("%s has %d of %d items: run tools/velero/prepared", path, len(made), len(items))
		}
		for n, i := range items {
			version := strings.TrimSuffix(filepath.Base(path), ".json")
			t.Run(version+"/"+i.Name, func(t *testing.T) { i.compare(t, "v"+version+".0", made[n]) })
		}
	}
}

func (i item) compare(t *testing.T, server string, velero item) {
	off := false // its actions for CSI ask the cluster
	r := &Rules{Restore: i.Restore, RestoreName: "r", Server: server, StorageClassMap: i.Classes, CSIEnabled: &off}
	if i.Classes != nil {
		r.Plugins = map[string][]string{live.ChangeStorageClassLabel: {"c"}}
	}
	o := read(t, i.Body)
	c := r.PrepareItem(i.Resource, o)
	if c.UnsureReason != "" || (c.SkipReason != "") != velero.Skip || (c.Failure != "") != (velero.Fails != "") {
		t.Fatalf("%+v; Velero: skip %t, fails %q", c, velero.Skip, velero.Fails)
	}
	if velero.Skip || velero.Fails != "" {
		return
	}
	want := read(t, velero.Made)
	delete(want.Object, "status")
	labels := want.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["velero.io/restore-name"], labels["velero.io/backup-name"] = "r", i.Restore.BackupName
	want.SetLabels(labels)
	if to, ok := i.Restore.NamespaceMapping[want.GetNamespace()]; ok {
		want.SetNamespace(to)
	}
	if got, want := without(o.Object), without(want.Object); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nVelero makes\n%s", indent(got), indent(want))
	}
	if same := reflect.DeepEqual(
		without(reset(read(t, i.Body)).Object),
		without(reset(want).Object),
	); !same &&
		!c.Changed {
		t.Error("it says that nothing changed")
	}
}

func reset(o *unstructured.Unstructured) *unstructured.Unstructured {
	ResetMetadata(o)
	o.SetNamespace("")
	labels := o.GetLabels()
	delete(labels, "velero.io/restore-name")
	delete(labels, "velero.io/backup-name")
	o.SetLabels(labels)
	return o
}

// without drops what Go types leave empty, which makes no difference to an API server.
func without(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for k, v := range value {
			if v = without(v); v != nil {
				kept[k] = v
			}
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		var kept []any
		for _, v := range value {
			kept = append(kept, without(v))
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case string:
		if value == "" {
			return nil
		}
	}
	return value
}

func indent(value any) string {
	text, _ := json.MarshalIndent(value, "", " ")
	return string(text)
}
