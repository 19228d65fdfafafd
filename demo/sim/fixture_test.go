package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/testbed"
)

// testNow is the simulated time at which tests begin.
var testNow = time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)

// testCluster has four namespaces of 62 ConfigMaps, a Deployment, a pod with a
// volume and one that has ended; one ConfigMap is excluded from backups. The
// namespace "bad" holds a pod that cannot be backed up.
func testCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{Quotas: map[string]int{"small": 10}}
	add := func(resource, apiVersion, kind, namespace, name string, more map[string]any) *Item {
		content := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{
			"name": name, "uid": "uid-" + kind + "-" + namespace + "-" + name, "labels": map[string]any{"app": namespace},
		}}
		u := &unstructured.Unstructured{Object: content}
		if namespace != "" {
			u.SetNamespace(namespace)
		}
		for key, value := range more {
			content[key] = value
		}
		item, err := NewItem(resource, u)
		if err != nil {
			t.Fatal(err)
		}
		c.Items = append(c.Items, item)
		return item
	}
	add("customresourcedefinitions", "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com", nil)
	for n, namespace := range []string{"alpha", "beta", "gamma", "bad"} {
		add("namespaces", "v1", "Namespace", "", namespace, nil)
		for n := range 62 {
			item := add("configmaps", "v1", "ConfigMap", namespace, fmt.Sprintf("cm-%02d", n), nil)
			item.Excluded = n == 50
		}
		add("deployments", "apps/v1", "Deployment", namespace, "app", nil)
		add("widgets", "example.com/v1", "Widget", namespace, "w", nil)
		add("persistentvolumes", "v1", "PersistentVolume", "", "pv-"+namespace, nil)
		claim := add("persistentvolumeclaims", "v1", "PersistentVolumeClaim", namespace, "data", map[string]any{
			"spec": map[string]any{"volumeName": "pv-" + namespace}, "status": map[string]any{"phase": "Bound"},
		})
		pod := add("pods", "v1", "Pod", namespace, "app-0", map[string]any{
			"spec": map[string]any{"volumes": []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data"}}}},
		})
		add("pods", "v1", "Pod", namespace, "done", map[string]any{"status": map[string]any{"phase": "Succeeded"}})
		if namespace == "bad" {
			pod.Trouble = "error executing hook in pod bad/app-0"
		}
		c.Volumes = append(c.Volumes, Volume{
			Namespace: namespace, Claim: "data", ClaimUID: claim.UID, PersistentVolume: "pv-" + namespace,
			Pod: "app-0", PodUID: pod.UID, PodVolume: "data", Node: fmt.Sprintf("node-%d", n%2),
			Bytes: 3e9, BytesPerSecond: 1e8,
		})
	}
	return c
}

// itemsOf are the items of one namespace that a backup of it stores: 61
// ConfigMaps, and a Deployment, Widget, claim, two pods, the namespace, the
// PersistentVolume and the CRD.
const itemsOf = 61 + 8

// world is a simulated server on a control plane, with a log of its writes.
type world struct {
	t      *testing.T
	ctx    context.Context
	api    client.WithWatch
	sim    *Sim
	events *recorder

	mu    sync.Mutex
	wrote map[string]time.Time // by resource version
}

func newWorld(t *testing.T, plane *testbed.ControlPlane, o Options) *world {
	t.Helper()
	ctx := t.Context()
	api, err := client.NewWithWatch(plane.Config(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ctx: ctx, api: api, wrote: map[string]time.Time{}}
	for _, name := range []string{"velero", "alpha", "beta", "gamma", "bad", "small"} {
		if err := api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	w.create(&velerov1.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "default"},
		Spec: velerov1.BackupStorageLocationSpec{
			Provider: "aws", Default: true,
			StorageType: velerov1.StorageType{ObjectStorage: &velerov1.ObjectStorageLocation{Bucket: Bucket}},
		},
		Status: velerov1.BackupStorageLocationStatus{Phase: velerov1.BackupStorageLocationPhaseAvailable},
	})
	o.Config, o.Scheme = plane.Config(), testbed.Scheme()
	if o.Cluster == nil {
		o.Cluster = testCluster(t)
	}
	o.Log = t.Logf
	o.Wrote = func(at time.Time, answer client.Object) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.wrote[answer.GetResourceVersion()] = at
	}
	w.events = record(t, api)
	if w.sim, err = New(ctx, o, testNow); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.sim.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.api.Create(w.ctx, o); err != nil {
		w.t.Fatalf("creating %s: %v", o.GetName(), err)
	}
}

