package preflight

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/velero"
)

// Further resources that Velero's actions change.
const (
	secrets         = "secrets"
	statefulSets    = "statefulsets.apps"
	bindings        = "rolebindings.rbac.authorization.k8s.io"
	clusterBindings = "clusterrolebindings.rbac.authorization.k8s.io"
	definitions     = "customresourcedefinitions.apiextensions.k8s.io"
	apiServices     = "apiservices.apiregistration.k8s.io"
	dataUploads     = "datauploads.velero.io"
)

// rule is what Velero's actions make of an item before it is compared.
type rule struct {
	changes bool // true where the action changed fields
	// always: the item goes through a Go type, which leaves an empty status and an empty creation time in it.
	// No object of a cluster has those after the reset, so that Velero finds a difference whatever there is.
	always                  bool
	skip                    bool
	unsure, unsureIfDiffers string // unsure is why veltui cannot tell, and unsureIfDiffers why not where they differ
	bound, headless         bool   // bound: a claim names its volume; headless: a Service without an address.
}

// act does what Velero's own actions do with an item that exists (pkg/restore/
// actions of 1.14 to 1.18, and restoreItem for volumes and claims).
func (c *Comparison) act(resource string, o *unstructured.Unstructured) (r rule) {
	named := modifier(c.Restore, c.DefaultModifier)
	switch {
	case named != "":
		r.unsure = "the resource modifier " + named + " may change it"
	case len(c.Plugins[changesImages]) > 0 && slices.Contains(configured[changesImages], resource):
		r.unsure = "Velero's plugin " + changesImages + " may change its images"
	case len(c.Plugins[target.ChangesClasses]) > 0 && (resource == volumes || resource == claims):
		r.unsure = "Velero's plugin " + target.ChangesClasses + " may change its class"
	}
	switch resource {
	case pods:
		r.always, r.changes = true, true
		unstructured.RemoveNestedField(o.Object, "spec", "nodeName")
		unstructured.RemoveNestedField(o.Object, "spec", "priority")
	case jobs:
		r.always, r.changes = true, true
		for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
			unstructured.RemoveNestedField(o.Object, "spec", "selector", "matchLabels", label)
			unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "labels", label)
		}
	case target.Services:
		r.always = true
		r.headless = nested(o, "spec", "clusterIP") == "None"
	case claims:
		r.always = true
		if v, known := velero.ParseVersion(c.Server); known && !v.ConvertsClaims() {
			r.always, r.unsure = false, "Velero "+c.Server+" changes some claims before it compares them, others not"
		}
		if velero.IsUnread(c.Server) {
			r.always, r.unsure = false, "Velero "+c.Server+" may restore its volume in place, over the data that is there"
		}
		r.bound = nested(o, "spec", "volumeName") != ""
	case definitions:
		r.always = o.GetAPIVersion() == "apiextensions.k8s.io/v1"
	case bindings, clusterBindings:
		r.always = len(c.Restore.NamespaceMapping) > 0
		c.mapSubjects(o)
	case statefulSets:
		templates, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
		if len(c.Plugins[target.ChangesClasses]) > 0 && len(templates) > 0 {
			r.unsure = "Velero's plugin " + target.ChangesClasses + " may change its classes"
		}
	case serviceAccounts:
		r.changes = true
		dropToken(o)
		spread(o)
	case secrets:
		if r.always = nested(o, "type") == "kubernetes.io/service-account-token"; r.always && strings.Contains(o.GetName(), "-token-") {
			r.unsure, r.always = "Velero skips it if it is the token of a ServiceAccount", false
		}
	case volumes:
		c.volume(o, &r)
	case target.Validating, target.Mutating:
		r.changes = true
		resetSideEffects(o)
	case apiServices:
		_, r.skip = o.GetLabels()["kube-aggregator.kubernetes.io/automanaged"]
	case dataUploads:
		r.skip = true
	case snapshots, contents, target.SnapshotClasses:
		c.snapshot(resource, &r)
	}
	return r
}

// volume is what Velero does with a volume: most are made anew by their claims.
func (c *Comparison) volume(o *unstructured.Unstructured, r *rule) {
	switch {
	case c.NativeSnapshots:
		r.unsure = "the backup has native snapshots: if there is one of it, Velero gives the restored one a new name, or leaves this one"
		return
	case nested(o, "spec", "persistentVolumeReclaimPolicy") == "Delete":
		r.skip = true
		return
	}
	r.unsureIfDiffers = "Velero skips it if its data is in a file system backup or in a CSI snapshot, and compares it otherwise"
	r.changes = true
	for _, name := range []string{"uid", "resourceVersion"} {
		unstructured.RemoveNestedField(o.Object, "spec", "claimRef", name)
	}
	if to, ok := c.Restore.NamespaceMapping[nested(o, "spec", "claimRef", "namespace")]; ok {
		_ = unstructured.SetNestedField(o.Object, to, "spec", "claimRef", "namespace")
	}
	annotations := o.GetAnnotations()
	delete(annotations, "pv.kubernetes.io/bind-completed")
	delete(annotations, "pv.kubernetes.io/bound-by-controller")
	o.SetAnnotations(annotations)
}

