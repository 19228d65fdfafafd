package prepare

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// systemAnnotations are prefixes of labels and annotations that kubectl, Kubernetes, its controllers and Velero
// write.
var systemAnnotations = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"kubectl.kubernetes.io/restartedAt",        // kubectl apply, and rollout restart
	"deployment.kubernetes.io/",                // pkg/controller/deployment/util/deployment_util.go
	"deprecated.daemonset.template.generation", // pkg/controller/daemon/util/daemonset_util.go
	"pv.kubernetes.io/",
	"volume.kubernetes.io/",                    // k8s.io/component-helpers/storage/volume/pv_helpers.go
	"volume.beta.kubernetes.io/",               // the same
	"control-plane.alpha.kubernetes.io/leader", // k8s.io/client-go/tools/leaderelection
	"endpoints.kubernetes.io/",                 // pkg/controller/endpoint/endpoints_controller.go
	"kubernetes.io/service-account.uid",        // pkg/controller/serviceaccount/tokens_controller.go
	"batch.kubernetes.io/",
	"autoscaling.alpha.",          // pkg/controller/job, pkg/apis/autoscaling/annotations.go
	"kubernetes.io/metadata.name", // pkg/apis/core/v1/defaults.go
	"kubernetes.io/limit-ranger",  // plugin/pkg/admission/limitranger/admission.go
	// Velero (pkg/apis/velero/v1/labels_annotations.go): the user sets userAnnotations, and others under backup.velero.io.
	"velero.io/",
	"backup.velero.io/must-include-additional-items",
	"backup.velero.io/skipped-no-csi-pv",
	// Calico, Multus, OVN and EKS record a pod's addresses, MetalLB a Service's pool, DigitalOcean its load balancer.
	"cni.projectcalico.org/",
	"k8s.v1.cni.cncf.io/network-status",
	"k8s.v1.cni.cncf.io/networks-status",
	"k8s.ovn.org/",
	"vpc.amazonaws.com/",
	"metallb.io/ip-allocated-from-pool",
	"metallb.universe.tf/ip-allocated-from-pool",
	"kubernetes.digitalocean.com/load-balancer-id",
	"kube-vip.io/vipHost",    // the node that has a Service's address (github.com/kube-vip/kube-vip)
	"olm.operatorgroup.uid/", // on namespaces, with the uid of the group (github.com/operator-framework/api)
	// Rancher (github.com/rancher/rancher/pkg/controllers, nsAnnotations) and k3s
	// (github.com/rancher/wrangler/pkg/apply, LabelPrefix).
	"cattle.io/",
	"field.cattle.io/",
	"lifecycle.cattle.io/",
	"workload.cattle.io/state",
	"objectset.rio.cattle.io/",
	// GKE: Autopilot, and the load balancers of Services and Ingresses (k8s.io/ingress-gce/pkg/annotations).
	"autopilot.gke.io/resource-adjustment",
	"autopilot.gke.io/warden-version",
	"cloud.google.com/neg-status",
	"service.kubernetes.io/backend-service",
	"service.kubernetes.io/firewall-rule",
	"service.kubernetes.io/healthcheck",
	"service.kubernetes.io/tcp-forwarding-rule",
	"service.kubernetes.io/udp-forwarding-rule",
	"ingress.kubernetes.io/backends",
	"ingress.kubernetes.io/forwarding-rule",
	"ingress.kubernetes.io/https-forwarding-rule",
	"ingress.kubernetes.io/target-proxy",
	"ingress.kubernetes.io/https-target-proxy",
	"ingress.kubernetes.io/url-map",
	"ingress.kubernetes.io/ssl-cert",
	"ingress.kubernetes.io/static-ip",
	// OpenShift (github.com/openshift/api/annotations, and service-ca-operator/pkg/controller/api).
	"openshift.io/",
	"service.alpha.openshift.io/serving-cert-signed-by",
	"service.beta.openshift.io/serving-cert-signed-by",
	"service.alpha.openshift.io/expiry",
	"service.alpha.openshift.io/serving-cert-generation-error",
	"service.beta.openshift.io/serving-cert-generation-error",
	"service.beta.openshift.io/expiry",
}

// userAnnotations are labels and annotations that users set, though systemAnnotations has a prefix of them.
var userAnnotations = []string{veleroapi.ExcludeFromBackupLabel}

// filledAnnotations are labels and annotations of objects that a controller fills with data: the tokens of service
// accounts (pkg/controller/serviceaccount/tokens_controller.go), and what OpenShift fills with tokens and
// certificates.
var filledAnnotations = []string{
	corev1.ServiceAccountNameKey,
	"openshift.io/internal-registry-auth-token.service-account",
	"config.openshift.io/inject-trusted-cabundle",
	"service.alpha.openshift.io/inject-cabundle",
	"service.beta.openshift.io/inject-cabundle",
}

// KeepUserFields removes from an object what no user decides: the status, most metadata, and the annotations and init
// containers that are Velero's, Kubernetes' and its controllers' own. What is left of an item after
// [Rules.PrepareItem] is what a restore brings; [FindDrifts] has the fields that others may write all the same.
func KeepUserFields(resource string, o *unstructured.Unstructured) {
	metadata := map[string]any{}
	for _, of := range []string{"labels", "annotations"} {
		all, _, _ := unstructured.NestedMap(o.Object, "metadata", of)
		metadata[of] = dropSystemAnnotations(all)
	}
	if resource == "endpoints" { // leader elections keep who leads in them, and write them every few seconds
		delete(metadata, "annotations")
	}
	for _, name := range []string{"apiVersion", "kind", "status"} {
		delete(o.Object, name)
	}
	o.Object["metadata"] = metadata
	for _, at := range []string{
		"spec.template.metadata.annotations",
		"spec.jobTemplate.spec.template.metadata.annotations",
	} {
		path := strings.Split(at, ".")
		if template, _, _ := unstructured.NestedMap(o.Object, path...); template != nil {
			setOrRemove(o, dropSystemAnnotations(template), path...)
		}
	}
	if spec, ok := o.Object["spec"].(map[string]any); ok && resource == pods {
		dropByName(spec, "initContainers", isVeleroInitContainer)
	}
}

// isVeleroInitContainer reports whether Velero added an init container: for file system backups, or for a hook that
// gives no name (pkg/restore/actions/pod_volume_restore_action.go, internal/hook/item_hook_handler.go).
func isVeleroInitContainer(name string) bool {
	return name == waitContainerName || name == "restic-wait" || strings.HasPrefix(name, generatedInitPrefix)
}

// setOrRemove sets a map, or removes it if nothing is left in it: an empty map is a field of its own.
func setOrRemove(o *unstructured.Unstructured, left map[string]any, path ...string) {
	if len(left) > 0 {
		_ = unstructured.SetNestedMap(o.Object, left, path...)
		return
	}
	unstructured.RemoveNestedField(o.Object, path...)
	parent := path[:len(path)-1]
	if of, ok, _ := unstructured.NestedMap(o.Object, parent...); ok && len(of) == 0 {
		unstructured.RemoveNestedField(o.Object, parent...)
	}
}

func dropSystemAnnotations(all map[string]any) map[string]any {
	maps.DeleteFunc(all, func(name string, _ any) bool {
		return !slices.Contains(userAnnotations, name) &&
			slices.ContainsFunc(systemAnnotations, func(begin string) bool { return strings.HasPrefix(name, begin) })
	})
	return all
}
