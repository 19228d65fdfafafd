package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/testbed/fixture"
)

// serve is a client of a server that answers each path, and the requests it got.
func serve(t *testing.T, answers map[string]string) (*Client, *[]string) {
	t.Helper()
	var asked []string
	var mu sync.Mutex // kinds are asked for in two requests at once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.String())
		mu.Unlock()
		contentType, body, _ := strings.Cut(answers[r.URL.Path], "|")
		if body == "" {
			fixture.WriteStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "no such thing")
			return
		}
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Thing"}, meta.RESTScopeNamespace)
	c, err := New(&rest.Config{Host: server.URL}, server.Client(), mapper)
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

// TestObjects asks for what each method is for, and never for more than one object
// where there is no name.
func TestObjects(t *testing.T) {
	c, asked := serve(t, map[string]string{
		"/apis/g/v1/namespaces/n/things/a": `application/json|{"apiVersion":"g/v1","kind":"Thing","metadata":{"name":"a","uid":"1"},"n":3}`,
		"/apis/g/v1/namespaces/n/things":   `application/json|{"apiVersion":"g/v1","kind":"ThingList","items":[{"metadata":{"name":"a"}}]}`,
	})
	ctx := context.Background()
	thing := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{
			Object: map[string]any{
				"apiVersion": "g/v1",
				"kind":       "Thing",
				"metadata":   map[string]any{"name": name, "namespace": "n"},
			},
		}
	}
	o := thing("a")
	if err := c.Get(ctx, o); err != nil || o.GetUID() != "1" || o.Object["n"] != int64(3) {
		t.Errorf("got %v, %v", o.Object, err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "ThingList"})
	if err := c.List(
		ctx,
		list,
		"n",
		metav1.ListOptions{LabelSelector: "k=v", Limit: 5},
	); err != nil || len(list.Items) != 1 ||
		list.Items[0].GetKind() != "Thing" {
		t.Errorf("listed %v, %v", list.Items, err)
	}
	if err := c.Get(ctx, thing("b")); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("a thing that is not there: %v", err)
	}
	if err := c.Patch(
		ctx,
		thing("a"),
		"application/json-patch+json",
		[]byte("[]"),
		metav1.PatchOptions{FieldManager: "m", DryRun: []string{"All"}},
	); err != nil {
		t.Error(err)
	}
	if _, err := c.Delete(ctx, thing("a"), metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	want := []string{
		"GET /apis/g/v1/namespaces/n/things/a",
		"GET /apis/g/v1/namespaces/n/things?labelSelector=k%3Dv&limit=5",
		"GET /apis/g/v1/namespaces/n/things/b",
		"PATCH /apis/g/v1/namespaces/n/things/a?dryRun=All&fieldManager=m",
		"DELETE /apis/g/v1/namespaces/n/things/a",
	}
	if !slices.Equal(*asked, want) {
		t.Errorf("asked for %q", *asked)
	}
	for _, name := range []string{"", "..", "a/b"} {
		_, err := c.Delete(ctx, thing(name), metav1.DeleteOptions{})
		if c.Get(ctx, thing(name)) == nil || err == nil ||
			c.Patch(ctx, thing(name), "application/json-patch+json", []byte("[]"), metav1.PatchOptions{}) == nil {
			t.Errorf("a request about %q was sent", name)
		}
	}
	if len(*asked) > len(want) {
		t.Errorf("asked for %q", (*asked)[len(want):])
	}
}

