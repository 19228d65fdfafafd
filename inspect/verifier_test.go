package inspect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/restore/verify"
)

// TestClaimsAreReadWithRightsInNamespacesAlone: who may list the claims of nine namespaces,
// but not of the whole cluster, learns of all, and what could not be looked at.
func TestClaimsAreReadWithRightsInNamespacesAlone(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		namespace := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/persistentvolumeclaims")
		if strings.Contains(namespace, "/") || namespace == "ns-3" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind": "PersistentVolumeClaimList", "apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
			"metadata": {"namespace": %q, "name": "data"}, "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}]}`, namespace)
	}))
	defer api.Close()
	reader, err := target.New(target.Options{Config: &rest.Config{Host: api.URL, QPS: -1}})
	if err != nil {
		t.Fatal(err)
	}
	served := target.ServedBy(&metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "persistentvolumeclaims", Namespaced: true, Verbs: metav1.Verbs{"list"}}}},
		&metav1.APIResourceList{GroupVersion: "storage.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "storageclasses", Verbs: metav1.Verbs{"list"}}}})
	claims := verify.Kind{Name: "persistentvolumeclaims"}
	for i := range manyNamespaces + 1 {
		claims.Items = append(claims.Items, verify.Item{Namespace: fmt.Sprintf("ns-%d", i), Name: "data", State: verify.Restored})
	}
	result := verify.Result{Kinds: []verify.Kind{claims}}
	addClaims(t.Context(), reader, served, &result)
	if len(result.Claims) != manyNamespaces || result.LostClaims() != 0 || !result.Unknown ||
		len(result.Notes) != 2 || !strings.Contains(result.Notes[0], "Which claims are bound in namespace ns-3 is not known: you may not list it") ||
		!strings.Contains(result.Notes[1], "storage classes of claims that are not bound is not known: you may not list it") {
		t.Errorf("%d claims, unknown: %t, %q", len(result.Claims), result.Unknown, result.Notes)
	}
}
