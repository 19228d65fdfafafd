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

// restoredObjects provides the objects that the story's restores left in the cluster: all that each created, except a
// service that somebody has deleted since. A claim came back empty, and somebody changed a ConfigMap and scaled a
// Deployment.
type restoredObjects struct {
	artifactBuilder
	live      *liveObjects
	mu        sync.Mutex
	byRestore map[types.UID][]*cluster.Object // by the restore
}

// objectsOfKind returns the objects of a kind that ended restores left behind, and the living objects beside them.
func (a *restoredObjects) objectsOfKind(kind schema.GroupVersionKind) (all []*cluster.Object) {
	type name struct{ namespace, name string }
	left := map[name]bool{}
	for _, o := range a.restoredOfKind(kind) {
		if n := (name{o.GetNamespace(), o.GetName()}); !left[n] {
			left[n] = true
			all = append(all, o)
		}
	}
	for _, o := range a.live.listKind(kind) {
		if !left[name{o.GetNamespace(), o.GetName()}] {
			all = append(all, o)
		}
	}
	return all
}

func (a *restoredObjects) restoredOfKind(kind schema.GroupVersionKind) (all []*cluster.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.byRestore
	a.byRestore = map[types.UID][]*cluster.Object{}
	for _, o := range a.cluster.ListObjects(storyKinds[1], "") {
		j := storyObject{o}
		if !j.hasStoredFiles() || j.timeField("status", "completionTimestamp").IsZero() {
			continue
		}
		left, ok := known[o.GetUID()]
		if !ok {
			left = a.restoredBy(j)
		}
		a.byRestore[o.GetUID()] = left
		for _, object := range left {
			if object.GroupVersionKind() == kind {
				all = append(all, object)
			}
		}
	}
	return all
}

// restoredBy returns the objects that one restore created, and those that already existed.
func (a *restoredObjects) restoredBy(j storyObject) (all []*cluster.Object) {
	created, _, there := a.restoredItems(j)
	deleted, empty := false, false
	changes := map[string][]string{"v1/ConfigMap": {"data", "changed"}, "apps/v1/Deployment": {"spec", "replicas"}}
	volumes := a.claimVolumes(j)
	namespaces := map[string]bool{}
	for n, i := range slices.Concat(created, there) {
		o := i.newObject()
		if n >= len(created) {
			o.SetCreationTimestamp(metav1.NewTime(j.startedAt().Add(-30 * 24 * time.Hour)))
			all = append(all, o)
			continue
		}
		if i.kind == "v1/Service" && !deleted {
			deleted = true
			continue
		}
		a.fillFromBackup(o, j)
		if field := changes[i.kind]; field != nil && o.Object[field[0]] != nil {
			delete(changes, i.kind)
			_ = unstructured.SetNestedField(o.Object, int64(0), field...)
		}
		made := metav1.NewTime(j.startedAt().Add(time.Second))
		o.SetCreationTimestamp(made)
		if !namespaces[i.namespace] {
			namespaces[i.namespace] = true
			home := itemRef{"v1/Namespace", "", i.namespace}.newObject()
			a.fillFromBackup(home, j)
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

// fillFromBackup fills a restored object from the backed-up one.
func (a *restoredObjects) fillFromBackup(o *cluster.Object, j storyObject) {
	mapping, _, _ := unstructured.NestedStringMap(j.Object.Object, "spec", "namespaceMapping")
	labels, isNamespace := map[string]string{}, o.GetKind() == "Namespace"
	a.live.once.Do(a.live.loadObjects)
	for _, from := range a.live.recordedByKind[o.GroupVersionKind()] {
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
	if !isNamespace { // Velero does not label namespaces
		labels["velero.io/restore-name"], labels["velero.io/backup-name"] = j.GetName(), j.stringField("spec", "backupName")
	}
	o.SetLabels(labels)
}

// newObject returns an empty object for the item.
func (i itemRef) newObject() *cluster.Object {
	o := &cluster.Object{Object: map[string]any{}}
	o.SetAPIVersion(i.kind[:len(i.kind)-len(i.kindName())-1])
	o.SetKind(i.kindName())
	o.SetNamespace(i.namespace)
	o.SetName(i.name)
	h := fnv.New64a()
	fmt.Fprint(h, i.kind, "/", i)
	o.SetUID(types.UID(fmt.Sprintf("%016x", h.Sum64())))
	return o
}

// claimVolumes returns the volumes that a restore's claims had in the backup, by NAMESPACE/CLAIM in the target.
func (a *restoredObjects) claimVolumes(j storyObject) map[string]string {
	backup, ok := a.findJob("backup", j.stringField("spec", "backupName"))
	if !ok {
		return nil
	}
	infos := a.volumeInfos(backup)
	_ = json.Unmarshal(
		a.store.ReadText(store.FileKey{Job: "backup/" + backup.GetName(), File: "BackupVolumeInfos"}),
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

// servedKinds returns the kinds of the backups' items, for the cluster to serve.
func (a *restoredObjects) servedKinds() (all []schema.GroupVersionKind) {
	recorded := &cluster.Object{Object: map[string]any{}}
	recorded.SetName(recordedBackup)
	items := a.backedUpItems(storyObject{recorded})
	for _, s := range namespaceTemplate {
		items = append(items, itemRef{kind: s.kind})
	}
	seen := map[string]bool{}
	for _, i := range items {
		if !seen[i.kind] {
			seen[i.kind] = true
			all = append(all, i.newObject().GroupVersionKind())
		}
	}
	return all
}
