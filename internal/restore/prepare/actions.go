package prepare

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
)

// Resources that Velero's actions change.
const (
	pods                = "pods"
	jobs                = "jobs.batch"
	claims              = "persistentvolumeclaims"
	volumes             = "persistentvolumes"
	secrets             = "secrets"
	serviceAccounts     = "serviceaccounts"
	statefulSets        = "statefulsets.apps"
	roleBindings        = "rolebindings.rbac.authorization.k8s.io"
	clusterRoleBindings = "clusterrolebindings.rbac.authorization.k8s.io"
	crds                = "customresourcedefinitions.apiextensions.k8s.io"
	apiServices         = "apiservices.apiregistration.k8s.io"
	dataUploads         = "datauploads.velero.io"
	snapshots           = "volumesnapshots.snapshot.storage.k8s.io"
	snapshotContents    = "volumesnapshotcontents.snapshot.storage.k8s.io"
)

// ChangeImageNameLabel is the label of the ConfigMap by which Velero changes images
// (pkg/restore/actions/change_image_name_action.go).
const ChangeImageNameLabel = "velero.io/change-image-name"

// PodVolumeRestoreLabel is the label of the ConfigMap of the init container that waits for data
// (pkg/restore/actions/pod_volume_restore_action.go).
const PodVolumeRestoreLabel = "velero.io/pod-volume-restore"

// ImageResources are the resources whose images Velero changes.
var ImageResources = []string{
	"deployments.apps",
	statefulSets,
	"daemonsets.apps",
	"replicasets.apps",
	"replicationcontrollers",
	jobs,
	"cronjobs.batch",
	pods,
}

// differenceReasons maps resources to what Velero's actions drop or add in each item, although each object of the
// cluster has it, so that Velero finds every object different. An item that goes through a Go type keeps an empty
// creation time, and most an empty status, which no object of a cluster has after the reset (pkg/restore/actions,
// 1.14 to 1.18).
var differenceReasons = map[string]string{
	live.Services: "its cluster IP",
	pods:          "its node",
	claims:        "what binds it to its volume",
	volumes:       "what binds it to its claim",
	jobs:          "its controller-uid labels",
	crds:          "its status",
}

// DifferenceReason returns what makes Velero find an unchanged object of a resource different from its item in the
// backup, empty if nothing does. mapped says whether the restore maps namespaces. [Change.Difference] knows more
// about single items.
func DifferenceReason(resource string, mapped bool) string {
	if mapped && (resource == roleBindings || resource == clusterRoleBindings) {
		return "the namespaces of its subjects"
	}
	return differenceReasons[resource]
}

// applyActions applies Velero's own actions to an item, and what restoreItem does to volumes and claims.
func (r *Rules) applyActions(resource string, o *unstructured.Unstructured, c *Change) {
	c.Difference = DifferenceReason(resource, len(r.Restore.NamespaceMapping) > 0)
	c.Changed = true
	if slices.Contains(ImageResources, resource) && r.hasPluginConfig(ChangeImageNameLabel, c) {
		c.addUnsure(
			"Velero's plugin " + ChangeImageNameLabel + " may change its images",
		) // if several entries match, any may apply
	}
	switch resource {
	case pods:
		r.preparePod(o, c)
	case jobs:
		for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
			removeField(o, "spec", "selector", "matchLabels", label)
			removeField(o, "spec", "template", "metadata", "labels", label)
		}
	case live.Services:
		r.prepareService(o, c)
	case claims:
		r.prepareClaim(o, c)
	case volumes:
		r.prepareVolume(o, c)
	case statefulSets:
		for _, template := range objectsAt(o.Object, "spec", "volumeClaimTemplates") {
			if r.changeStorageClass(template, c) {
				c.Difference = "its status"
			}
		}
	case crds:
		dropPreserveFields(o, c)
	case roleBindings, clusterRoleBindings:
		for _, subject := range objectsAt(o.Object, "subjects") {
			if namespace, ok := subject["namespace"].(string); ok {
				subject["namespace"] = r.targetNamespace(namespace)
			}
		}
	case serviceAccounts:
		dropTokenSecret(o)
	case secrets:
		prepareToken(o, c)
	case live.ValidatingWebhooks, live.MutatingWebhooks: // v1 knows no other effects (admissionwebhook_config_action.go)
		for _, w := range objectsAt(o.Object, "webhooks") {
			if o.GetAPIVersion() == "admissionregistration.k8s.io/v1" && w["sideEffects"] != "None" &&
				w["sideEffects"] != "NoneOnDryRun" {
				w["sideEffects"] = "None"
			}
		}
	case apiServices:
		if _, automanaged := o.GetLabels()["kube-aggregator.kubernetes.io/automanaged"]; automanaged {
			c.SkipReason = "Kubernetes makes it itself"
		}
	case dataUploads:
		c.SkipReason = "Velero only reads in it where the data is"
	case snapshots, snapshotContents, live.SnapshotClasses:
		r.prepareSnapshot(resource, c)
	default:
		c.Changed = false
	}
}

