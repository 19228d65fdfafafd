package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/rest"
)

// newWriter returns a client of a server that gives every request the same answer, and the requests. The content type
// "-" stands for none.
func newWriter(t *testing.T, code int, contentType, answer string) (*Client, *[]string) {
	t.Helper()
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, formatRequest(r, body))
		if contentType == "-" {
			w.Header()["Content-Type"] = nil
		} else {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(code)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Thing"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Other"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, meta.RESTScopeRoot)
	over := server.Client()
	over.Timeout = 15 * time.Second
	c, err := New(&rest.Config{Host: server.URL + "/prefix", WarningHandler: rest.NoWarnings{}}, over, mapper)
	if err != nil {
		t.Fatal(err)
	}
	return c, &sent
}

func formatRequest(r *http.Request, body []byte) string {
	lines := []string{r.Method + " " + r.URL.String()}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != "User-Agent" && name != "Content-Length" {
			lines = append(lines, name+": "+strings.Join(r.Header[name], ", "))
		}
	}
	return strings.Join(append(lines, string(body)), "\n")
}

func newObject(apiVersion, kind, namespace string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(o.Object, fields)
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName("a")
	return o
}

// TestWritesAsSent pins each request to the byte, whatever encoding client-go's feature gates prefer.
func TestWritesAsSent(t *testing.T) {
	const jsonHeaders = "\nAccept: application/json\nAccept-Encoding: gzip\nContent-Type: application/json\n"
	const reviews = "/prefix/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	want := []string{
		"POST /prefix/apis/g/v1/namespaces/n/things?dryRun=All&fieldManager=m&fieldValidation=Strict&timeout=15s" +
			jsonHeaders + `{"apiVersion":"g/v1","kind":"Thing","metadata":{"name":"a","namespace":"n"},` +
			`"spec":{"html":"\u003c\u0026\u003e","n":9007199254740993,"none":null}}` + "\n",
		"POST /prefix/api/v1/namespaces/n/configmaps?timeout=15s" + jsonHeaders +
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}}` + "\n",
		"POST /prefix/api/v1/nodes?timeout=15s" + jsonHeaders +
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}` + "\n",
		"PATCH /prefix/apis/g/v1/namespaces/n/things/a?dryRun=All&fieldManager=m&timeout=15s\n" +
			"Accept: application/json\nAccept-Encoding: gzip\nContent-Type: application/json-patch+json\n" +
			`[ {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}  ]`,
		"PATCH /prefix/apis/g/v1/namespaces/n/others/a?fieldValidation=Warn&force=true&timeout=15s\n" +
			"Accept: application/json\nAccept-Encoding: gzip\nContent-Type: application/merge-patch+json\n" +
			`{"spec":null}`,
		"POST " + reviews + "?timeout=15s" + jsonHeaders +
			`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":` +
			`{"resourceAttributes":{"namespace":"n","verb":"get","resource":"pods"}},"status":{"allowed":false}}` + "\n",
		"POST /prefix/apis/authentication.k8s.io/v1/selfsubjectreviews?timeout=15s" + jsonHeaders +
			`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{},` +
			`"status":{"userInfo":{}}}` + "\n",
	}
	for _, cbor := range []bool{false, true} {
		t.Run(fmt.Sprint("CBOR ", cbor), func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.ClientsAllowCBOR, cbor)
			featurestesting.SetFeatureDuringTest(t, features.ClientsPreferCBOR, cbor)
			got := sendWrites(t)
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("request %d: sent %q\nwant %q", i, got[min(i, len(got)):], want[min(i, len(want)):])
					break
				}
			}
		})
	}
}

// sendWrites sends each kind of write once, and returns what was sent.
func sendWrites(t *testing.T) []string {
	t.Helper()
	c, sent := newWriter(t, http.StatusOK, "application/json", `{}`)
	ctx := t.Context()
	dry := []string{metav1.DryRunAll}
	spec := map[string]any{"spec": map[string]any{"n": int64(9007199254740993), "html": "<&>", "none": nil}}
	patch := []byte(`[ {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}  ]`)
	force := true
	_ = c.Create(ctx, newObject("g/v1", "Thing", "n", spec),
		metav1.CreateOptions{DryRun: dry, FieldManager: "m", FieldValidation: metav1.FieldValidationStrict})
	_ = c.Create(ctx, newObject("v1", "ConfigMap", "n", nil), metav1.CreateOptions{})
	_ = c.Create(ctx, newObject("v1", "Node", "", nil), metav1.CreateOptions{})
	_ = c.Patch(ctx, newObject("g/v1", "Thing", "n", spec), types.JSONPatchType, patch,
		metav1.PatchOptions{DryRun: dry, FieldManager: "m"})
	_ = c.Patch(ctx, newObject("g/v1", "Other", "n", nil), types.MergePatchType, []byte(`{"spec":null}`),
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationWarn, Force: &force})
	_, _ = c.CheckAccess(ctx, authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: "n"})
	_, _ = c.CurrentUser(ctx)
	return *sent
}

