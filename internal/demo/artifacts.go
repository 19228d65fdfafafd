package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/store"
)

// artifactBuilder builds the stored files of story jobs without recorded ones: what Velero would have stored for a
// job with such an object. Equal objects give equal files.
type artifactBuilder struct {
	cluster *cluster.Cluster
	store   *store.Store
}

// buildFile returns the file stored under a key. It is false for a job for which Velero has not stored anything yet.
func (a artifactBuilder) buildFile(k store.FileKey) (text []byte, modified time.Time, ok bool) {
	kind, name, _ := strings.Cut(k.Job, "/")
	j, ok := a.findJob(kind, name)
	if !ok || !j.hasStoredFiles() {
		return nil, time.Time{}, false
	}
	switch k.File {
	case "BackupLog", "RestoreLog":
		return a.buildLog(j), j.endedAt(), true
	case "BackupResults", "RestoreResults":
		return encodeJSON(a.buildResults(j)), j.endedAt(), true
	case "BackupResourceList":
		return encodeJSON(resourceList(a.backedUpItems(j), "")), j.endedAt(), true
	case "RestoreResourceList":
		return encodeJSON(a.restoredResourceList(j)), j.endedAt(), true
	case "BackupItemOperations":
		return encodeJSON(a.itemOperations(j)), j.endedAt(), true
	case "BackupVolumeInfos":
		return encodeJSON(a.volumeInfos(j)), j.endedAt(), true
	case "RestoreVolumeInfo":
		return encodeJSON(a.restoredVolumeInfos(j)), j.endedAt(), true
	case "BackupContents":
		return a.buildTarball(j), j.endedAt(), true
	case "RestoreItemOperations",
		"BackupVolumeSnapshots",
		"CSIBackupVolumeSnapshots",
		"CSIBackupVolumeSnapshotContents",
		"CSIBackupVolumeSnapshotClasses":
		return []byte("[]"), j.endedAt(), true
	}
	return nil, time.Time{}, false
}

// storeLostResults stores the files of a restore whose last patch was lost: its object shows less than it did.
func (a artifactBuilder) storeLostResults(name string) {
	lost, ok := a.findJob("restore", name)
	if !ok {
		return
	}
	done := storyObject{lost.DeepCopy()}
	status, _, _ := unstructured.NestedMap(done.Object.Object, "status")
	status["phase"], status["warnings"] = "Completed", int64(1)
	_ = unstructured.SetNestedMap(done.Object.Object, status, "status") // it has a status
	ended := done.startedAt().Add(134 * time.Second)
	a.store.PutText(
		store.FileKey{Job: "restore/" + name, File: "RestoreResourceList"},
		ended,
		encodeJSON(a.restoredResourceList(done)),
	)
	a.store.PutText(
		store.FileKey{Job: "restore/" + name, File: "RestoreVolumeInfo"},
		ended,
		encodeJSON(a.restoredVolumeInfos(done)),
	)
}

func encodeJSON(v any) []byte {
	text, _ := json.Marshal(v) // maps, slices and strings can always be encoded
	return text
}

// storyObject is a Backup or Restore of the story.
type storyObject struct{ *cluster.Object }

func (a artifactBuilder) findJob(kind, name string) (storyObject, bool) {
	of := storyKinds[0]
	if kind == "restore" {
		of = storyKinds[1]
	}
	for _, o := range a.cluster.ListObjects(of, "") {
		if o.GetName() == name {
			return storyObject{o}, true
		}
	}
	return storyObject{}, false
}

func (j storyObject) stringField(fields ...string) string {
	s, _, _ := unstructured.NestedString(j.Object.Object, fields...)
	return s
}

func (j storyObject) stringsField(fields ...string) []string {
	l, _, _ := unstructured.NestedStringSlice(j.Object.Object, fields...)
	return l
}

func (j storyObject) intField(fields ...string) int {
	n, _, _ := unstructured.NestedInt64(j.Object.Object, fields...)
	return int(n)
}

func (j storyObject) timeField(fields ...string) time.Time {
	t, _ := time.Parse(time.RFC3339, j.stringField(fields...))
	return t
}

func (j storyObject) isRestore() bool { return j.GetKind() == "Restore" }

