package prepare

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/live"
)

// kubeControllerManager is the name under which the controllers of Kubernetes write
// (k8s.io/kubernetes cmd/kube-controller-manager).
const kubeControllerManager = "kube-controller-manager"

// Drift is a field that differs after a restore though nobody changed it. It does not count as long as nobody but
// Velero, the API server and Managers wrote the field since.
type Drift struct {
	Resource string
	// Field is the path, with [] for each element of a list; it stands for all that is below, too.
	Field string
	// Writer says who writes the field, with the source. The sources are those of Kubernetes 1.36.3.
	Writer string
	// Managers are the names in managed fields under which controllers write the field. What the API server fills in has
	// no name.
	Managers []string
	// MayLack is true if the field may be gone altogether: Velero drops it, or its controller does.
	MayLack bool
	// IfFilled limits the row to objects with one of filledAnnotations, IfAggregated to ClusterRoles with an
	// aggregationRule.
	IfFilled, IfAggregated bool
	// IsCertificate is true for the certificate by which the cluster knows a server that it calls. Whoever writes nothing
	// else is that server, or signs for it.
	IsCertificate bool
}

// IsBy reports whether a row explains what a writer wrote of its field.
func (d Drift) IsBy(w diff.Writer) bool {
	return slices.Contains(d.Managers, w.Manager) ||
		d.IsCertificate && !strings.HasPrefix(w.Manager, "kubectl") && w.OwnsOnly(func(path string) bool {
			return d.Matches(path) || strings.HasPrefix(path, "metadata.") || strings.HasSuffix(path, ".failurePolicy")
		})
}

const apiServer = "the API server"

