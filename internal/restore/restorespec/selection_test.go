package restorespec

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// backupOf makes the index of a backup that holds items, with the references of some.
func backupOf(t *testing.T, items map[Item]map[string]any) *collector.Index {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for i, more := range items {
		o := map[string]any{
			"apiVersion": "v1",
			"kind":       "Thing",
			"metadata": map[string]any{
				"name":      i.Name,
				"namespace": i.Namespace,
				"labels":    map[string]any{"app": "x"},
			},
		}
		for key, value := range more {
			o[key] = value
		}
		body, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("resources/%s/cluster/%s.json", i.Resource, i.Name)
		if i.Namespace != "" {
			path = fmt.Sprintf("resources/%s/namespaces/%s/%s.json", i.Resource, i.Namespace, i.Name)
		}
		if err := w.WriteHeader(
			&tar.Header{Name: path, Size: int64(len(body)), Mode: 0o600, Typeflag: tar.TypeReg},
		); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := collector.Read(t.Context(), &out, collector.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestSelectionsAreExact: a restore of selected items restores these, and besides them only what is announced.
func TestSelectionsAreExact(t *testing.T) {
	names := []string{"a", "b-1", "1e3", "null", "system:*", "x[1]", "q?", "{a,b}", `back\slash`, "*", "[!a]", "true"}
	items := map[Item]map[string]any{}
	for _, n := range []string{"shop", "web", "shop-2"} {
		items[Item{"namespaces", "", n}] = nil
		for _, name := range names {
			for _, resource := range []string{"configmaps", "deployments.apps", "roles.rbac.authorization.k8s.io", "widgets.example.com"} {
				items[Item{resource, n, name}] = nil
			}
		}
		items[Item{"persistentvolumeclaims", n, "data"}] = nil
		items[Item{"pods", n, "db"}] = map[string]any{
			"kind": "Pod",
			"spec": map[string]any{
				"volumes": []any{
					map[string]any{"name": "d", "persistentVolumeClaim": map[string]any{"claimName": "data"}},
				},
			},
		}
	}
	for _, name := range names {
		items[Item{"clusterroles.rbac.authorization.k8s.io", "", name}] = nil
		items[Item{"gadgets.example.com", "", name}] = nil
	}
	x := backupOf(t, items)
	all := make([]Item, 0, len(items))
	for i := range items {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b Item) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		selected := map[Item]bool{}
		var d Draft
		for range 1 + random.IntN(8) {
			selected[all[random.IntN(len(all))]] = true
		}
		for i := range selected {
			d.Selected = append(d.Selected, i)
		}
		if err := d.SelectItems(d.Selected); err != nil {
			t.Fatal(err)
		}
		data := map[string]string{}
		for key, value := range d.ConfigMap("velero").Object["data"].(map[string]any) {
			data[key] = value.(string)
		}
		policy, err := velero.ParseRestorePolicy(data)
		if err != nil {
			t.Fatalf("%v: %v", d.Selected, err)
		}
		question := collector.RestoreInput{
			Restore:            d.Restore.Spec,
			Policy:             policy,
			ExistingNamespaces: collector.TargetNamespaces{IsComplete: true, Names: []string{"shop"}},
		}
		fates, err := x.DetermineFates(t.Context(), question, collector.Discovery{})
		if err != nil {
			t.Fatal(err)
		}
		announced, err := d.DescribeSelection(fates)
		if err != nil {
			t.Fatal(err)
		}
		restored := 0
		if err := fates.EachItem(func(i collector.Item) {
			item := Item{i.Resource, i.Namespace, i.Name}
			if i.Fate == collector.ToRestore {
				restored++
			}
			isPodClaim := item.Resource == "persistentvolumeclaims" && selected[Item{"pods", item.Namespace, "db"}]
			isMade := item.Resource == "namespaces" &&
				slices.ContainsFunc(d.Selected, func(o Item) bool { return o.Namespace == item.Name }) &&
				item.Name != "shop"
			exists := item == Item{"namespaces", "", "shop"}
			if want := (selected[item] || isPodClaim || isMade) && !exists; want != (i.Fate == collector.ToRestore) {
				t.Fatalf("selected %v: %v is to be restored: %v, fate %d", d.Selected, item, want, i.Fate)
			}
			if i.Fate == collector.ToRestore && !selected[item] &&
				!strings.Contains(strings.Join(announced, " "), "Velero adds") {
				t.Fatalf("%v comes with %v, and is not announced", item, d.Selected)
			}
		}); err != nil {
			t.Fatal(err)
		}
		estimate, err := x.Estimate(t.Context(), question, collector.Discovery{})
		if err != nil || estimate.Total != restored || len(estimate.Refusals) > 0 || estimate.Partial {
			t.Fatalf("selected %v: estimated %+v, error %v, want %d", d.Selected, estimate, err, restored)
		}
		old := question
		old.Server.Version = [3]int{1, 18, 2}
		if estimate, err := x.Estimate(t.Context(), old, collector.Discovery{}); err != nil || estimate.Total != 0 {
			t.Fatalf("an older server restores %d, error %v", estimate.Total, err)
		}
	}
}

func TestParseItem(t *testing.T) {
	for text, want := range map[string]Item{
		"deployments.apps/shop/web":                {"deployments.apps", "shop", "web"},
		"clusterroles.rbac.authorization.k8s.io/a": {"clusterroles.rbac.authorization.k8s.io", "", "a"},
	} {
		if got, err := ParseItem(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "pods", "pods/", "/a/b", "a/b/c/d"} {
		if got, err := ParseItem(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if err := new(Draft).SelectItems([]Item{{"events", "shop", "x"}}); err == nil {
		t.Error("events are selected")
	}
}

// A restore of selected items tells them itself, for when its ConfigMap is deleted; so does another like it.
func TestSelectionIsTold(t *testing.T) {
	items := []Item{
		{"deployments.apps", "shop", "web"},
		{"namespaces", "", "shop"},
		{"roles.rbac.authorization.k8s.io", "shop", "system:a b*"},
	}
	d := Draft{
		Restore: veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Name: "r", Annotations: map[string]string{"note": "x"}},
			Spec:       veleroapi.RestoreSpec{BackupName: "b"},
		},
	}
	if err := d.SelectItems(items); err != nil {
		t.Fatal(err)
	}
	r := NewRestore(&d, "velero")
	sanitize.Object(r) // as all that is read from a cluster
	if got := SelectedItems(
		r,
	); !slices.Equal(got, items) || r.Annotations["note"] != "x" ||
		len(d.Restore.Annotations) != 1 {
		t.Errorf("%v, %v", got, r.Annotations)
	}
	again := NewDraftFrom(r)
	again.Restore.Name = "r2"
	if got := SelectedItems(NewRestore(&again, "velero")); !slices.Equal(got, items) {
		t.Errorf("again: %v", got)
	}
	if again.Restore.Spec.ResourcePolicy != nil {
		t.Errorf("a restore like it names the ConfigMap that is used up: %v", again.Restore.Spec.ResourcePolicy)
	}
	if line, _, _ := again.CommandLine(kubectl.ClusterAccess{}, "velero"); line != "" {
		t.Errorf("a command that restores nothing: %s", line)
	}
	copied := Draft{Restore: *r} // its filters may be others by now
	copied.Restore.Name = "r3"
	if got := NewRestore(&copied, "velero"); SelectedItems(got) != nil || got.Annotations[selectionAnnotation] != "" {
		t.Errorf("a copy tells a selection: %v", got.Annotations)
	}
	for range 3000 {
		d.Selected = append(d.Selected, Item{"configmaps", "shop", strings.Repeat("x", 60)})
	}
	if r := NewRestore(&d, "velero"); SelectedItems(r) != nil || len(r.Annotations) != 1 {
		t.Errorf("a selection that is too large is told in part: %d items", len(SelectedItems(r)))
	}
	for _, text := range []string{"no item", `["no item"]`, `{}`} {
		if r.Annotations[selectionAnnotation] = text; SelectedItems(r) != nil {
			t.Errorf("%s: %v", text, SelectedItems(r))
		}
	}
}
