package collector

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// readCapture reads the tarball of a real backup.
func readCapture(t testing.TB, limits Limits) *Index {
	t.Helper()
	f, err := os.Open("testdata/b-full.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, err := Read(context.Background(), f, limits)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// captureNamespaces are those that the target of the captures had.
const captureNamespaces = "velero,shop,billing,media,ops"

// TestCaptures compares estimates with what Velero 1.18.3 really ended with.
func TestCaptures(t *testing.T) {
	x := readCapture(t, Limits{})
	if x.ItemCount() != 2452 || x.Incomplete || len(x.Noted) > 0 || x.Format != "1.1.0" {
		t.Fatalf("index: %d items, partial %v, %q, format %q", x.ItemCount(), x.Incomplete, x.Noted, x.Format)
	}
	dirs, err := filepath.Glob("testdata/restores/*")
	if err != nil || len(dirs) < 9 {
		t.Fatalf("captures: %v, %v", dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var restore veleroapi.Restore
			var expected struct {
				Phase      string
				TotalItems int
				TotalsSeen []int
			}
			load(t, filepath.Join(dir, "restore.yaml"), &restore)
			load(t, filepath.Join(dir, "expected.json"), &expected)
			existing := captureNamespaces
			if filepath.Base(dir) == "r17-errors-quota" {
				existing += ",quota-r17"
			}
			e := estimate(t, x, RestoreInput{Restore: restore.Spec, ExistingNamespaces: ParseNamespaces(existing)}, Discovery{})
			if refused := expected.Phase == "FailedValidation"; refused != (len(e.Refusals) > 0) {
				t.Fatalf("ended %s, estimated to be refused: %q", expected.Phase, e.Refusals)
			}
			if e.Total != expected.TotalItems {
				t.Errorf("total %d, Velero ended with %d; %+v", e.Total, expected.TotalItems, e.Resources)
			}
			checkSums(t, e)
			for _, seen := range expected.TotalsSeen[:min(1, len(expected.TotalsSeen))] {
				// What Velero shows is never below what was selected.
				if seen < e.SelectedCount && seen < e.Total {
					t.Errorf("selected %d, but Velero showed a total of %d", e.SelectedCount, seen)
				}
			}
		})
	}
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && filepath.Ext(path) == ".json" {
		err = json.Unmarshal(data, into)
	} else if err == nil {
		err = yaml.UnmarshalStrict(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkSums checks that an Estimate's parts add up.
func checkSums(t *testing.T, e Estimate) {
	t.Helper()
	byResource, bySteps := 0, 0
	for _, r := range e.Resources {
		byResource += r.Items
		inNamespaces := 0
		for _, n := range r.Namespaces {
			inNamespaces += n
		}
		if r.Namespaces != nil && inNamespaces != r.Items {
			t.Errorf("%s: %d items, %d in its namespaces", r.Resource, r.Items, inNamespaces)
		}
	}
	// The steps, with what they bring along, say the same of each resource.
	ofSteps := map[string]int{}
	for _, s := range e.Steps {
		bySteps += s.Items
		ofSteps[s.Resource] += s.Items
	}
	for _, b := range e.AdditionalItems {
		ofSteps[e.Steps[b.Step].Resource] -= b.Items
		ofSteps[b.Resource] += b.Items
	}
	for _, r := range e.Resources {
		if ofSteps[r.Resource] != r.Items {
			t.Errorf("%d of %s, by steps %d", r.Items, r.Resource, ofSteps[r.Resource])
		}
	}
	if byResource != e.Total || bySteps != e.Total {
		t.Errorf("total %d, resources sum up to %d, steps to %d", e.Total, byResource, bySteps)
	}
}