// hasStoredFiles reports whether Velero has already stored the job's files. It stores nothing for a job that it finds
// in progress when it starts (markInProgressRestoresFailed in pkg/cmd/server/server.go, 1.18.3).
func (j storyObject) hasStoredFiles() bool {
	if strings.Contains(j.stringField("status", "failureReason"), "during the server starting") {
		return false
	}
	return !slices.Contains(
		[]string{"", "New", "Queued", "ReadyToStart", "InProgress", "FailedValidation"},
		j.stringField("status", "phase"),
	)
}

func (j storyObject) startedAt() time.Time { return j.timeField("status", "startTimestamp") }

// endedAt returns when the files were stored.
func (j storyObject) endedAt() time.Time {
	if t := j.timeField("status", "completionTimestamp"); !t.IsZero() {
		return t
	}
	return j.startedAt().Add(30 * time.Second)
}

// itemCount returns the number of processed items: all for an ended restore, even if the last count was lost.
func (j storyObject) itemCount() int {
	if j.isRestore() && slices.Contains([]string{"Completed", "PartiallyFailed"}, j.stringField("status", "phase")) {
		return j.intField("status", "progress", "totalItems")
	}
	return cmp.Or(j.intField("status", "progress", "itemsBackedUp"), j.intField("status", "progress", "itemsRestored"))
}

// itemRef is one stored or restored object.
type itemRef struct{ kind, namespace, name string }

func (i itemRef) String() string {
	if i.namespace == "" {
		return i.name
	}
	return i.namespace + "/" + i.name
}

// kindName returns the kind without its group.
func (i itemRef) kindName() string { return i.kind[strings.LastIndexByte(i.kind, '/')+1:] }

func (i itemRef) resourceName() string { return strings.ToLower(i.kindName()) + "s" }

// itemMessage is a warning or error about an item.
type itemMessage struct {
	level, text string
	item        itemRef
}

// resourceList returns items in the form of a resource list.
func resourceList(items []itemRef, action string) map[string][]string {
	l := map[string][]string{}
	for _, i := range items {
		l[i.kind] = append(l[i.kind], i.String()+action)
	}
	for _, names := range l {
		slices.Sort(names)
	}
	return l
}

// namespaceTemplate are the kinds of objects in a namespace, with their relative counts.
var namespaceTemplate = []struct {
	kind, name string
	count      int
}{
	{"v1/ConfigMap", "settings", 8}, {"v1/Secret", "token", 5}, {"v1/ServiceAccount", "sa", 2},
	{"apps/v1/Deployment", "web", 3}, {"apps/v1/ReplicaSet", "web", 6}, {"v1/Pod", "web", 7},
	{"v1/Service", "svc", 3}, {"v1/Endpoints", "svc", 3}, {"discovery.k8s.io/v1/EndpointSlice", "svc", 3},
	{"batch/v1/CronJob", "report", 1}, {"networking.k8s.io/v1/Ingress", "site", 1},
}

// backedUpItems returns the items of a backup: as recorded, or as many as it counts.
func (a artifactBuilder) backedUpItems(j storyObject) []itemRef {
	var recordedList map[string][]string
	if json.Unmarshal(
		a.store.ReadText(store.FileKey{Job: "backup/" + j.GetName(), File: "BackupResourceList"}),
		&recordedList,
	) == nil &&
		len(recordedList) > 0 {
		var items []itemRef
		for _, kind := range slices.Sorted(maps.Keys(recordedList)) {
			for _, entry := range recordedList[kind] {
				namespace, name, namespaced := strings.Cut(entry, "/")
				if !namespaced {
					namespace, name = "", entry
				}
				items = append(items, itemRef{kind, namespace, name})
			}
		}
		return items
	}
	namespaces := j.stringsField("spec", "includedNamespaces")
	if len(namespaces) == 0 || slices.Contains(namespaces, "*") {
		namespaces = []string{"billing", "crm", "media", "ops", "shop", "web"}
	}
	var items []itemRef
	for _, n := range namespaces {
		items = append(items, itemRef{"v1/Namespace", "", n}, itemRef{"v1/ConfigMap", n, "kube-root-ca.crt"})
	}
	for _, v := range a.volumeInfos(j) {
		namespace, claim := fmt.Sprint(v["pvcNamespace"]), fmt.Sprint(v["pvcName"])
		items = append(
			items,
			itemRef{"v1/PersistentVolumeClaim", namespace, claim},
			itemRef{"v1/PersistentVolume", "", fmt.Sprint(v["pvName"])},
		)
		if info, ok := v["pvbInfo"].(map[string]any); ok {
			items = append(items, itemRef{"v1/Pod", namespace, fmt.Sprint(info["podName"])})
		}
	}
	for n := 0; len(items) < j.itemCount(); n++ {
		for _, s := range namespaceTemplate {
			for c := range s.count {
				for _, namespace := range namespaces {
					if len(items) < j.itemCount() {
						items = append(items, itemRef{s.kind, namespace, fmt.Sprintf("%s-%d", s.name, n*s.count+c)})
					}
				}
			}
		}
	}
	return items
}

