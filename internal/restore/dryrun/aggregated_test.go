package dryrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/testbed"
)

// aggregatedServer is an API server of a group that publishes dryRun in its OpenAPI document.
type aggregatedServer struct {
	group   string
	plurals map[string]string // kinds by plural
	honours bool              // whether it stores nothing of a dry run

	mu     sync.Mutex
	stored map[string]map[string]any // by path
	posts  int
}

func (a *aggregatedServer) version() string { return a.group + "/v1" }

// documents returns the discovery and OpenAPI documents by path.
func (a *aggregatedServer) documents() map[string]any {
	version := map[string]any{"groupVersion": a.version(), "version": "v1"}
	group := map[string]any{
		"kind":             "APIGroup",
		"apiVersion":       "v1",
		"name":             a.group,
		"versions":         []any{version},
		"preferredVersion": version,
	}
	resources, paths := []any{}, map[string]any{}
	for plural, kind := range a.plurals {
		resources = append(
			resources,
			map[string]any{"name": plural, "singularName": strings.ToLower(kind), "namespaced": true, "kind": kind,
				"verbs": []string{"create", "delete", "get", "list", "patch", "update"}},
		)
		paths["/apis/"+a.version()+"/namespaces/{namespace}/"+plural] = map[string]any{"post": map[string]any{
			"parameters":                      []any{map[string]any{"name": "dryRun", "in": "query"}},
			"x-kubernetes-group-version-kind": map[string]any{"group": a.group, "version": "v1", "kind": kind}}}
	}
	document := "/openapi/v3/apis/" + a.version()
	return map[string]any{
		"/apis":            map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{group}},
		"/apis/" + a.group: group,
		"/apis/" + a.version(): map[string]any{
			"kind":         "APIResourceList",
			"apiVersion":   "v1",
			"groupVersion": a.version(),
			"resources":    resources,
		},
		"/openapi/v3": map[string]any{
			"paths": map[string]any{"apis/" + a.version(): map[string]any{"serverRelativeURL": document + "?hash=1"}},
		},
		document: map[string]any{
			"openapi": "3.0.0",
			"info":    map[string]any{"title": a.group, "version": "v1"},
			"paths":   paths,
		},
	}
}

func (a *aggregatedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	send := func(code int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if document, found := a.documents()[path]; found {
		send(http.StatusOK, document)
		return
	}
	kind, collection := a.plurals[path[strings.LastIndex(path, "/")+1:]]
	switch object, found := a.stored[path]; {
	case r.Method == http.MethodPost:
		a.posts++
		sent := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&sent)
		meta, _ := sent["metadata"].(map[string]any)
		meta["uid"], meta["creationTimestamp"] = fmt.Sprint("uid-", a.posts), time.Now().UTC().Format(time.RFC3339)
		if !a.honours || r.URL.Query().Get("dryRun") == "" {
			meta["resourceVersion"] = strconv.Itoa(100 + a.posts)
			a.stored[path+"/"+fmt.Sprint(meta["name"])] = sent
		}
		send(http.StatusCreated, sent)
	case collection:
		send(
			http.StatusOK,
			map[string]any{
				"kind":       kind + "List",
				"apiVersion": a.version(),
				"metadata":   map[string]any{},
				"items":      []any{},
			},
		)
	case found:
		send(http.StatusOK, object)
	default:
		send(
			http.StatusNotFound,
			map[string]any{
				"kind":       "Status",
				"apiVersion": "v1",
				"status":     "Failure",
				"reason":     "NotFound",
				"code":       404,
				"message":    "not found",
			},
		)
	}
}

