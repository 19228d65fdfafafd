package cluster

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/testbed/fixture"
)

// TestClaimsAreReadWithRightsInNamespacesAlone: who may list the claims of nine namespaces,
// but not of the whole cluster, learns of all, and what could not be looked at.
func TestClaimsAreReadWithRightsInNamespacesAlone(t *testing.T) {
	api := fixture.NewServer(t, func(w http.ResponseWriter, r *http.Request) {
		namespace := strings.TrimSuffix(
			strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"),
			"/persistentvolumeclaims",
		)
		if strings.Contains(namespace, "/") || namespace == "ns-3" {
			fixture.WriteStatus(w, http.StatusForbidden, metav1.StatusReasonForbidden, "")
			return
		}
		_, _ = fmt.Fprintf(
			w,
			`{"kind": "PersistentVolumeClaimList", "apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
			"metadata": {"namespace": %q, "name": "data"}, "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}]}`,
			namespace,
		)
	})
	reader, err := live.New(live.Options{Config: &rest.Config{Host: api.URL, QPS: -1}})
	if err != nil {
		t.Fatal(err)
	}
	served := live.NewServedKinds(
		&metav1.APIResourceList{
			GroupVersion: "v1",
			APIResources: []metav1.APIResource{
				{Name: "persistentvolumeclaims", Namespaced: true, Verbs: metav1.Verbs{"list"}},
			},
		},
		&metav1.APIResourceList{
			GroupVersion: "storage.k8s.io/v1",
			APIResources: []metav1.APIResource{{Name: "storageclasses", Verbs: metav1.Verbs{"list"}}},
		},
	)
	claims := verify.Kind{Name: "persistentvolumeclaims"}
	for i := range 9 {
		claims.Items = append(
			claims.Items,
			verify.Item{Namespace: fmt.Sprintf("ns-%d", i), Name: "data", State: verify.Restored},
		)
	}
	result := verify.Result{Kinds: []verify.Kind{claims}}
	addClaimObstacles(t.Context(), reader, served, &result)
	if len(result.Claims) != 8 || result.CountLostClaims() != 0 || !result.Incomplete ||
		len(
			result.Notes,
		) != 2 || !strings.Contains(result.Notes[0], "Which claims are bound in namespace ns-3 is not known: you may not list it") ||
		!strings.Contains(
			result.Notes[1],
			"storage classes of claims that are not bound is not known: you may not list it",
		) {
		t.Errorf("%d claims, unknown: %t, %q", len(result.Claims), result.Incomplete, result.Notes)
	}
}

// TestClaimsThatNeverBind: one API server holds two claims for volumes of others, one for a volume that is not there,
// and one for a volume that waits for it. Bound claims ask for no volume.
func TestClaimsThatNeverBind(t *testing.T) {
	var asked []string
	api := fixture.NewServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		list := func(kind string, items ...string) {
			_, _ = fmt.Fprintf(
				w,
				`{"kind": "%sList", "apiVersion": "v1", "items": [%s]}`,
				kind,
				strings.Join(items, ","),
			)
		}
		claim := func(name, phase string) string {
			return fmt.Sprintf(
				`{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": %[1]q, "uid": "uid-%[1]s"}, "spec": {"volumeName": "pv-%[1]s", "storageClassName": "gone"}, "status": {"phase": %[2]q}}`,
				name,
				phase,
			)
		}
		volume := func(of, namespace, name, uid string) string {
			return fmt.Sprintf(
				`{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-%s"}, "spec": {"claimRef": {"namespace": %q, "name": %q, "uid": %q}}}`,
				of,
				namespace,
				name,
				uid,
			)
		}
		switch r.URL.Path {
		case "/api/v1/namespaces/shop/persistentvolumeclaims":
			list(
				"PersistentVolumeClaim",
				claim("bound", "Bound"),
				claim("original", "Pending"),
				claim("released", "Pending"),
				claim("none", "Pending"),
				claim("kept", "Pending"),
				claim("misbound", "Lost"),
			)
		case "/api/v1/persistentvolumes":
			list(
				"PersistentVolume",
				volume("original", "prod", "original", "uid-x"),
				volume("released", "shop", "released", "uid-old"),
				volume("kept", "shop", "kept", ""),
				volume("misbound", "x", "misbound", ""),
				volume("other", "x", "y", "z"),
			)
		default:
			list("StorageClass")
		}
	})
	reader, err := live.New(live.Options{Config: &rest.Config{Host: api.URL, QPS: -1}})
	if err != nil {
		t.Fatal(err)
	}
	verbs := metav1.Verbs{"list"}
	served := live.NewServedKinds(&metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{
			Name:       "persistentvolumeclaims",
			Namespaced: true,
			Verbs:      verbs,
		},
		{Name: "persistentvolumes", Verbs: verbs},
	}}, &metav1.APIResourceList{GroupVersion: "storage.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "storageclasses", Verbs: verbs}}})
	for _, soFar := range []bool{false, true} {
		claims := verify.Kind{Name: "persistentvolumeclaims"}
		for _, name := range []string{"bound", "original", "released", "none", "kept", "misbound"} {
			claims.Items = append(claims.Items, verify.Item{Namespace: "shop", Name: name, State: verify.Restored})
		}
		result := verify.Result{Kinds: []verify.Kind{claims}, InProgress: soFar}
		asked = nil
		addClaimObstacles(t.Context(), reader, served, &result)
		got := map[string]string{}
		for _, c := range result.Claims {
			got[c.Name] = fmt.Sprint(c.Lost, " ", c.Why)
		}
		want := map[string]string{
			"original": "true volume pv-original can never be bound to it: it is kept for claim prod/original",
			"released": "true volume pv-released can never be bound to it: it is kept for an earlier claim of this name",
			"none":     "true volume pv-none can never be bound to it: it is not there",
			"kept":     "false it waits for its volume pv-kept",
			"misbound": "true volume pv-misbound can never be bound to it: it is kept for claim x/misbound",
		}
		if soFar { // Velero may still make it
			want["none"] = "false it waits for its volume pv-none"
		}
		if !maps.Equal(got, want) || result.Incomplete || result.BoundCount != 1 || len(asked) != 3 {
			t.Errorf("so far %t: %q, unknown %t, asked %q", soFar, got, result.Incomplete, asked)
		}
	}
}
