package preflight

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
)

// Further resources that need rules.
const (
	secrets         = "secrets"
	statefulSets    = "statefulsets.apps"
	bindings        = "rolebindings.rbac.authorization.k8s.io"
	clusterBindings = "clusterrolebindings.rbac.authorization.k8s.io"
)

// spread makes a field of each Secret that a ServiceAccount names: Velero merges
// them by name (pkg/restore/merge_service_account.go).
func spread(o *unstructured.Unstructured) {
	for _, list := range merged[:2] {
		all, _ := o.Object[list].([]any)
		names := map[string]any{}
		for _, secret := range all {
			if s, ok := secret.(map[string]any); ok {
				name, _ := s["name"].(string)
				names[name] = true
			}
		}
		delete(o.Object, list)
		if len(names) > 0 {
			o.Object[list] = names
		}
	}
}

// merged is what Velero adds to ServiceAccounts.
var merged = []string{"secrets", "imagePullSecrets", "metadata.labels", "metadata.annotations"}

// decide is what Velero does, and what Kubernetes says to it. frozen is an object that says of itself that it
// is immutable, bound a claim with a volume; differing are the fields in which it differs from the backup, and
// against those in which it differs from what Velero makes of the backup.
func (i *compared) decide(
	resource string,
	policy velerov1.PolicyType,
	frozen, bound bool,
	differing, against []string,
) {
	update := policy == velerov1.PolicyTypeUpdate
	always := i.Differs != "" && i.Uncompared == ""
	switch {
	case i.Skip != "" || i.Renamed:
		i.outcome = Skipped
	case i.Fails != "":
		i.cannotTell("Velero gives it up: " + i.Fails)
	case i.Unsure != "" && !(always && !update):
		i.cannotTell(i.Unsure)
	case i.Uncompared != "":
		i.cannotTell(i.Uncompared)
	case !always && len(against) == 0:
		i.outcome = Equal
	case i.Perhaps != "":
		i.cannotTell(i.Perhaps)
	case !update:
		i.outcome = Left
	default:
		i.patch(resource, frozen, bound, differing, against)
	}
}

// fixed are immutable fields, as far as Kubernetes' own kinds say so
// (pkg/apis/.../validation and pkg/registry of Kubernetes).
var fixed = map[string][]string{
	jobs: {
		"spec.selector",
		"spec.template",
		"spec.completionMode",
		"spec.manualSelector",
	},
	statefulSets: {
		"spec.selector",
		"spec.serviceName",
		"spec.volumeClaimTemplates",
		"spec.podManagementPolicy",
	},
	"deployments.apps":                  {"spec.selector"},
	"daemonsets.apps":                   {"spec.selector"},
	"replicasets.apps":                  {"spec.selector"},
	bindings:                            {"roleRef"},
	clusterBindings:                     {"roleRef"},
	secrets:                             {"type"},
	live.StorageClasses:                 {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
	"priorityclasses.scheduling.k8s.io": {"value", "preemptionPolicy"},
	claims: {
		"spec.accessModes",
		"spec.selector",
		"spec.storageClassName",
		"spec.volumeMode",
		"spec.dataSource",
		"spec.dataSourceRef",
	},
}

// podMayChange are fields of a pod that may change in some ways.
var podMayChange = []string{"spec.containers", "spec.initContainers", "spec.activeDeadlineSeconds", "spec.tolerations",
	"spec.terminationGracePeriodSeconds", "spec.schedulingGates", "spec.nodeSelector", "spec.affinity"}

func (i *compared) patch(resource string, frozen, bound bool, differing, against []string) {
	i.outcome = Patched
	touches := func(fields ...string) bool {
		return slices.ContainsFunc(against, func(path string) bool {
			return slices.ContainsFunc(
				fields,
				func(f string) bool { return path == f || strings.HasPrefix(path, f+".") },
			)
		})
	}
	switch {
	case touches(fixed[resource]...),
		frozen && (resource == secrets || resource == live.ConfigMaps) && touches("data", "binaryData", "immutable"),
		resource == live.Services && i.headless && touches("spec.clusterIP"):
		i.outcome = PatchRefused
	case resource == volumes && touches("spec"):
		i.cannotTell("Kubernetes lets few fields of a volume change")
	case resource == claims:
		i.patchClaim(bound, touches)
	case resource == pods:
		i.patchPod(against, touches)
	}
	i.fields = differing
}

// patchClaim: a claim that Velero lets a new volume be made for loses its name in
// Velero's patch, which Kubernetes refuses once the claim is bound.
func (i *compared) patchClaim(bound bool, touches func(...string) bool) {
	switch {
	case bound && (!i.bound || touches("spec.volumeName")):
		i.outcome = PatchRefused
	case bound:
		i.cannotTell("Kubernetes refuses Velero's patch if the restore makes a new volume for the claim")
	case touches("spec.resources"):
		i.cannotTell("Kubernetes lets a claim grow if it is bound and its class allows it")
	}
}

func (i *compared) patchPod(against []string, touches func(...string) bool) {
	for _, path := range against {
		if strings.HasPrefix(path, "spec.") && path != "spec.priority" && !slices.Contains(podMayChange, path) {
			i.outcome = PatchRefused
			return
		}
	}
	if touches(podMayChange...) {
		i.cannotTell("Kubernetes lets few fields of a pod change")
	}
}
