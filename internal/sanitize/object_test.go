package sanitize

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const hostile = "a\x1b[31m\u202eb\x9b"

var tamed = String(hostile)

func hostileBackup() *veleroapi.Backup {
	return &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Name:              hostile,
			Labels:            map[string]string{hostile: hostile, "k": "v"},
			Annotations:       map[string]string{"a": hostile},
			CreationTimestamp: metav1.NewTime(time.Unix(1, 0)),
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: hostile}},
		},
		Spec: veleroapi.BackupSpec{
			IncludedNamespaces: []string{"ok", hostile},
			LabelSelector:      &metav1.LabelSelector{MatchLabels: map[string]string{hostile: hostile}},
			OrderedResources:   map[string]string{"pods": hostile},
		},
		Status: veleroapi.BackupStatus{
			Phase:            veleroapi.BackupPhase(hostile),
			FailureReason:    hostile,
			ValidationErrors: []string{hostile},
			Progress:         &veleroapi.BackupProgress{TotalItems: 7},
		},
	}
}

func TestObjectCleansEveryString(t *testing.T) {
	b := hostileBackup()
	Object(b)
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	found := 0
	eachString(tree, func(s string) {
		assertHarmless(t, s, MaxLineRunes, "")
		if s == tamed {
			found++
		}
	})
	if found != 12 {
		t.Errorf("%d of the 12 hostile strings were found again", found)
	}
	if b.Status.Progress.TotalItems != 7 || !b.CreationTimestamp.Equal(&metav1.Time{Time: time.Unix(1, 0)}) ||
		b.Labels["k"] != "v" {
		t.Error("something else than strings changed")
	}
}

func TestObjectCleansRawJSONAndInterfaces(t *testing.T) {
	type box struct {
		Any   any
		Raw   runtime.RawExtension
		Bad   runtime.RawExtension
		Bytes []byte
		Keys  map[veleroapi.BackupPhase][]string
	}
	b := &box{
		Any:   map[string]any{"x": []any{hostile}},
		Raw:   runtime.RawExtension{Raw: []byte("{\n\"a\":\"\u009b\"}")},
		Bad:   runtime.RawExtension{Raw: []byte("{\x1b")},
		Bytes: []byte("pem\r\n\x1b"),
		Keys:  map[veleroapi.BackupPhase][]string{hostile: {hostile}},
	}
	Object(b)
	want := &box{
		Any:   map[string]any{"x": []any{tamed}},
		Raw:   runtime.RawExtension{Raw: []byte("{\n\"a\":\"\\\\u009b\"}")},
		Bad:   runtime.RawExtension{Raw: []byte(`"{\\x1b"`)},
		Bytes: []byte("pem\r\n\x1b"),
		Keys:  map[veleroapi.BackupPhase][]string{veleroapi.BackupPhase(tamed): {tamed}},
	}
	if !reflect.DeepEqual(b, want) {
		t.Errorf("got %q\nwant %q", b, want)
	}
}

func TestObjectLeavesOthersAlone(t *testing.T) {
	Object(nil)
	Object(hostile)
	Object((*veleroapi.Backup)(nil))
	type ring struct {
		Name string
		Next *ring
	}
	r := &ring{Name: hostile}
	r.Next = r
	Object(r)
	if r.Name != tamed {
		t.Errorf("got %q", r.Name)
	}
}

// TestObjectKeepsTheCleanOne checks that a hostile key cannot displace a clean
// one that looks like it.
func TestObjectKeepsTheCleanOne(t *testing.T) {
	for range 50 {
		m := struct{ M map[string]string }{map[string]string{"a\x1b": "bad", `a\x1b`: "good"}}
		Object(&m)
		if len(m.M) != 1 || m.M[`a\x1b`] != "good" {
			t.Fatalf("got %q", m.M)
		}
	}
}

func eachString(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, e := range v {
			eachString(e, f)
		}
	case map[string]any:
		for k, e := range v {
			f(k)
			eachString(e, f)
		}
	}
}

func BenchmarkObjectClean(b *testing.B) {
	backup := hostileBackup()
	Object(backup)
	b.ReportAllocs()
	for b.Loop() {
		Object(backup)
	}
}