func (c *Comparison) mapSubjects(o *unstructured.Unstructured) {
	subjects, _ := o.Object["subjects"].([]any)
	for _, s := range subjects {
		s, _ := s.(map[string]any)
		namespace, _ := s["namespace"].(string)
		if to, ok := c.Restore.NamespaceMapping[namespace]; ok && s != nil {
			s["namespace"] = to
		}
	}
}

func nested(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func (c *Comparison) snapshot(resource string, r *rule) {
	noVolumes := c.Restore.RestorePVs != nil && !*c.Restore.RestorePVs
	touches := resource != target.SnapshotClasses || noVolumes
	switch {
	case touches && c.CSI == nil:
		r.unsure = "veltui does not know whether Velero runs with EnableCSI"
	case touches && *c.CSI:
		r.skip = true // left out, or restored under a new name
	}
}

// dropToken removes the last Secret that is a ServiceAccount's own token.
func dropToken(o *unstructured.Unstructured) {
	all, _, _ := unstructured.NestedSlice(o.Object, "secrets")
	for i := len(all) - 1; i >= 0; i-- {
		secret, _ := all[i].(map[string]any)
		if name, _ := secret["name"].(string); strings.HasPrefix(name, o.GetName()+"-token-") {
			_ = unstructured.SetNestedSlice(o.Object, slices.Delete(all, i, i+1), "secrets")
			return
		}
	}
}

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

func resetSideEffects(o *unstructured.Unstructured) {
	if o.GetAPIVersion() != "admissionregistration.k8s.io/v1" {
		return
	}
	webhooks, _ := o.Object["webhooks"].([]any)
	for _, w := range webhooks {
		if w, ok := w.(map[string]any); ok && w["sideEffects"] != "None" && w["sideEffects"] != "NoneOnDryRun" {
			w["sideEffects"] = "None"
		}
	}
}

// decide is what Velero does, and what Kubernetes says to it. frozen is an object that says of itself that it
// is immutable, bound a claim with a volume; differing are the fields in which it differs from the backup, and
// against those in which it differs from what Velero makes of the backup.
func (i *compared) decide(resource string, policy velerov1.PolicyType, frozen, bound bool, differing, against []string) {
	update := policy == velerov1.PolicyTypeUpdate
	switch {
	case i.rule.skip:
		i.outcome = Skipped
	case i.rule.unsure != "" && !(i.rule.always && !update):
		i.cannotTell(i.rule.unsure)
	case !i.rule.always && len(against) == 0:
		i.outcome = Equal
	case i.rule.unsureIfDiffers != "":
		i.cannotTell(i.rule.unsureIfDiffers)
	case !update:
		i.outcome = Left
	default:
		i.patch(resource, frozen, bound, differing, against)
	}
}

// fixed are immutable fields, as far as Kubernetes' own kinds say so
// (pkg/apis/.../validation and pkg/registry of Kubernetes).
var fixed = map[string][]string{
	jobs:                                {"spec.selector", "spec.template", "spec.completionMode", "spec.manualSelector"},
	statefulSets:                        {"spec.selector", "spec.serviceName", "spec.volumeClaimTemplates", "spec.podManagementPolicy"},
	"deployments.apps":                  {"spec.selector"},
	"daemonsets.apps":                   {"spec.selector"},
	"replicasets.apps":                  {"spec.selector"},
	bindings:                            {"roleRef"},
	clusterBindings:                     {"roleRef"},
	secrets:                             {"type"},
	target.StorageClasses:               {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
	"priorityclasses.scheduling.k8s.io": {"value", "preemptionPolicy"},
	claims:                              {"spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeMode", "spec.dataSource", "spec.dataSourceRef"},
}

// podMayChange are fields of a pod that may change in some ways.
var podMayChange = []string{"spec.containers", "spec.initContainers", "spec.activeDeadlineSeconds", "spec.tolerations",
	"spec.terminationGracePeriodSeconds", "spec.schedulingGates", "spec.nodeSelector", "spec.affinity"}

func (i *compared) patch(resource string, frozen, bound bool, differing, against []string) {
	i.outcome = Patched
	touches := func(fields ...string) bool {
		return slices.ContainsFunc(against, func(path string) bool {
			return slices.ContainsFunc(fields, func(f string) bool { return path == f || strings.HasPrefix(path, f+".") })
		})
	}
	switch {
	case touches(fixed[resource]...),
		frozen && (resource == secrets || resource == target.ConfigMaps) && touches("data", "binaryData", "immutable"),
		resource == target.Services && i.rule.headless && touches("spec.clusterIP"):
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
	case bound && (!i.rule.bound || touches("spec.volumeName")):
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