// hasPluginConfig reports whether an action has a ConfigMap. With two, each item gets an error
// (pkg/plugin/framework/common/plugin_config.go, GetPluginConfig).
func (r *Rules) hasPluginConfig(action string, c *Change) bool {
	names := r.Plugins[action]
	if len(names) > 1 {
		c.Failure = fmt.Sprintf(
			"found more than one ConfigMap matching label selector \"velero.io/plugin-config,%s=RestoreItemAction\": %v",
			action,
			names,
		)
	}
	return len(names) > 0
}

// dropPreserveFields drops spec.preserveUnknownFields: v1 allows only false there
// (crd_v1_preserve_unknown_fields_action.go).
func dropPreserveFields(o *unstructured.Unstructured, c *Change) {
	preserve, _, _ := unstructured.NestedBool(o.Object, "spec", "preserveUnknownFields")
	if o.GetAPIVersion() != "apiextensions.k8s.io/v1" {
		c.Difference = ""
		return
	}
	removeField(o, "spec", "preserveUnknownFields")
	if preserve {
		for _, version := range objectsAt(o.Object, "spec", "versions") {
			if schema, ok, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema"); ok {
				schema["x-kubernetes-preserve-unknown-fields"] = true
				_ = unstructured.SetNestedMap(version, schema, "schema", "openAPIV3Schema")
			}
		}
	}
}

// prepareToken prepares a ServiceAccount's token as Velero does: Velero skips the tokens that Kubernetes made before
// 1.24, which it recognizes by the accounts of the namespace (secret_action.go).
func prepareToken(o *unstructured.Unstructured, c *Change) {
	if c.Changed = nestedString(o, "type") == "kubernetes.io/service-account-token"; !c.Changed {
		return
	}
	c.Difference = "the token in it"
	if strings.Contains(o.GetName(), "-token-") {
		c.MaybeSkippedReason = "Velero skips it if it is the token of a ServiceAccount"
	}
	dropAnnotations(o, "kubernetes.io/service-account.uid")
	removeField(o, "data", "token")
	removeField(o, "data", "ca.crt")
}

// dropTokenSecret removes the last Secret that is a ServiceAccount's own token (service_account_action.go).
func dropTokenSecret(o *unstructured.Unstructured) {
	all, _ := o.Object["secrets"].([]any)
	for i := len(all) - 1; i >= 0; i-- {
		secret, _ := all[i].(map[string]any)
		if name, _ := secret["name"].(string); strings.HasPrefix(name, o.GetName()+"-token-") {
			o.Object["secrets"] = slices.Delete(all, i, i+1)
			return
		}
	}
}

func dropAnnotations(o *unstructured.Unstructured, names ...string) {
	annotations := o.GetAnnotations()
	for _, name := range names {
		delete(annotations, name)
	}
	o.SetAnnotations(annotations)
}
