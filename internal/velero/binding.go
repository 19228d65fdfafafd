package velero

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BindingObstacle says why a volume cannot be bound to a claim that names it, empty if it can. ref is the volume's
// spec.claimRef, and uid the claim's uid, empty for a claim that is not created yet. A claim whose volume is kept for
// another claim stays Pending until somebody changes the claimRef, even if the other claim is gone and the volume
// Released (pkg/controller/volume/persistentvolume/pv_controller.go, syncUnboundClaim, and IsVolumeBoundToClaim in
// k8s.io/component-helpers/storage/volume/pv_helpers.go, Kubernetes 1.36.3).
func BindingObstacle(ref *corev1.ObjectReference, namespace, name string, uid types.UID) string {
	switch {
	case ref == nil:
		return ""
	case ref.Namespace != namespace || ref.Name != name:
		return "it is kept for claim " + ref.Namespace + "/" + ref.Name
	case ref.UID != "" && ref.UID != uid:
		return "it is kept for an earlier claim of this name"
	}
	return ""
}

// BindingMismatch says in what a volume without a claimRef does not satisfy a claim that names it, empty if it does.
// Such a claim stays Pending (pkg/controller/volume/persistentvolume/pv_controller.go, checkVolumeSatisfyClaim, and
// pkg/volume/persistentvolume/util, Kubernetes 1.36.3).
func BindingMismatch(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) string {
	size, wanted := volume.Spec.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	class, wantedClass := volume.Spec.StorageClassName, ""
	if claim.Spec.StorageClassName != nil {
		wantedClass = *claim.Spec.StorageClassName
	}
	if old, ok := volume.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		class = old
	}
	if old, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		wantedClass = old
	}
	mode, wantedMode := volumeMode(volume.Spec.VolumeMode), volumeMode(claim.Spec.VolumeMode)
	switch {
	case volume.DeletionTimestamp != nil:
		return "it is being deleted"
	case size.Value() < wanted.Value():
		return fmt.Sprintf("it has %s, and the claim asks for %s", size.String(), wanted.String())
	case class != wantedClass:
		return fmt.Sprintf("its storage class is %q, and the claim's %q", class, wantedClass)
	case mode != wantedMode:
		return fmt.Sprintf("its volumeMode is %s, and the claim's %s", mode, wantedMode)
	}
	for _, access := range claim.Spec.AccessModes {
		if !slices.Contains(volume.Spec.AccessModes, access) {
			return fmt.Sprintf("it does not have the access mode %s, which the claim asks for", access)
		}
	}
	return ""
}

// volumeMode returns a mode, or the default.
func volumeMode(mode *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if mode == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *mode
}
