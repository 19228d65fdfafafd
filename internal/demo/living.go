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

// living are the objects that the backups were made of: those of the recorded
// backup as it holds them, and as many of other namespaces as their newest backup counts.
type living struct {
	archive
	once    sync.Once
	objects map[schema.GroupVersionKind][]*cluster.Object
	saved   map[schema.GroupVersionKind][]*cluster.Object // those of the recorded backup
}

const storageClass = "lab-static"

// counted are backups whose namespaces are not in the recorded one.
var counted = []string{"crm-nightly-6", "erp-nightly-7", "shop-hourly-8"}

// list lists the living objects of a kind.
func (l *living) list(kind schema.GroupVersionKind) []*cluster.Object {
	l.once.Do(l.read)
	return l.objects[kind]
}

func (l *living) read() {
	l.objects = map[schema.GroupVersionKind][]*cluster.Object{}
	objects, _ := recordedObjects() // of an embedded file, which TestLiving reads
	l.saved = map[schema.GroupVersionKind][]*cluster.Object{}
	for _, o := range objects {
		l.saved[o.GroupVersionKind()] = append(l.saved[o.GroupVersionKind()], o)
	}
	objects = slices.DeleteFunc(objects, func(o *cluster.Object) bool {
		volume := o.GetKind() == "PersistentVolumeClaim" || o.GetKind() == "PersistentVolume"
		return volume && strings.Contains(o.GetNamespace()+o.GetName(), "shop") // its hourly backups count others
	})
	for _, name := range counted {
		if backup, ok := l.job("backup", name); ok {
			objects = append(objects, l.countedObjects(backup)...)
		}
	}
	class := item{"storage.k8s.io/v1/StorageClass", "", storageClass}.object()
	class.Object["provisioner"] = "kubernetes.io/no-provisioner"
	for _, o := range append(objects, class) {
		kind := o.GroupVersionKind()
		l.objects[kind] = append(l.objects[kind], o)
	}
}

// countedObjects are the items of a backup that only counts them.
func (a archive) countedObjects(backup storyJob) (objects []*cluster.Object) {
	infos := a.volumes(backup)
	for _, i := range a.backedUp(backup) {
		o := i.object()
		o.SetCreationTimestamp(metav1.NewTime(backup.started().Add(-90 * 24 * time.Hour)))
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
			mount(o, infos)
		}
		objects = append(objects, o)
	}
	return objects
}

// mount has a pod mount the claims that the backup read through it; web-0 mounts the one that it opted out.
func mount(pod *cluster.Object, infos []map[string]any) {
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

// contents is the tarball of a backup (pkg/archive/filesystem.go and pkg/backup/item_backupper.go say where a
// file lies).
func (a archive) contents(j storyJob) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, content []byte) {
		_ = w.WriteHeader(
			&tar.Header{
				Name:     name,
				Mode:     0o755,
				Size:     int64(len(content)),
				ModTime:  j.started(),
				Typeflag: tar.TypeReg,
			},
		)
		_, _ = w.Write(content) // into memory, which takes all
	}
	add("metadata/version", []byte("1.1.0"))
	for _, o := range a.countedObjects(j) {
		plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		scope := "cluster"
		if o.GetNamespace() != "" {
			scope = "namespaces/" + o.GetNamespace()
		}
		content := asJSON(o.Object)
		for _, version := range []string{"", o.GroupVersionKind().Version + "-preferredversion"} {
			add(path.Join("resources", plural.GroupResource().String(), version, scope, o.GetName()+".json"), content)
		}
	}
	_ = w.Close()
	return b.Bytes()
}

// recordedObjects reads the tarball of the recorded backup, but for what is Velero's own or is never restored.
func recordedObjects() (objects []*cluster.Object, err error) {
	file, err := recorded.Open(path.Join("recordings/stored/backup", recordedBackup, "BackupContents.gz"))
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
		if o.GetNamespace() != "velero" && !slices.Contains(neverRestored, kind) &&
			!strings.HasSuffix(o.GroupVersionKind().Group, "velero.io") &&
			!strings.HasSuffix(o.GetName(), ".velero.io") {
			objects = append(objects, o)
		}
	}
}