// nonRestorableKinds are the kinds that Velero leaves out of every restore
// (nonRestorableResources in pkg/controller/restore_controller.go).
var nonRestorableKinds = []string{"v1/Event", "velero.io/v1/Backup", "v1/Node"}

// restoredItems returns the items of a restore: those that it created, those that failed, and those that already
// existed.
func (a artifactBuilder) restoredItems(j storyObject) (created, failed, there []itemRef) {
	backup, ok := a.findJob("backup", j.stringField("spec", "backupName"))
	if !ok {
		return nil, nil, nil
	}
	var items []itemRef
	in, out, resources := j.stringsField(
		"spec",
		"includedNamespaces",
	), j.stringsField(
		"spec",
		"excludedNamespaces",
	), j.stringsField(
		"spec",
		"includedResources",
	)
	mapping, _, _ := unstructured.NestedStringMap(j.Object.Object, "spec", "namespaceMapping")
	all := len(in) == 0 || slices.Contains(in, "*")
	for _, i := range a.backedUpItems(backup) {
		namespace := i.namespace
		if i.kind == "v1/PersistentVolume" {
			_, namespace, _ = strings.Cut(i.name, "-") // pv-NAMESPACE-NUMBER
			namespace, _, _ = strings.Cut(namespace, "-")
		}
		if slices.Contains(nonRestorableKinds, i.kind) || namespace == "" || slices.Contains(out, namespace) ||
			!all && !slices.Contains(in, namespace) || len(resources) > 0 && !slices.Contains(resources, i.resourceName()) {
			continue
		}
		if to, mapped := mapping[i.namespace]; mapped {
			i.namespace = to
		}
		if i.kind == "v1/PersistentVolume" || i.name == "kube-root-ca.crt" {
			there = append(there, i)
			continue
		}
		items = append(items, i)
	}
	there = there[:min(len(there), j.intField("status", "warnings"))]
	if want := max(0, j.itemCount()-len(there)); want < len(items) {
		// A selector selected some of them: take evenly spread ones instead.
		some := make([]itemRef, 0, want)
		for n := range want {
			some = append(some, items[n*len(items)/want])
		}
		items = some
	}
	created = items[:max(0, len(items)-j.intField("status", "errors"))]
	return created, items[len(created):], there
}

func (a artifactBuilder) restoredResourceList(j storyObject) map[string][]string {
	created, failed, there := a.restoredItems(j)
	l := resourceList(created, "(created)")
	for kind, names := range resourceList(append(failed, there...), "(failed)") {
		l[kind] = append(l[kind], names...)
	}
	return l
}

// itemMessages returns the warnings and errors of a job, as many as it counts.
func (a artifactBuilder) itemMessages(j storyObject) (l []itemMessage) {
	if j.isRestore() {
		_, failed, there := a.restoredItems(j)
		for _, i := range there {
			l = append(
				l,
				itemMessage{
					"warning",
					fmt.Sprintf(
						"could not restore, %s:%s already exists. Warning: the in-cluster version is different than the backed-up "+
							"version",
						i.kindName(),
						i.name,
					),
					i,
				},
			)
		}
		for _, i := range failed {
			l = append(
				l,
				itemMessage{
					"error",
					fmt.Sprintf(
						"error restoring %[1]s/%[2]s/%[3]s: %[1]s %[3]q is forbidden: exceeded quota: small, requested: "+
							"count/%[1]s=1, used: count/%[1]s=4, limited: count/%[1]s=4",
						i.resourceName(),
						i.namespace,
						i.name,
					),
					i,
				},
			)
		}
		return l
	}
	for n := range j.intField("status", "warnings") {
		i := itemRef{
			"v1/Pod",
			cmp.Or(strings.Join(j.stringsField("spec", "includedNamespaces"), "-"), "default"),
			fmt.Sprintf("web-%d", n),
		}
		l = append(
			l,
			itemMessage{
				"warning",
				"resource: /pods name: /" + i.name +
					" message: /Volume cache in pod " + i.String() + " is an emptyDir volume, skipping",
				i,
			},
		)
	}
	for n := range j.intField("status", "errors") {
		i := itemRef{
			"v1/Pod",
			cmp.Or(strings.Join(j.stringsField("spec", "includedNamespaces"), "-"), "default"),
			fmt.Sprintf("web-%d", n),
		}
		l = append(
			l,
			itemMessage{
				"error",
				"resource: /pods name: /" + i.name + " message: /Error backing up item error: /timed out waiting for the condition",
				i,
			},
		)
	}
	return l
}

