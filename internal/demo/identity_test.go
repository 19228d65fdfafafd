package demo

import (
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Each demo is a cluster of its own, whatever it shows: what a program keeps of one is not that of another. A list of
// namespaces and the namespace itself say the same.
func TestEachDemoIsAClusterOfItsOwn(t *testing.T) {
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	identity := func(t *testing.T, o Options) types.UID {
		t.Helper()
		r := start(t, o)
		one, err := r.client.Resource(namespaces).Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.client.Resource(namespaces).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, n := range all.Items {
			if n.GetName() == metav1.NamespaceSystem {
				if count++; n.GetUID() != one.GetUID() {
					t.Errorf("%s in the list, %s alone", n.GetUID(), one.GetUID())
				}
			}
		}
		if count != 1 {
			t.Errorf("%d namespaces kube-system", count)
		}
		return one.GetUID()
	}
	for name, options := range map[string]func() Options{
		"story":      func() Options { return Options{} },
		"scene":      func() Options { return Options{Scene: ownScene(t, "restore-patch-lost.yaml")} },
		"recordings": func() Options { return Options{Recordings: os.DirFS("replay/testdata"), Speed: 100} },
	} {
		t.Run(name, func(t *testing.T) {
			first, second := identity(t, options()), identity(t, options())
			if first == "" || first == second {
				t.Errorf("%q and %q", first, second)
			}
			fixed := options()
			fixed.UID = "33333333-0000-4000-8000-000000000000"
			if got := identity(t, fixed); got != fixed.UID {
				t.Errorf("%s, want %s", got, fixed.UID)
			}
		})
	}
}
