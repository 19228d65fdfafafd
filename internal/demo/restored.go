package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/store"
)

// aftermath is what the story's restores left in the cluster: what each made, but for
// a service that somebody deleted since. A claim comes back empty, and somebody changed a
// ConfigMap and scaled a Deployment.
type aftermath struct {
	archive
	living *living
	mu     sync.Mutex
	of     map[types.UID][]*cluster.Object // by the restore
}

// objects are those of a kind that restores which have ended left behind, and those that live beside them.
func (a *aftermath) objects(kind schema.GroupVersionKind) (all []*cluster.Object) {
	type name struct{ namespace, name string }
	left := map[name]bool{}
	for _, o := range a.left(kind) {
		if n := (name{o.GetNamespace(), o.GetName()}); !left[n] {
			left[n] = true
			all = append(all, o)
		}
	}
	for _, o := range a.living.list(kind) {
		if !left[name{o.GetNamespace(), o.GetName()}] {
			all = append(all, o)
		}
	}
	return all
}

func (a *aftermath) left(kind schema.GroupVersionKind) (all []*cluster.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.of
	a.of = map[types.UID][]*cluster.Object{}
	for _, o := range a.cluster.List(toldKinds[1], "") {
		j := storyJob{o}
		if !j.stored() || j.time("status", "completionTimestamp").IsZero() {
			continue
		}
		left, ok := known[o.GetUID()]
		if !ok {
			left = a.leftBy(j)
		}
		a.of[o.GetUID()] = left
		for _, object := range left {
			if object.GroupVersionKind() == kind {
				all = append(all, object)
			}
		}
	}
	return all
}

// leftBy are the objects that one restore made, and those that it found.
func (a *aftermath) leftBy(j storyJob) (all []*cluster.Object) {
	created, _, there := a.came(j)
	deleted, empty := false, false
	changes := map[string][]string{"v1/ConfigMap": {"data", "changed"}, "apps/v1/Deployment": {"spec", "replicas"}}
	volumes := a.volumesOf(j)
	namespaces := map[string]bool{}
	for n, i := range slices.Concat(created, there) {
		o := i.object()
		if n >= len(created) {
			o.SetCreationTimestamp(metav1.NewTime(j.started().Add(-30 * 24 * time.Hour)))
			all = append(all, o)
			continue
		}
		if i.kind == "v1/Service" && !deleted {
			deleted = true
			continue
		}
		a.fill(o, j)
		if field := changes[i.kind]; field != nil && o.Object[field[0]] != nil {
			delete(changes, i.kind)
			_ = unstructured.SetNestedField(o.Object, int64(0), field...)
		}
		made := metav1.NewTime(j.started().Add(time.Second))
		o.SetCreationTimestamp(made)
		if !namespaces[i.namespace] {
			namespaces[i.namespace] = true
			home := item{"v1/Namespace", "", i.namespace}.object()
			a.fill(home, j)
			home.SetCreationTimestamp(made)
			all = append(all, home)
		}
		if i.kind == "v1/PersistentVolumeClaim" {
			volume := volumes[i.String()]
			if !empty {
				empty, volume = true, "pvc-"+string(o.GetUID())
			}
			_ = unstructured.SetNestedField(o.Object, volume, "spec", "volumeName")
			o.Object["status"] = map[string]any{"phase": "Bound"}
		}
		all = append(all, o)
	}
	return all
}

// fill gives an object that a restore made what the one has that was backed up.
func (a *aftermath) fill(o *cluster.Object, j storyJob) {
	mapping, _, _ := unstructured.NestedStringMap(j.Object.Object, "spec", "namespaceMapping")
	labels, isNamespace := map[string]string{}, o.GetKind() == "Namespace"
	a.living.once.Do(a.living.read)
	for _, from := range a.living.saved[o.GroupVersionKind()] {
		name := from.GetName()
		if isNamespace {
			name = cmp.Or(mapping[name], name)
		}
		if name != o.GetName() || cmp.Or(mapping[from.GetNamespace()], from.GetNamespace()) != o.GetNamespace() {
			continue
		}
		from = from.DeepCopy()
		for name, value := range from.Object {
			if name != "metadata" && name != "status" {
				o.Object[name] = value
			}
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, s := range subjects {
			if s, ok := s.(map[string]any); ok && mapping[fmt.Sprint(s["namespace"])] != "" {
				s["namespace"] = mapping[fmt.Sprint(s["namespace"])]
			}
		}
		if subjects != nil {
			o.Object["subjects"] = subjects
		}
		maps.Copy(labels, from.GetLabels())
		o.SetAnnotations(from.GetAnnotations())
		break
	}
	if !isNamespace { // of which Velero labels none
		labels["velero.io/restore-name"], labels["velero.io/backup-name"] = j.GetName(), j.text("spec", "backupName")
	}
	o.SetLabels(labels)
}

// object is the item with nothing in it.
func (i item) object() *cluster.Object {
	o := &cluster.Object{Object: map[string]any{}}
	o.SetAPIVersion(i.kind[:len(i.kind)-len(i.word())-1])
	o.SetKind(i.word())
	o.SetNamespace(i.namespace)
	o.SetName(i.name)
	h := fnv.New64a()
	fmt.Fprint(h, i.kind, "/", i)
	o.SetUID(types.UID(fmt.Sprintf("%016x", h.Sum64())))
	return o
}

// volumesOf are the volumes that a restore's claims had when they were backed up, by
// NAMESPACE/CLAIM in the target.
func (a *aftermath) volumesOf(j storyJob) map[string]string {
	backup, ok := a.job("backup", j.text("spec", "backupName"))
	if !ok {
		return nil
	}
	infos := a.volumes(backup)
	_ = json.Unmarshal(
		a.store.Text(store.Key{Job: "backup/" + backup.GetName(), File: "BackupVolumeInfos"}),
		&infos,
	) // if it was recorded
	mapping, _, _ := unstructured.NestedStringMap(j.Object.Object, "spec", "namespaceMapping")
	names := map[string]string{}
	for _, v := range infos {
		namespace := fmt.Sprint(v["pvcNamespace"])
		names[fmt.Sprint(cmp.Or(mapping[namespace], namespace), "/", v["pvcName"])] = fmt.Sprint(v["pvName"])
	}
	return names
}

// kinds are those of the items of backups, for the cluster to serve.
func (a *aftermath) kinds() (all []schema.GroupVersionKind) {
	recorded := &cluster.Object{Object: map[string]any{}}
	recorded.SetName(recordedBackup)
	items := a.backedUp(storyJob{recorded})
	for _, s := range shapes {
		items = append(items, item{kind: s.kind})
	}
	seen := map[string]bool{}
	for _, i := range items {
		if !seen[i.kind] {
			seen[i.kind] = true
			all = append(all, i.object().GroupVersionKind())
		}
	}
	return all
}
