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

// archive answers for the jobs of the story of which nothing was recorded: what
// Velero would have stored for a job such as its object shows. Equal objects
// give equal files.
type archive struct {
	cluster *cluster.Cluster
	store   *store.Store
}

// file makes what is stored under a key. It is false for a job that Velero has
// not stored anything of yet.
func (a archive) file(k store.Key) (text []byte, modified time.Time, ok bool) {
	kind, name, _ := strings.Cut(k.Job, "/")
	j, ok := a.job(kind, name)
	if !ok || !j.stored() {
		return nil, time.Time{}, false
	}
	switch k.File {
	case "BackupLog", "RestoreLog":
		return a.log(j), j.ended(), true
	case "BackupResults", "RestoreResults":
		return asJSON(a.results(j)), j.ended(), true
	case "BackupResourceList":
		return asJSON(keys(a.backedUp(j), "")), j.ended(), true
	case "RestoreResourceList":
		return asJSON(a.restored(j)), j.ended(), true
	case "BackupItemOperations":
		return asJSON(a.operations(j)), j.ended(), true
	case "BackupVolumeInfos":
		return asJSON(a.volumes(j)), j.ended(), true
	case "RestoreVolumeInfo":
		return asJSON(a.restoredVolumes(j)), j.ended(), true
	case "BackupContents":
		return a.contents(j), j.ended(), true
	case "RestoreItemOperations",
		"BackupVolumeSnapshots",
		"CSIBackupVolumeSnapshots",
		"CSIBackupVolumeSnapshotContents",
		"CSIBackupVolumeSnapshotClasses":
		return []byte("[]"), j.ended(), true
	}
	return nil, time.Time{}, false
}

// storeLost stores what a restore did whose last patch was lost: its object shows less.
func (a archive) storeLost(name string) {
	lost, ok := a.job("restore", name)
	if !ok {
		return
	}
	done := storyJob{lost.DeepCopy()}
	status, _, _ := unstructured.NestedMap(done.Object.Object, "status")
	status["phase"], status["warnings"] = "Completed", int64(1)
	_ = unstructured.SetNestedMap(done.Object.Object, status, "status") // it has one
	ended := done.started().Add(134 * time.Second)
	a.store.PutText(store.Key{Job: "restore/" + name, File: "RestoreResourceList"}, ended, asJSON(a.restored(done)))
	a.store.PutText(
		store.Key{Job: "restore/" + name, File: "RestoreVolumeInfo"},
		ended,
		asJSON(a.restoredVolumes(done)),
	)
}

func asJSON(v any) []byte {
	text, _ := json.Marshal(v) // of maps, slices and strings only
	return text
}

// storyJob is a Backup or Restore of the story.
type storyJob struct{ *cluster.Object }

func (a archive) job(kind, name string) (storyJob, bool) {
	of := toldKinds[0]
	if kind == "restore" {
		of = toldKinds[1]
	}
	for _, o := range a.cluster.List(of, "") {
		if o.GetName() == name {
			return storyJob{o}, true
		}
	}
	return storyJob{}, false
}

func (j storyJob) text(fields ...string) string {
	s, _, _ := unstructured.NestedString(j.Object.Object, fields...)
	return s
}

func (j storyJob) list(fields ...string) []string {
	l, _, _ := unstructured.NestedStringSlice(j.Object.Object, fields...)
	return l
}

func (j storyJob) number(fields ...string) int {
	n, _, _ := unstructured.NestedInt64(j.Object.Object, fields...)
	return int(n)
}

func (j storyJob) time(fields ...string) time.Time {
	t, _ := time.Parse(time.RFC3339, j.text(fields...))
	return t
}

func (j storyJob) restore() bool { return j.GetKind() == "Restore" }

// stored reports whether Velero has come as far as to store the job's files. It
// stores nothing of a job that it finds in progress when it starts
// (markInProgressRestoresFailed in pkg/cmd/server/server.go, 1.18.3).
func (j storyJob) stored() bool {
	if strings.Contains(j.text("status", "failureReason"), "during the server starting") {
		return false
	}
	return !slices.Contains(
		[]string{"", "New", "Queued", "ReadyToStart", "InProgress", "FailedValidation"},
		j.text("status", "phase"),
	)
}

func (j storyJob) started() time.Time { return j.time("status", "startTimestamp") }

// ended is when the files were stored.
func (j storyJob) ended() time.Time {
	if t := j.time("status", "completionTimestamp"); !t.IsZero() {
		return t
	}
	return j.started().Add(30 * time.Second)
}

// items is how many there are: of a restore that has ended, all of them, even where the last count was lost.
func (j storyJob) items() int {
	if j.restore() && slices.Contains([]string{"Completed", "PartiallyFailed"}, j.text("status", "phase")) {
		return j.number("status", "progress", "totalItems")
	}
	return cmp.Or(j.number("status", "progress", "itemsBackedUp"), j.number("status", "progress", "itemsRestored"))
}

