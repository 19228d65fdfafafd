package prepare

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// prepareVolume prepares a volume as Velero does: most volumes are created anew for their claims
// (pkg/restore/restore.go, restoreItem and handleSkippedPVHasRetainPolicy).
func (r *Rules) prepareVolume(o *unstructured.Unstructured, c *Change) {
	method, recorded := r.VolumeMethods[o.GetName()]
	switch {
	case r.NativeSnapshots && (!recorded || method == "NativeSnapshot"):
		c.addUnsure(
			"the backup has native snapshots: if there is one of it, Velero gives the restored one a new name, " +
				"or leaves this one",
		)
	case method == "PodVolumeBackup",
		method == "CSISnapshot",
		nestedString(o, "spec", "persistentVolumeReclaimPolicy") == "Delete":
		c.SkipReason = "its claim has Velero make a new one"
		return
	}
	if nestedString(o, "spec", "claimRef", "uid") == "" {
		c.Difference = ""
	}
	if !recorded {
		c.MaybeSkippedReason = "Velero skips it if its data is in a file system backup or in a CSI snapshot, " +
			"and compares it otherwise"
	}
	removeField(o, "spec", "claimRef", "uid")
	removeField(o, "spec", "claimRef", "resourceVersion")
	if namespace := nestedString(o, "spec", "claimRef", "namespace"); namespace != "" {
		_ = unstructured.SetNestedField(o.Object, r.targetNamespace(namespace), "spec", "claimRef", "namespace")
	}
	dropAnnotations(o, "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller")
	r.changeStorageClass(o.Object, c)
}

// prepareClaim drops what bound a claim (pvc_action.go of 1.16; earlier versions leave annotations of claims without
// a snapshot). It keeps the volume's name even where a new volume is made, which only the volume tells; the API
// server does not check the name.
func (r *Rules) prepareClaim(o *unstructured.Unstructured, c *Change) {
	if v, known := velero.ParseVersion(r.Server); known && !v.ConvertsClaims() {
		c.UncomparedReason = "Velero " + r.Server + " changes some claims before it compares them, others not"
	}
	if velero.IsUnreviewedVersion(r.Server) {
		c.UncomparedReason = "Velero " + r.Server + " may restore its volume in place, over the data that is there"
	}
	r.changeStorageClass(o.Object, c)
	if r.ClaimExists == nil || !r.ClaimExists(r.targetNamespace(o.GetNamespace()), o.GetName()) {
		r.changeClaimSource(o, c)
	}
	dropAnnotations(o, "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
		"volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner",
		"volume.kubernetes.io/selected-node", veleroapi.VolumeSnapshotLabel, veleroapi.DataUploadNameAnnotation)
}

// changeClaimSource sets where a new claim gets its data from (pkg/restore/actions/csi/pvc_action.go, Execute). It
// does not know the names that Velero derives from the restore's uid or generates at random.
func (r *Rules) changeClaimSource(o *unstructured.Unstructured, c *Change) {
	snapshot, snapshotted := o.GetAnnotations()[veleroapi.VolumeSnapshotLabel]
	_, moved := o.GetAnnotations()[veleroapi.DataUploadNameAnnotation]
	if r.CSIEnabled != nil && !*r.CSIEnabled || !moved && !snapshotted && !r.skipsVolumes() {
		return
	}
	if r.CSIEnabled == nil {
		c.addUnsure("veltui does not know whether Velero runs with EnableCSI")
		return
	}
	removeField(o, "spec", "volumeName")
	if moved && !r.skipsVolumes() {
		value := veleroapi.ValidLabel(r.targetNamespace(o.GetNamespace()) + "." + o.GetName())
		_ = unstructured.SetNestedField(
			o.Object,
			value,
			"spec",
			"selector",
			"matchLabels",
			veleroapi.DynamicPVRestoreLabel,
		)
		return
	}
	removeField(o, "spec", "dataSource")
	removeField(o, "spec", "dataSourceRef")
	if !r.skipsVolumes() {
		source := map[string]any{"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": snapshot}
		_ = unstructured.SetNestedMap(o.Object, source, "spec", "dataSource")
	}
}

func (r *Rules) skipsVolumes() bool { return r.Restore.RestorePVs != nil && !*r.Restore.RestorePVs }

// changeStorageClass changes spec.storageClassName, but never the annotation that preceded it in claims
// (change_storageclass_action.go). It reports whether there is a map of classes.
func (r *Rules) changeStorageClass(object map[string]any, c *Change) bool {
	class, _, _ := unstructured.NestedString(object, "spec", "storageClassName")
	if !r.hasPluginConfig(live.ChangeStorageClassLabel, c) {
		return false
	}
	if to, ok := r.StorageClassMap[class]; ok && class != "" {
		_ = unstructured.SetNestedField(object, to, "spec", "storageClassName")
	} else if r.StorageClassMap == nil {
		c.addUnsure("Velero's plugin " + live.ChangeStorageClassLabel + " may change its class")
	}
	return r.StorageClassMap != nil
}

// prepareSnapshot applies what Velero's CSI actions do (pkg/restore/actions/csi).
func (r *Rules) prepareSnapshot(resource string, c *Change) {
	switch {
	case resource == live.SnapshotClasses && !r.skipsVolumes():
	case r.CSIEnabled == nil:
		c.addUnsure("veltui does not know whether Velero runs with EnableCSI")
	case *r.CSIEnabled && r.skipsVolumes():
		c.SkipReason = "the restore leaves volumes out"
	case *r.CSIEnabled:
		c.Renamed = true
		c.addUnsure("Velero restores it under a new name")
	}
}
