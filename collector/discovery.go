package collector

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resource is one kind of object that an API server serves.
type Resource struct {
	Group      string // empty for the core group
	Name       string // plural
	Singular   string
	Kind       string
	ShortNames []string
	Namespaced bool
}

// GroupResource is how Velero writes a resource: plural, then the group if there is one.
func (r Resource) GroupResource() string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Group
}

// Discovery is what the target cluster serves: the resources in the order of their groups'
// priority, the core group first. Its zero value means that the target is not known: then Estimate
// takes a plain Kubernetes with Velero's own kinds and the CRDs of the backup.
type Discovery struct {
	Resources []Resource
	// Live says that Resources come from the target cluster. A name that it does not know is then
	// taken literally, as Velero does, even if a CRD in the backup would explain it.
	Live bool
}

// LiveDiscovery makes a Discovery of what client-go's ServerPreferredResources returns. Like Velero
// (pkg/discovery/helper.go) it keeps what can be listed, created, got and deleted, without subresources.
func LiveDiscovery(lists []*metav1.APIResourceList) Discovery {
	d := Discovery{Live: true}
	for _, list := range lists {
		if list == nil {
			continue
		}
		group, _, found := strings.Cut(list.GroupVersion, "/")
		if !found { // v1
			group = ""
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !hasVerbs(r.Verbs) {
				continue
			}
			d.Resources = append(d.Resources, Resource{
				Group: group, Name: r.Name, Singular: cmp.Or(r.SingularName, strings.ToLower(r.Kind)), Kind: r.Kind,
				ShortNames: r.ShortNames, Namespaced: r.Namespaced,
			})
		}
	}
	slices.SortStableFunc(
		d.Resources,
		func(a, b Resource) int { return min(len(a.Group), 1) - min(len(b.Group), 1) },
	) // the core group first
	return d
}

func hasVerbs(verbs metav1.Verbs) bool {
	return !slices.ContainsFunc(
		[]string{"list", "create", "get", "delete"},
		func(verb string) bool { return !slices.Contains(verbs, verb) },
	)
}

// resolver finds resources by what people call them.
type resolver struct {
	resources []Resource
	named     map[string][]int // plural and singular -> resources, in their order
	short     map[string][]int
}

func newResolver(resources []Resource) *resolver {
	r := &resolver{resources: resources, named: map[string][]int{}, short: map[string][]int{}}
	for i, resource := range resources {
		r.named[resource.Name] = append(r.named[resource.Name], i)
		if resource.Singular != resource.Name {
			r.named[resource.Singular] = append(r.named[resource.Singular], i)
		}
		for _, short := range resource.ShortNames {
			r.short[short] = append(r.short[short], i)
		}
	}
	return r
}

// resolve finds the resource that a word stands for: plural or singular, with or without a group (of which a
// beginning is enough), or a short name. The rules are those of Velero's REST mapper (pkg/discovery/helper.go
// and client-go's restmapper): short names first, and of several the first group.
func (r *resolver) resolve(word string, w *work) (Resource, bool) {
	name, group, _ := strings.Cut(word, ".")
	name = strings.ToLower(r.expandShort(name, group, w))
	for _, i := range r.named[name] {
		if !w.filters.Spend(1) {
			break
		}
		if strings.HasPrefix(r.resources[i].Group, group) {
			return r.resources[i], true
		}
	}
	return Resource{}, false
}

// expandShort turns a short name into the plural. Short names are matched as
// they are written; an exact group goes before one that only begins so.
func (r *resolver) expandShort(name, group string, w *work) string {
	for _, exact := range []bool{true, false} {
		for _, i := range r.short[name] {
			if !w.filters.Spend(1) {
				return name
			}
			of := r.resources[i].Group
			if exact && (group == "" || of == group) || !exact && strings.HasPrefix(of, group) {
				return r.resources[i].Name
			}
		}
	}
	return name
}

// Lookup finds the resource that a word of a filter stands for, in a plain Kubernetes with Velero's kinds if d is zero.
func (d Discovery) Lookup(word string) (Resource, bool) {
	resources := d.Resources
	if !d.Live && len(resources) == 0 {
		resources = offline(nil)
	}
	return newResolver(resources).resolve(word, newWork(context.Background()))
}

func with(resources []Resource, more []definition) []Resource {
	all := resources[:len(resources):len(resources)]
	known := make(map[[2]string]bool, len(resources))
	for _, r := range resources {
		known[[2]string{r.Group, r.Name}] = true
	}
	for _, d := range more {
		if !known[[2]string{d.Resource.Group, d.Resource.Name}] {
			all = append(all, d.Resource)
		}
	}
	return all
}

