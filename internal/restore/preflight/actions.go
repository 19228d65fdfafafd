package preflight

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Further resources that need rules.
const (
	secrets             = "secrets"
	statefulSets        = "statefulsets.apps"
	roleBindings        = "rolebindings.rbac.authorization.k8s.io"
	clusterRoleBindings = "clusterrolebindings.rbac.authorization.k8s.io"
	crds                = "customresourcedefinitions.apiextensions.k8s.io"
)

// indexSecretNames turns each Secret that a ServiceAccount names into a field of its own: Velero merges the Secrets
// by name (pkg/restore/merge_service_account.go).
func indexSecretNames(o *unstructured.Unstructured) {
	for _, list := range mergedFields[:2] {
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

// mergedFields are the fields of a ServiceAccount to which Velero adds.
var mergedFields = []string{"secrets", "imagePullSecrets", "metadata.labels", "metadata.annotations"}

// decideOutcome sets what Velero does with the object, given how Kubernetes answers. frozen is true for an object
// that declares itself immutable, bound for a claim with a volume. differing are the fields in which the object
// differs from the backup, against those in which it differs from what Velero makes of the backup.
func (i *comparedItem) decideOutcome(
	resource string,
	policy veleroapi.PolicyType,
	frozen, bound bool,
	differing, against []string,
) {
	update := policy == veleroapi.PolicyTypeUpdate
	always := i.Difference != "" && i.UncomparedReason == ""
	switch {
	case i.SkipReason != "" || i.Renamed:
		i.outcome = OutcomeSkipped
	case i.Failure != "":
		i.setCannotTell("Velero gives it up: " + i.Failure)
	case i.UnsureReason != "" && !(always && !update):
		i.setCannotTell(i.UnsureReason)
	case i.UncomparedReason != "":
		i.setCannotTell(i.UncomparedReason)
	case !always && len(against) == 0:
		i.outcome = OutcomeEqual
	case i.MaybeSkippedReason != "":
		i.setCannotTell(i.MaybeSkippedReason)
	case !update:
		i.outcome = OutcomeUnchanged
	default:
		i.decidePatch(resource, frozen, bound, differing, against)
	}
}

// mutablePodFields are the fields of a pod that may change in some ways.
var mutablePodFields = []string{
	"spec.containers",
	"spec.initContainers",
	"spec.activeDeadlineSeconds",
	"spec.tolerations",
	"spec.terminationGracePeriodSeconds",
	"spec.schedulingGates",
	"spec.nodeSelector",
	"spec.affinity",
}

func (i *comparedItem) decidePatch(resource string, frozen, bound bool, differing, against []string) {
	i.outcome = OutcomePatched
	touches := func(fields ...string) bool {
		return slices.ContainsFunc(against, func(path string) bool {
			return slices.ContainsFunc(
				fields,
				func(f string) bool { return path == f || strings.HasPrefix(path, f+".") },
			)
		})
	}
	switch {
	case touches(immutableFields[resource]...),
		frozen && (resource == secrets || resource == live.ConfigMaps) && touches("data", "binaryData", "immutable"),
		resource == live.Services && i.headless && touches("spec.clusterIP"):
		i.outcome = OutcomePatchRefused
	case touches(revertedFields[resource]...):
		i.setCannotTell("Kubernetes takes Velero's patch, and silently keeps what was there")
	case resource == volumes && touches("spec"):
		i.setCannotTell("Kubernetes lets few fields of a volume change")
	case resource == claims:
		i.decideClaimPatch(bound, touches)
	case resource == pods:
		i.decidePodPatch(against, touches)
	}
	i.differingFields = differing
}

// decideClaimPatch sets the outcome for a claim. If Velero lets a new volume be made for the claim, Velero's patch
// removes the volume's name, which Kubernetes refuses once the claim is bound.
func (i *comparedItem) decideClaimPatch(bound bool, touches func(...string) bool) {
	switch {
	case bound && (!i.bound || touches("spec.volumeName")):
		i.outcome = OutcomePatchRefused
	case bound:
		i.setCannotTell("Kubernetes refuses Velero's patch if the restore makes a new volume for the claim")
	case touches("spec.resources"):
		i.setCannotTell("Kubernetes lets a claim grow if it is bound and its class allows it")
	}
}

func (i *comparedItem) decidePodPatch(against []string, touches func(...string) bool) {
	for _, path := range against {
		if strings.HasPrefix(path, "spec.") && path != "spec.priority" && !slices.Contains(mutablePodFields, path) {
			i.outcome = OutcomePatchRefused
			return
		}
	}
	if touches(mutablePodFields...) {
		i.setCannotTell("Kubernetes lets few fields of a pod change")
	}
}
