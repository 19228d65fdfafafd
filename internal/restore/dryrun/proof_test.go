package dryrun

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// behind puts a proxy in front of the API server of a bed, and counts the writes that arrive there.
func (b *bed) behind(
	t *testing.T,
	answer func(w http.ResponseWriter, r *http.Request, forward http.Handler),
) *atomic.Int64 {
	t.Helper()
	forward, err := testbed.NewProxy(b.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "selfsubject") {
			writes.Add(1)
		}
		answer(w, r, forward)
	}))
	t.Cleanup(s.Close)
	b.config = testbed.ServerConfig(s)
	return &writes
}

// withoutDryRun drops what makes a request a dry run.
func withoutDryRun(r *http.Request) {
	q := r.URL.Query()
	q.Del("dryRun")
	r.URL.RawQuery = q.Encode()
}

// isOf reports whether the body of a request is an object of a name.
func isOf(r *http.Request, name string) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte(`"name":"`+name+`"`))
}

// names returns the ConfigMaps of a namespace.
func (b *bed) names(t *testing.T, namespace string) (names []string) {
	t.Helper()
	var list corev1.ConfigMapList
	if err := b.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		names = append(names, o.Name)
	}
	return names
}

func saysCarriedOut(t *testing.T, d *preflight.DryRun) {
	t.Helper()
	if text := d.Summary(); !strings.Contains(text, "CARRIED OUT") || strings.Contains(text, "nothing stored") ||
		strings.Contains(text, "accepted") {
		t.Error(text)
	}
}

// TestDroppedDryRun: where something in between drops dryRun, one made-up ConfigMap is stored and named, and none of the
// restore's objects is sent.
func TestDroppedDryRun(t *testing.T) {
	ns := shared.Name("dropped")
	b := newBed(t, ns)
	for i := range 20 {
		b.configMap(t, ns, fmt.Sprint("c-", i), "")
	}
	b.pod(t, ns, "p", "")
	writes := b.behind(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		withoutDryRun(r)
		forward.ServeHTTP(w, r)
	})
	d := b.run(t)
	saysCarriedOut(t, d)
	if names := b.names(
		t,
		ns,
	); writes.Load() != 1 || len(names) != 1 || len(d.StoredObjects) != 1 || d.StoredObjects[0].Name != names[0] || d.StoredObjects[0].Namespace != ns ||
		d.SentCount != 0 {
		t.Fatalf("%d writes, stored %q: %+v", writes.Load(), names, d)
	}
	if want := "kubectl -n " + ns + " delete configmaps " + d.StoredObjects[0].Name; d.StoredObjects[0].Command != want {
		t.Errorf("%s, want %s", d.StoredObjects[0].Command, want)
	}
}

// TestDroppedDryRunOfAPatch: a live object that was patched is named, with the patch that puts it back.
func TestDroppedDryRunOfAPatch(t *testing.T) {
	ns := shared.Name("patched")
	b := newBed(t, ns)
	live := &corev1.ConfigMap{ObjectMeta: meta(ns, "live"), Data: map[string]string{"mine": "1"}}
	b.make(t, live)
	b.configMap(t, ns, "live", "")
	b.spec.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate
	b.behind(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method == http.MethodPatch {
			withoutDryRun(r)
		}
		forward.ServeHTTP(w, r)
	})
	d := b.run(t)
	saysCarriedOut(t, d)
	if len(d.StoredObjects) != 1 || !d.StoredObjects[0].Patched || d.StoredObjects[0].Name != "live" {
		t.Fatalf("%+v", d)
	}
	var now corev1.ConfigMap
	if err := b.Get(t.Context(), clientKey(ns, "live"), &now); err != nil || now.Data["a"] != "b" {
		t.Fatalf("%v, it holds %v", err, now.Data)
	}
	_, patch, found := strings.Cut(d.StoredObjects[0].Command, "patch configmaps live --type=merge -p '")
	if !found {
		t.Fatal(d.StoredObjects[0].Command)
	}
	if err := b.Patch(
		t.Context(),
		&now,
		client.RawPatch(types.MergePatchType, []byte(strings.TrimSuffix(patch, "'"))),
	); err != nil {
		t.Fatal(err)
	}
	if len(now.Data) != 1 || now.Data["mine"] != "1" || len(now.Labels) > 0 {
		t.Errorf("put back it holds %v, labels %v", now.Data, now.Labels)
	}
}

