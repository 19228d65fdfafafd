package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/testbed/fixture"
)

// server is an API server that answers a path as it is told.
type server struct {
	*fixture.Server
	lists map[string]func(w http.ResponseWriter, r *http.Request)
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{lists: map[string]func(http.ResponseWriter, *http.Request){}}
	s.Server = fixture.NewServer(t, func(w http.ResponseWriter, r *http.Request) {
		if answer := s.lists[r.URL.Path]; answer != nil {
			answer(w, r)
			return
		}
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	})
	return s
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	fixture.WriteStatus(w, code, reason, "")
}

// has lets a path answer with objects, NAMESPACE/NAME, and where to go on.
func (s *server) has(path, next string, names ...string) {
	s.lists[path] = func(w http.ResponseWriter, _ *http.Request) { page(w, next, names...) }
}

func page(w http.ResponseWriter, next string, names ...string) {
	list := metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
	}
	list.Continue = next
	for _, full := range names {
		namespace, name, _ := strings.Cut(full, "/")
		list.Items = append(
			list.Items,
			metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u",
				Labels: map[string]string{"velero.io/restore-name": "r1"}}},
		)
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (s *server) reader(t *testing.T, silence time.Duration) *Reader {
	t.Helper()
	r, err := New(Options{Config: &rest.Config{Host: s.URL, QPS: -1}, IdleTimeout: silence})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// served are kinds of the core group, and a group that does not tell.
func served(kinds ...string) *ServedKinds {
	s := &ServedKinds{SilentReasons: map[string]string{"example.com": "timed out"}, kinds: map[string]servedKind{}}
	for _, name := range kinds {
		s.kinds[name] = servedKind{metav1.SchemeGroupVersion.WithResource(name), true}
		k := s.kinds[name]
		k.Group, k.Version = "", "v1"
		s.kinds[name] = k
	}
	return s
}

func (s *server) look(t *testing.T, silence time.Duration, served *ServedKinds, q *Query) *State {
	t.Helper()
	state, err := s.reader(t, silence).FetchState(t.Context(), served, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func (s *State) expect(t *testing.T, want Presence, resource, namespace, name string) {
	t.Helper()
	if _, seen := s.FindItem(resource, namespace, name); seen != want {
		t.Errorf("%s %s/%s: %d, expected %d (%v)", resource, namespace, name, seen, want, s.Unchecked)
	}
}

func question(resource, namespace string, names ...string) *Query {
	q := &Query{}
	for _, name := range names {
		q.AddItem(resource, namespace, name)
	}
	return q
}

func TestLookFindsWhatIsThereAndWhatIsNot(t *testing.T) {
	s := newServer(t)
	s.has("/api/v1/namespaces/shop/pods", "", "shop/a", "shop/b", "shop/other")
	q := question("pods", "shop", "a", "b", "c")
	q.AddItem("widgets", "shop", "w")
	q.AddItem("gadgets.example.com", "shop", "g")
	state := s.look(t, time.Minute, served("pods"), q)
	state.expect(t, Present, "pods", "shop", "a")
	state.expect(t, Absent, "pods", "shop", "c")
	state.expect(t, Unknown, "pods", "shop", "other")
	state.expect(t, Unknown, "pods", "bank", "a")
	state.expect(t, NotServed, "widgets", "shop", "w")
	state.expect(t, Unknown, "gadgets.example.com", "shop", "g")
	if object, _ := state.FindItem("pods", "shop", "a"); object.RestoreName != "r1" {
		t.Errorf("%+v", object)
	}
	if len(state.Unchecked) != 1 || !strings.Contains(state.Unchecked[0].Why, "timed out") {
		t.Errorf("%v", state.Unchecked)
	}
}

func TestLookGoesThroughAllPagesAndBeginsAgainWhereTheyExpire(t *testing.T) {
	s := newServer(t)
	expired := false
	s.lists["/api/v1/namespaces/shop/pods"] = func(w http.ResponseWriter, r *http.Request) {
		switch next := r.URL.Query().Get("continue"); {
		case next == "":
			page(w, "more", "shop/a")
		case !expired:
			expired = true
			status(w, http.StatusGone, metav1.StatusReasonExpired)
		default:
			page(w, "", "shop/b")
		}
	}
	state := s.look(t, time.Minute, served("pods"), question("pods", "shop", "a", "b", "c"))
	state.expect(t, Present, "pods", "shop", "a")
	state.expect(t, Present, "pods", "shop", "b")
	state.expect(t, Absent, "pods", "shop", "c")
}

func TestWhatMayNotBeListedIsNeverANo(t *testing.T) {
	s := newServer(t)
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		status(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	}
	s.lists["/api/v1/namespaces/shop/secrets"] = refuse
	s.lists["/api/v1/pods"] = refuse
	q := question("secrets", "shop", "a", "b", "c")
	for n := range maxNamespaceLists + 1 {
		namespace := fmt.Sprint("ns-", n)
		for _, name := range []string{"a", "b", "c"} {
			q.AddItem("pods", namespace, name)
		}
		s.has("/api/v1/namespaces/"+namespace+"/pods", "", namespace+"/a")
	}
	s.lists["/api/v1/namespaces/ns-3/pods"] = refuse
	state := s.look(t, time.Minute, served("secrets", "pods"), q)
	state.expect(t, Unknown, "secrets", "shop", "a")
	state.expect(t, Present, "pods", "ns-1", "a")
	state.expect(t, Absent, "pods", "ns-1", "b")
	state.expect(t, Unknown, "pods", "ns-3", "a")
	if len(state.Unchecked) != 2 || state.UncheckedReason("secrets", "shop") != "you may not list it" {
		t.Errorf("%v", state.Unchecked)
	}
}

func TestSilenceIsNeverANo(t *testing.T) {
	s := newServer(t)
	s.has("/api/v1/namespaces/shop/services", "", "shop/a")
	s.lists["/api/v1/namespaces/shop/pods"] = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	s.lists["/api/v1/namespaces/shop/secrets"] = func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	q := question("pods", "shop", "a", "b", "c")
	for _, name := range []string{"a", "b", "c"} {
		q.AddItem("secrets", "shop", name)
		q.AddItem("services", "shop", name)
	}
	state := s.look(t, 300*time.Millisecond, served("pods", "secrets", "services"), q)
	state.expect(t, Present, "services", "shop", "a")
	state.expect(t, Absent, "services", "shop", "b")
	state.expect(t, Unknown, "pods", "shop", "a")
	state.expect(t, Unknown, "secrets", "shop", "a")
	for _, not := range state.Unchecked {
		if !strings.Contains(not.Why, "sent nothing for 300ms") {
			t.Errorf("%v", not)
		}
	}
}

func TestRejectedCredentialsAndCancellationEndALook(t *testing.T) {
	s := newServer(t)
	s.lists["/api/v1/namespaces/shop/pods"] = func(w http.ResponseWriter, _ *http.Request) {
		status(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	}
	_, err := s.reader(t, time.Minute).FetchState(t.Context(), served("pods"), question("pods", "shop", "a"), nil)
	if err == nil || !strings.Contains(err.Error(), "rejects your credentials") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("told to end")
	s.lists["/api/v1/namespaces/shop/pods"] = func(_ http.ResponseWriter, r *http.Request) {
		cancel(gone)
		<-r.Context().Done()
	}
	if _, err = s.reader(t, time.Minute).
		FetchState(ctx, served("pods"), question("pods", "shop", "a"), nil); !errors.Is(
		err,
		gone,
	) {
		t.Errorf("%v", err)
	}
}

func TestFewNamesAreAskedForByName(t *testing.T) {
	s := newServer(t)
	var selectors []string
	s.lists["/api/v1/pods"] = func(w http.ResponseWriter, r *http.Request) {
		selectors = append(selectors, r.URL.Query().Get("fieldSelector"))
		page(w, "", "/a")
	}
	q := question("pods", "", "a")
	state := s.look(t, time.Minute, served("pods"), q)
	state.expect(t, Present, "pods", "", "a")
	if len(selectors) != 1 || selectors[0] != "metadata.name=a" {
		t.Errorf("%v", selectors)
	}
}

// TestAListThatExpiredIsVisitedOnce: it is read again from its beginning.
func TestAListThatExpiredIsVisitedOnce(t *testing.T) {
	s := newServer(t)
	expired := false
	s.lists["/api/v1/namespaces/shop/pods"] = func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("continue") == "":
			page(w, "next", "shop/a")
		case !expired:
			expired = true
			status(w, http.StatusGone, metav1.StatusReasonExpired)
		default:
			page(w, "", "shop/b")
		}
	}
	var names []string
	err := VisitObjects(
		t.Context(),
		s.reader(t, time.Minute),
		served("pods"),
		"pods",
		"shop",
		"",
		func(p *corev1.Pod) { names = append(names, p.Name) },
	)
	if err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%q, %v", names, err)
	}
	expired = false
	state := s.look(t, time.Minute, served("pods"), question("pods", "shop", "a", "b", "c"))
	state.expect(t, Present, "pods", "shop", "a")
	state.expect(t, Present, "pods", "shop", "b")
	state.expect(t, Absent, "pods", "shop", "c")
}

// TestOneMisreadObjectCostsOnlyItself: the rest of it and all others are visited, and it is named.
func TestOneMisreadObjectCostsOnlyItself(t *testing.T) {
	s := newServer(t)
	s.lists["/api/v1/pods"] = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(
			[]byte(
				`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a","namespace":"shop"}},
			{"metadata":{"name":"b","namespace":"shop"},"spec":{"nodeName":7,"volumes":[{"name":"v"}]}},{"metadata":{"name":"c","namespace":"shop"},"spec":{"nodeName":"n"}}]}`,
			),
		)
	}
	var got []string
	err := VisitObjects(t.Context(), s.reader(t, time.Minute), served("pods"), "pods", "", "", func(p *corev1.Pod) {
		got = append(got, fmt.Sprint(p.Name, p.Spec.NodeName, len(p.Spec.Volumes)))
	})
	var misread MisreadError
	if !slices.Equal(got, []string{"a0", "b1", "cn0"}) || !errors.As(err, &misread) || len(misread) != 1 ||
		!strings.Contains(misread["shop/b"], "spec.nodeName") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestWholeObjectsComeAsTheyAre, in the version that is asked for, and a page that is
// too long in smaller ones.
func TestWholeObjectsComeAsTheyAre(t *testing.T) {
	s := newServer(t)
	var limits []string
	s.lists["/api/v2/namespaces/shop/pods"] = func(w http.ResponseWriter, r *http.Request) {
		limits = append(limits, r.URL.Query().Get("limit"))
		if len(limits) == 1 {
			_, _ = w.Write(bytes.Repeat([]byte(" "), session.MaxAnswerBytes+1))
			return
		}
		_, _ = w.Write(
			[]byte(
				`{"kind":"PodList","apiVersion":"v2","metadata":{},"items":[{"metadata":{"name":"a","namespace":"shop","managedFields":[{"manager":"m"}]}},{"metadata":{"name":"other","namespace":"shop"}}]}`,
			),
		)
	}
	s.lists["/api/v2/namespaces/shop/secrets"] = func(w http.ResponseWriter, _ *http.Request) {
		status(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	}
	q := question("pods", "shop", "a", "b", "c")
	q.AddItem("secrets", "shop", "s")
	var got []string
	unseen, err := s.reader(t, time.Minute).
		FetchObjects(t.Context(), served("pods", "secrets"), q, func(string) string { return "v2" },
			func(resource string, o *unstructured.Unstructured) {
				got = append(got, fmt.Sprint(resource, o.GetName(), len(o.GetManagedFields())))
			}, nil)
	if err != nil || !slices.Equal(got, []string{"podsa1"}) || !slices.Equal(limits, []string{"250", "25"}) {
		t.Errorf("%q with limits %q, %v", got, limits, err)
	}
	if len(unseen) != 1 || unseen[0].Resource != "secrets" || unseen[0].Why != "you may not list it" {
		t.Errorf("%v", unseen)
	}
}

// TestWhoWroteLast: a status is not content, and a scale is.
func TestWhoWroteLast(t *testing.T) {
	entry := func(manager, subresource string, minute int) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(time.Date(2026, 11, 24, 12, minute, 0, 0, time.UTC))
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &at}
	}
	byVelero := entry("velero-server", "", 1)
	for name, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		"nobody":              {nil, false},
		"Velero":              {[]metav1.ManagedFieldsEntry{entry("kubectl", "", 0), byVelero}, true},
		"somebody":            {[]metav1.ManagedFieldsEntry{byVelero, entry("kubectl", "", 2)}, false},
		"a status":            {[]metav1.ManagedFieldsEntry{byVelero, entry("controller", "status", 2)}, true},
		"a scale":             {[]metav1.ManagedFieldsEntry{byVelero, entry("kubectl", "scale", 2)}, false},
		"a scale before that": {[]metav1.ManagedFieldsEntry{entry("kubectl", "scale", 0), byVelero}, true},
	} {
		if got := newObject(
			&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: c.entries}},
		); got.LastWrittenByVelero != c.want || got.WrittenByVelero != slices.ContainsFunc(
			c.entries, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == byVelero.Manager },
		) || got.FirstWritten.IsZero() != (len(c.entries) == 0) ||
			len(c.entries) > 0 && !got.FirstWritten.Equal(c.entries[0].Time.Time) &&
				!got.FirstWritten.Equal(c.entries[1].Time.Time) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
