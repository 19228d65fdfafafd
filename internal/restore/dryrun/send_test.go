package dryrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestNothingIsStored reads every key of etcd before and after a dry run that creates, patches and is rejected.
func TestNothingIsStored(t *testing.T) {
	ns := shared.Name("stored")
	b := newBed(t, ns)
	b.make(t, &corev1.ConfigMap{ObjectMeta: meta(ns, "there"), Data: map[string]string{"a": "c"}})
	b.make(
		t,
		&corev1.Service{
			ObjectMeta: meta(ns, "holder"),
			Spec: corev1.ServiceSpec{
				Type:  corev1.ServiceTypeNodePort,
				Ports: []corev1.ServicePort{{Port: 80, NodePort: 30124}},
			},
		},
	)
	b.configMap(t, ns, "there", "")
	for i := range 200 {
		b.configMap(t, ns, fmt.Sprintf("new-%d", i), "")
	}
	b.pod(t, ns, "p", "")
	b.pod(t, ns, "rejected", `,"restartPolicy":"Perhaps"`)
	b.holds(
		t,
		"services",
		`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"`+ns+`","name":"web"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`,
	)
	b.holds(
		t,
		"secrets",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"`+ns+`","name":"s"},"data":{"a":"YQ=="}}`,
	)
	b.configMap(t, ns+"-new", "a", "")
	b.query.SendSecrets, b.query.StandInNamespace, b.spec.ExistingResourcePolicy = true, ns, veleroapi.PolicyTypeUpdate
	keys := func() map[string]string {
		all, err := b.EtcdKeyRevisions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := keys()
	if len(before) < 50 || before["/registry/configmaps/"+ns+"/there"] == "" {
		t.Fatalf("etcd has %d keys", len(before))
	}
	d := b.run(t)
	if d.SentCount < 205 || d.AcceptedCount < 203 || len(d.Rejected) == 0 {
		t.Errorf("%d sent, %d accepted, %d rejected", d.SentCount, d.AcceptedCount, len(d.Rejected))
	}
	after := keys()
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if after[key] != before[key] && !written(key) {
			t.Errorf("%s was written", key)
		}
		delete(before, key)
	}
	for key := range before {
		if !written(key) {
			t.Errorf("%s was deleted", key)
		}
	}
}

// written are the keys that an API server writes all by itself.
func written(key string) bool {
	return slices.ContainsFunc(
		[]string{"/registry/events/", "/registry/leases/", "/registry/masterleases/", "/registry/peerserverleases/"},
		func(p string) bool { return strings.HasPrefix(key, p) },
	)
}

// server answers each request as it is told, and counts the writes.
func server(t *testing.T, answer http.HandlerFunc) (*rest.Config, *atomic.Int64) {
	t.Helper()
	var writes atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.Contains(r.URL.Path, "selfsubject") {
			writes.Add(1)
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}, &writes
}

var things = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// TestOnlyDryRuns: nothing that could be stored leaves the sender, whatever asks for it.
func TestOnlyDryRuns(t *testing.T) {
	config, writes := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
	if _, err := NewSender(t.Context(), Options{Config: config, ReadOnly: true}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	s, err := NewSender(t.Context(), Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*rest.Request{
		s.client.REST.Post().AbsPath("/api/v1/namespaces/a/configmaps"), s.client.REST.Patch("application/merge-patch+json").AbsPath("/api/v1/namespaces/a/configmaps/b"),
		s.client.REST.Delete().AbsPath("/api/v1/namespaces/a/configmaps/b").Param("dryRun", "All"), s.client.REST.Put().AbsPath("/api/v1/namespaces/a/configmaps/b").Param("dryRun", "All"),
		s.client.REST.Post().AbsPath("/api/v1/namespaces/a/configmaps").Param("dryRun", "None"), s.client.REST.Post().AbsPath("/api/v1/namespaces/a/configmaps").Param("dryRun", "All").Param("dryRun", "None"),
		s.client.REST.Post().AbsPath("/api/v1/namespaces/a/configmaps/b/selfsubjectreviews/c"),
	} {
		if err := r.Do(t.Context()).Error(); err == nil || !strings.Contains(err.Error(), "is no dry run") {
			t.Errorf("%s: %v", r.URL(), err)
		}
	}
	if n := writes.Load(); n > 0 {
		t.Errorf("%d were sent", n)
	}
	if _, err := s.createObject(
		t.Context(),
		things,
		&unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}},
	); err != nil ||
		writes.Load() != 1 {
		t.Errorf("a dry run: %v", err)
	}
}

// TestBusy: a busy API server is given the time that it asks for.
func TestBusy(t *testing.T) {
	var first atomic.Bool
	config, writes := server(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "selfsubject") && first.CompareAndSwap(false, true) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		fmt.Fprint(w, `{}`)
	})
	s, err := NewSender(t.Context(), Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := s.createObject(
		t.Context(),
		things,
		&unstructured.Unstructured{},
	); err != nil || writes.Load() != 2 ||
		time.Since(began) < time.Second {
		t.Errorf("%v after %s and %d requests", err, time.Since(began), writes.Load())
	}
}

// TestEnds: rejected credentials and a server that is gone end a dry run, and so does its user.
func TestEnds(t *testing.T) {
	ns := shared.Name("ends")
	b := newBed(t, ns)
	for i := range 300 {
		b.configMap(t, ns, fmt.Sprintf("c-%d", i), "")
	}
	good := b.config
	status := func(code int, reason string) {
		var writes *atomic.Int64
		b.config, writes = server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprintf(
				w,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no"}`,
				reason,
				code,
			)
		})
		_, err := b.try(t, t.Context())
		if !apierrors.IsUnauthorized(err) || writes.Load() > 2*workerCount {
			t.Errorf("%d: %v after %d requests", code, err, writes.Load())
		}
	}
	status(http.StatusUnauthorized, "Unauthorized")
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	b.config = &rest.Config{Host: gone.URL}
	d := b.run(t)
	n := 0
	for _, u := range d.CannotTell { // not sent, and without an answer
		if n += u.Count; !strings.Contains(u.Why, "refused") {
			t.Errorf("a server that is gone: %+v", u)
		}
	}
	if n != 300 || d.CannotTell[0].Count < 300-maxUnanswered-workerCount {
		t.Errorf("a server that is gone: %+v", d.CannotTell)
	}
	b.config = good
	ctx, cancel := context.WithCancel(t.Context())
	b.query.Progress = func(sent, total int) {
		if sent == 10 {
			cancel()
		}
		if total != 300 {
			t.Errorf("%d of %d", sent, total)
		}
	}
	if _, err := b.try(t, ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestClassify has what the test bed cannot be made to answer.
func TestClassify(t *testing.T) {
	status := func(code int, text string) error {
		err := apierrors.NewGenericServerResponse(
			code,
			"POST",
			schema.GroupResource{Resource: "pods"},
			"x",
			text,
			0,
			true,
		)
		err.ErrStatus.Message = text
		return err
	}
	for text, c := range map[string]struct {
		err  error
		want verdict
	}{
		`admission webhook "a" does not support dry run`: {status(400, `admission webhook "a" does not support dry run`), cannotTell},
		"etcdserver: request timed out":                  {status(500, "etcdserver: request timed out"), cannotTell},
		`Internal error occurred: failed calling webhook "a": failed to call webhook: Post "https://b": connection refused`: {status(500, "Internal error occurred: failed calling webhook"), rejected},
		"Request entity too large: limit is 3145728": {status(413, "Request entity too large: limit is 3145728"), rejected},
		`a webhook that speaks of a user`:            {status(403, `admission webhook "a" denied the request: pods is forbidden: User "b" cannot create resource "pods"`), rejected},
		`a policy that speaks of a user`:             {status(403, `pods "p" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: x is forbidden: User "b" cannot`), rejected},
		`the authorizer`:                             {status(403, `pods is forbidden: User "b" cannot create resource "pods" in API group "" in the namespace "c"`), cannotTell},
	} {
		if got := classifyAnswer(
			c.err,
			"pods",
			classifyContext{user: "b", restoresObject: func(string, string) bool { return false }},
		); got.verdict != c.want {
			t.Errorf("%s: %d (%s), want %d", text, got.verdict, got.reason, c.want)
		}
	}
}

// TestAggregatedAPI: what may store a dry run gets none.
func TestAggregatedAPI(t *testing.T) {
	config, writes := server(t, func(w http.ResponseWriter, r *http.Request) {
		post := func(parameters string) {
			fmt.Fprintf(
				w,
				`{"paths":{"/apis/a.io/v1/namespaces/{namespace}/things":{"parameters":[{"name":"namespace"}],"post":{"parameters":[%s]}}}}`,
				parameters,
			)
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/apis/a.io/v1"):
			post(`{"name":"pretty"},{"name":"dryRun"}`)
		case strings.HasSuffix(r.URL.Path, "/apis/b.io/v1"):
			post(`{"name":"pretty"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(
				w,
				`{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"things \"x\" not found"}`,
			)
		}
	})
	s, err := NewSender(t.Context(), Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]string{"a.io": "", "b.io": "does not say that it knows dry runs", "c.io": "is unknown"} {
		at := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
		before := writes.Load()
		for range 2 {
			if err := s.checkDryRunSupport(
				t.Context(),
				at,
			); (err == nil) != (want == "") ||
				err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", group, err)
			}
		}
		if writes.Load() != before+1 {
			t.Errorf("%s was asked %d times", group, writes.Load()-before)
		}
		r := &runner{
			Sender:        s,
			Query:         Query{Rules: &prepare.Rules{}},
			itemsByTarget: map[itemKey]*item{},
			groupServers:  &groupServers{},
			markLabel:     "m",
		}
		r.ended, r.stop = context.WithCancelCause(t.Context())
		got, err := r.sendObject(
			t.Context(),
			&item{itemKey: itemKey{"things." + group, "n", "x"}},
			at,
			&unstructured.Unstructured{Object: map[string]any{}},
			classifyContext{restoresObject: func(string, string) bool { return false }},
		)
		if err != nil || (got.verdict == cannotTell) != (want != "") { // the first is sent, and answered
			t.Errorf("%s: %v, %v", group, got, err)
		}
	}
}