func (w *world) backup(name string, spec velerov1.BackupSpec) *velerov1.Backup {
	w.t.Helper()
	b := &velerov1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name}, Spec: spec}
	w.create(b)
	waitFor(w.t, "the server to see backup "+name, func() bool { return knows(w.sim, w.sim.backups, name) })
	return b
}

func (w *world) restore(name string, spec velerov1.RestoreSpec) *velerov1.Restore {
	w.t.Helper()
	r := &velerov1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name}, Spec: spec}
	w.create(r)
	waitFor(w.t, "the server to see restore "+name, func() bool { return knows(w.sim, w.sim.restores, name) })
	return r
}

func knows[T client.Object](s *Sim, known *objects[T], name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := known.get(name)
	return ok
}

// step runs the simulation, a tenth of a second at a time, until met.
func (w *world) step(what string, limit time.Duration, met func() bool) {
	w.t.Helper()
	if !w.sim.StepUntil(w.ctx, 100*time.Millisecond, limit, met) {
		w.t.Fatalf("within %s of simulated time: not %s", limit, what)
	}
}

// phase is what the simulated server believes, which its own writes are in at
// once.
func (w *world) phase(backup string) velerov1.BackupPhase {
	w.sim.mu.Lock()
	defer w.sim.mu.Unlock()
	b, ok := w.sim.backups.get(backup)
	if !ok {
		return "gone"
	}
	return b.Status.Phase
}

func (w *world) restorePhase(restore string) velerov1.RestorePhase {
	w.sim.mu.Lock()
	defer w.sim.mu.Unlock()
	r, ok := w.sim.restores.get(restore)
	if !ok {
		return "gone"
	}
	return r.Status.Phase
}

func (w *world) wroteAt(resourceVersion string) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.wrote[resourceVersion]
	return at, ok
}

// waitFor waits for a condition that another process brings about; the limit
// only ends a test that hangs.
func waitFor(t testing.TB, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if met() {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("waited a minute for %s", what)
}

// seen is one raw watch event.
type seen struct {
	kind, name, version string
	object              map[string]any
}

func (e seen) status() map[string]any {
	status, _ := e.object["status"].(map[string]any)
	return status
}

func (e seen) phase() string {
	phase, _ := e.status()["phase"].(string)
	return phase
}

func (e seen) number(key string) int {
	switch n := e.status()[key].(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

// progress is status.progress; ok is false while it is nil.
func (e seen) progress() (done, total int, ok bool) {
	p, ok := e.status()["progress"].(map[string]any)
	number := func(key string) int {
		n, _ := p[key].(int64)
		return int(n)
	}
	return number("itemsRestored") + number("itemsBackedUp"), number("totalItems"), ok
}

// recorder keeps the raw events of backups and restores, in their order.
type recorder struct {
	mu     sync.Mutex
	events []seen
}

func record(t *testing.T, api client.WithWatch) *recorder {
	t.Helper()
	r := &recorder{}
	for _, kind := range []string{"Backup", "Restore"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("velero.io/v1")
		list.SetKind(kind + "List")
		watcher, err := api.Watch(t.Context(), list, client.InNamespace("velero"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watcher.Stop)
		go func() {
			for event := range watcher.ResultChan() {
				u, ok := event.Object.(*unstructured.Unstructured)
				if !ok {
					continue
				}
				r.mu.Lock()
				r.events = append(r.events, seen{kind, u.GetName(), u.GetResourceVersion(), u.Object})
				r.mu.Unlock()
			}
		}()
	}
	return r
}

// of are the events of one object so far.
func (r *recorder) of(kind, name string) []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []seen
	for _, e := range r.events {
		if e.kind == kind && e.name == name {
			events = append(events, e)
		}
	}
	return events
}

// until waits for the watch to show that an object reached a phase.
func (r *recorder) until(t *testing.T, kind, name, phase string) []seen {
	t.Helper()
	waitFor(t, fmt.Sprintf("the watch to show %s %s", name, phase), func() bool {
		events := r.of(kind, name)
		return len(events) > 0 && events[len(events)-1].phase() == phase
	})
	return r.of(kind, name)
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

func (w *world) askDeletion(name, backup string) *velerov1.DeleteBackupRequest {
	w.t.Helper()
	d := &velerov1.DeleteBackupRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name}, Spec: velerov1.DeleteBackupRequestSpec{BackupName: backup},
	}
	w.create(d)
	waitFor(w.t, "the server to see deletion request "+name, func() bool { return knows(w.sim, w.sim.deletions, name) })
	return d
}

func (w *world) deletionEnded(name string) bool {
	w.sim.mu.Lock()
	defer w.sim.mu.Unlock()
	d, ok := w.sim.deletions.get(name)
	return !ok || d.Status.Phase == velerov1.DeleteBackupRequestPhaseProcessed
}
