package responder

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/store"
)

// patience is how long a test waits for what must come, and quiet how long it
// looks for what must not.
const (
	patience = time.Minute
	quiet    = 50 * time.Millisecond
)

var client = cluster.Author{FieldManager: "tester", FromClient: true}

// world is a cluster with a responder, and what a client does in it.
type world struct {
	*testing.T
	*cluster.Cluster
}

const serverPod = `{apiVersion: v1, kind: Pod, metadata: {name: server, namespace: velero}, spec: {serviceAccountName: velero, containers: [{args: [server]}]}, status: {containerStatuses: [{ready: true}]}}`

func newWorld(t *testing.T, objects ...string) world {
	t.Helper()
	c := cluster.New(time.Now)
	for _, text := range objects {
		if err := c.PutObject(object(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	r := Start(
		Options{Cluster: c, Store: store.New(true), StoreURL: "http://store", StepDuration: time.Millisecond, Clock: time.Now},
	)
	t.Cleanup(r.Stop)
	return world{t, c}
}

func object(t *testing.T, text string) *cluster.Object {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &cluster.Object{}
	if err := o.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	return o
}

func (w world) edit(kind, name string, f func(*cluster.Object)) {
	w.Helper()
	_, err := w.EditObject(veleroGVK(kind), "velero", name, client, func(o *cluster.Object) bool { f(o); return true })
	if err != nil {
		w.Fatal(err)
	}
}

func (w world) moveOn(kind, name, phase string) {
	w.Helper()
	w.edit(kind, name, func(o *cluster.Object) { setStatus(o, map[string]any{"phase": phase}) })
}

func (w world) create(text string) {
	w.Helper()
	if _, err := w.CreateObject(object(w.T, text), client); err != nil {
		w.Fatal(err)
	}
}

// phase is an object's phase, or "gone".
func (w world) phase(kind, name string) string {
	for _, o := range w.ListObjects(veleroGVK(kind), "velero") {
		if o.GetName() == name {
			return phaseOf(o)
		}
	}
	return "gone"
}

func (w world) becomes(kind, name, phase string) {
	w.Helper()
	for deadline := time.Now().Add(patience); w.phase(kind, name) != phase; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s %s is %q, want %q", kind, name, w.phase(kind, name), phase)
		}
	}
}

func (w world) stays(kind, name, phase string) {
	w.Helper()
	for deadline := time.Now().Add(quiet); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got := w.phase(kind, name); got != phase {
			w.Fatalf("%s %s is %q, and was to stay %q", kind, name, got, phase)
		}
	}
}

func job(kind, name, phase string) string {
	return `{apiVersion: velero.io/v1, kind: ` + kind + `, metadata: {name: ` + name + `, namespace: velero, uid: uid-` + name +
		`, finalizers: [restores.velero.io/external-resources-finalizer]}, spec: {backupName: b}, status: {phase: "` + phase + `"}}`
}

func upload(name, phase string) string {
	return `{apiVersion: velero.io/v2alpha1, kind: DataUpload, metadata: {name: ` + name + `, namespace: velero, labels: {velero.io/backup-uid: uid-b}}, spec: {}, status: {phase: ` + phase + `}}`
}

func TestAJobGoesToItsEnd(t *testing.T) {
	for _, c := range []struct{ kind, from, to, end string }{
		{"Restore", "InProgress", "Finalizing", "Completed"},
		{"Backup", "InProgress", "FinalizingPartiallyFailed", "PartiallyFailed"},
		{"Backup", "ReadyToStart", "ReadyToStart", "Completed"},
		{"Backup", "Finalizing", "Finalizing", "Completed"},
		{"Backup", "InProgress", "WaitingForPluginOperations", "Completed"},
		{"Restore", "InProgress", "Failed", "Failed"},
	} {
		w := newWorld(t, serverPod, job(c.kind, "j", c.from))
		w.edit(c.kind, "j", func(o *cluster.Object) {
			o.SetAnnotations(map[string]string{"touched": "by a client"})
			setStatus(o, map[string]any{"phase": c.to})
		})
		w.becomes(c.kind, "j", c.end)
	}
}

