package prepare

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/restore/target"
)

// written are fields that Kubernetes and its controllers write by themselves; [] stands for each element of a list.
// The sources are Kubernetes' of 1.36.3.
var written = map[string][]string{
	target.Services: { // pkg/registry/core/service/storage/alloc.go
		"spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy", "spec.healthCheckNodePort", "spec.ports.[].nodePort",
	},
	// Binding is the volume controller's (pkg/controller/volume/persistentvolume/pv_controller.go), and growing the driver's.
	// The rest Velero's own CSI action writes (pkg/restore/actions/csi/pvc_action.go, 1.18.3).
	claims:            {"spec.volumeName", "spec.resources", "spec.dataSource", "spec.dataSourceRef", "spec.selector"},
	pods:              {"spec.nodeName", "spec.priority"}, // the scheduler, and plugin/pkg/admission/priority
	"namespaces":      {"spec"},                           // its finalizers (pkg/registry/core/namespace/strategy.go)
	target.Validating: {"webhooks.[].clientConfig.caBundle"},
	target.Mutating:   {"webhooks.[].clientConfig.caBundle"}, // injected, as by cert-manager's cainjector
	definitions:       {"spec.conversion.webhook.clientConfig.caBundle"},
	apiServices:       {"spec.caBundle"},
}

// annotated are the beginnings of labels and annotations that kubectl, Kubernetes, its controllers and Velero write.
var annotated = []string{
	"kubectl.kubernetes.io/last-applied-configuration", "kubectl.kubernetes.io/restartedAt", // kubectl apply, and rollout restart
	"deployment.kubernetes.io/",                  // pkg/controller/deployment/util/deployment_util.go
	"deprecated.daemonset.template.generation",   // pkg/controller/daemon/util/daemonset_util.go
	"pv.kubernetes.io/", "volume.kubernetes.io/", // k8s.io/component-helpers/storage/volume/pv_helpers.go
	"volume.beta.kubernetes.io/",                 // the same
	"control-plane.alpha.kubernetes.io/leader",   // k8s.io/client-go/tools/leaderelection
	"endpoints.kubernetes.io/",                   // pkg/controller/endpoint/endpoints_controller.go
	"kubernetes.io/service-account.uid",          // pkg/controller/serviceaccount/tokens_controller.go
	"batch.kubernetes.io/", "autoscaling.alpha.", // pkg/controller/job, pkg/apis/autoscaling/annotations.go
	"kubernetes.io/metadata.name", "openshift.io/", // pkg/apis/core/v1/defaults.go, and OpenShift's namespaces
	"field.cattle.io/", "cni.projectcalico.org/", "k8s.v1.cni.cncf.io/", "k8s.ovn.org/", // Rancher, and networks
	"velero.io/", // pkg/apis/velero/v1/labels_annotations.go
}

// Settle removes from an object all that its user does not decide: the status, most metadata, and what Kubernetes,
// controllers and Velero write by themselves. What is left of an item after [Rules.Item] is what a restore brings.
func Settle(resource string, o *unstructured.Unstructured) {
	metadata := map[string]any{}
	for _, of := range []string{"labels", "annotations"} {
		all, _, _ := unstructured.NestedMap(o.Object, "metadata", of)
		metadata[of] = withoutWritten(all)
	}
	for _, name := range []string{"apiVersion", "kind", "status"} {
		delete(o.Object, name)
	}
	o.Object["metadata"] = metadata
	if template, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "metadata", "annotations"); template != nil {
		_ = unstructured.SetNestedMap(o.Object, withoutWritten(template), "spec", "template", "metadata", "annotations")
	}
	for _, path := range written[resource] {
		remove(o.Object, strings.Split(path, "."))
	}
	switch {
	case resource == secrets && nested(o, "type") == "kubernetes.io/service-account-token":
		delete(o.Object, "data") // pkg/controller/serviceaccount/tokens_controller.go
	case o.Object["aggregationRule"] != nil:
		delete(o.Object, "rules") // pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go
	}
}

func withoutWritten(all map[string]any) map[string]any {
	maps.DeleteFunc(all, func(name string, _ any) bool {
		return slices.ContainsFunc(annotated, func(begin string) bool { return strings.HasPrefix(name, begin) })
	})
	return all
}

func remove(from any, path []string) {
	switch v := from.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
			return
		}
		remove(v[path[0]], path[1:])
	case []any:
		for _, element := range v {
			remove(element, path[1:])
		}
	}
}
