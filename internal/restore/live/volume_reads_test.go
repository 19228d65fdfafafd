package live

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFailingKinds: only what the server fails to list counts, in the version that was asked for.
func TestFailingKinds(t *testing.T) {
	s := newServer(t)
	fails := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("limit") != "100" {
				t.Errorf("asked for %s", r.URL)
			}
			status(w, code, metav1.StatusReason("said no"))
		}
	}
	for kind, code := range map[string]int{"broken": 500, "down": 503, "slow": 504, "forbidden": 403, "gone": 404} {
		s.lists["/api/v1beta1/"+kind] = fails(code)
	}
	s.lists["/api/v1beta1/fine"] = func(w http.ResponseWriter, _ *http.Request) { page(w, "") }
	versions := map[string]string{}
	for _, kind := range []string{"broken", "down", "slow", "forbidden", "gone", "fine", "things.example.com", "others"} {
		versions[kind] = "v1beta1"
	}
	failing, unseen, err := s.reader(t, time.Minute).
		FindUnlistable(t.Context(), served("broken", "down", "slow", "forbidden", "gone", "fine"), versions)
	if err != nil || len(failing) != 2 || !slices.Equal(unseen, []string{"forbidden"}) ||
		!strings.Contains(failing["broken"]+failing["down"], "said no") {
		t.Errorf("%q, %v", failing, err)
	}
}

// TestChanged is about changes of the spec, not of the status.
func TestChanged(t *testing.T) {
	s := newServer(t)
	s.lists["/apis/apiextensions.k8s.io/v1/customresourcedefinitions"] = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("fieldSelector") != "metadata.name=foos.trap.io" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write(
			[]byte(
				`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{},"items":[{"metadata":{"name":"foos.trap.io","managedFields":[
			{"time":"2026-11-27T08:06:00Z"},{"time":"2026-11-27T08:06:46Z"},{"time":"2026-11-27T08:07:00Z","subresource":"status"}]}}]}`,
			),
		)
	}
	kinds := NewServedKinds(
		&metav1.APIResourceList{
			GroupVersion: "apiextensions.k8s.io/v1",
			APIResources: []metav1.APIResource{
				{
					Name:  "customresourcedefinitions",
					Kind:  "CustomResourceDefinition",
					Verbs: metav1.Verbs{"list", "create", "get", "delete"},
				},
			},
		},
	)
	changed, err := s.reader(t, time.Minute).FetchCRDChanges(t.Context(), kinds, []string{"foos.trap.io"})
	if want := map[string]time.Time{
		"foos.trap.io": time.Date(2026, 11, 27, 8, 6, 46, 0, time.UTC),
	}; err != nil ||
		!maps.EqualFunc(changed, want, time.Time.Equal) {
		t.Errorf("%v, %v", changed, err)
	}
}

// TestVolumesAndConfigs are read only when they are asked for.
func TestVolumesAndConfigs(t *testing.T) {
	s := newServer(t)
	answers := func(path, items string) {
		s.lists[path] = func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + items + `]}`))
		}
	}
	answers(
		"/api/v1/persistentvolumes",
		`{"metadata":{"name":"a"},"spec":{"claimRef":{"namespace":"ops","name":"data","uid":"u"}},"status":{"phase":"Released"}},
		{"metadata":{"name":"b"},"spec":{"claimRef":{"namespace":"ops","name":"data"},"storageClassName":"fast","capacity":{"storage":"2Ki"}}},{"metadata":{"name":"c","annotations":{"volume.beta.kubernetes.io/storage-class":"old"}},"status":{"phase":"Available"}}`,
	)
	s.lists["/api/v1/namespaces/velero/configmaps"] = func(w http.ResponseWriter, r *http.Request) {
		items := map[string]string{
			"metadata.name=m":     `{"metadata":{"name":"m"},"data":{"rules":"version: v1\nrules: []"}}`,
			"metadata.name=empty": `{"metadata":{"name":"empty"}}`,
		}
		_, _ = w.Write(
			[]byte(
				`{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[` + items[r.URL.Query().Get("fieldSelector")] + `]}`,
			),
		)
	}
	kinds := served("persistentvolumes", "configmaps", "namespaces")
	found, err := s.reader(t, time.Minute).
		FetchEnvironment(t.Context(), kinds, EnvironmentQuery{Volumes: true, VeleroNamespace: "velero", ConfigMapNames: []string{"m", "none", "empty"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]VolumeSummary{
		"a": {Claim: "ops/data", ClaimHadUID: true, Phase: "Released"},
		"b": {Claim: "ops/data", Class: "fast", Size: 2048},
		"c": {Phase: "Available", Class: "old"},
	}; !reflect.DeepEqual(
		found.Volumes,
		want,
	) {
		t.Errorf("%v", found.Volumes)
	}
	if want := map[string]map[string]string{
		"m":     {"rules": "version: v1\nrules: []"},
		"none":  nil,
		"empty": {},
	}; !reflect.DeepEqual(
		found.ConfigMapData,
		want,
	) {
		t.Errorf("%q", found.ConfigMapData)
	}
	if found, err = s.reader(t, time.Minute).
		FetchEnvironment(t.Context(), kinds, EnvironmentQuery{}); err != nil ||
		len(found.Volumes)+len(found.ConfigMapData) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}