func (a artifactBuilder) buildResults(j storyObject) map[string]any {
	type part struct {
		Velero     []string            `json:"velero,omitempty"`
		Cluster    []string            `json:"cluster,omitempty"`
		Namespaces map[string][]string `json:"namespaces,omitempty"`
	}
	parts := map[string]*part{"warning": {}, "error": {}}
	for _, m := range a.itemMessages(j) {
		p := parts[m.level]
		if m.item.namespace == "" {
			p.Cluster = append(p.Cluster, m.text)
			continue
		}
		if p.Namespaces == nil {
			p.Namespaces = map[string][]string{}
		}
		p.Namespaces[m.item.namespace] = append(p.Namespaces[m.item.namespace], m.text)
	}
	if reason := j.stringField("status", "failureReason"); reason != "" {
		parts["error"].Velero = []string{reason}
	}
	return map[string]any{"warnings": parts["warning"], "errors": parts["error"]}
}

// backupVolumes returns the volumes of a backup that the cluster still has.
func (a artifactBuilder) backupVolumes(j storyObject) (l []storyObject) {
	for _, kind := range storyKinds[2:] {
		for _, o := range a.cluster.ListObjects(kind, j.GetNamespace()) {
			if o.GetLabels()["velero.io/backup-name"] == j.GetName() {
				l = append(l, storyObject{o})
			}
		}
	}
	return l
}

const gib = 1 << 30