// TestAnswersOfWrites: the caller's object becomes the answer and nothing else; an answer that cannot be read is an
// error, and leaves the object as it was.
func TestAnswersOfWrites(t *testing.T) {
	const (
		thing = `{"apiVersion":"g/v1","kind":"Thing","metadata":{"name":"a","uid":"1"},"unknown":{"n":9007199254740993}}`
		taken = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409,` +
			`"message":"taken by bob"}`
	)
	isTaken := func(err error) bool {
		return apierrors.IsAlreadyExists(err) && strings.Contains(err.Error(), "taken by bob")
	}
	isUnread := func(err error) bool {
		var status apierrors.APIStatus // a refusal, which would prove that nothing was done
		return errors.Is(err, ErrInvalidAnswer) && !errors.As(err, &status)
	}
	anyError := func(err error) bool { return err != nil }
	for name, test := range map[string]struct {
		code         int
		contentType  string
		answer       string
		isWanted     func(error) bool // nil for success
		wantedObject string
	}{
		"read":             {code: 201, answer: thing, wantedObject: thing},
		"without a type":   {code: 200, contentType: "-", answer: thing, wantedObject: thing},
		"refused":          {code: 409, answer: taken, isWanted: isTaken},
		"refused in words": {code: 403, contentType: "text/plain", answer: "not you", isWanted: saysForbidden},
		"a proxy's page":   {code: 200, contentType: "text/html", answer: "<p>log in", isWanted: anyError},
		"empty":            {code: 200, answer: "", isWanted: anyError},
		"no JSON":          {code: 200, answer: thing[:20], isWanted: isUnread},
		"another kind":     {code: 201, answer: strings.Replace(thing, "Thing", "Other", 1), isWanted: isUnread},
		"no kind":          {code: 201, answer: `{"metadata":{"name":"a"}}`, isWanted: isUnread},
		"accepted, and a Status of success": {code: 201, isWanted: isUnread,
			answer: `{"kind":"Status","apiVersion":"v1","status":"Success"}`},
		"accepted, and a Status of failure": {code: 201, answer: taken, isWanted: isUnread},
	} {
		for method, send := range map[string]func(*Client, Object) error{
			"create": func(c *Client, o Object) error { return c.Create(t.Context(), o, metav1.CreateOptions{}) },
			"patch": func(c *Client, o Object) error {
				return c.Patch(t.Context(), o, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			},
		} {
			t.Run(name+" "+method, func(t *testing.T) {
				c, sent := newWriter(t, test.code, cmp.Or(test.contentType, "application/json"), test.answer)
				o := newObject("g/v1", "Thing", "n", map[string]any{"old": "field"})
				before := o.DeepCopy()
				err := send(c, o)
				if isWanted := test.isWanted; isWanted == nil && err != nil || isWanted != nil && !isWanted(err) {
					t.Errorf("error %v", err)
				}
				want := before
				if test.wantedObject != "" {
					want = &unstructured.Unstructured{}
					if err := want.UnmarshalJSON([]byte(test.wantedObject)); err != nil {
						t.Fatal(err)
					}
				}
				if !reflect.DeepEqual(o, want) {
					t.Errorf("the object is %v, want %v", o.Object, want.Object)
				}
				if len(*sent) != 1 {
					t.Errorf("sent %q", *sent)
				}
			})
		}
	}
}

func saysForbidden(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not you")
}

// TestTypedAnswer: a typed object has nothing of what it was before, and keeps its kind.
func TestTypedAnswer(t *testing.T) {
	c, _ := newWriter(t, http.StatusCreated, "application/json",
		`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{"allowed":true}}`)
	review := authorizationv1.SelfSubjectAccessReview{
		Status: authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "old"},
	}
	review.SetGroupVersionKind(accessReviewGVK)
	err := c.Create(t.Context(), &review, metav1.CreateOptions{})
	want := authorizationv1.SelfSubjectAccessReview{
		Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true},
	}
	want.SetGroupVersionKind(accessReviewGVK)
	if err != nil || !reflect.DeepEqual(review, want) {
		t.Errorf("read %+v, %v", review, err)
	}
	answer, err := c.CheckAccess(t.Context(), authorizationv1.ResourceAttributes{Verb: "get"})
	if err != nil || answer != want.Status {
		t.Errorf("may: %+v, %v", answer, err)
	}
}

// TestUnknownKindIsNotWritten: a kind that the mapper does not know is an error before anything is sent.
func TestUnknownKindIsNotWritten(t *testing.T) {
	c, sent := newWriter(t, http.StatusOK, "application/json", "{}")
	for _, kind := range []string{"", "Unknown"} {
		o := newObject("g/v1", kind, "n", nil)
		if err := c.Create(t.Context(), o, metav1.CreateOptions{}); !meta.IsNoMatchError(err) {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
	if len(*sent) > 0 {
		t.Errorf("sent %q", *sent)
	}
}

// TestOneBudgetOfRequests: reads and writes of all kinds draw on the same limit.
func TestOneBudgetOfRequests(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Thing"}, meta.RESTScopeNamespace)
	c, err := New(&rest.Config{Host: server.URL, QPS: 1e-6, Burst: 2}, server.Client(), mapper)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	o := newObject("g/v1", "Thing", "n", nil)
	if err := c.Get(ctx, o); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err := c.Create(ctx, o, metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if _, err := c.CurrentUser(ctx); err == nil || !strings.Contains(err.Error(), "rate limiter") {
		t.Errorf("a third request: %v", err)
	}
}
