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

// runJob takes a job from its current phase to its end, step by step. A job in progress is left to whoever started
// it.
func (t *task) runJob() {
	if phaseOf(t.object) == "InProgress" {
		return
	}
	for t.waitStep() && t.runStep() {
	}
}

// itemsPerStep is the speed of a job that a user created.
const itemsPerStep = 120

// runStep takes the next step of a job. It is false if there is none.
func (t *task) runStep() bool {
	switch phaseOf(t.object) {
	case "", "New", "Queued", "ReadyToStart":
		return t.startJob()
	case "InProgress":
		return t.processItems()
	case "WaitingForPluginOperations", "WaitingForPluginOperationsPartiallyFailed":
		return t.awaitVolumes()
	case "Finalizing":
		return t.endJob("Completed")
	case "FinalizingPartiallyFailed":
		return t.endJob("PartiallyFailed")
	}
	return false
}

func (t *task) startJob() bool {
	total := t.itemTotal()
	return t.editObject(serverAuthor, func(o *cluster.Object) bool {
		if o.GetKind() == "Backup" {
			if location, _, _ := unstructured.NestedString(o.Object, "spec", "storageLocation"); location == "" {
				_ = unstructured.SetNestedField(o.Object, "default", "spec", "storageLocation") // spec is a map
			}
		} else {
			o.SetFinalizers([]string{restoreFinalizer})
		}
		unstructured.RemoveNestedField(o.Object, "status", "queuePosition")
		setStatus(o, map[string]any{
			"phase": "InProgress", "startTimestamp": t.formatNow(), "progress": map[string]any{"totalItems": total},
		})
		return true
	})
}

// itemTotal returns how many items a job that a user created has: for a restore, as many as its backup.
func (t *task) itemTotal() int64 {
	name, _, _ := unstructured.NestedString(t.object.Object, "spec", "backupName")
	for _, b := range t.Cluster.ListObjects(veleroGVK("Backup"), t.object.GetNamespace()) {
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
	return 3 * itemsPerStep
}

func (t *task) processItems() bool {
	field := "itemsBackedUp"
	if t.object.GetKind() == "Restore" {
		field = "itemsRestored"
	}
	return t.editObject(serverAuthor, func(o *cluster.Object) bool {
		total, _, _ := unstructured.NestedInt64(o.Object, "status", "progress", "totalItems")
		done, _, _ := unstructured.NestedInt64(o.Object, "status", "progress", field)
		if done >= total {
			setStatus(o, map[string]any{"phase": "Finalizing"})
			return true
		}
		setStatus(
			o,
			map[string]any{"progress": map[string]any{"totalItems": total, field: min(total, done+itemsPerStep)}},
		)
		return true
	})
}

// awaitVolumes waits for the volumes of a job, as Velero's operation controllers do, and then moves the job on to
// finalizing.
func (t *task) awaitVolumes() bool {
	next := "Finalizing"
	if phaseOf(t.object) != "WaitingForPluginOperations" {
		next += "PartiallyFailed"
	}
	for _, v := range t.jobVolumes() {
		switch phaseOf(v) {
		case "Completed":
		case "Failed", "Canceled":
			next = "FinalizingPartiallyFailed"
		default:
			return true // check again
		}
	}
	return t.updateStatus(serverAuthor, map[string]any{"phase": next})
}

func (t *task) endJob(phase string) bool {
	t.updateStatus(serverAuthor, map[string]any{"phase": phase, "completionTimestamp": t.formatNow()})
	return false
}

// jobVolumes returns the job's volumes.
func (t *task) jobVolumes() []*cluster.Object {
	var found []*cluster.Object
	for _, kind := range volumeKinds {
		for _, v := range t.Cluster.ListObjects(veleroGVK(kind), t.object.GetNamespace()) {
			uid := string(t.object.GetUID())
			if v.GetLabels()["velero.io/backup-uid"] == uid || v.GetLabels()["velero.io/restore-uid"] == uid {
				found = append(found, v)
			}
		}
	}
	return found
}

func veleroGVK(kind string) schema.GroupVersionKind {
	version := "v1"
	if kind == "DataUpload" || kind == "DataDownload" {
		version = "v2alpha1"
	}
	return schema.GroupVersionKind{Group: "velero.io", Version: version, Kind: kind}
}

// cancelVolume cancels a volume on request, as its node-agent does.
func (t *task) cancelVolume() {
	asked, _, _ := unstructured.NestedBool(t.object.Object, "spec", "cancel")
	ended := slices.Contains([]string{"Completed", "Failed", "Canceled"}, phaseOf(t.object))
	if asked && !ended && t.updateStatus(agentAuthor, map[string]any{"phase": "Canceling"}) && t.waitStep() {
		t.updateStatus(agentAuthor, map[string]any{"phase": "Canceled", "completionTimestamp": t.formatNow()})
	}
}

// urlLifetime is how long a URL is valid.
const urlLifetime = 10 * time.Minute

// signDownload answers a DownloadRequest.
func (t *task) signDownload() {
	kind, _, _ := unstructured.NestedString(t.object.Object, "spec", "target", "kind")
	name, _, _ := unstructured.NestedString(t.object.Object, "spec", "target", "name")
	job := "Backup"
	if strings.HasPrefix(kind, "Restore") {
		job = "Restore"
	}
	t.updateStatus(serverAuthor, map[string]any{
		"phase": "Processed", "expiration": t.Clock().Add(urlLifetime).UTC().Format(time.RFC3339),
		"downloadURL": t.StoreURL + t.Store.SignURL(store.FileKey{Job: jobKey(job, name), File: kind}),
	})
}

// restoreFinalizer keeps a Restore until its files are deleted.
const restoreFinalizer = "restores.velero.io/external-resources-finalizer"

// removeFinalizers releases a job that a user deleted.
func (t *task) removeFinalizers() {
	if t.waitStep() {
		t.editObject(serverAuthor, func(o *cluster.Object) bool {
			o.SetFinalizers(nil)
			return true
		})
	}
}

// deleteBackup carries out a DeleteBackupRequest: it deletes the backup's restores, its volumes and the backup
// itself, and then the request.
func (t *task) deleteBackup() {
	name, _, _ := unstructured.NestedString(t.object.Object, "spec", "backupName")
	namespace := t.object.GetNamespace()
	if !t.updateStatus(serverAuthor, map[string]any{"phase": "InProgress"}) {
		return
	}
	for _, b := range t.Cluster.ListObjects(veleroGVK("Backup"), namespace) {
		if b.GetName() != name {
			continue
		}
		backup := &task{Responder: t.Responder, object: b}
		backup.updateStatus(serverAuthor, map[string]any{"phase": "Deleting"})
		if !t.waitStep() {
			return
		}
		for _, restore := range t.Cluster.ListObjects(veleroGVK("Restore"), namespace) {
			if of, _, _ := unstructured.NestedString(restore.Object, "spec", "backupName"); of == name {
				t.forceDelete(restore)
			}
		}
		for _, v := range backup.jobVolumes() {
			t.forceDelete(v)
		}
		t.forceDelete(b)
	}
	t.forceDelete(t.object)
}

// forceDelete deletes an object despite its finalizers. An object that is already deleted is fine.
func (t *task) forceDelete(o *cluster.Object) {
	other := &task{Responder: t.Responder, object: o}
	other.editObject(serverAuthor, func(o *cluster.Object) bool {
		o.SetFinalizers(nil)
		return true
	})
	_ = t.Cluster.DeleteObject(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), serverAuthor)
}
