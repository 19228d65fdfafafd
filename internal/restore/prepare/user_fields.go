package prepare

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
)

// systemFields are fields that Kubernetes and its controllers write on their own; [] stands for each element of a
// list. The sources are those of Kubernetes 1.36.3.
var systemFields = map[string][]string{
	live.Services: { // pkg/registry/core/service/storage/alloc.go
		"spec.clusterIP",
		"spec.clusterIPs",
		"spec.ipFamilies",
		"spec.ipFamilyPolicy",
		"spec.healthCheckNodePort",
		"spec.ports.[].nodePort",
	},
	// The volume controller binds claims (pkg/controller/volume/persistentvolume/pv_controller.go), and the driver grows
	// them. Velero's own CSI action writes the rest (pkg/restore/actions/csi/pvc_action.go, 1.18.3).
	claims: {
		"spec.volumeName",
		"spec.resources",
		"spec.dataSource",
		"spec.dataSourceRef",
		"spec.selector",
	},
	pods: {"spec.nodeName", "spec.priority"}, // the scheduler, and plugin/pkg/admission/priority
	"namespaces": {
		"spec",
	}, // its finalizers (pkg/registry/core/namespace/strategy.go)
	live.ValidatingWebhooks: {"webhooks.[].clientConfig.caBundle"},
	live.MutatingWebhooks:   {"webhooks.[].clientConfig.caBundle"}, // injected, as by cert-manager's cainjector
	crds:                    {"spec.conversion.webhook.clientConfig.caBundle"},
	apiServices:             {"spec.caBundle"},
}

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
	// Velero (pkg/apis/velero/v1/labels_annotations.go): the user sets the others under backup.velero.io.
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

// KeepUserFields removes everything from an object that its user does not decide: the status, most metadata, and what
// Kubernetes, controllers and Velero write on their own. What is left of an item after [Rules.PrepareItem] is what a
// restore brings.
func KeepUserFields(resource string, o *unstructured.Unstructured) {
	metadata := map[string]any{}
	for _, of := range []string{"labels", "annotations"} {
		all, _, _ := unstructured.NestedMap(o.Object, "metadata", of)
		if slices.ContainsFunc(filledAnnotations, func(name string) bool { return all[name] != nil }) {
			delete(o.Object, "data")
		}
		metadata[of] = dropSystemAnnotations(all)
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
			_ = unstructured.SetNestedMap(o.Object, dropSystemAnnotations(template), path...)
		}
	}
	for _, path := range systemFields[resource] {
		removePath(o.Object, strings.Split(path, "."))
	}
	switch {
	case resource == pods:
		if spec, ok := o.Object["spec"].(map[string]any); ok {
			dropByName(spec, "initContainers", isVeleroInitContainer)
		}
	case o.Object["aggregationRule"] != nil:
		delete(o.Object, "rules") // pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go
	}
}

// isVeleroInitContainer reports whether Velero added an init container: for file system backups, or for a hook that
// gives no name (pkg/restore/actions/pod_volume_restore_action.go, internal/hook/item_hook_handler.go).
func isVeleroInitContainer(name string) bool {
	return name == waitContainerName || name == "restic-wait" || strings.HasPrefix(name, generatedInitPrefix)
}

func dropSystemAnnotations(all map[string]any) map[string]any {
	maps.DeleteFunc(all, func(name string, _ any) bool {
		return slices.ContainsFunc(systemAnnotations, func(begin string) bool { return strings.HasPrefix(name, begin) })
	})
	return all
}

func removePath(from any, path []string) {
	switch v := from.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
			return
		}
		removePath(v[path[0]], path[1:])
	case []any:
		for _, element := range v {
			removePath(element, path[1:])
		}
	}
}
