//go:build e2e

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	rules "github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// storedOf lists the files of a job in the object store.
func storedOf(t *testing.T, dir, name string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(theLab.ObjectPath(dir+"/"+name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// TestDelete: a restore's files go and its objects stay; a backup goes with its restores and all its files, as Velero's
// own command deletes it; what sync brought, and what is in a read-only location, stays.
func TestDelete(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx))
	exists := func(o client.Object, name string) bool {
		return theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: name}, o) == nil
	}
	orders := veleroapi.BackupSpec{IncludedNamespaces: []string{"orders"}, StorageLocation: lab.LocationName}
	for _, name := range []string{"gone", "gone-velero", "synced"} {
		wantEnd(t, backup(t, name, orders, nil), "Completed")
	}
	for name, of := range map[string]string{"gone-1": "gone", "gone-2": "gone", "gone-3": "gone-velero"} {
		h := restore(
			t,
			name,
			veleroapi.RestoreSpec{
				BackupName:        of,
				IncludedResources: []string{"configmaps"},
				NamespaceMapping:  map[string]string{"orders": name},
			},
			nil,
		)
		wantEnd(t, h, "Completed")
		if len(storedOf(t, "restores", name)) == 0 {
			t.Errorf("restore %s has no files", name)
		}
	}
	var own veleroapi.Backup
	if exists(&own, "gone"); own.Generation < 3 {
		t.Errorf("a backup that ran here has generation %d", own.Generation)
	}

	if state, sent, message := runChange(
		t,
		0,
		"restore",
		"delete",
		"gone-1",
		"--reason",
		"end-to-end test",
	); state != "settled" ||
		sent != "landed" {
		t.Errorf("restore gone-1: %s, %s: %s", state, sent, message)
	}
	var restored corev1.ConfigMapList
	must(t, theLab.Client.List(ctx, &restored, client.InNamespace("gone-1")))
	if files := storedOf(
		t,
		"restores",
		"gone-1",
	); exists(&veleroapi.Restore{}, "gone-1") || len(files) > 0 ||
		len(restored.Items) == 0 {
		t.Errorf("after its deletion restore gone-1 left %q, and %d of its objects", files, len(restored.Items))
	}

	if state, sent, message := runChange(
		t,
		0,
		"backup",
		"delete",
		"gone",
		"--last-copy",
		"--reason",
		"end-to-end test",
	); state != "settled" ||
		sent != "landed" {
		t.Errorf("backup gone: %s, %s: %s", state, sent, message)
	}
	_, err := theLab.VeleroCLI(ctx, "backup", "delete", "gone-velero", "--confirm")
	must(t, err)
	must(
		t,
		theLab.AwaitDeleted(
			ctx,
			&veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "gone-velero"}},
		),
	)
	for backup, restore := range map[string]string{"gone": "gone-2", "gone-velero": "gone-3"} {
		files := slices.Concat(storedOf(t, "backups", backup), storedOf(t, "restores", restore))
		if len(files) > 0 || exists(&veleroapi.Backup{}, backup) || exists(&veleroapi.Restore{}, restore) {
			t.Errorf("backup %s left %q", backup, files)
		}
	}
	if code, printed := runVeltui(
		t,
		"audit",
		"backup/gone",
	); code != 0 || !strings.Contains(printed, "landed") ||
		!strings.Contains(printed, "end-to-end test") {
		t.Errorf("audit ended with %d:\n%s", code, printed)
	}

	// Sync makes the object again, as in a cluster that reads another's bucket.
	must(
		t,
		theLab.DeleteAndWait(ctx, &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "synced"}}),
	)
	must(t, theLab.AwaitBackupSync(ctx))
	var synced veleroapi.Backup
	must(t, theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: "synced"}, &synced))
	origin, why := rules.OriginOf(&synced)
	t.Logf(
		"synced: generation %d, created %s, began %s: %s, %s",
		synced.Generation,
		synced.CreationTimestamp,
		synced.Status.StartTimestamp,
		origin,
		why,
	)
	if state, sent, message := runChange(
		t,
		exitRefused,
		"backup",
		"delete",
		"synced",
	); state != "refused" || sent != "not sent" ||
		!strings.Contains(message, "another cluster's only copy") {
		t.Errorf("a synced backup: %s, %s: %s", state, sent, message)
	}
	setAccess(t, veleroapi.BackupStorageLocationAccessModeReadOnly)
	if state, sent, message := runChange(
		t,
		exitRefused,
		"backup",
		"delete",
		"synced",
		"--from-another-cluster",
		"--last-copy",
	); state != "refused" || sent != "not sent" ||
		!strings.Contains(message, "read-only") {
		t.Errorf("from a read-only location: %s, %s: %s", state, sent, message)
	}
	setAccess(t, veleroapi.BackupStorageLocationAccessModeReadWrite)
	if len(storedOf(t, "backups", "synced")) == 0 {
		t.Error("a refused deletion deleted files")
	}
	if state, sent, message := runChange(
		t,
		0,
		"backup",
		"delete",
		"synced",
		"--from-another-cluster",
		"--last-copy",
	); state != "settled" || sent != "landed" ||
		len(storedOf(t, "backups", "synced")) > 0 {
		t.Errorf("a synced backup, all the same: %s, %s: %s", state, sent, message)
	}
	var requests veleroapi.DeleteBackupRequestList
	must(t, theLab.Client.List(ctx, &requests, client.InNamespace(lab.Namespace)))
	for _, r := range requests.Items {
		if slices.Contains([]string{"gone", "gone-velero", "synced"}, r.Spec.BackupName) {
			t.Errorf("request %s is left: %s %q", r.Name, r.Status.Phase, r.Status.Errors)
		}
	}
}

