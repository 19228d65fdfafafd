package velero

import (
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
