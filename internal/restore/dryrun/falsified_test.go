package dryrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// falsify answers a request that was carried out with something else.
type falsify func(w http.ResponseWriter, stored *httptest.ResponseRecorder)

func falseStatus(code int, reason, message string) falsify {
	return func(w http.ResponseWriter, _ *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(
			w,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`,
			reason,
			code,
			message,
		)
	}
}

// falseText replaces what matches in the answer.
func falseText(pattern, replacement string) falsify {
	return func(w http.ResponseWriter, stored *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(stored.Code)
		fmt.Fprint(w, regexp.MustCompile(pattern).ReplaceAllString(stored.Body.String(), replacement))
	}
}

func falsePage(code int, text string) falsify {
	return func(w http.ResponseWriter, _ *httptest.ResponseRecorder) {
		w.WriteHeader(code)
		fmt.Fprint(w, text)
	}
}

const (
	versionIn   = `"resourceVersion":"[0-9]+",?`
	notFoundWay = "404 page not found\n"
)

// falsifyAfter carries out each dry run of a method after the first few, and falsifies the answers.
func (b *bed) falsifyAfter(t *testing.T, method string, honest int64, answer falsify) *atomic.Int64 {
	t.Helper()
	var seen atomic.Int64
	return b.behind(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		isDryRun := r.Method == method && r.URL.Query().Get("dryRun") != ""
		if !isDryRun || seen.Add(1) <= honest {
			forward.ServeHTTP(w, r)
			return
		}
		withoutDryRun(r)
		r.Header.Del("Accept-Encoding")
		carried := httptest.NewRecorder()
		forward.ServeHTTP(carried, r)
		if carried.Code >= http.StatusMultipleChoices {
			w.WriteHeader(carried.Code)
			_, _ = w.Write(carried.Body.Bytes())
			return
		}
		answer(w, carried)
	})
}

// TestFalsifiedAnswers: something in between drops dryRun and changes the answers. What was stored is read back, and
// named; and little is.
func TestFalsifiedAnswers(t *testing.T) {
	forbidden := falseStatus(http.StatusForbidden, "Forbidden", "no")
	for name, c := range map[string]struct {
		honest   int64
		answer   falsify
		rejected bool // a true rejection of the same resource comes first
		most     int  // objects that may be stored: one by each worker until the first answer has been checked
	}{
		"the version taken out":             {0, falseText(versionIn, ""), false, 1},
		"the version taken out later":       {6, falseText(versionIn, ""), false, 15},
		"another name":                      {0, falseText(`"name":"[^"]*"`, `"name":"other"`), false, 1},
		"another kind":                      {6, falseText(`"kind":"ConfigMap"`, `"kind":"Secret"`), false, workerCount},
		"no uid":                            {6, falseText(`"uid":"[^"]*",?`, ""), false, workerCount},
		"no time and no version":            {0, falseText(versionIn+`|"creationTimestamp":"[^"]*",?`, ""), false, 1},
		"403 from the start":                {0, forbidden, false, 1},
		"403 later":                         {6, forbidden, false, workerCount},
		"403 after a true rejection":        {6, forbidden, true, 20},
		"422 later":                         {6, falseStatus(http.StatusUnprocessableEntity, "Invalid", "no"), false, workerCount},
		"429 later":                         {6, falseStatus(http.StatusTooManyRequests, "TooManyRequests", "no"), false, 15},
		"a webhook that did not answer":     {6, falseStatus(http.StatusInternalServerError, "InternalError", "Internal error occurred: failed calling webhook x"), false, workerCount},
		"a path that is not served":         {6, falsePage(http.StatusNotFound, notFoundWay), false, workerCount},
		"it exists":                         {6, falseStatus(http.StatusConflict, "AlreadyExists", "it exists"), false, workerCount},
		"a namespace that is being deleted": {6, falseStatus(http.StatusNotFound, "NotFound", `namespaces "x" not found`), false, workerCount},
	} {
		t.Run(name, func(t *testing.T) {
			ns := shared.Name("false")
			b := newBed(t, ns)
			for i := range 20 {
				b.configMap(t, ns, fmt.Sprintf("c-%02d", i), "")
			}
			if c.rejected {
				b.configMap(t, ns, "a-rejected", `,"labels":{"a":"not/a/value/"}`)
			}
			b.falsifyAfter(t, http.MethodPost, c.honest, c.answer)
			b.names(t, ns)
			namesStored(t, b, ns, c.most, b.run(t))
		})
	}
}