// TestDeleteSnapshots: a backup whose volumes are CSI snapshots goes with them. Velero deletes a snapshot by a content
// of its own, with the snapshot's handle, that it creates and deletes (internal/delete/actions/csi, 1.18).
func TestDeleteSnapshots(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.StartSnapshots(ctx))
	must(t, theLab.EnsureVelero(ctx, "--features=EnableCSI"))
	const name = "gone-snapshots"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	for _, claim := range []string{"data-0", "data-1"} {
		must(t, theLab.CreateClaim(ctx, name, claim))
	}
	wantEnd(
		t,
		backup(t, name, veleroapi.BackupSpec{IncludedNamespaces: []string{name}, StorageLocation: lab.LocationName}, nil),
		"Completed",
	)

	contents, err := dynamic.NewForConfig(theLab.RESTConfig())
	must(t, err)
	changes, err := contents.Resource(schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshotcontents"}).
		Watch(ctx, metav1.ListOptions{})
	must(t, err)
	t.Cleanup(changes.Stop)
	code, printed := runVeltui(t, "backup", "delete", name, "--yes", "--last-copy", "--reason", "end-to-end test")
	if code != 0 || !strings.Contains(printed, "2 snapshots") {
		t.Errorf("ended with %d:\n%s", code, printed)
	}
	deleted := map[string]bool{}
	for len(deleted) < 2 {
		select {
		case e := <-changes.ResultChan():
			content, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				t.Fatalf("%s %v", e.Type, e.Object)
			}
			if handle, _, _ := unstructured.NestedString(
				content.Object,
				"spec",
				"source",
				"snapshotHandle",
			); e.Type == watch.Deleted &&
				handle != "" {
				deleted[handle] = true
			}
		case <-ctx.Done():
			t.Fatalf("the snapshots deleted are %v", deleted)
		}
	}
	if files := storedOf(
		t,
		"backups",
		name,
	); len(files) > 0 ||
		theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: name}, &veleroapi.Backup{}) == nil {
		t.Errorf("it left %q", files)
	}
}
