package collector

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/veltui/veltui/internal/testbed"
)

// TestDiscovery holds the built-in table, and the way words are resolved,
// against a real API server with Velero's CRDs.
func TestDiscovery(t *testing.T) {
	plane := testbed.StartForTest(t, testbed.Options{})
	client, err := discovery.NewDiscoveryClientForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	live := LiveDiscovery(lists)
	t.Run("built in", func(t *testing.T) {
		key := func(r Resource) string { return r.Group + "/" + r.Name }
		got, want := slices.Concat(kubernetesResources, veleroResources), slices.Clone(live.Resources)
		for _, list := range [][]Resource{got, want} {
			slices.SortFunc(list, func(a, b Resource) int { return cmp.Compare(key(a), key(b)) })
			for i := range list {
				list[i].ShortNames = append([]string{}, list[i].ShortNames...)
			}
		}
		for i := range min(len(got), len(want)) {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("built in %+v, served %+v", got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d built in, %d served", len(got), len(want))
		}
	})
	t.Run("words", func(t *testing.T) {
		groups, err := restmapper.GetAPIGroupResources(client)
		if err != nil {
			t.Fatal(err)
		}
		mapper := restmapper.NewDiscoveryRESTMapper(groups)
		var words []string
		for _, r := range live.Resources {
			for _, name := range []string{r.Name, r.Singular, strings.ToUpper(r.Name), r.Kind} {
				words = append(words, name, name+"."+r.Group, name+"."+r.Group[:len(r.Group)/2], name+".nosuch")
			}
		}
		for _, word := range words {
			want, err := mapper.ResourceFor(schema.ParseGroupResource(word).WithVersion(""))
			got, ok := newResolver(live.Resources).resolveWord(word, newWorkBudget(t.Context()))
			if ok != (err == nil) || ok && got.GroupResource() != want.GroupResource().String() {
				t.Errorf(
					"%s: %q %v, the REST mapper says %q, %v",
					word,
					got.GroupResource(),
					ok,
					want.GroupResource(),
					err,
				)
			}
			offline, _ := newResolver(defaultResources(nil)).resolveWord(word, newWorkBudget(t.Context()))
			if ok && offline.GroupResource() != got.GroupResource() {
				t.Errorf("%s: %q offline, %q live", word, offline.GroupResource(), got.GroupResource())
			}
		}
	})
	for short, want := range map[string]string{
		"po": "pods", "cm": "configmaps", "deploy": "deployments.apps", "hpa": "horizontalpodautoscalers.autoscaling",
		"ing": "ingresses.networking.k8s.io", "crd": dirCRDs, "sc": "storageclasses.storage.k8s.io", "ev": "events",
		"bsl": "backupstoragelocations.velero.io", "pc": dirPriorityClasses, "ev.events.k8s.io": "events.events.k8s.io",
	} {
		if r, ok := newResolver(live.Resources).resolveWord(short, newWorkBudget(t.Context())); !ok || r.GroupResource() != want {
			t.Errorf("%s: %q, want %q", short, r.GroupResource(), want)
		}
	}
}

func TestBuiltInGroups(t *testing.T) {
	for group, want := range map[string]bool{"": true, "apps": true, "storage.k8s.io": true, "flowcontrol.apiserver.k8s.io": true,
		"velero.io": false, "snapshot.storage.k8s.io": false, "metrics.k8s.io": false, "example.com": false} {
		if got := IsBuiltIn(group); got != want {
			t.Errorf("%q: %t", group, got)
		}
	}
}