// item is one stored or restored object.
type item struct{ kind, namespace, name string }

func (i item) String() string {
	if i.namespace == "" {
		return i.name
	}
	return i.namespace + "/" + i.name
}

// word is the kind without its group.
func (i item) word() string { return i.kind[strings.LastIndexByte(i.kind, '/')+1:] }

func (i item) plural() string { return strings.ToLower(i.word()) + "s" }

// message is a text of an item's.
type message struct {
	level, text string
	item        item
}

// keys are items as a resource list has them.
func keys(items []item, action string) map[string][]string {
	l := map[string][]string{}
	for _, i := range items {
		l[i.kind] = append(l[i.kind], i.String()+action)
	}
	for _, names := range l {
		slices.Sort(names)
	}
	return l
}

// shapes are what namespaces are made of, and how many of them to each other.
var shapes = []struct {
	kind, name string
	count      int
}{
	{"v1/ConfigMap", "settings", 8}, {"v1/Secret", "token", 5}, {"v1/ServiceAccount", "sa", 2},
	{"apps/v1/Deployment", "web", 3}, {"apps/v1/ReplicaSet", "web", 6}, {"v1/Pod", "web", 7},
	{"v1/Service", "svc", 3}, {"v1/Endpoints", "svc", 3}, {"discovery.k8s.io/v1/EndpointSlice", "svc", 3},
	{"batch/v1/CronJob", "report", 1}, {"networking.k8s.io/v1/Ingress", "site", 1},
}

// backedUp are the items of a backup: as recorded, or as many as it counts.
func (a archive) backedUp(j storyJob) []item {
	var recordedList map[string][]string
	if json.Unmarshal(
		a.store.Text(store.Key{Job: "backup/" + j.GetName(), File: "BackupResourceList"}),
		&recordedList,
	) == nil &&
		len(recordedList) > 0 {
		var items []item
		for _, kind := range slices.Sorted(maps.Keys(recordedList)) {
			for _, entry := range recordedList[kind] {
				namespace, name, namespaced := strings.Cut(entry, "/")
				if !namespaced {
					namespace, name = "", entry
				}
				items = append(items, item{kind, namespace, name})
			}
		}
		return items
	}
	namespaces := j.list("spec", "includedNamespaces")
	if len(namespaces) == 0 || slices.Contains(namespaces, "*") {
		namespaces = []string{"billing", "crm", "media", "ops", "shop", "web"}
	}
	var items []item
	for _, n := range namespaces {
		items = append(items, item{"v1/Namespace", "", n}, item{"v1/ConfigMap", n, "kube-root-ca.crt"})
	}
	for _, v := range a.volumes(j) {
		namespace, claim := fmt.Sprint(v["pvcNamespace"]), fmt.Sprint(v["pvcName"])
		items = append(
			items,
			item{"v1/PersistentVolumeClaim", namespace, claim},
			item{"v1/PersistentVolume", "", fmt.Sprint(v["pvName"])},
		)
		if info, ok := v["pvbInfo"].(map[string]any); ok {
			items = append(items, item{"v1/Pod", namespace, fmt.Sprint(info["podName"])})
		}
	}
	for n := 0; len(items) < j.items(); n++ {
		for _, s := range shapes {
			for c := range s.count {
				for _, namespace := range namespaces {
					if len(items) < j.items() {
						items = append(items, item{s.kind, namespace, fmt.Sprintf("%s-%d", s.name, n*s.count+c)})
					}
				}
			}
		}
	}
	return items
}

// neverRestored are the kinds that Velero leaves out of every restore
// (nonRestorableResources in pkg/controller/restore_controller.go).
var neverRestored = []string{"v1/Event", "velero.io/v1/Backup", "v1/Node"}