// volumeInfos returns the volume infos of a backup, with how each volume was saved: for the volumes that the cluster
// has, else for one that fits the way the backup saves volumes, and for one that it left out.
func (a artifactBuilder) volumeInfos(j storyObject) (l []map[string]any) {
	add := func(namespace, claim, method string, more map[string]any) {
		v := map[string]any{
			"pvcName":               claim,
			"pvcNamespace":          namespace,
			"pvName":                "pv-" + namespace + "-" + claim,
			"snapshotDataMoved":     false,
			"preserveLocalSnapshot": false,
			"skipped":               method == "",
			"pvInfo": map[string]any{
				"reclaimPolicy": "Delete",
				"labels":        map[string]string{"topology.kubernetes.io/zone": "eu-central-1a"},
			},
		}
		if method != "" {
			v["backupMethod"], v["startTimestamp"], v["completionTimestamp"], v["result"] = method, formatTime(
				j.startedAt(),
			), formatTime(
				j.endedAt(),
			), "succeeded"
		}
		maps.Copy(v, more)
		l = append(l, v)
	}
	pod := func(namespace, pod, volume, claim, node, snapshot string, size int) {
		add(namespace, claim, "PodVolumeBackup", map[string]any{"pvbInfo": map[string]any{
			"snapshotHandle": snapshot, "size": size, "incrementalSize": size / 9, "uploaderType": "kopia",
			"volumeName": volume, "podName": pod, "podNamespace": namespace, "nodeName": node, "Phase": "Completed",
		}})
	}
	for _, v := range a.backupVolumes(j) {
		size := v.intField("status", "progress", "totalBytes")
		if v.GetKind() == "PodVolumeBackup" {
			pod(
				v.stringField("spec", "pod", "namespace"),
				v.stringField("spec", "pod", "name"),
				v.stringField("spec", "volume"),
				v.GetAnnotations()["velero.io/pvc-name"],
				v.stringField("spec", "node"),
				v.stringField("status", "snapshotID"),
				size,
			)
			continue
		}
		driver := v.stringField("spec", "csiSnapshot", "driver")
		more := map[string]any{
			"snapshotDataMoved": true,
			"startTimestamp":    formatTime(v.GetCreationTimestamp().Time),
			"csiSnapshotInfo": map[string]any{
				"snapshotHandle": "snap-" + string(v.GetUID())[:8],
				"size":           size,
				"driver":         driver,
				"vscName":        v.stringField("spec", "csiSnapshot", "volumeSnapshot"),
			},
			"snapshotDataMovementInfo": map[string]any{
				"dataMover":      "velero",
				"uploaderType":   "kopia",
				"snapshotHandle": v.stringField("status", "snapshotID"),
				"size":           size,
				"operationID":    v.GetLabels()["velero.io/async-operation-id"],
				"Phase":          v.stringField("status", "phase"),
			},
		}
		if end := v.timeField("status", "completionTimestamp"); end.IsZero() {
			more["result"], more["completionTimestamp"] = nil, nil
		} else {
			more["completionTimestamp"] = formatTime(end)
		}
		add(v.stringField("spec", "sourceNamespace"), v.stringField("spec", "sourcePVC"), "CSISnapshot", more)
	}
	namespace := cmp.Or(strings.Join(j.stringsField("spec", "includedNamespaces"), "-"), "default")
	if namespace == "*" {
		namespace = "shop"
	}
	fs, _, _ := unstructured.NestedBool(j.Object.Object, "spec", "defaultVolumesToFsBackup")
	switch {
	case len(l) > 0:
	case fs:
		pod(
			namespace,
			namespace+"-db-0",
			"data",
			"data-"+namespace+"-db-0",
			"node-b",
			"k"+string(j.GetUID())[:8],
			6*gib,
		)
		pod(namespace, "mail-0", "spool", "spool-mail-0", "node-c", "k"+string(j.GetUID())[9:13], gib)
		if v := l[len(l)-1]; j.stringField("status", "phase") == "PartiallyFailed" {
			v["result"], v["pvbInfo"] = "failed", map[string]any{
				"uploaderType": "kopia",
				"volumeName":   "spool",
				"podName":      "mail-0",
				"podNamespace": namespace,
				"nodeName":     "node-c",
				"Phase":        "Failed",
			}
		}
	default:
		add(namespace, "data-"+namespace+"-db-0", "CSISnapshot", map[string]any{"csiSnapshotInfo": map[string]any{
			"snapshotHandle": "snap-" + string(j.GetUID())[:8], "size": 20 * gib, "driver": "ebs.csi.aws.com",
			"vscName": "snapcontent-" + string(j.GetUID()), "ReadyToUse": true,
		}})
	}
	add(
		namespace,
		"scratch",
		"",
		map[string]any{
			"skippedReason": "podvolume: opted out due to annotation in pod web-0;volumeSnapshot: not satisfy the " +
				"criteria for VolumePolicy or the legacy snapshot way;",
		},
	)
	return l
}

func (a artifactBuilder) restoredVolumeInfos(j storyObject) []map[string]any {
	l := []map[string]any{}
	backup, ok := a.findJob("backup", j.stringField("spec", "backupName"))
	if !ok || a.store.HasFile(store.FileKey{Job: "backup/" + backup.GetName(), File: "BackupVolumeInfos"}) {
		return l // the volumes of the recorded backup were all left out
	}
	mapping, _, _ := unstructured.NestedStringMap(j.Object.Object, "spec", "namespaceMapping")
	for _, v := range a.volumeInfos(backup) {
		if v["skipped"] == true {
			continue
		}
		namespace := fmt.Sprint(v["pvcNamespace"])
		o := map[string]any{
			"pvcName":           v["pvcName"],
			"pvcNamespace":      cmp.Or(mapping[namespace], namespace),
			"pvName":            v["pvName"],
			"snapshotDataMoved": v["snapshotDataMoved"],
		}
		o["restoreMethod"] = strings.Replace(fmt.Sprint(v["backupMethod"]), "PodVolumeBackup", "PodVolumeRestore", 1)
		for from, to := range map[string]string{
			"pvbInfo":                  "pvrInfo",
			"csiSnapshotInfo":          "csiSnapshotInfo",
			"snapshotDataMovementInfo": "snapshotDataMovementInfo",
		} {
			if info, ok := v[from]; ok {
				o[to] = info
			}
		}
		l = append(l, o)
	}
	return l
}

