package responder

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/store"
)

// volumeKinds are the kinds of a job's volumes.
var volumeKinds = []string{"PodVolumeBackup", "PodVolumeRestore", "DataUpload", "DataDownload"}

// carryOn takes a job from its phase to its end, a step at a time. A job that
// is in progress is left to whoever began it.
func (t *task) carryOn() {
	if phaseOf(t.object) == "InProgress" {
		return
	}
	for t.pause() && t.step() {
	}
}

// itemsAStep is how fast a job that a user created goes.
const itemsAStep = 120

// step takes the next step of a job; it is false where there is none.
func (t *task) step() bool {
	switch phaseOf(t.object) {
	case "", "New", "Queued", "ReadyToStart":
		return t.begin()
	case "InProgress":
		return t.items()
	case "WaitingForPluginOperations", "WaitingForPluginOperationsPartiallyFailed":
		return t.operations()
	case "Finalizing":
		return t.end("Completed")
	case "FinalizingPartiallyFailed":
		return t.end("PartiallyFailed")
	}
	return false
}

func (t *task) begin() bool {
	total := t.total()
	return t.edit(server, func(o *cluster.Object) bool {
		if o.GetKind() == "Backup" {
			if location, _, _ := unstructured.NestedString(o.Object, "spec", "storageLocation"); location == "" {
				_ = unstructured.SetNestedField(o.Object, "default", "spec", "storageLocation") // spec is a map
			}
		} else {
			o.SetFinalizers([]string{finalizer})
		}
		unstructured.RemoveNestedField(o.Object, "status", "queuePosition")
		setStatus(o, map[string]any{
			"phase": "InProgress", "startTimestamp": t.now(), "progress": map[string]any{"totalItems": total},
		})
		return true
	})
}

// total is how many items a job that a user created has: a restore those of its
// backup.
func (t *task) total() int64 {
	name, _, _ := unstructured.NestedString(t.object.Object, "spec", "backupName")
	for _, b := range t.Cluster.List(veleroKind("Backup"), t.object.GetNamespace()) {
		if n, _, _ := unstructured.NestedInt64(
			b.Object,
			"status",
			"progress",
			"totalItems",
		); b.GetName() == name &&
			n > 0 {
			return n
		}
	}
	return 3 * itemsAStep
}

func (t *task) items() bool {
	field := "itemsBackedUp"
	if t.object.GetKind() == "Restore" {
		field = "itemsRestored"
	}
	return t.edit(server, func(o *cluster.Object) bool {
		total, _, _ := unstructured.NestedInt64(o.Object, "status", "progress", "totalItems")
		done, _, _ := unstructured.NestedInt64(o.Object, "status", "progress", field)
		if done >= total {
			setStatus(o, map[string]any{"phase": "Finalizing"})
			return true
		}
		setStatus(
			o,
			map[string]any{"progress": map[string]any{"totalItems": total, field: min(total, done+itemsAStep)}},
		)
		return true
	})
}

// operations waits for the volumes of a job, as Velero's operation controllers
// do, and moves it on to finalizing.
func (t *task) operations() bool {
	next := "Finalizing"
	if phaseOf(t.object) != "WaitingForPluginOperations" {
		next += "PartiallyFailed"
	}
	for _, v := range t.volumes() {
		switch phaseOf(v) {
		case "Completed":
		case "Failed", "Canceled":
			next = "FinalizingPartiallyFailed"
		default:
			return true // look again
		}
	}
	return t.set(server, map[string]any{"phase": next})
}

func (t *task) end(phase string) bool {
	t.set(server, map[string]any{"phase": phase, "completionTimestamp": t.now()})
	return false
}

// volumes are the job's.
func (t *task) volumes() []*cluster.Object {
	var found []*cluster.Object
	for _, kind := range volumeKinds {
		for _, v := range t.Cluster.List(veleroKind(kind), t.object.GetNamespace()) {
			uid := string(t.object.GetUID())
			if v.GetLabels()["velero.io/backup-uid"] == uid || v.GetLabels()["velero.io/restore-uid"] == uid {
				found = append(found, v)
			}
		}
	}
	return found
}

func veleroKind(kind string) schema.GroupVersionKind {
	version := "v1"
	if kind == "DataUpload" || kind == "DataDownload" {
		version = "v2alpha1"
	}
	return schema.GroupVersionKind{Group: "velero.io", Version: version, Kind: kind}
}

// cancel ends a volume that is to be cancelled, as its node-agent does.
func (t *task) cancel() {
	asked, _, _ := unstructured.NestedBool(t.object.Object, "spec", "cancel")
	ended := slices.Contains([]string{"Completed", "Failed", "Canceled"}, phaseOf(t.object))
	if asked && !ended && t.set(agent, map[string]any{"phase": "Canceling"}) && t.pause() {
		t.set(agent, map[string]any{"phase": "Canceled", "completionTimestamp": t.now()})
	}
}

// signed is how long a URL is valid.
const signed = 10 * time.Minute

// sign answers a DownloadRequest.
func (t *task) sign() {
	kind, _, _ := unstructured.NestedString(t.object.Object, "spec", "target", "kind")
	name, _, _ := unstructured.NestedString(t.object.Object, "spec", "target", "name")
	job := "Backup"
	if strings.HasPrefix(kind, "Restore") {
		job = "Restore"
	}
	t.set(server, map[string]any{
		"phase": "Processed", "expiration": t.Clock().Add(signed).UTC().Format(time.RFC3339),
		"downloadURL": t.StoreURL + t.Store.Sign(store.Key{Job: jobOf(job, name), File: kind}),
	})
}

// finalizer is what holds a Restore until its files are deleted.
const finalizer = "restores.velero.io/external-resources-finalizer"

// release lets a job go that a user deleted.
func (t *task) release() {
	if t.pause() {
		t.edit(server, func(o *cluster.Object) bool {
			o.SetFinalizers(nil)
			return true
		})
	}
}

// deleteBackup does what a DeleteBackupRequest asks for: the backup's restores,
// its volumes and the backup itself go, and then the request.
func (t *task) deleteBackup() {
	name, _, _ := unstructured.NestedString(t.object.Object, "spec", "backupName")
	namespace := t.object.GetNamespace()
	if !t.set(server, map[string]any{"phase": "InProgress"}) {
		return
	}
	for _, b := range t.Cluster.List(veleroKind("Backup"), namespace) {
		if b.GetName() != name {
			continue
		}
		backup := &task{Responder: t.Responder, object: b}
		backup.set(server, map[string]any{"phase": "Deleting"})
		if !t.pause() {
			return
		}
		for _, restore := range t.Cluster.List(veleroKind("Restore"), namespace) {
			if of, _, _ := unstructured.NestedString(restore.Object, "spec", "backupName"); of == name {
				t.erase(restore)
			}
		}
		for _, v := range backup.volumes() {
			t.erase(v)
		}
		t.erase(b)
	}
	t.erase(t.object)
}

// erase deletes an object whatever holds it; one that is gone is what is wanted.
func (t *task) erase(o *cluster.Object) {
	other := &task{Responder: t.Responder, object: o}
	other.edit(server, func(o *cluster.Object) bool {
		o.SetFinalizers(nil)
		return true
	})
	_ = t.Cluster.Delete(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), server)
}
