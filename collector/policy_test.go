package collector

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestResourcePolicies holds the filters of a policy against the rules of pkg/restore/restore.go, 1.18.3.
func TestResourcePolicies(t *testing.T) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, item := range []string{
		"configmaps/namespaces/shop/a", "configmaps/namespaces/shop/b", "secrets/namespaces/shop/a", "deployments.apps/namespaces/shop/a",
		"configmaps/namespaces/shop-2/a", "secrets/namespaces/shop-2/a", "configmaps/namespaces/web/a", "widgets.example.com/namespaces/web/a",
		"storageclasses.storage.k8s.io/cluster/a", "storageclasses.storage.k8s.io/cluster/b", "priorityclasses.scheduling.k8s.io/cluster/a",
	} {
		name := item[strings.LastIndex(item, "/")+1:]
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"X","metadata":{"name":%q,"labels":{"is":%q}}}`, name, name)
		if err := w.WriteHeader(
			&tar.Header{
				Name:     "resources/" + item + ".json",
				Size:     int64(len(body)),
				Mode:     0o600,
				Typeflag: tar.TypeReg,
			},
		); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := Read(t.Context(), &out, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	isA := `labelSelector: {matchLabels: {is: a}}`
	for name, c := range map[string]struct{ policy, want string }{
		"kinds that are not listed are left out, other namespaces stay": {
			`namespacedFilterPolicies: [{namespaces: [shop], resourceFilters: [{kinds: [cm], names: [a]}]}]`,
			"shop/configmaps/a shop-2/configmaps/a shop-2/secrets/a web/configmaps/a web/widgets.example.com/a /storageclasses.storage.k8s.io/a /storageclasses.storage.k8s.io/b /priorityclasses.scheduling.k8s.io/a"},
		"a name goes before a pattern, and the first pattern counts": {
			`namespacedFilterPolicies: [{namespaces: ["shop*"], resourceFilters: [{kinds: [secrets]}]}, {namespaces: [shop], resourceFilters: [{kinds: [deploy]}]}, {namespaces: ["*"], resourceFilters: [{kinds: [Widget]}]}]`,
			"shop/deployments.apps/a shop-2/secrets/a web/widgets.example.com/a /storageclasses.storage.k8s.io/a /storageclasses.storage.k8s.io/b /priorityclasses.scheduling.k8s.io/a"},
		"a filter of all kinds takes the rest": {
			`namespacedFilterPolicies: [{namespaces: ["*"], resourceFilters: [{kinds: [configmaps], excludedNames: ["?"]}, {` + isA + `}]}]`,
			"shop/secrets/a shop/deployments.apps/a shop-2/secrets/a web/widgets.example.com/a /storageclasses.storage.k8s.io/a /storageclasses.storage.k8s.io/b /priorityclasses.scheduling.k8s.io/a"},
		"of what has no namespace only listed kinds are limited": {
			`{clusterScopedFilterPolicy: {resourceFilters: [{kinds: [sc], ` + isA + `}]}, namespacedFilterPolicies: [{namespaces: ["*"], resourceFilters: [{kinds: [pods]}]}]}`,
			"/storageclasses.storage.k8s.io/a /priorityclasses.scheduling.k8s.io/a"},
		"the kind of an unknown word": {
			`namespacedFilterPolicies: [{namespaces: ["*"], resourceFilters: [{kinds: [configmap.wrong.example, none]}]}]`,
			"/storageclasses.storage.k8s.io/a /storageclasses.storage.k8s.io/b /priorityclasses.scheduling.k8s.io/a"},
	} {
		text := "version: v1\n" + c.policy
		if strings.HasPrefix(c.policy, "{") {
			text = `{version: v1, ` + c.policy[1:]
		}
		policy, err := velero.ParseRestorePolicy(map[string]string{"p": text})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spec := RestoreInput{
			Restore: veleroapi.RestoreSpec{
				ResourcePolicy: &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "p"},
			},
			Policy:             policy,
			ExistingNamespaces: TargetNamespaces{AllExist: true, IsComplete: true},
		}
		target := Discovery{
			IsLive: true,
			Resources: append(
				slices.Clone(kubernetesResources),
				Resource{"example.com", "widgets", "widget", "Widget", nil, true},
			),
		}
		estimate, err := x.Estimate(t.Context(), spec, target)
		if err != nil || len(estimate.Refusals) > 0 || estimate.Partial {
			t.Fatalf("%s: %+v %v", name, estimate, err)
		}
		fates, err := x.DetermineFates(t.Context(), spec, target)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := fates.EachItem(func(i Item) {
			if i.Fate == ToRestore {
				got = append(got, i.Namespace+"/"+i.Resource+"/"+i.Name)
			}
		}); err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(c.want)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || estimate.Total != len(want) {
			t.Errorf("%s:\n%q, %d in all, want\n%q", name, got, estimate.Total, want)
		}
		old := spec
		old.Server.Version = [3]int{1, 18, 2}
		if estimate, err := x.Estimate(t.Context(), old, target); err != nil || estimate.Total != 11 {
			t.Errorf("%s: an older server restores %d, %v", name, estimate.Total, err)
		}
		unread := spec
		unread.Policy = nil
		if estimate, err := x.Estimate(t.Context(), unread, target); err != nil || !estimate.Partial {
			t.Errorf("%s: a policy that was not read leaves no doubt: %v", name, err)
		}
	}
	both := &velero.FilterPolicy{
		Cluster: &velero.ClusterFilters{
			Filters: []velero.ObjectFilter{{Kinds: []string{"sc"}}, {Kinds: []string{"storageclasses"}}},
		},
	}
	if e, err := x.Estimate(t.Context(), RestoreInput{Policy: both}, Discovery{}); err != nil || len(e.Refusals) != 1 {
		t.Errorf("two filters of one kind: %v %v", e.Refusals, err)
	}
	hostile := &velero.FilterPolicy{}
	for n := range 20_000 {
		hostile.Namespaced = append(
			hostile.Namespaced,
			velero.NamespaceFilters{
				Namespaces: []string{strings.Repeat("*a", 30) + fmt.Sprint(n)},
				Filters: []velero.ObjectFilter{
					{
						Kinds:    []string{"pods"},
						Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
					},
				},
			},
		)
	}
	if e, err := x.Estimate(t.Context(), RestoreInput{Policy: hostile}, Discovery{}); err != nil || !e.Partial {
		t.Errorf("a policy beyond the budget: %v %v", e.Partial, err)
	}
}
