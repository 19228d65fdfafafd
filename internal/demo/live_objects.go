package demo

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/demo/cluster"
)

// liveObjects provides the objects that were backed up: those of the recorded backup as recorded, and in other
// namespaces as many as their newest backup counts.
type liveObjects struct {
	artifactBuilder
	once           sync.Once
	objects        map[schema.GroupVersionKind][]*cluster.Object
	recordedByKind map[schema.GroupVersionKind][]*cluster.Object // the objects of the recorded backup
}

const storageClass = "lab-static"

// countedBackups are backups of namespaces that the recorded backup does not have.
var countedBackups = []string{"crm-nightly-6", "erp-nightly-7", "shop-hourly-8"}

// listKind returns the living objects of a kind.
func (l *liveObjects) listKind(kind schema.GroupVersionKind) []*cluster.Object {
	l.once.Do(l.loadObjects)
	return l.objects[kind]
}

func (l *liveObjects) loadObjects() {
	l.objects = map[schema.GroupVersionKind][]*cluster.Object{}
	objects, _ := recordedObjects() // from an embedded file, which TestLiving reads
	l.recordedByKind = map[schema.GroupVersionKind][]*cluster.Object{}
	for _, o := range objects {
		l.recordedByKind[o.GroupVersionKind()] = append(l.recordedByKind[o.GroupVersionKind()], o)
	}
	objects = slices.DeleteFunc(objects, func(o *cluster.Object) bool {
		volume := o.GetKind() == "PersistentVolumeClaim" || o.GetKind() == "PersistentVolume"
		return volume && strings.Contains(o.GetNamespace()+o.GetName(), "shop") // its hourly backups count other volumes
	})
	for _, name := range countedBackups {
		if backup, ok := l.findJob("backup", name); ok {
			objects = append(objects, l.backupObjects(backup)...)
		}
	}
	class := itemRef{"storage.k8s.io/v1/StorageClass", "", storageClass}.newObject()
	class.Object["provisioner"] = "kubernetes.io/no-provisioner"
	for _, o := range append(objects, class) {
		kind := o.GroupVersionKind()
		l.objects[kind] = append(l.objects[kind], o)
	}
}

// backupObjects returns the items of a backup for which only their number is known.
func (a artifactBuilder) backupObjects(backup storyObject) (objects []*cluster.Object) {
	infos := a.volumeInfos(backup)
	for _, i := range a.backedUpItems(backup) {
		o := i.newObject()
		o.SetCreationTimestamp(metav1.NewTime(backup.startedAt().Add(-90 * 24 * time.Hour)))
		switch i.kind {
		case "v1/PersistentVolumeClaim":
			o.Object["spec"] = map[string]any{
				"volumeName":       "pv-" + i.namespace + "-" + i.name,
				"storageClassName": storageClass,
			}
			o.Object["status"] = map[string]any{"phase": "Bound"}
		case "v1/PersistentVolume":
			o.Object["spec"] = map[string]any{
				"storageClassName":              storageClass,
				"persistentVolumeReclaimPolicy": "Retain",
				"csi":                           map[string]any{"driver": "ebs.csi.aws.com", "volumeHandle": i.name},
			}
			o.Object["status"] = map[string]any{"phase": "Bound"}
		case "v1/Pod":
			mountClaims(o, infos)
		}
		objects = append(objects, o)
	}
	return objects
}

// mountClaims makes a pod mount the claims that the backup read through it; web-0 mounts the claim that it opted out.
func mountClaims(pod *cluster.Object, infos []map[string]any) {
	var volumes, mounts []any
	node := "node-a"
	add := func(name string, info map[string]any) {
		mounts = append(mounts, map[string]any{"name": name, "mountPath": "/" + name})
		volumes = append(
			volumes,
			map[string]any{"name": name, "persistentVolumeClaim": map[string]any{"claimName": info["pvcName"]}},
		)
	}
	for _, info := range infos {
		through, _ := info["pvbInfo"].(map[string]any)
		switch {
		case info["pvcNamespace"] != pod.GetNamespace():
		case through["podName"] == pod.GetName():
			node = fmt.Sprint(through["nodeName"])
			add(fmt.Sprint(through["volumeName"]), info)
		case info["skipped"] == true && pod.GetName() == "web-0":
			add("scratch", info)
			pod.SetAnnotations(map[string]string{"backup.velero.io/backup-volumes-excludes": "scratch"})
		}
	}
	if len(volumes) > 0 {
		pod.Object["spec"] = map[string]any{"nodeName": node, "volumes": volumes,
			"containers": []any{map[string]any{"name": "main", "image": "example/app:1", "volumeMounts": mounts}}}
	}
	pod.Object["status"] = map[string]any{"phase": "Running"}
}

// buildTarball returns the tarball of a backup (pkg/archive/filesystem.go and pkg/backup/item_backupper.go define the
// files' paths).
func (a artifactBuilder) buildTarball(j storyObject) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, content []byte) {
		_ = w.WriteHeader(
			&tar.Header{
				Name:     name,
				Mode:     0o755,
				Size:     int64(len(content)),
				ModTime:  j.startedAt(),
				Typeflag: tar.TypeReg,
			},
		)
		_, _ = w.Write(content) // writing to memory cannot fail
	}
	add("metadata/version", []byte("1.1.0"))
	for _, o := range a.backupObjects(j) {
		plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		scope := "cluster"
		if o.GetNamespace() != "" {
			scope = "namespaces/" + o.GetNamespace()
		}
		content := encodeJSON(o.Object)
		for _, version := range []string{"", o.GroupVersionKind().Version + "-preferredversion"} {
			add(path.Join("resources", plural.GroupResource().String(), version, scope, o.GetName()+".json"), content)
		}
	}
	_ = w.Close()
	return b.Bytes()
}

// recordedObjects returns the objects in the tarball of the recorded backup, except Velero's own and those that are
// never restored.
func recordedObjects() (objects []*cluster.Object, err error) {
	file, err := recordedFiles.Open(path.Join("recordings/stored/backup", recordedBackup, "BackupContents.gz"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("unpacking the recorded backup: %w", err)
	}
	for archive := tar.NewReader(unpacked); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the recorded backup: %w", err)
		}
		parts := strings.Split(header.Name, "/")
		if parts[0] != "resources" || slices.Contains(parts, "v1-preferredversion") {
			continue
		}
		o := &cluster.Object{}
		if err := json.NewDecoder(archive).Decode(&o.Object); err != nil {
			return nil, fmt.Errorf("reading %s of the recorded backup: %w", header.Name, err)
		}
		kind := strings.Trim(o.GetAPIVersion()+"/"+o.GetKind(), "/")
		if o.GetNamespace() != "velero" && !slices.Contains(nonRestorableKinds, kind) &&
			!strings.HasSuffix(o.GroupVersionKind().Group, "velero.io") &&
			!strings.HasSuffix(o.GetName(), ".velero.io") {
			objects = append(objects, o)
		}
	}
}