// itemOperations returns the item operations of a backup: one for each DataUpload.
func (a artifactBuilder) itemOperations(j storyObject) []map[string]any {
	l := []map[string]any{}
	for _, v := range a.backupVolumes(j) {
		if v.GetKind() != "DataUpload" {
			continue
		}
		done, total := v.intField("status", "progress", "bytesDone"), v.intField("status", "progress", "totalBytes")
		status := map[string]any{
			"phase":          "InProgress",
			"nCompleted":     done,
			"nTotal":         total,
			"operationUnits": "Bytes",
			"created":        formatTime(v.GetCreationTimestamp().Time),
		}
		if t := v.stringField("status", "startTimestamp"); t != "" {
			status["started"], status["updated"] = t, t
		}
		if t := v.stringField("status", "completionTimestamp"); t != "" {
			status["phase"], status["updated"] = "Completed", t
		}
		l = append(l, map[string]any{
			"spec": map[string]any{
				"backupName":       j.GetName(),
				"backupUID":        string(j.GetUID()),
				"backupItemAction": "velero.io/csi-pvc-backupper",
				"resourceIdentifier": map[string]any{
					"Group":     "",
					"Resource":  "persistentvolumeclaims",
					"Namespace": v.stringField("spec", "sourceNamespace"),
					"Name":      v.stringField("spec", "sourcePVC"),
				},
				"operationID": v.GetLabels()["velero.io/async-operation-id"],
				"postOperationItems": []any{
					map[string]any{
						"Group":     "velero.io",
						"Resource":  "datauploads",
						"Namespace": v.GetNamespace(),
						"Name":      v.GetName(),
					},
				},
			},
			"status": status,
		})
	}
	return l
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// buildLog returns the job's stored log: a few lines per item, spread over its run time.
func (a artifactBuilder) buildLog(j storyObject) []byte {
	var items []itemRef
	kind := strings.ToLower(j.GetKind())
	if j.isRestore() {
		created, failed, there := a.restoredItems(j)
		items = slices.Concat(created, failed, there)
	} else {
		items = a.backedUpItems(j)
	}
	about := fmt.Sprintf("%s=%s/%s", kind, j.GetNamespace(), j.GetName())
	began, took := j.startedAt(), j.endedAt().Sub(j.startedAt())
	var text strings.Builder
	line := func(at time.Time, level, msg, source, more string) {
		fmt.Fprintf(&text, "time=%q level=%s msg=%q logSource=%q %s%s\n", formatTime(at), level, msg, source, more, about)
	}
	if j.isRestore() {
		line(began, "info", "starting restore", "pkg/controller/restore_controller.go:578", "")
		line(
			began,
			"info",
			"Starting restore of backup velero/"+j.stringField("spec", "backupName"),
			"pkg/restore/restore.go:719",
			"",
		)
	} else {
		line(began, "info", "Setting up backup temp file", "pkg/controller/backup_controller.go:745", "")
		line(
			began,
			"info",
			"Including namespaces: "+strings.Join(j.stringsField("spec", "includedNamespaces"), ", "),
			"pkg/backup/backup.go:309",
			"",
		)
	}
	for n, i := range items {
		at := began.Add(took * time.Duration(n) / time.Duration(len(items)))
		more := fmt.Sprintf("name=%s namespace=%s resource=%s ", i.name, i.namespace, i.resourceName())
		if j.isRestore() {
			line(
				at,
				"info",
				fmt.Sprintf("Attempting to restore %s: %s.", i.kindName(), i.name),
				"pkg/restore/restore.go:1820",
				more,
			)
			line(
				at,
				"info",
				fmt.Sprintf(
					"Restored %d items out of an estimated total of %d (estimate will change throughout the restore)",
					n+1,
					len(items),
				),
				"pkg/restore/restore.go:1084",
				more,
			)
			continue
		}
		line(at, "info", "Backing up item", "pkg/backup/item_backupper.go:179", more)
		line(
			at,
			"info",
			fmt.Sprintf(
				"Backed up %d items out of an estimated total of %d (estimate will change throughout the backup)",
				n+1,
				len(items),
			),
			"pkg/backup/backup.go:405",
			more,
		)
	}
	for _, m := range a.itemMessages(j) {
		line(j.endedAt(), m.level, m.text, "pkg/controller/"+kind+"_controller.go:633", "")
	}
	if j.isRestore() {
		line(j.endedAt(), "info", "restore completed", "pkg/controller/restore_controller.go:640", "")
	} else {
		line(
			j.endedAt(),
			"info",
			fmt.Sprintf("Backed up a total of %d items", len(items)),
			"pkg/backup/backup.go:536",
			"",
		)
	}
	return []byte(text.String())
}