// Drifts are all fields that may drift.
var Drifts = []Drift{
	{
		Resource: live.Services, Field: "spec.clusterIP", MayLack: true,
		Writer: apiServer + ", core/service/storage/alloc.go",
	},
	{
		Resource: live.Services, Field: "spec.clusterIPs", MayLack: true,
		Writer: apiServer + ", core/service/storage/alloc.go",
	},
	{Resource: live.Services, Field: "spec.ipFamilies", Writer: apiServer + ", core/service/storage/alloc.go"},
	{Resource: live.Services, Field: "spec.ipFamilyPolicy", Writer: apiServer + ", core/service/storage/alloc.go"},
	{Resource: live.Services, Field: "spec.healthCheckNodePort", Writer: apiServer + ", core/service/storage/alloc.go"},
	{Resource: live.Services, Field: "spec.ports[].nodePort", Writer: apiServer + ", core/service/storage/alloc.go"},
	{
		Resource: claims, Field: "spec.volumeName", MayLack: true,
		Managers: []string{kubeControllerManager, "kube-scheduler"},
		Writer:   "the volume controller, pkg/controller/volume/persistentvolume/pv_controller.go",
	},
	// Velero's CSI action asks for the size of the snapshot, and names it (pkg/restore/actions/csi/pvc_action.go, 1.18.3).
	{Resource: claims, Field: "spec.resources", Writer: "Velero", MayLack: true},
	{Resource: claims, Field: "spec.dataSource", Writer: "Velero", MayLack: true},
	{Resource: claims, Field: "spec.dataSourceRef", Writer: "Velero", MayLack: true},
	{Resource: claims, Field: "spec.selector", Writer: "Velero", MayLack: true},
	{
		Resource: pods, Field: "spec.nodeName", Managers: []string{"kube-scheduler"}, MayLack: true,
		Writer: "the scheduler, pkg/scheduler/framework/plugins/defaultbinder",
	},
	{Resource: pods, Field: "spec.priority", MayLack: true, Writer: apiServer + ", plugin/pkg/admission/priority"},
	{Resource: "namespaces", Field: "spec.finalizers", Writer: apiServer + ", core/namespace/strategy.go"},
	{
		Resource: "endpoints", Field: "subsets", MayLack: true, Managers: []string{kubeControllerManager},
		Writer: "the endpoints controller, pkg/controller/endpoint/endpoints_controller.go",
	},
	{
		Resource: "endpoints", Field: "metadata.labels", MayLack: true, Managers: []string{kubeControllerManager},
		Writer: "the endpoints controller, which copies those of the Service",
	},
	// Velero drops the owner of a slice, so that the controller takes it for its Service's, and writes it.
	{
		Resource: "endpointslices.discovery.k8s.io", Field: "endpoints", MayLack: true,
		Managers: []string{kubeControllerManager}, Writer: sliceWriter,
	},
	{
		Resource: "endpointslices.discovery.k8s.io", Field: "ports", MayLack: true,
		Managers: []string{kubeControllerManager}, Writer: sliceWriter,
	},
	{
		Resource: "endpointslices.discovery.k8s.io", Field: "metadata.labels", MayLack: true,
		Managers: []string{kubeControllerManager}, Writer: sliceWriter,
	},
	{
		Resource: serviceAccounts, Field: "secrets",
		Managers: []string{kubeControllerManager, "openshift-controller-manager"},
		Writer:   "the tokens controller before 1.24, and OpenShift's for its registry",
	},
	{
		Resource: serviceAccounts, Field: "imagePullSecrets", Managers: []string{"openshift-controller-manager"},
		Writer: "OpenShift's controller for its registry, openshift-controller-manager/pkg/serviceaccounts",
	},
	{
		Resource: secrets, Field: "data", IfFilled: true,
		Managers: []string{kubeControllerManager, "openshift-controller-manager", "service-ca-operator"},
		Writer:   "the tokens controller, pkg/controller/serviceaccount/tokens_controller.go",
	},
	{
		Resource: "configmaps", Field: "data", IfFilled: true,
		Managers: []string{"service-ca-operator", "cluster-network-operator"},
		Writer:   "OpenShift's operators, which inject certificates",
	},
	{
		Resource: "clusterroles.rbac.authorization.k8s.io", Field: "rules", IfAggregated: true, MayLack: true,
		Managers: []string{"clusterrole-aggregation-controller", kubeControllerManager},
		Writer:   "the aggregation, pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go",
	},
	{
		Resource: live.ValidatingWebhooks, Field: "webhooks[].clientConfig.caBundle", IsCertificate: true,
		Managers: caInjectors, Writer: caWriter,
	},
	{
		Resource: live.MutatingWebhooks, Field: "webhooks[].clientConfig.caBundle", IsCertificate: true,
		Managers: caInjectors, Writer: caWriter,
	},
	{
		Resource: crds, Field: "spec.conversion.webhook.clientConfig.caBundle", IsCertificate: true,
		Managers: caInjectors, Writer: caWriter,
	},
	{Resource: apiServices, Field: "spec.caBundle", IsCertificate: true, Managers: caInjectors, Writer: caWriter},
}

const sliceWriter = "the endpointslice controller, staging/src/k8s.io/endpointslice/reconciler.go"

// caInjectors are the names under which certificates are injected together with other fields.
var caInjectors = []string{"cert-manager-cainjector", "cainjector", "service-ca-operator"}

const caWriter = "the server itself, cert-manager's cainjector, pkg/controller/cainjector, or OpenShift's " +
	"service-ca-operator"

// FindDrifts returns the rows that apply to an object. It reads what [KeepUserFields] removes.
func FindDrifts(resource string, o *unstructured.Unstructured) (rows []Drift) {
	filled := slices.ContainsFunc(filledAnnotations, func(name string) bool {
		_, label := o.GetLabels()[name]
		_, annotation := o.GetAnnotations()[name]
		return label || annotation
	})
	for _, d := range Drifts {
		if d.Resource == resource && (filled || !d.IfFilled) &&
			(!d.IfAggregated || o.Object["aggregationRule"] != nil) {
			rows = append(rows, d)
		}
	}
	return rows
}

// Matches reports whether a field that package diff names is the row's, or is below it.
func (d Drift) Matches(path string) bool {
	rest, ok := strings.CutPrefix(withoutElementNames(path), d.Field)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ".[{"))
}

// withoutElementNames replaces the names of elements in a path: spec.ports[http].port becomes spec.ports[].port.
func withoutElementNames(path string) string {
	var b strings.Builder
	depth := 0
	for _, r := range path {
		switch {
		case r == ']' && depth > 0:
			depth--
		case r == '[':
			depth++
		case depth > 0:
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