// TestReadingHaltsThoseWhoWait: the answers of other workers wait for the reading of the first. Once they go on, nothing
// more may be sent: the dry run has been halted by then.
func TestReadingHaltsThoseWhoWait(t *testing.T) {
	const mark = "veltui-dry-run-test"
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"a","name":"b","uid":"u",`+
			`"labels":{%q:%q}}}`, veleroapi.RestoreNameLabel, mark)
	}))
	t.Cleanup(api.Close)
	sender, err := NewSender(t.Context(), Options{Config: &rest.Config{Host: api.URL}})
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{Sender: sender, markLabel: mark}
	r.ended, r.stop = context.WithCancelCause(t.Context())
	i := &item{itemKey: itemKey{"configmaps", "a", "b"}, lastRequest: sentRequest{
		resource: corev1.SchemeGroupVersion.WithResource("configmaps"), namespace: "a", name: "b", marked: true}}
	answer := apierrors.NewForbidden(corev1.Resource("configmaps"), "b", errors.New("no"))
	if e := r.corroborateAnswer(t.Context(), i, evidence{proof: notStored}, answer); e.proof != carriedOut {
		t.Errorf("%+v", e)
	}
	if !r.isHalted() {
		t.Error("the others go on, although an object was stored")
	}
}

// namesStored checks that each object that a dry run stored is named, and nothing else.
func namesStored(t *testing.T, b *bed, namespace string, most int, d *preflight.DryRun) {
	t.Helper()
	saysCarriedOut(t, d)
	stored := b.names(t, namespace)
	var named []string
	for _, o := range d.StoredObjects {
		named = append(named, o.Name)
	}
	slices.Sort(named)
	if len(stored) == 0 || len(stored) > most || !slices.Equal(stored, named) {
		t.Errorf("stored %q, named %q: %s", stored, named, d.Summary())
	}
	for _, o := range d.StoredObjects {
		if o.UID == "" || o.Kind != "ConfigMap" || !strings.Contains(o.Command, "delete configmaps "+o.Name) {
			t.Errorf("%+v", o)
		}
	}
}

// TestFalsifiedStandIn: "it exists" counts as accepted where a namespace stands in.
func TestFalsifiedStandIn(t *testing.T) {
	ns := shared.Name("false")
	b := newBed(t, ns)
	for i := range 20 {
		b.configMap(t, ns+"-new", fmt.Sprintf("c-%02d", i), "")
	}
	b.query.StandInNamespace = ns
	b.falsifyAfter(t, http.MethodPost, 6, falseStatus(http.StatusConflict, "AlreadyExists", "it exists"))
	namesStored(t, b, ns, workerCount, b.run(t))
}

// TestFalsifiedPatches: the same of patches of what exists.
func TestFalsifiedPatches(t *testing.T) {
	for name, answer := range map[string]func(version string) falsify{
		"the old version": func(version string) falsify { return falseText(versionIn, `"resourceVersion":"`+version+`",`) },
		"422":             func(string) falsify { return falseStatus(http.StatusUnprocessableEntity, "Invalid", "no") },
		"409":             func(string) falsify { return falseStatus(http.StatusConflict, "Conflict", "no") },
	} {
		t.Run(name, func(t *testing.T) {
			ns := shared.Name("false")
			b := newBed(t, ns)
			live := &corev1.ConfigMap{ObjectMeta: meta(ns, "live"), Data: map[string]string{"mine": "1"}}
			b.make(t, live)
			b.configMap(t, ns, "live", "")
			b.spec.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate
			b.falsifyAfter(t, http.MethodPatch, 0, answer(live.ResourceVersion))
			d := b.run(t)
			saysCarriedOut(t, d)
			if len(d.StoredObjects) != 1 || d.StoredObjects[0].Name != "live" || !d.StoredObjects[0].Patched {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestUnreadableReadBack: where the made-up object cannot be read back, nothing is proven, and nothing more is sent.
func TestUnreadableReadBack(t *testing.T) {
	for name, answer := range map[string]falsify{
		"403":  falseStatus(http.StatusForbidden, "Forbidden", "no"),
		"page": falsePage(http.StatusNotFound, "<html>not found</html>"),
	} {
		t.Run(name, func(t *testing.T) {
			ns := shared.Name("unread")
			b := newBed(t, ns)
			for i := range 5 {
				b.configMap(t, ns, fmt.Sprint("c-", i), "")
			}
			writes := b.behind(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "veltui-dry-run-") {
					answer(w, nil)
					return
				}
				forward.ServeHTTP(w, r)
			})
			d := b.run(t)
			if writes.Load() != 1 || d.AcceptedCount > 0 || d.CountUnproven() != 1 ||
				strings.Contains(d.Summary(), "nothing stored") {
				t.Errorf("%d writes: %s: %+v", writes.Load(), d.Summary(), d)
			}
		})
	}
}

// TestReadBackRequests: the proof costs one request for the made-up object, one for the first rejection of each resource,
// and one for each resource at the end.
func TestReadBackRequests(t *testing.T) {
	ns := shared.Name("few")
	b := newBed(t, ns)
	for i := range 20 {
		b.configMap(t, ns, fmt.Sprint("c-", i), "")
		b.configMap(t, ns, fmt.Sprint("rejected-", i), `,"labels":{"a":"not/a/value/"}`)
		b.pod(t, ns, fmt.Sprint("rejected-", i), `,"restartPolicy":"Perhaps"`)
	}
	var reads atomic.Int64
	b.behind(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "apiservices") {
			reads.Add(1)
		}
		forward.ServeHTTP(w, r)
	})
	d := b.run(t)
	if want := int64(
		1 + 2 + 2,
	); reads.Load() != want || len(d.Rejected) != 40 ||
		!strings.Contains(d.Summary(), "20 accepted, 40 rejected, nothing stored") {
		t.Errorf("%d reads, want %d: %s", reads.Load(), want, d.Summary())
	}
}
