//go:build e2e

package e2e

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// wantOrder checks that Velero's log of a restore meets the resources in the
// order in which veltui lists them. Those that others only bring along are not
// in it.
func (e estimated) wantOrder(t *testing.T, restore string) {
	t.Helper()
	var met []string
	for line := range strings.Lines(stored(t, restore, "logs")) {
		if _, fields, ok := strings.Cut(line, "progress= resource="); ok {
			if resource, _, _ := strings.Cut(fields, " "); !slices.Contains(met, resource) {
				met = append(met, resource)
			}
		}
	}
	var listed []string
	for _, r := range e.Resources {
		if slices.Contains(met, r.Resource) {
			listed = append(listed, r.Resource)
		}
	}
	if !slices.Equal(listed, met) || len(met) < 20 {
		t.Errorf("veltui lists %q, Velero restored %q", listed, met)
	}
}

// stored is the text of a file that Velero stored of a restore.
func stored(t *testing.T, restore, what string) string {
	t.Helper()
	return unzipped(t, "restores/"+restore+"/restore-"+restore+"-"+what+".gz")
}

// unzipped is the text of a file in the object store.
func unzipped(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(theLab.ObjectPath(path))
	must(t, err)
	defer func() { _ = file.Close() }()
	zipped, err := gzip.NewReader(file)
	must(t, err)
	text, err := io.ReadAll(zipped)
	must(t, err)
	return string(text)
}

func merged(a, b map[string]int) map[string]int {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// counts are the items by resource, and by resource and namespace.
func (e estimated) counts() map[string]int {
	counts := map[string]int{}
	for _, r := range e.Resources {
		counts[r.Resource] = r.Items
		for namespace, n := range r.Namespaces {
			counts[r.Resource+" in "+namespace] = n
		}
	}
	return counts
}

// restoredCounts are the same by the list that Velero stored of a restore.
func restoredCounts(t *testing.T, restore string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, item := range restoredItems(t, restore) {
		resource, name, _ := strings.Cut(item, " ")
		counts[resource]++
		if namespace, _, ok := strings.Cut(name, "/"); ok {
			counts[resource+" in "+namespace]++
		}
	}
	return counts
}

// restoredItems are the items of the list that Velero stored of a restore, each as
// resource, namespace and name: "secrets shop/key", sorted.
func restoredItems(t *testing.T, restore string) []string {
	t.Helper()
	return listedItems(t, stored(t, restore, "resource-list.json"))
}

// listedItems are the same of any list that Velero stored.
func listedItems(t *testing.T, text string) []string {
	t.Helper()
	var list map[string][]string
	must(t, json.Unmarshal([]byte(text), &list))
	var all []string
	for kind, items := range list {
		gv, name := "v1", kind
		if i := strings.LastIndex(kind, "/"); i >= 0 {
			gv, name = kind[:i], kind[i+1:]
		}
		parsed, err := schema.ParseGroupVersion(gv)
		must(t, err)
		plural, _ := meta.UnsafeGuessKindToResource(parsed.WithKind(name))
		for _, item := range items {
			named, _, _ := strings.Cut(item, "(") // the action stands behind it
			all = append(all, plural.GroupResource().String()+" "+named)
		}
	}
	slices.Sort(all)
	return all
}