// kubernetes is what a kube-apiserver 1.36 serves and Velero's discovery
// keeps, in the order of the API server's group priorities.
var kubernetes = []Resource{
	{"", "configmaps", "configmap", "ConfigMap", short("cm"), true},
	{"", "endpoints", "endpoints", "Endpoints", short("ep"), true},
	{"", "events", "event", "Event", short("ev"), true},
	{"", "limitranges", "limitrange", "LimitRange", short("limits"), true},
	{"", "namespaces", "namespace", "Namespace", short("ns"), false},
	{"", "nodes", "node", "Node", short("no"), false},
	{"", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", short("pvc"), true},
	{"", "persistentvolumes", "persistentvolume", "PersistentVolume", short("pv"), false},
	{"", "pods", "pod", "Pod", short("po"), true},
	{"", "podtemplates", "podtemplate", "PodTemplate", nil, true},
	{"", "replicationcontrollers", "replicationcontroller", "ReplicationController", short("rc"), true},
	{"", "resourcequotas", "resourcequota", "ResourceQuota", short("quota"), true},
	{"", "secrets", "secret", "Secret", nil, true},
	{"", "serviceaccounts", "serviceaccount", "ServiceAccount", short("sa"), true},
	{"", "services", "service", "Service", short("svc"), true},
	{"apiregistration.k8s.io", "apiservices", "apiservice", "APIService", nil, false},
	{"apps", "controllerrevisions", "controllerrevision", "ControllerRevision", nil, true},
	{"apps", "daemonsets", "daemonset", "DaemonSet", short("ds"), true},
	{"apps", "deployments", "deployment", "Deployment", short("deploy"), true},
	{"apps", "replicasets", "replicaset", "ReplicaSet", short("rs"), true},
	{"apps", "statefulsets", "statefulset", "StatefulSet", short("sts"), true},
	{"events.k8s.io", "events", "event", "Event", short("ev"), true},
	{
		"autoscaling",
		"horizontalpodautoscalers",
		"horizontalpodautoscaler",
		"HorizontalPodAutoscaler",
		short("hpa"),
		true,
	},
	{"batch", "cronjobs", "cronjob", "CronJob", short("cj"), true},
	{"batch", "jobs", "job", "Job", nil, true},
	{
		"certificates.k8s.io",
		"certificatesigningrequests",
		"certificatesigningrequest",
		"CertificateSigningRequest",
		short("csr"),
		false,
	},
	{"networking.k8s.io", "ingressclasses", "ingressclass", "IngressClass", nil, false},
	{"networking.k8s.io", "ingresses", "ingress", "Ingress", short("ing"), true},
	{"networking.k8s.io", "ipaddresses", "ipaddress", "IPAddress", short("ip"), false},
	{"networking.k8s.io", "networkpolicies", "networkpolicy", "NetworkPolicy", short("netpol"), true},
	{"networking.k8s.io", "servicecidrs", "servicecidr", "ServiceCIDR", nil, false},
	{"policy", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", short("pdb"), true},
	{"rbac.authorization.k8s.io", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", nil, false},
	{"rbac.authorization.k8s.io", "clusterroles", "clusterrole", "ClusterRole", nil, false},
	{"rbac.authorization.k8s.io", "rolebindings", "rolebinding", "RoleBinding", nil, true},
	{"rbac.authorization.k8s.io", "roles", "role", "Role", nil, true},
	{"storage.k8s.io", "csidrivers", "csidriver", "CSIDriver", nil, false},
	{"storage.k8s.io", "csinodes", "csinode", "CSINode", nil, false},
	{"storage.k8s.io", "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", nil, true},
	{"storage.k8s.io", "storageclasses", "storageclass", "StorageClass", short("sc"), false},
	{"storage.k8s.io", "volumeattachments", "volumeattachment", "VolumeAttachment", nil, false},
	{
		"storage.k8s.io",
		"volumeattributesclasses",
		"volumeattributesclass",
		"VolumeAttributesClass",
		short("vac"),
		false,
	},
	{
		"admissionregistration.k8s.io",
		"mutatingadmissionpolicies",
		"mutatingadmissionpolicy",
		"MutatingAdmissionPolicy",
		nil,
		false,
	},
	{
		"admissionregistration.k8s.io",
		"mutatingadmissionpolicybindings",
		"mutatingadmissionpolicybinding",
		"MutatingAdmissionPolicyBinding",
		nil,
		false,
	},
	{
		"admissionregistration.k8s.io",
		"mutatingwebhookconfigurations",
		"mutatingwebhookconfiguration",
		"MutatingWebhookConfiguration",
		nil,
		false,
	},
	{
		"admissionregistration.k8s.io",
		"validatingadmissionpolicies",
		"validatingadmissionpolicy",
		"ValidatingAdmissionPolicy",
		nil,
		false,
	},
	{
		"admissionregistration.k8s.io",
		"validatingadmissionpolicybindings",
		"validatingadmissionpolicybinding",
		"ValidatingAdmissionPolicyBinding",
		nil,
		false,
	},
	{
		"admissionregistration.k8s.io",
		"validatingwebhookconfigurations",
		"validatingwebhookconfiguration",
		"ValidatingWebhookConfiguration",
		nil,
		false,
	},
	{
		"apiextensions.k8s.io",
		"customresourcedefinitions",
		"customresourcedefinition",
		"CustomResourceDefinition",
		short("crd", "crds"),
		false,
	},
	{"scheduling.k8s.io", "priorityclasses", "priorityclass", "PriorityClass", short("pc"), false},
	{"coordination.k8s.io", "leases", "lease", "Lease", nil, true},
	{"node.k8s.io", "runtimeclasses", "runtimeclass", "RuntimeClass", nil, false},
	{"discovery.k8s.io", "endpointslices", "endpointslice", "EndpointSlice", nil, true},
	{"resource.k8s.io", "deviceclasses", "deviceclass", "DeviceClass", nil, false},
	{"resource.k8s.io", "resourceclaims", "resourceclaim", "ResourceClaim", nil, true},
	{"resource.k8s.io", "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate", nil, true},
	{"resource.k8s.io", "resourceslices", "resourceslice", "ResourceSlice", nil, false},
	{"flowcontrol.apiserver.k8s.io", "flowschemas", "flowschema", "FlowSchema", nil, false},
	{
		"flowcontrol.apiserver.k8s.io",
		"prioritylevelconfigurations",
		"prioritylevelconfiguration",
		"PriorityLevelConfiguration",
		nil,
		false,
	},
}

// veleroKinds are Velero 1.18's own CRDs.
var veleroKinds = []Resource{
	{"velero.io", "backuprepositories", "backuprepository", "BackupRepository", nil, true},
	{"velero.io", "backups", "backup", "Backup", nil, true},
	{"velero.io", "backupstoragelocations", "backupstoragelocation", "BackupStorageLocation", short("bsl"), true},
	{"velero.io", "datadownloads", "datadownload", "DataDownload", nil, true},
	{"velero.io", "datauploads", "dataupload", "DataUpload", nil, true},
	{"velero.io", "deletebackuprequests", "deletebackuprequest", "DeleteBackupRequest", nil, true},
	{"velero.io", "downloadrequests", "downloadrequest", "DownloadRequest", nil, true},
	{"velero.io", "podvolumebackups", "podvolumebackup", "PodVolumeBackup", nil, true},
	{"velero.io", "podvolumerestores", "podvolumerestore", "PodVolumeRestore", nil, true},
	{"velero.io", "restores", "restore", "Restore", nil, true},
	{"velero.io", "schedules", "schedule", "Schedule", nil, true},
	{"velero.io", "serverstatusrequests", "serverstatusrequest", "ServerStatusRequest", short("ssr"), true},
	{"velero.io", "volumesnapshotlocations", "volumesnapshotlocation", "VolumeSnapshotLocation", short("vsl"), true},
}

func short(names ...string) []string { return names }

// IsBuiltIn reports whether kube-apiserver serves an API group by itself.
func IsBuiltIn(group string) bool {
	return slices.ContainsFunc(kubernetes, func(r Resource) bool { return r.Group == group })
}

// offline is what a target is taken to serve when nothing is known of it: Kubernetes' own kinds, then Velero's
// and those of the CRDs in the backup by group, which is how API servers order groups of equal priority.
func offline(kinds []definition) []Resource {
	custom := slices.Clone(veleroKinds)
	for _, d := range kinds {
		custom = append(custom, d.Resource)
	}
	slices.SortStableFunc(custom, func(a, b Resource) int { return cmp.Compare(a.Group, b.Group) })
	return slices.Concat(kubernetes, custom)
}