func TestWhatNoClientChangedStays(t *testing.T) {
	w := newWorld(t, serverPod, job("Restore", "r", "Finalizing"), job("Backup", "b", "InProgress"))
	w.edit("Backup", "b", func(o *cluster.Object) { o.SetLabels(map[string]string{"a": "b"}) })
	_, err := w.EditObject(veleroGVK("Restore"), "velero", "r", serverAuthor, func(o *cluster.Object) bool {
		o.SetLabels(map[string]string{"a": "b"})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	w.stays("Restore", "r", "Finalizing")
	w.stays("Backup", "b", "InProgress")
}

func TestNothingHappensWithoutAServer(t *testing.T) {
	agent := `{apiVersion: v1, kind: Pod, metadata: {name: agent, namespace: velero}, spec: {serviceAccountName: velero, containers: [{args: [node-agent, server]}]}, status: {containerStatuses: [{ready: true}]}}`
	crashing := `{apiVersion: v1, kind: Pod, metadata: {name: server, namespace: velero}, spec: {serviceAccountName: velero, containers: [{args: [server]}]}, status: {containerStatuses: [{ready: false}]}}`
	elsewhere := `{apiVersion: v1, kind: Pod, metadata: {name: server, namespace: other}, spec: {serviceAccountName: velero}, status: {containerStatuses: [{ready: true}]}}`
	w := newWorld(t, agent, crashing, elsewhere, job("Restore", "r", "InProgress"))
	w.moveOn("Restore", "r", "Finalizing")
	w.stays("Restore", "r", "Finalizing")
}

func TestOperationsWaitForTheVolumes(t *testing.T) {
	w := newWorld(
		t,
		serverPod,
		job("Backup", "b", "InProgress"),
		upload("done", "Completed"),
		upload("moving", "InProgress"),
	)
	w.moveOn("Backup", "b", "WaitingForPluginOperations")
	w.stays("Backup", "b", "WaitingForPluginOperations")
	w.edit(
		"DataUpload",
		"moving",
		func(o *cluster.Object) { _ = unstructured.SetNestedField(o.Object, true, "spec", "cancel") },
	)
	w.becomes("DataUpload", "moving", "Canceled")
	w.becomes("Backup", "b", "PartiallyFailed")
	if got := w.phase("DataUpload", "done"); got != "Completed" {
		t.Errorf("the other volume is %s", got)
	}
}

func TestDeletions(t *testing.T) {
	w := newWorld(
		t,
		serverPod,
		job("Backup", "b", "Completed"),
		upload("u", "Completed"),
		job("Restore", "r", "Completed"),
		job("Backup", "other", "Completed"),
	)
	if err := w.DeleteObject(veleroGVK("Restore"), "velero", "r", client); err != nil {
		t.Fatal(err)
	}
	w.becomes("Restore", "r", "gone")
	w.create(
		`{apiVersion: velero.io/v1, kind: DeleteBackupRequest, metadata: {name: d, namespace: velero}, spec: {backupName: b}}`,
	)
	w.becomes("DeleteBackupRequest", "d", "gone")
	for _, gone := range [][2]string{{"Backup", "b"}, {"DataUpload", "u"}} {
		if got := w.phase(gone[0], gone[1]); got != "gone" {
			t.Errorf("%s %s is %s", gone[0], gone[1], got)
		}
	}
	if got := w.phase("Backup", "other"); got != "Completed" {
		t.Errorf("the other backup is %s", got)
	}
}

func TestANewRestoreRuns(t *testing.T) {
	w := newWorld(
		t,
		serverPod,
		`{apiVersion: velero.io/v1, kind: Backup, metadata: {name: b, namespace: velero}, status: {phase: Completed, progress: {totalItems: 250}}}`,
	)
	w.create(`{apiVersion: velero.io/v1, kind: Restore, metadata: {name: r, namespace: velero}, spec: {backupName: b}}`)
	w.becomes("Restore", "r", "Completed")
	o := w.ListObjects(veleroGVK("Restore"), "velero")[0]
	if n, _, _ := unstructured.NestedInt64(o.Object, "status", "progress", "itemsRestored"); n != 250 {
		t.Errorf("it restored %d items, want 250", n)
	}
}