// TestKinds reads what servers tell at once, and what old ones tell one by one.
func TestKinds(t *testing.T) {
	const at = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;charset=utf-8|"
	for name, answers := range map[string]map[string]string{
		"at once": {
			"/api": at + `{"items":[{"versions":[{"version":"v1","resources":[{"resource":"pods","responseKind":{"version":"v1","kind":"Pod"},"scope":"Namespaced","verbs":["get"],
				"subresources":[{"subresource":"log","responseKind":{"version":"v1","kind":"Pod"},"verbs":["get"]}]}]}]}]}`,
			"/apis": at + `{"items":[{"metadata":{"name":"g"},"versions":[
				{"version":"v2","resources":[{"resource":"things","responseKind":{"group":"g","version":"v2","kind":"Thing"},"scope":"Namespaced"},{"resource":"kindless"}]},
				{"version":"v1","resources":[{"resource":"things","responseKind":{"group":"g","version":"v1","kind":"Thing"}},{"resource":"olds","responseKind":{"group":"g","version":"v1","kind":"Old"}}]}]},
				{"metadata":{"name":"away"},"versions":[{"version":"v1","freshness":"Stale"}]}]}`,
		},
		"one by one": {
			"/api":        `application/json|{"kind":"APIVersions","versions":["v1"]}`,
			"/apis":       `application/json|{"groups":[{"name":"g","versions":[{"version":"v1"},{"version":"v2"}],"preferredVersion":{"version":"v2"}},{"name":"away","versions":[{"version":"v1"}]}]}`,
			"/api/v1":     `application/json|{"groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]},{"name":"pods/log","kind":"Pod"}]}`,
			"/apis/g/v1":  `application/json|{"groupVersion":"g/v1","resources":[{"name":"things","kind":"Thing"},{"name":"olds","kind":"Old"}]}`,
			"/apis/g/v2":  `application/json|{"groupVersion":"g/v2","resources":[{"name":"things","kind":"Thing","namespaced":true}]}`,
			"/apis/other": ``,
		},
	} {
		c, asked := serve(t, answers)
		k, err := c.DiscoverKinds(context.Background())
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, list := range k.PreferredResources() {
			for _, r := range list.APIResources {
				got = append(got, fmt.Sprint(list.GroupVersion, " ", r.Name, " ", r.Kind, " ", r.Namespaced))
			}
		}
		if want := []string{
			"v1 pods Pod true",
			"g/v2 things Thing true",
			"g/v1 olds Old false",
		}; !slices.Equal(
			got,
			want,
		) {
			t.Errorf("%s: %q", name, got)
		}
		if away := (schema.GroupVersion{Group: "away", Version: "v1"}); len(k.Unanswered) != 1 || k.Unanswered[away] == nil {
			t.Errorf("%s: silent are %v", name, k.Unanswered)
		}
		if n := len(*asked); name == "at once" && n != 4 { // twice, because one group is silent
			t.Errorf("asked for %q", *asked)
		}
		if all := k.ResourceLists[0].APIResources; len(all) != 2 || all[1].Name != "pods/log" {
			t.Errorf("%s: %v", name, all)
		}
	}
	c, _ := serve(t, map[string]string{"/api": "application/json|{}"})
	if _, err := c.DiscoverKinds(context.Background()); !apierrors.IsNotFound(err) {
		t.Errorf("a server without /apis: %v", err)
	}
}

// TestSilentGroupSpeaksForItself: what one group answers is said of that group alone, in the server's words.
func TestSilentGroupSpeaksForItself(t *testing.T) {
	c := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case "/apis":
			fmt.Fprint(w, `{"groups":[{"name":"g","versions":[{"version":"v1"}]},{"name":"h","versions":[{"version":"v1"}]}]}`)
		case "/apis/g/v1":
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":503,"message":"g is being moved"}`)
		default:
			version := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
			fmt.Fprintf(w, `{"groupVersion":%q,"resources":[{"name":"things","kind":"Thing"}]}`, version)
		}
	})
	k, err := c.DiscoverKinds(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var answered []string
	for _, list := range k.ResourceLists {
		answered = append(answered, list.GroupVersion)
	}
	if !slices.Equal(answered, []string{"v1", "h/v1"}) {
		t.Errorf("answered: %q", answered)
	}
	why := k.Unanswered[schema.GroupVersion{Group: "g", Version: "v1"}]
	if len(k.Unanswered) != 1 || why == nil || !strings.Contains(why.Error(), "g is being moved") {
		t.Errorf("silent: %v", k.Unanswered)
	}
}

// TestRefusedDiscovery: whoever may not ask for kinds is told so, and not that there are none.
func TestRefusedDiscovery(t *testing.T) {
	c := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,`+
			`"message":"bob may not ask at `+r.URL.Path+`"}`)
	})
	k, err := c.DiscoverKinds(context.Background())
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "bob may not ask at /api") {
		t.Errorf("%v, %v", k, err)
	}
}

// TestEndedContextIsNoAnswer: groups that nobody waited for are not silent.
func TestEndedContextIsNoAnswer(t *testing.T) {
	why := errors.New("the user has left")
	ctx, cancel := context.WithCancelCause(context.Background())
	c := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			fmt.Fprint(w, `{"kind":"APIVersions"}`)
		case "/apis":
			fmt.Fprint(w, `{"groups":[{"name":"g","versions":[{"version":"v1"}]}]}`)
		default:
			cancel(why)
			<-r.Context().Done()
		}
	})
	if k, err := c.DiscoverKinds(ctx); k != nil || !errors.Is(err, why) {
		t.Errorf("%+v, %v", k, err)
	}
}

func serveFunc(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL}, server.Client(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
