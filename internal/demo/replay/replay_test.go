package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/veltui/veltui/internal/demo/cluster"
)

var restoreKind = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Restore"}

func TestLoad(t *testing.T) {
	recordings, err := Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range recordings {
		got[path.Base(r.Name)] = len(r.Events)
	}
	if want := map[string]int{"a2-async": 10, "r17-errors-quota": 7}; !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	for _, dir := range []string{"testdata/nowhere", t.TempDir()} {
		if _, err := Load(os.DirFS(dir)); err == nil {
			t.Errorf("%s holds no recording, and gives no error", dir)
		}
	}
}

const goodLine = `{"t":1.5,"type":"ADDED","object":{"apiVersion":"velero.io/v1","kind":"Restore","metadata":{"name":"r","namespace":"velero"}}}`

func TestLoadReadsCompressedRecordings(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(goodLine)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{"a/watch.jsonl.gz": {Data: packed.Bytes()}, "a/other.jsonl": {Data: []byte("no recording")}}
	recordings, err := Load(tree)
	if err != nil || len(recordings) != 1 || recordings[0].Events[0].At.UnixMilli() != 1500 {
		t.Errorf("%+v, %v", recordings, err)
	}
	tree["a/watch.jsonl.gz"].Data = []byte("not compressed")
	if _, err := Load(tree); err == nil || !strings.Contains(err.Error(), "a/watch.jsonl.gz") {
		t.Errorf("%v does not name the file", err)
	}
}

func TestLoadNamesTheBadLine(t *testing.T) {
	for name, bad := range map[string]string{
		"no JSON":   `{"t":1,"type"`,
		"no type":   `{"t":1,"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}}`,
		"no time":   strings.Replace(goodLine, "1.5", `"x"`, 1),
		"no name":   strings.Replace(goodLine, `"name":"r",`, "", 1),
		"no kind":   strings.Replace(goodLine, `"kind":"Restore",`, "", 1),
		"no object": `{"t":1,"type":"ADDED"}`,
	} {
		tree := fstest.MapFS{"watch.jsonl": {Data: []byte(goodLine + "\n\n" + bad + "\n")}}
		if _, err := Load(tree); err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %v, want an error that names line 3", name, err)
		}
	}
}

func TestTimeline(t *testing.T) {
	from := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	began := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	l := timeline{recordedFrom: from, recordedTo: from.Add(time.Minute), replayStart: began, speed: 10, shiftNameTimes: true}
	for after, want := range map[time.Duration]time.Duration{
		0: 0, 30 * time.Second: 3 * time.Second, time.Minute: 6 * time.Second,
		-time.Hour:                  -time.Hour,
		time.Minute + 720*time.Hour: 6*time.Second + 720*time.Hour,
	} {
		if got := l.replayTime(from.Add(after)).Sub(began); got != want {
			t.Errorf("%s after the start comes %s after it, want %s", after, got, want)
		}
	}
	for text, want := range map[string]string{
		"2026-11-20T00:00:30Z":             "2027-01-01T00:00:03Z",
		"nightly-20261120000030":           "nightly-20270101000003",
		"nightly-20261120000030-7kx2p":     "nightly-20270101000003-7kx2p",
		"a20261120000030 12345678901234":   "a20261120000030 12345678901234",
		"20269920000030 is no time at all": "20269920000030 is no time at all",
	} {
		if got := l.remapText(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	l.shiftNameTimes = false
	if got := l.remapText("nightly-20261120000030"); got != "nightly-20261120000030" {
		t.Errorf("a name that is to be kept becomes %s", got)
	}
}

// TestPlay holds what the cluster goes through against a recording, event by
// event.
func TestPlay(t *testing.T) {
	recordings, err := Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(time.Now)
	var seen []cluster.Change
	c.SetObserver(func(change cluster.Change) { seen = append(seen, change) })
	r := recordings[0]
	began := time.Now()
	if err := Play(t.Context(), c, r, Options{Speed: 1000}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(r.Events) {
		t.Fatalf("the cluster went through %d changes, want %d", len(seen), len(r.Events))
	}
	for n, e := range r.Events {
		got, want := seen[n].New, e.Object
		for _, field := range [][]string{{"spec"}, {"status", "phase"}, {"status", "progress"}, {"metadata", "finalizers"}, {"metadata", "name"}} {
			a, _, _ := unstructured.NestedFieldNoCopy(got.Object, field...)
			b, _, _ := unstructured.NestedFieldNoCopy(want.Object, field...)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("event %d: %v is %v, want %v", n+1, field, a, b)
			}
		}
		if got.GetUID() == want.GetUID() || got.GetUID() != seen[0].New.GetUID() {
			t.Errorf("event %d: the uid is %s", n+1, got.GetUID())
		}
	}
	last := seen[len(seen)-1].New
	text, _, _ := unstructured.NestedString(last.Object, "status", "startTimestamp")
	if started, err := time.Parse(time.RFC3339, text); err != nil || began.Sub(started).Abs() > time.Minute {
		t.Errorf("it started at %s, and was played at %s", text, began)
	}
	for _, f := range last.GetManagedFields() {
		if f.Manager == "velero-server" && time.Since(f.Time.Time).Abs() < time.Minute {
			return
		}
	}
	t.Errorf("nobody is said to have written it just now: %v", last.GetManagedFields())
}

// restore is a recorded state of a Restore.
func restore(uid, phase string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "velero.io/v1", "kind": "Restore",
		"metadata": map[string]any{"namespace": "velero", "name": "r", "uid": uid, "resourceVersion": "7"},
		"spec":     map[string]any{"backupName": "b"},
		"status":   map[string]any{"phase": phase},
	}}
	for _, c := range change {
		c(u)
	}
	return u
}

