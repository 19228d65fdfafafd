package replay

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/testbed"
)

func TestLoad(t *testing.T) {
	recordings, err := Load("testdata", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range recordings {
		got[filepath.Base(r.Name)] = len(r.Events)
	}
	// s1 has three snapshots, two of which are the same state.
	want := map[string]int{"a2-async": 10, "r17-errors-quota": 7, "s1": 2, "s3": 2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	if _, err := Load("testdata/nowhere", time.Second); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder gives %v", err)
	}
	if _, err := Load(t.TempDir(), time.Second); err == nil {
		t.Error("an empty folder gives no error")
	}
}

func TestLoadNamesTheBadLine(t *testing.T) {
	good := `{"t":1.5,"type":"ADDED","object":{"apiVersion":"velero.io/v1","kind":"Restore","metadata":{"name":"r","namespace":"velero"}}}`
	for name, bad := range map[string]string{
		"no JSON":   `{"t":1,"type"`,
		"no type":   `{"t":1,"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}}`,
		"no time":   strings.Replace(good, "1.5", `"x"`, 1),
		"no name":   strings.Replace(good, `"name":"r",`, "", 1),
		"no object": `{"t":1,"type":"ADDED"}`,
	} {
		file := filepath.Join(t.TempDir(), recordingFile)
		if err := os.WriteFile(file, []byte(good+"\n\n"+bad+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(filepath.Dir(file), time.Second); err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %v, want an error that names line 3", name, err)
		}
	}
}

func TestTimeline(t *testing.T) {
	from := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	began := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	l := timeline{from: from, to: from.Add(time.Minute), began: began, speed: 10}
	for after, want := range map[time.Duration]time.Duration{
		0: 0, 30 * time.Second: 3 * time.Second, time.Minute: 6 * time.Second,
		-time.Hour:                  -time.Hour,
		time.Minute + 720*time.Hour: 6*time.Second + 720*time.Hour,
	} {
		if got := l.at(from.Add(after)).Sub(began); got != want {
			t.Errorf("%s after the start comes %s after it, want %s", after, got, want)
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "2026-11-20T00:00:30Z"},
		"status": map[string]any{
			"startTimestamp": "2026-11-20T00:00:30Z", "failureReason": "no time", "progress": map[string]any{"totalItems": int64(3)},
			"list": []any{map[string]any{"at": "2026-11-20T00:01:00Z"}},
		},
	}}
	l.shift(u)
	want := map[string]any{
		"metadata": map[string]any{"name": "2026-11-20T00:00:30Z"},
		"status": map[string]any{
			"startTimestamp": "2027-01-01T00:00:03Z", "failureReason": "no time", "progress": map[string]any{"totalItems": int64(3)},
			"list": []any{map[string]any{"at": "2027-01-01T00:00:06Z"}},
		},
	}
	if !reflect.DeepEqual(u.Object, want) {
		t.Errorf("shifted to %v, want %v", u.Object, want)
	}
}

// TestPlay holds what a watch of the API server sees against the recordings,
// event by event.
func TestPlay(t *testing.T) {
	plane := testbed.ForTest(t, testbed.Options{})
	api, err := client.NewWithWatch(plane.Config(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := Load("testdata", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("velero.io/v1")
	list.SetKind("RestoreList")
	watcher, err := api.Watch(t.Context(), list, client.InNamespace("velero"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	events := 0
	for _, r := range recordings {
		events += len(r.Events)
	}
	written, err := Play(t.Context(), api, recordings, Options{Speed: 100, KeepTimes: true})
	if err != nil {
		t.Fatal(err)
	}
	if written != events {
		t.Errorf("wrote %d events, want %d", written, events)
	}
	got := collect(t, watcher.ResultChan(), events)
	for _, r := range recordings {
		name := r.Events[0].Object.GetName()
		if len(got[name]) != len(r.Events) {
			t.Errorf("%s: the watch saw %d events, want %d", name, len(got[name]), len(r.Events))
			continue
		}
		for n, event := range r.Events {
			if seen := got[name][n]; seen.Type != event.Type {
				t.Errorf("%s, event %d: %s, want %s", name, n+1, seen.Type, event.Type)
			} else if a, b := essence(t, seen.Object.(*unstructured.Unstructured)), essence(t, event.Object); a != b {
				t.Errorf("%s, event %d:\n%s\nwant\n%s", name, n+1, a, b)
			}
		}
	}
}

// collect reads events until there are as many as expected, by object.
func collect(t *testing.T, events <-chan watch.Event, n int) map[string][]watch.Event {
	t.Helper()
	got := map[string][]watch.Event{}
	limit := time.After(time.Minute)
	for range n {
		select {
		case event := <-events:
			name := event.Object.(*unstructured.Unstructured).GetName()
			got[name] = append(got[name], event)
		case <-limit:
			t.Fatalf("waited a minute for %d events", n)
		}
	}
	return got
}

// essence is what a replay promises to keep. Of a deletion time stamp only
// that there is one.
func essence(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"name": u.GetName(), "labels": u.GetLabels(), "annotations": u.GetAnnotations(), "finalizers": u.GetFinalizers(),
		"spec": u.Object["spec"], "status": u.Object["status"], "deleting": u.GetDeletionTimestamp() != nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// restore is a recorded state of a Restore.
func restore(name, uid, phase string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "velero.io/v1", "kind": "Restore",
		"metadata": map[string]any{"namespace": "velero", "name": name, "uid": uid, "resourceVersion": "7"},
		"spec":     map[string]any{"backupName": "b"},
	}}
	if phase != "" {
		u.Object["status"] = map[string]any{"phase": phase}
	}
	for _, c := range change {
		c(u)
	}
	return u
}

// TestPlayDeletions plays what an interrupted watch, deletions and a name that
// is used again look like.
func TestPlayDeletions(t *testing.T) {
	plane := testbed.ForTest(t, testbed.Options{})
	api, err := client.New(plane.Config(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	held := func(u *unstructured.Unstructured) {
		u.SetFinalizers([]string{"restores.velero.io/external-resources-finalizer"})
	}
	dying := func(u *unstructured.Unstructured) {
		now := metav1.Now()
		u.SetDeletionTimestamp(&now)
	}
	var states []string
	r := Recording{Name: "made up", Events: []Event{
		{Type: watch.Added, Object: restore("r", "one", "InProgress", held)},
		{Type: watch.Added, Object: restore("r", "one", "Finalizing", held)}, // the watch began again
		{Type: watch.Modified, Object: restore("r", "one", "Finalizing", held, dying)},
		{Type: watch.Modified, Object: restore("r", "one", "Finalizing", dying)},
		{Type: watch.Deleted, Object: restore("r", "one", "Finalizing", dying)},
		{Type: watch.Added, Object: restore("r", "two", "", held)},
		{Type: watch.Added, Object: restore("r", "three", "Completed", held)}, // its deletion was missed
		{Type: watch.Deleted, Object: restore("r", "three", "Completed", held)},
	}}
	_, err = Play(t.Context(), api, []Recording{r}, Options{Written: func(Recording, int) {
		u := restore("r", "", "")
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			states = append(states, "gone")
			return
		}
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		if u.GetDeletionTimestamp() != nil {
			phase += " deleting"
		}
		states = append(states, phase)
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"InProgress", "Finalizing", "Finalizing deleting", "gone", "gone", "", "Completed", "gone"}
	if !reflect.DeepEqual(states, want) {
		t.Errorf("the restore went through %q, want %q", states, want)
	}
}

// TestPlayOutlivesTheAPIServer kills the API server in the middle of a replay.
func TestPlayOutlivesTheAPIServer(t *testing.T) {
	plane := testbed.ForTest(t, testbed.Options{})
	api, err := client.New(plane.Config(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := Load("testdata/restores/a2-async", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	back := make(chan error, 1)
	_, err = Play(t.Context(), api, recordings, Options{Speed: 100, Written: func(_ Recording, n int) {
		if n == 4 {
			if err := plane.KillAPIServer(); err != nil {
				t.Error(err)
			}
			go func() { back <- plane.StartAPIServer(context.WithoutCancel(t.Context())) }()
		}
	}})
	if err := errors.Join(err, <-back); err != nil {
		t.Fatal(err)
	}
	u := restore("a2-async", "", "")
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != "Completed" {
		t.Errorf("ended as %q, want Completed", phase)
	}
}
