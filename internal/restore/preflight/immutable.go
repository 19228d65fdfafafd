package preflight

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/restore/live"
)

// immutableFields are the fields of Kubernetes' own kinds that nobody may change, by resource: the API server answers
// a patch of such a field with an error. Files are those of k8s.io/kubernetes, and of k8s.io/apiextensions-apiserver
// for CRDs. TestImmutableFields compares the table with an API server. What only some objects of a kind fix is in
// decidePatch.
var immutableFields = map[string][]string{
	// pkg/apis/apps/validation/validation.go: ValidateControllerRevisionUpdate, ValidateDaemonSetSpecUpdate,
	// ValidateDeploymentUpdate, ValidateReplicaSetUpdate, ValidateStatefulSetUpdate
	"controllerrevisions.apps": {"data"},
	"daemonsets.apps":          {"spec.selector"},
	"deployments.apps":         {"spec.selector"},
	"replicasets.apps":         {"spec.selector"},
	statefulSets: {
		"spec.selector", "spec.serviceName", "spec.volumeClaimTemplates", "spec.podManagementPolicy",
	},
	// pkg/apis/batch/validation/validation.go: ValidateJobSpecUpdate, validateCompletions
	jobs: {
		"spec.selector", "spec.template", "spec.completionMode", "spec.completions", "spec.podFailurePolicy",
		"spec.backoffLimitPerIndex", "spec.managedBy", "spec.successPolicy",
	},
	// pkg/apis/core/validation/validation.go: ValidateSecretUpdate, ValidateResourceQuotaUpdate,
	// ValidatePersistentVolumeUpdate, ValidatePersistentVolumeClaimUpdate, validateLoadBalancerClassField
	secrets:       {"type"},
	live.Quotas:   {"spec.scopes"},
	volumes:       append(volumeSources(), "spec.volumeMode"),
	live.Services: {"spec.loadBalancerClass"},
	claims: {
		"spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeMode", "spec.dataSource",
		"spec.dataSourceRef",
	},
	// pkg/apis/rbac/validation/validation.go: ValidateRoleBindingUpdate, ValidateClusterRoleBindingUpdate
	roleBindings:        {"roleRef"},
	clusterRoleBindings: {"roleRef"},
	// pkg/apis/storage/validation/validation.go: ValidateStorageClassUpdate, ValidateCSIDriverUpdate,
	// ValidateCSIStorageCapacityUpdate, ValidateVolumeAttributesClassUpdate
	live.StorageClasses:                      {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
	live.CSIDrivers:                          {"spec.attachRequired", "spec.volumeLifecycleModes"},
	"csistoragecapacities.storage.k8s.io":    {"nodeTopology", "storageClassName"},
	"volumeattributesclasses.storage.k8s.io": {"driverName", "parameters"},
	// pkg/apis/scheduling/validation/validation.go: ValidatePriorityClassUpdate
	"priorityclasses.scheduling.k8s.io": {"value", "preemptionPolicy"},
	// pkg/apis/node/validation/validation.go: ValidateRuntimeClassUpdate
	"runtimeclasses.node.k8s.io": {"handler"},
	// pkg/apis/networking/validation/validation.go: ValidateIngressClassUpdate, ValidateIPAddressUpdate,
	// ValidateServiceCIDRUpdate
	"ingressclasses.networking.k8s.io": {"spec.controller"},
	"ipaddresses.networking.k8s.io":    {"spec.parentRef"},
	"servicecidrs.networking.k8s.io":   {"spec.cidrs"},
	// pkg/apis/discovery/validation/validation.go: ValidateEndpointSliceUpdate
	"endpointslices.discovery.k8s.io": {"addressType"},
	// pkg/apis/coordination/validation/validation.go: ValidateLeaseCandidateSpecUpdate
	"leasecandidates.coordination.k8s.io": {"spec.leaseName"},
	// pkg/apis/certificates/validation/validation.go: ValidateClusterTrustBundleUpdate,
	// ValidatePodCertificateRequestUpdate
	"clustertrustbundles.certificates.k8s.io":    {"spec.signerName"},
	"podcertificaterequests.certificates.k8s.io": {"spec"},
	// pkg/apis/resource/validation/validation.go: ValidateResourceClaimUpdate, ValidateResourceClaimTemplateUpdate,
	// validateResourceSliceSpec
	"resourceclaims.resource.k8s.io":         {"spec"},
	"resourceclaimtemplates.resource.k8s.io": {"spec"},
	"resourceslices.resource.k8s.io":         {"spec.driver", "spec.nodeName", "spec.pool.name"},
	// pkg/apis/storagemigration/validation/validation.go: ValidateStorageVersionMigrationUpdate
	"storageversionmigrations.storagemigration.k8s.io": {"spec"},
	// pkg/apis/apiextensions/validation/validation.go: validateCustomResourceDefinitionSpecUpdate
	crds: {"spec.scope", "spec.group", "spec.names.kind", "spec.names.plural"},
}

// revertedFields are the fields that the API server silently keeps as they are when a patch changes them.
var revertedFields = map[string][]string{
	// pkg/registry/certificates/certificates/strategy.go: PrepareForUpdate
	"certificatesigningrequests.certificates.k8s.io": {"spec"},
}

// volumeSources returns the fields of a volume that say where the data is: nobody may change them
// (ValidatePersistentVolumeUpdate, PersistentVolumeSource).
func volumeSources() (paths []string) {
	for field := range reflect.TypeFor[corev1.PersistentVolumeSource]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		paths = append(paths, "spec."+name)
	}
	return paths
}
