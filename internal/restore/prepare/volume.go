package prepare

import (
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/label"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero"
)

// volume is what Velero does with a volume: most are made anew by their claims (pkg/restore/restore.go, restoreItem
// and handleSkippedPVHasRetainPolicy).
func (r *Rules) volume(o *unstructured.Unstructured, c *Change) {
	method, recorded := r.Volumes[o.GetName()]
	switch {
	case r.NativeSnapshots && (!recorded || method == "NativeSnapshot"):
		c.unsure(
			"the backup has native snapshots: if there is one of it, Velero gives the restored one a new name, " +
				"or leaves this one",
		)
	case method == "PodVolumeBackup",
		method == "CSISnapshot",
		nested(o, "spec", "persistentVolumeReclaimPolicy") == "Delete":
		c.Skip = "its claim has Velero make a new one"
		return
	}
	if nested(o, "spec", "claimRef", "uid") == "" {
		c.Differs = ""
	}
	if !recorded {
		c.Perhaps = "Velero skips it if its data is in a file system backup or in a CSI snapshot, and compares it otherwise"
	}
	drop(o, "spec", "claimRef", "uid")
	drop(o, "spec", "claimRef", "resourceVersion")
	if namespace := nested(o, "spec", "claimRef", "namespace"); namespace != "" {
		_ = unstructured.SetNestedField(o.Object, r.target(namespace), "spec", "claimRef", "namespace")
	}
	dropAnnotations(o, "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller")
	r.changeClass(o.Object, c)
}

// claim drops what bound a claim (pvc_action.go of 1.16; earlier ones leave annotations of claims without a snapshot).
// That it loses the volume's name where a new one is made takes to know the volume; the API server does not ask.
func (r *Rules) claim(o *unstructured.Unstructured, c *Change) {
	if v, known := velero.ParseVersion(r.Server); known && !v.ConvertsClaims() {
		c.Uncompared = "Velero " + r.Server + " changes some claims before it compares them, others not"
	}
	if velero.IsUnread(r.Server) {
		c.Uncompared = "Velero " + r.Server + " may restore its volume in place, over the data that is there"
	}
	r.changeClass(o.Object, c)
	if r.ClaimExists == nil || !r.ClaimExists(r.target(o.GetNamespace()), o.GetName()) {
		r.changeSource(o, c)
	}
	dropAnnotations(o, "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
		"volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner",
		"volume.kubernetes.io/selected-node", velerov1.VolumeSnapshotLabel, velerov1.DataUploadNameAnnotation)
}

// changeSource is where a new claim gets its data from (pkg/restore/actions/csi/pvc_action.go, Execute). It does not
// know the names that are made of the restore's uid and at random.
func (r *Rules) changeSource(o *unstructured.Unstructured, c *Change) {
	snapshot, snapshotted := o.GetAnnotations()[velerov1.VolumeSnapshotLabel]
	_, moved := o.GetAnnotations()[velerov1.DataUploadNameAnnotation]
	if r.CSI != nil && !*r.CSI || !moved && !snapshotted && !r.withoutVolumes() {
		return
	}
	if r.CSI == nil {
		c.unsure("veltui does not know whether Velero runs with EnableCSI")
		return
	}
	drop(o, "spec", "volumeName")
	if moved && !r.withoutVolumes() {
		value := label.GetValidName(r.target(o.GetNamespace()) + "." + o.GetName())
		_ = unstructured.SetNestedField(
			o.Object,
			value,
			"spec",
			"selector",
			"matchLabels",
			velerov1.DynamicPVRestoreLabel,
		)
		return
	}
	drop(o, "spec", "dataSource")
	drop(o, "spec", "dataSourceRef")
	if !r.withoutVolumes() {
		source := map[string]any{"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": snapshot}
		_ = unstructured.SetNestedMap(o.Object, source, "spec", "dataSource")
	}
}

func (r *Rules) withoutVolumes() bool { return r.Restore.RestorePVs != nil && !*r.Restore.RestorePVs }

// changeClass changes spec.storageClassName, and never the annotation that claims had before it
// (change_storageclass_action.go). It reports whether there is a map of classes.
func (r *Rules) changeClass(object map[string]any, c *Change) bool {
	class, _, _ := unstructured.NestedString(object, "spec", "storageClassName")
	if !r.configured(live.ChangesClasses, c) {
		return false
	}
	if to, ok := r.ClassMap[class]; ok && class != "" {
		_ = unstructured.SetNestedField(object, to, "spec", "storageClassName")
	} else if r.ClassMap == nil {
		c.unsure("Velero's plugin " + live.ChangesClasses + " may change its class")
	}
	return r.ClassMap != nil
}

// snapshot is what Velero's CSI actions do (pkg/restore/actions/csi).
func (r *Rules) snapshot(resource string, c *Change) {
	switch {
	case resource == live.SnapshotClasses && !r.withoutVolumes():
	case r.CSI == nil:
		c.unsure("veltui does not know whether Velero runs with EnableCSI")
	case *r.CSI && r.withoutVolumes():
		c.Skip = "the restore leaves volumes out"
	case *r.CSI:
		c.Renamed = true
		c.unsure("Velero restores it under a new name")
	}
}
