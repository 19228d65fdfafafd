package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

var tester = Author{FieldManager: "tester"}

func backup(name string) *Object {
	o := &Object{Object: map[string]any{"apiVersion": "velero.io/v1", "kind": "Backup"}}
	o.SetName(name)
	o.SetNamespace("velero")
	return o
}

// TestOldVersionsExpire: what was dropped cannot be resumed, and what was kept
// comes whole, however slow the reader is.
func TestOldVersionsExpire(t *testing.T) {
	c := New(time.Now)
	if _, err := c.CreateObject(backup("first"), tester); err != nil {
		t.Fatal(err)
	}
	old := c.version
	for n := range maxChanges {
		if _, err := c.CreateObject(backup(fmt.Sprint("b", n)), tester); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.changesSince(old - 1); !errors.Is(err, errExpired) {
		t.Errorf("a version from before what is kept: %v", err)
	}
	kept, _, err := c.changesSince(c.changes.droppedVersion)
	if err != nil || uint64(len(kept)) != c.version-c.changes.droppedVersion {
		t.Errorf("%d changes and %v, want %d", len(kept), err, c.version-c.changes.droppedVersion)
	}
	if list, _, err := c.changesSince(c.version); err != nil || len(list) != 0 {
		t.Errorf("after the newest: %d changes, %v", len(list), err)
	}
}

// TestEventsFollowTheSelection: an object that no longer is what a watch
// selects is gone for it.
func TestEventsFollowTheSelection(t *testing.T) {
	labelled := backup("b")
	labelled.SetLabels(map[string]string{"mine": "yes"})
	mine := func(o *Object) bool { return o.GetLabels()["mine"] == "yes" }
	for _, c := range []struct {
		old, now *Object
		want     watch.EventType
		seen     bool
	}{
		{nil, labelled, watch.Added, true},
		{labelled, labelled, watch.Modified, true},
		{backup("b"), labelled, watch.Added, true},
		{labelled, backup("b"), watch.Deleted, true},
		{labelled, nil, watch.Deleted, true},
		{nil, backup("b"), "", false},
		{backup("b"), backup("b"), "", false},
	} {
		got, _, seen := versionedChange{Change: Change{Old: c.old, New: c.now}}.watchEvent(mine)
		if got != c.want || seen != c.seen {
			t.Errorf("from %v to %v: %s %t, want %s %t", c.old != nil, c.now != nil, got, seen, c.want, c.seen)
		}
	}
}

// TestPutKeepsWhatIsWritten: an object that is loaded is not touched, and what
// changes afterwards has a newer version.
func TestPutKeepsWhatIsWritten(t *testing.T) {
	c := New(time.Now)
	o := backup("b")
	o.SetResourceVersion("88412")
	o.SetUID("written")
	if err := c.PutObject(o); err != nil {
		t.Fatal(err)
	}
	got := c.ListObjects(o.GroupVersionKind(), "velero")[0]
	if got.GetResourceVersion() != "88412" || got.GetUID() != "written" || got.GetManagedFields() != nil {
		t.Errorf("it is served as %v", got.Object)
	}
	after, err := c.EditObject(o.GroupVersionKind(), "velero", "b", tester, func(o *Object) bool {
		o.SetLabels(map[string]string{"a": "b"})
		return true
	})
	if err != nil || after.GetResourceVersion() != "88413" {
		t.Errorf("after a change its version is %s, %v", after.GetResourceVersion(), err)
	}
}