func held(u *unstructured.Unstructured) {
	u.SetFinalizers([]string{"restores.velero.io/external-resources-finalizer"})
}

func dying(u *unstructured.Unstructured) {
	now := metav1.Now()
	u.SetDeletionTimestamp(&now)
}

// TestPlayDeletions plays what an interrupted watch, deletions and a name that
// is used again look like.
func TestPlayDeletions(t *testing.T) {
	c := cluster.New(time.Now)
	for n, step := range []struct {
		events []Event
		want   string
	}{
		{[]Event{{Type: watch.Added, Object: restore("one", "InProgress", held)}}, "InProgress"},
		{[]Event{{Type: watch.Added, Object: restore("one", "InProgress", held)}, {Type: watch.Added, Object: restore("one", "Finalizing", held)}}, "Finalizing"},
		{[]Event{{Type: watch.Added, Object: restore("one", "", held)}, {Type: watch.Modified, Object: restore("one", "Finalizing", held, dying)}}, "Finalizing deleting"},
		{[]Event{{Type: watch.Added, Object: restore("one", "", held)}, {Type: watch.Modified, Object: restore("one", "", held, dying)}, {Type: watch.Modified, Object: restore("one", "", dying)}}, "gone"},
		{[]Event{{Type: watch.Added, Object: restore("two", "", held)}, {Type: watch.Added, Object: restore("three", "Completed", held)}}, "Completed"},
		{[]Event{{Type: watch.Added, Object: restore("three", "", held)}, {Type: watch.Deleted, Object: restore("three", "", held)}}, "gone"},
	} {
		if err := Play(t.Context(), c, Recording{Name: "made up", Events: step.events}, Options{}); err != nil {
			t.Fatal(err)
		}
		got := "gone"
		for _, u := range c.ListObjects(restoreKind, "velero") {
			if got, _, _ = unstructured.NestedString(u.Object, "status", "phase"); u.GetDeletionTimestamp() != nil {
				got += " deleting"
			}
		}
		if got != step.want {
			t.Errorf("step %d: the restore is %q, want %q", n+1, got, step.want)
		}
	}
}

// TestPlayTranslatesUIDs: labels and owners name the new uids.
func TestPlayTranslatesUIDs(t *testing.T) {
	c := cluster.New(time.Now)
	pvr := restore("volume", "", func(u *unstructured.Unstructured) {
		u.SetKind("PodVolumeRestore")
		u.SetLabels(map[string]string{"velero.io/restore-uid": "recorded-uid-1"})
	})
	events := []Event{{Type: watch.Added, Object: restore("recorded-uid-1", "")}, {Type: watch.Added, Object: pvr}}
	if err := Play(t.Context(), c, Recording{Events: events}, Options{}); err != nil {
		t.Fatal(err)
	}
	want := string(c.ListObjects(restoreKind, "")[0].GetUID())
	got := c.ListObjects(schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "PodVolumeRestore"}, "")[0].GetLabels()
	if got["velero.io/restore-uid"] != want || want == "recorded-uid-1" {
		t.Errorf("the volume is labelled %v, and the restore's uid is %s", got, want)
	}
}

func TestPlayEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	events := []Event{{Type: watch.Added, Object: restore("one", "")}}
	if err := Play(ctx, cluster.New(time.Now), Recording{Events: events}, Options{}); err == nil {
		t.Error("it went on")
	}
}

// TestPlaySkips: what lies before the start is there at once, with its times.
func TestPlaySkips(t *testing.T) {
	c := cluster.New(time.Now)
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	events := []Event{
		{At: at, Type: watch.Added, Object: restore("one", "InProgress")},
		{At: at.Add(time.Hour), Type: watch.Modified, Object: restore("one", "Completed")},
	}
	if err := Play(t.Context(), c, Recording{Events: events}, Options{Skip: 2 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	r := c.ListObjects(restoreKind, "")[0]
	if age := time.Since(r.GetCreationTimestamp().Time).Round(time.Minute); age != 2*time.Hour {
		t.Errorf("it is %s old, want 2 hours", age)
	}
}