// came are the items of a restore: those that it created, those that failed, and
// those that were there already.
func (a archive) came(j storyJob) (created, failed, there []item) {
	backup, ok := a.job("backup", j.text("spec", "backupName"))
	if !ok {
		return nil, nil, nil
	}
	var items []item
	in, out, resources := j.list(
		"spec",
		"includedNamespaces",
	), j.list(
		"spec",
		"excludedNamespaces",
	), j.list(
		"spec",
		"includedResources",
	)
	mapping, _, _ := unstructured.NestedStringMap(j.Object.Object, "spec", "namespaceMapping")
	all := len(in) == 0 || slices.Contains(in, "*")
	for _, i := range a.backedUp(backup) {
		namespace := i.namespace
		if i.kind == "v1/PersistentVolume" {
			_, namespace, _ = strings.Cut(i.name, "-") // pv-NAMESPACE-NUMBER
			namespace, _, _ = strings.Cut(namespace, "-")
		}
		if slices.Contains(neverRestored, i.kind) || namespace == "" || slices.Contains(out, namespace) ||
			!all && !slices.Contains(in, namespace) || len(resources) > 0 && !slices.Contains(resources, i.plural()) {
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
	there = there[:min(len(there), j.number("status", "warnings"))]
	if want := max(0, j.items()-len(there)); want < len(items) {
		// A selector took some of them: evenly spread ones stand for those.
		some := make([]item, 0, want)
		for n := range want {
			some = append(some, items[n*len(items)/want])
		}
		items = some
	}
	created = items[:max(0, len(items)-j.number("status", "errors"))]
	return created, items[len(created):], there
}

func (a archive) restored(j storyJob) map[string][]string {
	created, failed, there := a.came(j)
	l := keys(created, "(created)")
	for kind, names := range keys(append(failed, there...), "(failed)") {
		l[kind] = append(l[kind], names...)
	}
	return l
}

// messages are the warnings and errors of a job, as many as it counts.
func (a archive) messages(j storyJob) (l []message) {
	if j.restore() {
		_, failed, there := a.came(j)
		for _, i := range there {
			l = append(
				l,
				message{
					"warning",
					fmt.Sprintf(
						"could not restore, %s:%s already exists. Warning: the in-cluster version is different than the backed-up "+
							"version",
						i.word(),
						i.name,
					),
					i,
				},
			)
		}
		for _, i := range failed {
			l = append(
				l,
				message{
					"error",
					fmt.Sprintf(
						"error restoring %[1]s/%[2]s/%[3]s: %[1]s %[3]q is forbidden: exceeded quota: small, requested: "+
							"count/%[1]s=1, used: count/%[1]s=4, limited: count/%[1]s=4",
						i.plural(),
						i.namespace,
						i.name,
					),
					i,
				},
			)
		}
		return l
	}
	for n := range j.number("status", "warnings") {
		i := item{
			"v1/Pod",
			cmp.Or(strings.Join(j.list("spec", "includedNamespaces"), "-"), "default"),
			fmt.Sprintf("web-%d", n),
		}
		l = append(
			l,
			message{
				"warning",
				"resource: /pods name: /" + i.name +
					" message: /Volume cache in pod " + i.String() + " is an emptyDir volume, skipping",
				i,
			},
		)
	}
	for n := range j.number("status", "errors") {
		i := item{
			"v1/Pod",
			cmp.Or(strings.Join(j.list("spec", "includedNamespaces"), "-"), "default"),
			fmt.Sprintf("web-%d", n),
		}
		l = append(
			l,
			message{
				"error",
				"resource: /pods name: /" + i.name + " message: /Error backing up item error: /timed out waiting for the condition",
				i,
			},
		)
	}
	return l
}

func (a archive) results(j storyJob) map[string]any {
	type part struct {
		Velero     []string            `json:"velero,omitempty"`
		Cluster    []string            `json:"cluster,omitempty"`
		Namespaces map[string][]string `json:"namespaces,omitempty"`
	}
	parts := map[string]*part{"warning": {}, "error": {}}
	for _, m := range a.messages(j) {
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
	if reason := j.text("status", "failureReason"); reason != "" {
		parts["error"].Velero = []string{reason}
	}
	return map[string]any{"warnings": parts["warning"], "errors": parts["error"]}
}

// children are the volumes of a backup that the cluster still shows.
func (a archive) children(j storyJob) (l []storyJob) {
	for _, kind := range toldKinds[2:] {
		for _, o := range a.cluster.List(kind, j.GetNamespace()) {
			if o.GetLabels()["velero.io/backup-name"] == j.GetName() {
				l = append(l, storyJob{o})
			}
		}
	}
	return l
}

const gib = 1 << 30

// volumes are a backup's, with how each was saved: those that the cluster shows,
// else one that fits how the backup saves volumes, and one that it left out.
func (a archive) volumes(j storyJob) (l []map[string]any) {
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
			v["backupMethod"], v["startTimestamp"], v["completionTimestamp"], v["result"] = method, stamp(
				j.started(),
			), stamp(
				j.ended(),
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
	for _, v := range a.children(j) {
		size := v.number("status", "progress", "totalBytes")
		if v.GetKind() == "PodVolumeBackup" {
			pod(v.text("spec", "pod", "namespace"), v.text("spec", "pod", "name"), v.text("spec", "volume"),
				v.GetAnnotations()["velero.io/pvc-name"], v.text("spec", "node"), v.text("status", "snapshotID"), size)
			continue
		}
		driver := v.text("spec", "csiSnapshot", "driver")
		more := map[string]any{
			"snapshotDataMoved": true,
			"startTimestamp":    stamp(v.GetCreationTimestamp().Time),
			"csiSnapshotInfo": map[string]any{
				"snapshotHandle": "snap-" + string(v.GetUID())[:8],
				"size":           size,
				"driver":         driver,
				"vscName":        v.text("spec", "csiSnapshot", "volumeSnapshot"),
			},
			"snapshotDataMovementInfo": map[string]any{
				"dataMover":      "velero",
				"uploaderType":   "kopia",
				"snapshotHandle": v.text("status", "snapshotID"),
				"size":           size,
				"operationID":    v.GetLabels()["velero.io/async-operation-id"],
				"Phase":          v.text("status", "phase"),
			},
		}
		if end := v.time("status", "completionTimestamp"); end.IsZero() {
			more["result"], more["completionTimestamp"] = nil, nil
		} else {
			more["completionTimestamp"] = stamp(end)
		}
		add(v.text("spec", "sourceNamespace"), v.text("spec", "sourcePVC"), "CSISnapshot", more)
	}
	namespace := cmp.Or(strings.Join(j.list("spec", "includedNamespaces"), "-"), "default")
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
		if v := l[len(l)-1]; j.text("status", "phase") == "PartiallyFailed" {
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

func (a archive) restoredVolumes(j storyJob) []map[string]any {
	l := []map[string]any{}
	backup, ok := a.job("backup", j.text("spec", "backupName"))
	if !ok || a.store.Has(store.Key{Job: "backup/" + backup.GetName(), File: "BackupVolumeInfos"}) {
		return l // the volumes of the recorded backup were all left out
	}
	mapping, _, _ := unstructured.NestedStringMap(j.Object.Object, "spec", "namespaceMapping")
	for _, v := range a.volumes(backup) {
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

// operations are the item operations of a backup: one for each DataUpload.
func (a archive) operations(j storyJob) []map[string]any {
	l := []map[string]any{}
	for _, v := range a.children(j) {
		if v.GetKind() != "DataUpload" {
			continue
		}
		done, total := v.number("status", "progress", "bytesDone"), v.number("status", "progress", "totalBytes")
		status := map[string]any{
			"phase":          "InProgress",
			"nCompleted":     done,
			"nTotal":         total,
			"operationUnits": "Bytes",
			"created":        stamp(v.GetCreationTimestamp().Time),
		}
		if t := v.text("status", "startTimestamp"); t != "" {
			status["started"], status["updated"] = t, t
		}
		if t := v.text("status", "completionTimestamp"); t != "" {
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
					"Namespace": v.text("spec", "sourceNamespace"),
					"Name":      v.text("spec", "sourcePVC"),
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

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// log is the job's stored log: a few lines an item, spread over its time.
func (a archive) log(j storyJob) []byte {
	var items []item
	kind := strings.ToLower(j.GetKind())
	if j.restore() {
		created, failed, there := a.came(j)
		items = slices.Concat(created, failed, there)
	} else {
		items = a.backedUp(j)
	}
	about := fmt.Sprintf("%s=%s/%s", kind, j.GetNamespace(), j.GetName())
	began, took := j.started(), j.ended().Sub(j.started())
	var text strings.Builder
	line := func(at time.Time, level, msg, source, more string) {
		fmt.Fprintf(&text, "time=%q level=%s msg=%q logSource=%q %s%s\n", stamp(at), level, msg, source, more, about)
	}
	if j.restore() {
		line(began, "info", "starting restore", "pkg/controller/restore_controller.go:578", "")
		line(
			began,
			"info",
			"Starting restore of backup velero/"+j.text("spec", "backupName"),
			"pkg/restore/restore.go:719",
			"",
		)
	} else {
		line(began, "info", "Setting up backup temp file", "pkg/controller/backup_controller.go:745", "")
		line(
			began,
			"info",
			"Including namespaces: "+strings.Join(j.list("spec", "includedNamespaces"), ", "),
			"pkg/backup/backup.go:309",
			"",
		)
	}
	for n, i := range items {
		at := began.Add(took * time.Duration(n) / time.Duration(len(items)))
		more := fmt.Sprintf("name=%s namespace=%s resource=%s ", i.name, i.namespace, i.plural())
		if j.restore() {
			line(
				at,
				"info",
				fmt.Sprintf("Attempting to restore %s: %s.", i.word(), i.name),
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
	for _, m := range a.messages(j) {
		line(j.ended(), m.level, m.text, "pkg/controller/"+kind+"_controller.go:633", "")
	}
	if j.restore() {
		line(j.ended(), "info", "restore completed", "pkg/controller/restore_controller.go:640", "")
	} else {
		line(
			j.ended(),
			"info",
			fmt.Sprintf("Backed up a total of %d items", len(items)),
			"pkg/backup/backup.go:536",
			"",
		)
	}
	return []byte(text.String())
}
