package results

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// backupOf reads a backup that holds these: RESOURCE/NAMESPACE/NAME, or
// RESOURCE//NAME.
func backupOf(t testing.TB, items func(put func(resource, namespace, name, body string))) *collector.Index {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	items(func(resource, namespace, name, body string) {
		path := "resources/" + resource + "/cluster/" + name + ".json"
		if namespace != "" {
			path = "resources/" + resource + "/namespaces/" + namespace + "/" + name + ".json"
		}
		if err := w.WriteHeader(&tar.Header{Name: path, Size: int64(len(body)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := collector.Read(t.Context(), &b, collector.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func resources(kind string, items ...string) artifact.KindItems {
	r := artifact.KindItems{Kind: kind}
	for _, i := range items {
		place, action, _ := strings.Cut(i, " ")
		namespace, name, _ := strings.Cut(place, "/")
		r.Items = append(r.Items, artifact.ItemEntry{Namespace: namespace, Name: name, Action: action})
	}
	return r
}

// TestCompare has every reason why an item does not come back, and the namespace
// mapping.
func TestCompare(t *testing.T) {
	x := backupOf(t, func(put func(resource, namespace, name, body string)) {
		for _, i := range []string{
			"namespaces//shop", "namespaces//old", "configmaps/shop/a", "configmaps/shop/b", "configmaps/old/c", "secrets/shop/s",
			"pods/shop/web-1", "nodes//n1", "clusterroles.rbac.authorization.k8s.io//ops", "widgets.example.com/shop/w", "persistentvolumes//pv-1",
		} {
			parts := strings.SplitN(i, "/", 3)
			put(parts[0], parts[1], parts[2], `{"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}}`)
		}
		put(
			"pods",
			"shop",
			"once",
			`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "once"}, "status": {"phase": "Succeeded"}}`,
		)
		put("pods", "shop", "broken", `{`)
		put(
			"jobs.batch",
			"shop",
			"labelled",
			`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x", "labels": {"a": "b"}}}`,
		)
	})
	yes := true
	spec := collector.RestoreInput{
		Restore: veleroapi.RestoreSpec{
			IncludedNamespaces:      []string{"shop"},
			ExcludedResources:       []string{"secrets"},
			IncludeClusterResources: &yes,
			NamespaceMapping:        map[string]string{"shop": "shop-2"},
		},
		ExistingNamespaces: collector.TargetNamespaces{IsComplete: true},
	}
	fates, err := x.DetermineFates(t.Context(), spec, collector.Discovery{})
	if err != nil {
		t.Fatal(err)
	}
	sections := GroupMessages(artifact.Results{
		Errors: artifact.Messages{Namespaces: map[string][]string{"shop-2": {
			"error restoring widgets.example.com/shop-2/w: the server could not find the requested resource"}}},
		Warnings: artifact.Messages{
			Cluster: []string{"could not restore, ClusterRole:ops already exists. Warning: differs"},
			Namespaces: map[string][]string{
				"shop-2": {"could not restore, ConfigMap:b already exists. Warning: differs"},
			},
		},
	})
	list := []artifact.KindItems{
		resources("v1/Namespace", "shop-2 created"),
		resources("v1/ConfigMap", "shop-2/a created", "shop-2/b failed"),
		resources(
			"v1/Pod",
			"shop-2/web-1x7 created",
		),
		resources("rbac.authorization.k8s.io/v1/ClusterRole", "ops failed"),
		resources(
			"v1/PersistentVolume",
			"pv-1 skipped",
		),
		resources("example.com/v1/Widget", "shop-2/w failed"),
		resources("batch/v1/Job", "shop-2/labelled updated"),
	}
	for i := range list { // what has no namespace
		for n, r := range list[i].Items {
			if r.Name == "" {
				list[i].Items[n].Namespace, list[i].Items[n].Name = "", r.Namespace
			}
		}
	}
	items, err := CompareItems(list, sections, fates, nil)
	if err != nil {
		t.Fatal(items, err)
	}
	want := `clusterroles.rbac.authorization.k8s.io 1
  failed /ops from "": already exists. Warning: differs
configmaps 3
  failed shop-2/b from "shop": already exists. Warning: differs
  created shop-2/a from "shop": 
  left out old/c from "": the restore's filters exclude this namespace
pods 4
  missing shop-2/web-1 from "shop": not in Velero's list; it may have come back under a new name (generateName)
  created shop-2/web-1x7 from "": 
  left out shop-2/broken from "shop": its JSON in the backup cannot be read
  left out shop-2/once from "shop": it had completed when it was backed up
widgets.example.com 1
  failed shop-2/w from "shop": the server could not find the requested resource
jobs.batch 1
  updated shop-2/labelled from "shop": 
namespaces 2
  created /shop-2 from "shop": 
  left out /old from "": the restore's filters exclude this namespace
persistentvolumes 1
  skipped /pv-1 from "": the same is there already, or its claim gets a new volume
nodes 1
  left out /n1 from "": Velero never restores this kind
secrets 1
  left out shop-2/s from "shop": the restore's resource filters exclude this kind
`
	if got := dump(items); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	// The next Velero calls what differs skipped, and warns of it in the same words.
	for i := range list {
		for n, r := range list[i].Items {
			if r.Name == "b" || r.Name == "ops" {
				list[i].Items[n].Action = "skipped"
			}
		}
	}
	if items, err = CompareItems(list, sections, fates, nil); err != nil || dump(items) != want {
		t.Errorf("of the next Velero: %v, got\n%s\nwant\n%s", err, dump(items), want)
	}

	// A namespace that is not listed as made was there, if items went into it.
	items, err = CompareItems(list[1:], sections, fates, nil)
	if err != nil || !strings.Contains(dump(items), `left out /shop-2 from "shop": this namespace was there already`) {
		t.Error(dump(items), err)
	}

	// Without the backup the reasons are those of the results alone.
	alone := ListItems(list, sections)
	if alone.CountItems() != 8 || !strings.Contains(dump(alone), `failed /ops from "": already exists`) ||
		strings.Contains(dump(alone), "left out") {
		t.Error(dump(alone))
	}
}

func dump(items Items) string {
	var b strings.Builder
	for _, k := range items.Kinds {
		fmt.Fprintf(&b, "%s %d\n", k.Name, k.CountItems())
		for _, i := range k.Items {
			fmt.Fprintf(&b, "  %s %s/%s from %q: %s\n", i.Status, i.Namespace, i.Name, i.BackupNamespace, i.Why)
		}
	}
	return b.String()
}

func TestListedBackup(t *testing.T) {
	items := ListItems(
		[]artifact.KindItems{
			resources("apps/v1/Deployment", "shop/b", "shop/a"),
			resources("example.com/v1/Widget", "shop/w"),
		},
		nil,
	)
	if got := dump(
		items,
	); got != "deployments.apps 2\n   shop/a from \"\": \n   shop/b from \"\": \nexample.com/v1/Widget 1\n   shop/w from \"\": \n" {
		t.Errorf("%q", got)
	}
}

// BenchmarkCompare60000 joins a restore of 60,000 items with its backup, and
// reports what the answer keeps.
func BenchmarkCompare60000(b *testing.B) {
	x := backupOf(b, func(put func(resource, namespace, name, body string)) {
		for i := range 60_000 {
			put("configmaps", fmt.Sprint("ns-", i%40), fmt.Sprint("settings-", i), `{"metadata": {"name": "x"}}`)
		}
	})
	list := []artifact.KindItems{{Kind: "v1/ConfigMap"}}
	var messages []string
	for i := range 60_000 {
		r := artifact.ItemEntry{Namespace: fmt.Sprint("ns-", i%40), Name: fmt.Sprint("settings-", i), Action: "created"}
		if i%6 == 0 {
			r.Action = "failed"
			messages = append(messages, fmt.Sprintf("error restoring configmaps/%s/%s: no", r.Namespace, r.Name))
		}
		list[0].Items = append(list[0].Items, r)
	}
	sections := GroupMessages(artifact.Results{Errors: artifact.Messages{Namespaces: map[string][]string{"ns-0": messages}}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var kept Items
	for b.Loop() {
		fates, err := x.DetermineFates(b.Context(), collector.RestoreInput{}, collector.Discovery{})
		if err != nil {
			b.Fatal(err)
		}
		if kept, err = CompareItems(list, sections, fates, nil); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
	runtime.KeepAlive(kept)
	runtime.KeepAlive(list)
}

// TestCompareTwoNamespacesInOne: Velero restores the first item of a name. What it says of that is not about the second,
// which no restore was to bring back.
func TestCompareTwoNamespacesInOne(t *testing.T) {
	x := backupOf(t, func(put func(resource, namespace, name, body string)) {
		for _, namespace := range []string{"a", "b"} {
			put("namespaces", "", namespace, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}`)
			put(
				"configmaps",
				namespace,
				"kube-root-ca.crt",
				`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}`,
			)
		}
	})
	fates, err := x.DetermineFates(
		t.Context(),
		collector.RestoreInput{Restore: veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"a": "c", "b": "c"}}},
		collector.Discovery{},
	)
	if err != nil {
		t.Fatal(err)
	}
	sections := GroupMessages(
		artifact.Results{
			Warnings: artifact.Messages{
				Namespaces: map[string][]string{
					"c": {"could not restore, ConfigMap:kube-root-ca.crt already exists. Warning: differs"},
				},
			},
		},
	)
	items, err := CompareItems([]artifact.KindItems{resources("v1/ConfigMap", "c/kube-root-ca.crt failed")}, sections, fates, nil)
	if want := "configmaps 2\n  failed c/kube-root-ca.crt from \"a\": already exists. Warning: differs\n  left out c/kube-root-ca.crt from \"b\": another item of the backup came under that name\n"; err != nil ||
		!strings.HasPrefix(dump(items), want) {
		t.Errorf("%v:\n%s", err, dump(items))
	}
}

// TestCompareRenamedItems: Velero lists what a resource modifier renames under the new name, and before 1.17 under the
// old one; of two items with one new name, it lists one.
func TestCompareRenamedItems(t *testing.T) {
	x := backupOf(t, func(put func(resource, namespace, name, body string)) {
		for _, name := range []string{"a-1", "a-2", "b", "c", "d"} {
			put("configmaps", "shop", name, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}`)
		}
	})
	fates, err := x.DetermineFates(t.Context(), collector.RestoreInput{}, collector.Discovery{})
	if err != nil {
		t.Fatal(err)
	}
	names := func(_, _, name string) (string, bool) {
		renamed := map[string]string{"a-1": "a", "a-2": "a", "b": "new", "d": ""}
		if to, ok := renamed[name]; ok {
			return to, to != ""
		}
		return name, true
	}
	for _, listed := range []string{"shop/new created", "shop/b created", "shop/new created,shop/a-2 skipped"} {
		first, second, _ := strings.Cut(listed, ",")
		all := []string{"shop/a created", first, "shop/c created", "shop/other created"}
		if second != "" {
			all = append(all, second)
		}
		list := resources("v1/ConfigMap", all...)
		items, err := CompareItems([]artifact.KindItems{list}, nil, fates, names)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range items.Kinds {
			for _, i := range k.Items {
				if k.Name == "configmaps" {
					got = append(got, fmt.Sprint(i.Status, " ", i.Name, " ", i.BackupName, " ", i.NameUnknown))
				}
			}
		}
		want := []string{"missing d  true", "created a a-1 false", "created c  false", "created new b false",
			"created other  false", "left out a a-2 false"}
		if second != "" {
			want = slices.Insert(want[:5], 1, "skipped a a-2 false")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", listed, got, want)
		}
	}
}