// TestMovedByAnotherHand: an object that somebody else changes during its dry run was not carried out by veltui.
func TestMovedByAnotherHand(t *testing.T) {
	ns := shared.Name("moved")
	b := newBed(t, ns)
	live := &corev1.ConfigMap{ObjectMeta: meta(ns, "live"), Data: map[string]string{"mine": "1"}}
	b.make(t, live)
	b.configMap(t, ns, "live", "")
	b.spec.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate
	b.behind(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method == http.MethodPatch {
			live.Data["mine"] += "1"
			if err := b.Update(r.Context(), live); err != nil {
				t.Error(err)
			}
		}
		forward.ServeHTTP(w, r)
	})
	d := b.run(t)
	if len(d.StoredObjects) > 0 || d.CountUnproven() != 1 ||
		!strings.Contains(fmt.Sprint(d.NotProven), "somebody else changed") ||
		strings.Contains(d.Summary(), "nothing stored") {
		t.Errorf("%s: %+v", d.Summary(), d)
	}
}

// TestLostAnswers: an object of which the answer is lost is read back. One that bears the mark of the dry run was
// carried out; of one that is not there nothing is proven.
func TestLostAnswers(t *testing.T) {
	for name, drops := range map[string]bool{"carried out": true, "not there": false} {
		t.Run(name, func(t *testing.T) {
			ns := shared.Name("lost")
			b := newBed(t, ns)
			b.configMap(t, ns, "a", "")
			b.configMap(t, ns, "lost", "")
			b.behind(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				if r.Method == http.MethodPost && isOf(r, "lost") {
					if drops {
						withoutDryRun(r)
						forward.ServeHTTP(httptest.NewRecorder(), r)
					}
					panic(http.ErrAbortHandler)
				}
				forward.ServeHTTP(w, r)
			})
			d := b.run(t)
			if drops {
				saysCarriedOut(t, d)
				if len(d.StoredObjects) != 1 || d.StoredObjects[0].Name != "lost" ||
					!strings.Contains(d.StoredObjects[0].Why, "mark") {
					t.Errorf("%+v", d)
				}
				return
			}
			if len(d.StoredObjects) > 0 || d.CountUnproven() != 1 ||
				!strings.Contains(fmt.Sprint(d.NotProven), "it was not there afterwards") ||
				strings.Contains(d.Summary(), "nothing stored") ||
				!strings.Contains(d.Summary(), "not proven of 1") {
				t.Errorf("%s: %+v", d.Summary(), d)
			}
		})
	}
}

// TestAnswersThatAreNotTheObject prove nothing, and keep the rest from being sent.
func TestAnswersThatAreNotTheObject(t *testing.T) {
	for name, answer := range map[string]string{
		"a page":   `<html>signed in</html>`,
		"a Table":  `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`,
		"a Status": `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		"nothing":  ``,
		"no uid":   `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"NS","name":"NAME"}}`,
		"a list":   `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`,
		"another":  `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"NS","name":"other","uid":"u"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			ns := shared.Name("odd")
			b := newBed(t, ns)
			for i := range 5 {
				b.configMap(t, ns, fmt.Sprint("c-", i), "")
			}
			writes := b.behind(t, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				if r.Method != http.MethodPost || strings.Contains(r.URL.Path, "selfsubject") {
					forward.ServeHTTP(w, r)
					return
				}
				w.WriteHeader(http.StatusCreated)
				fmt.Fprint(w, strings.ReplaceAll(answer, "NS", ns))
			})
			d := b.run(t)
			if writes.Load() != 1 || d.AcceptedCount > 0 || d.SentCount > 0 || d.CountUnproven() != 1 ||
				strings.Contains(d.Summary(), "nothing stored") ||
				strings.Contains(d.Summary(), "accepted") {
				t.Errorf("%d writes: %s: %+v", writes.Load(), d.Summary(), d)
			}
		})
	}
}
