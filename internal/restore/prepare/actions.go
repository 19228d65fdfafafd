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
	pods            = "pods"
	jobs            = "jobs.batch"
	claims          = "persistentvolumeclaims"
	volumes         = "persistentvolumes"
	secrets         = "secrets"
	serviceAccounts = "serviceaccounts"
	statefulSets    = "statefulsets.apps"
	bindings        = "rolebindings.rbac.authorization.k8s.io"
	clusterBindings = "clusterrolebindings.rbac.authorization.k8s.io"
	definitions     = "customresourcedefinitions.apiextensions.k8s.io"
	apiServices     = "apiservices.apiregistration.k8s.io"
	dataUploads     = "datauploads.velero.io"
	snapshots       = "volumesnapshots.snapshot.storage.k8s.io"
	contents        = "volumesnapshotcontents.snapshot.storage.k8s.io"
)

// ChangesImages is the label of the ConfigMap by which Velero changes images
// (pkg/restore/actions/change_image_name_action.go).
const ChangesImages = "velero.io/change-image-name"

// PodVolumes is the label of the ConfigMap of the init container that waits for data
// (pkg/restore/actions/pod_volume_restore_action.go).
const PodVolumes = "velero.io/pod-volume-restore"

// OfImages are the resources whose images Velero changes.
var OfImages = []string{
	"deployments.apps",
	statefulSets,
	"daemonsets.apps",
	"replicasets.apps",
	"replicationcontrollers",
	jobs,
	"cronjobs.batch",
	pods,
}

// differing is what Velero's actions drop or add in each item of a resource, while no object of the cluster is
// without, so that Velero finds any of them different. An item that goes through a Go type keeps an empty creation
// time, and most an empty status, which no object of a cluster has after the reset (pkg/restore/actions, 1.14 to 1.18).
var differing = map[string]string{
	live.Services: "its cluster IP",
	pods:          "its node",
	claims:        "what binds it to its volume",
	volumes:       "what binds it to its claim",
	jobs:          "its controller-uid labels",
	definitions:   "its status",
}

// Differing is what makes Velero find an unchanged object of a resource different from its item in the backup; empty
// if nothing does. mapped says whether the restore maps namespaces. [Change.Differs] knows more of single items.
func Differing(resource string, mapped bool) string {
	if mapped && (resource == bindings || resource == clusterBindings) {
		return "the namespaces of its subjects"
	}
	return differing[resource]
}

// act does what Velero's own actions do with an item, and restoreItem with volumes and claims.
func (r *Rules) act(resource string, o *unstructured.Unstructured, c *Change) {
	c.Differs = Differing(resource, len(r.Restore.NamespaceMapping) > 0)
	c.Changed = true
	if slices.Contains(OfImages, resource) && r.configured(ChangesImages, c) {
		c.unsure("Velero's plugin " + ChangesImages + " may change its images") // if several entries fit, any of them
	}
	switch resource {
	case pods:
		r.pod(o, c)
	case jobs:
		for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
			drop(o, "spec", "selector", "matchLabels", label)
			drop(o, "spec", "template", "metadata", "labels", label)
		}
	case live.Services:
		r.service(o, c)
	case claims:
		r.claim(o, c)
	case volumes:
		r.volume(o, c)
	case statefulSets:
		for _, template := range objects(o.Object, "spec", "volumeClaimTemplates") {
			if r.changeClass(template, c) {
				c.Differs = "its status"
			}
		}
	case definitions:
		preserveFields(o, c)
	case bindings, clusterBindings:
		for _, subject := range objects(o.Object, "subjects") {
			if namespace, ok := subject["namespace"].(string); ok {
				subject["namespace"] = r.target(namespace)
			}
		}
	case serviceAccounts:
		dropToken(o)
	case secrets:
		token(o, c)
	case live.Validating, live.Mutating: // v1 knows no other effects (admissionwebhook_config_action.go)
		for _, w := range objects(o.Object, "webhooks") {
			if o.GetAPIVersion() == "admissionregistration.k8s.io/v1" && w["sideEffects"] != "None" &&
				w["sideEffects"] != "NoneOnDryRun" {
				w["sideEffects"] = "None"
			}
		}
	case apiServices:
		if _, automanaged := o.GetLabels()["kube-aggregator.kubernetes.io/automanaged"]; automanaged {
			c.Skip = "Kubernetes makes it itself"
		}
	case dataUploads:
		c.Skip = "Velero only reads in it where the data is"
	case snapshots, contents, live.SnapshotClasses:
		r.snapshot(resource, c)
	default:
		c.Changed = false
	}
}

// configured reports whether an action has a ConfigMap. Two are an error of each item
// (pkg/plugin/framework/common/plugin_config.go, GetPluginConfig).
func (r *Rules) configured(action string, c *Change) bool {
	names := r.Plugins[action]
	if len(names) > 1 {
		c.Fails = fmt.Sprintf(
			"found more than one ConfigMap matching label selector \"velero.io/plugin-config,%s=RestoreItemAction\": %v",
			action,
			names,
		)
	}
	return len(names) > 0
}

// preserveFields: v1 allows the old field to be false only (crd_v1_preserve_unknown_fields_action.go).
func preserveFields(o *unstructured.Unstructured, c *Change) {
	preserve, _, _ := unstructured.NestedBool(o.Object, "spec", "preserveUnknownFields")
	if o.GetAPIVersion() != "apiextensions.k8s.io/v1" {
		c.Differs = ""
		return
	}
	drop(o, "spec", "preserveUnknownFields")
	if preserve {
		for _, version := range objects(o.Object, "spec", "versions") {
			if schema, ok, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema"); ok {
				schema["x-kubernetes-preserve-unknown-fields"] = true
				_ = unstructured.SetNestedMap(version, schema, "schema", "openAPIV3Schema")
			}
		}
	}
}

// token is what Velero does with the token of a ServiceAccount: it skips those that Kubernetes made before 1.24, which
// it knows by the accounts of the namespace (secret_action.go).
func token(o *unstructured.Unstructured, c *Change) {
	if c.Changed = nested(o, "type") == "kubernetes.io/service-account-token"; !c.Changed {
		return
	}
	c.Differs = "the token in it"
	if strings.Contains(o.GetName(), "-token-") {
		c.Perhaps = "Velero skips it if it is the token of a ServiceAccount"
	}
	dropAnnotations(o, "kubernetes.io/service-account.uid")
	drop(o, "data", "token")
	drop(o, "data", "ca.crt")
}

// dropToken removes the last Secret that is a ServiceAccount's own token (service_account_action.go).
func dropToken(o *unstructured.Unstructured) {
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