// aggregate has a real kube-apiserver send the requests of a group to a server.
func (b *bed) aggregate(t *testing.T, namespace, name string, a *aggregatedServer) {
	t.Helper()
	a.stored = map[string]map[string]any{}
	s := httptest.NewTLSServer(a)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(u.Port(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	b.make(
		t,
		&corev1.Service{
			ObjectMeta: meta(namespace, name),
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
		},
	)
	b.make(
		t,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1",
			"kind":       "APIService",
			"metadata":   map[string]any{"name": "v1." + a.group},
			"spec": map[string]any{
				"group":                 a.group,
				"version":               "v1",
				"groupPriorityMinimum":  int64(100),
				"versionPriority":       int64(100),
				"insecureSkipTLSVerify": true,
				"service":               map[string]any{"namespace": namespace, "name": name, "port": port},
			},
		}},
	)
	sender, err := NewSender(t.Context(), Options{Config: b.config})
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for ticks := time.NewTicker(100 * time.Millisecond); t.Context().Err() == nil; <-ticks.C {
		if last = sender.client.REST.Get().
			AbsPath("/openapi/v3/apis/" + a.version()).
			Do(t.Context()).
			Error(); last == nil {
			if last = sender.client.REST.Get().
				AbsPath("/apis/" + a.version() + "/namespaces/" + namespace + "/" + slices.Collect(maps.Keys(a.plurals))[0]).
				Do(t.Context()).
				Error(); last == nil {
				return
			}
		}
	}
	t.Fatal(last)
}

// TestAggregatedServerThatStores: of an aggregated API that publishes dryRun and stores all the same, one object is
// stored and named, and nothing more is sent; one that keeps its word gets all of them.
func TestAggregatedServerThatStores(t *testing.T) {
	ns := "dry-aggregated"
	b := bedOn(t, testbed.StartForTest(t, testbed.Options{}), ns)
	liar := &aggregatedServer{
		group:   "liar.example.com",
		plurals: map[string]string{"things": "Thing", "gadgets": "Gadget"},
	}
	honest := &aggregatedServer{
		group:   "honest.example.com",
		plurals: map[string]string{"things": "Thing"},
		honours: true,
	}
	b.aggregate(t, ns, "honest", honest)
	b.aggregate(t, ns, "liar", liar)
	hold := func(a *aggregatedServer) {
		for plural, kind := range a.plurals {
			for i := range 5 {
				b.holds(
					t,
					plural+"."+a.group,
					fmt.Sprintf(
						`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":%q,"name":"%s-%d"},"spec":{}}`,
						a.version(),
						kind,
						ns,
						plural,
						i,
					),
				)
			}
		}
	}
	hold(honest)
	d := b.run(t)
	if d.AcceptedCount != 5 || honest.posts != 5 || len(honest.stored) > 0 || len(d.StoredObjects) > 0 || d.CountUnproven() > 0 ||
		!strings.Contains(d.Summary(), "5 accepted, 0 rejected, nothing stored") {
		t.Errorf(
			"an honest server got %d and stored %d: %s, %v",
			honest.posts,
			len(honest.stored),
			d.Summary(),
			untoldOf(d.CannotTell),
		)
	}
	hold(liar)
	d = b.run(t)
	if liar.posts != 1 || len(liar.stored) != 1 || len(d.StoredObjects) != 1 {
		t.Fatalf("%d requests, %d stored: %+v", liar.posts, len(liar.stored), d)
	}
	o := d.StoredObjects[0]
	path := "/apis/liar.example.com/v1/namespaces/" + ns + "/" + resourceName(o.Resource) + "/" + o.Name
	if liar.stored[path] == nil || groupOf(o.Resource) != liar.group || o.Kind == "" || o.UID != "uid-1" {
		t.Errorf("it names %+v, stored is %v", o, liar.stored)
	}
	if want := "kubectl -n " + ns + " delete " + o.Resource + " " + o.Name; o.Command != want {
		t.Errorf("%s, want %s", o.Command, want)
	}
	if text := d.Summary(); strings.Contains(text, "nothing stored") || strings.Contains(text, "accepted") ||
		!strings.Contains(text, "CARRIED OUT") {
		t.Error(text)
	}
}
