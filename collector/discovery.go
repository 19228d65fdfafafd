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

// GroupResource returns the resource as Velero writes it: the plural, then the group if there is one.
func (r Resource) GroupResource() string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Group
}

// Discovery is what the target cluster serves: the resources in the order of their groups' priority, the core group
// first. The zero value is an unknown target, for which Estimate assumes a plain Kubernetes with Velero's own kinds
// and the CRDs of the backup.
type Discovery struct {
	Resources []Resource
	// IsLive is true if Resources come from the target cluster. A name that the cluster does not know is then taken
	// literally, as in Velero, even if a CRD in the backup would explain it.
	IsLive bool
}

// LiveDiscovery converts the result of client-go's ServerPreferredResources. Like Velero (pkg/discovery/helper.go) it
// keeps the resources with the verbs list, create, get and delete, without subresources.
func LiveDiscovery(lists []*metav1.APIResourceList) Discovery {
	d := Discovery{IsLive: true}
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

// resolver finds resources by the names that users may write.
type resolver struct {
	resources   []Resource
	byName      map[string][]int // plural and singular -> resources, in their order
	byShortName map[string][]int
}

func newResolver(resources []Resource) *resolver {
	r := &resolver{resources: resources, byName: map[string][]int{}, byShortName: map[string][]int{}}
	for i, resource := range resources {
		r.byName[resource.Name] = append(r.byName[resource.Name], i)
		if resource.Singular != resource.Name {
			r.byName[resource.Singular] = append(r.byName[resource.Singular], i)
		}
		for _, short := range resource.ShortNames {
			r.byShortName[short] = append(r.byShortName[short], i)
		}
	}
	return r
}

// resolveWord returns the resource that a word stands for: a plural or singular, with or without a group (a prefix of
// the group is enough), or a short name. The rules are those of Velero's REST mapper (pkg/discovery/helper.go and
// client-go's restmapper): short names first, and the first of several groups.
func (r *resolver) resolveWord(word string, w *workBudget) (Resource, bool) {
	name, group, _ := strings.Cut(word, ".")
	name = strings.ToLower(r.expandShort(name, group, w))
	for _, i := range r.byName[name] {
		if !w.filters.Spend(1) {
			break
		}
		if strings.HasPrefix(r.resources[i].Group, group) {
			return r.resources[i], true
		}
	}
	return Resource{}, false
}

// expandShort returns the plural for a short name, else the name itself. Short names are case-sensitive; an exact
// match of the group takes precedence over a prefix.
func (r *resolver) expandShort(name, group string, w *workBudget) string {
	for _, exact := range []bool{true, false} {
		for _, i := range r.byShortName[name] {
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

// FindResource returns the resource that a word of a filter stands for, in a plain Kubernetes with Velero's kinds if
// d is zero.
func (d Discovery) FindResource(word string) (Resource, bool) {
	resources := d.Resources
	if !d.IsLive && len(resources) == 0 {
		resources = defaultResources(nil)
	}
	return newResolver(resources).resolveWord(word, newWorkBudget(context.Background()))
}

func withDefinitions(resources []Resource, more []definition) []Resource {
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

// kubernetesResources lists the resources that a kube-apiserver 1.36 serves and Velero's discovery keeps, in the order
// of the API server's group priorities.
var kubernetesResources = []Resource{
	{"", "configmaps", "configmap", "ConfigMap", shortNames("cm"), true},
	{"", "endpoints", "endpoints", "Endpoints", shortNames("ep"), true},
	{"", "events", "event", "Event", shortNames("ev"), true},
	{"", "limitranges", "limitrange", "LimitRange", shortNames("limits"), true},
	{"", "namespaces", "namespace", "Namespace", shortNames("ns"), false},
	{"", "nodes", "node", "Node", shortNames("no"), false},
	{"", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", shortNames("pvc"), true},
	{"", "persistentvolumes", "persistentvolume", "PersistentVolume", shortNames("pv"), false},
	{"", "pods", "pod", "Pod", shortNames("po"), true},
	{"", "podtemplates", "podtemplate", "PodTemplate", nil, true},
	{"", "replicationcontrollers", "replicationcontroller", "ReplicationController", shortNames("rc"), true},
	{"", "resourcequotas", "resourcequota", "ResourceQuota", shortNames("quota"), true},
	{"", "secrets", "secret", "Secret", nil, true},
	{"", "serviceaccounts", "serviceaccount", "ServiceAccount", shortNames("sa"), true},
	{"", "services", "service", "Service", shortNames("svc"), true},
	{"apiregistration.k8s.io", "apiservices", "apiservice", "APIService", nil, false},
	{"apps", "controllerrevisions", "controllerrevision", "ControllerRevision", nil, true},
	{"apps", "daemonsets", "daemonset", "DaemonSet", shortNames("ds"), true},
	{"apps", "deployments", "deployment", "Deployment", shortNames("deploy"), true},
	{"apps", "replicasets", "replicaset", "ReplicaSet", shortNames("rs"), true},
	{"apps", "statefulsets", "statefulset", "StatefulSet", shortNames("sts"), true},
	{"events.k8s.io", "events", "event", "Event", shortNames("ev"), true},
	{
		"autoscaling",
		"horizontalpodautoscalers",
		"horizontalpodautoscaler",
		"HorizontalPodAutoscaler",
		shortNames("hpa"),
		true,
	},
	{"batch", "cronjobs", "cronjob", "CronJob", shortNames("cj"), true},
	{"batch", "jobs", "job", "Job", nil, true},
	{
		"certificates.k8s.io",
		"certificatesigningrequests",
		"certificatesigningrequest",
		"CertificateSigningRequest",
		shortNames("csr"),
		false,
	},
	{"networking.k8s.io", "ingressclasses", "ingressclass", "IngressClass", nil, false},
	{"networking.k8s.io", "ingresses", "ingress", "Ingress", shortNames("ing"), true},
	{"networking.k8s.io", "ipaddresses", "ipaddress", "IPAddress", shortNames("ip"), false},
	{"networking.k8s.io", "networkpolicies", "networkpolicy", "NetworkPolicy", shortNames("netpol"), true},
	{"networking.k8s.io", "servicecidrs", "servicecidr", "ServiceCIDR", nil, false},
	{"policy", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", shortNames("pdb"), true},
	{"rbac.authorization.k8s.io", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", nil, false},
	{"rbac.authorization.k8s.io", "clusterroles", "clusterrole", "ClusterRole", nil, false},
	{"rbac.authorization.k8s.io", "rolebindings", "rolebinding", "RoleBinding", nil, true},
	{"rbac.authorization.k8s.io", "roles", "role", "Role", nil, true},
	{"storage.k8s.io", "csidrivers", "csidriver", "CSIDriver", nil, false},
	{"storage.k8s.io", "csinodes", "csinode", "CSINode", nil, false},
	{"storage.k8s.io", "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", nil, true},
	{"storage.k8s.io", "storageclasses", "storageclass", "StorageClass", shortNames("sc"), false},
	{"storage.k8s.io", "volumeattachments", "volumeattachment", "VolumeAttachment", nil, false},
	{
		"storage.k8s.io",
		"volumeattributesclasses",
		"volumeattributesclass",
		"VolumeAttributesClass",
		shortNames("vac"),
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
		shortNames("crd", "crds"),
		false,
	},
	{"scheduling.k8s.io", "priorityclasses", "priorityclass", "PriorityClass", shortNames("pc"), false},
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

// veleroResources are Velero 1.18's own CRDs.
var veleroResources = []Resource{
	{"velero.io", "backuprepositories", "backuprepository", "BackupRepository", nil, true},
	{"velero.io", "backups", "backup", "Backup", nil, true},
	{"velero.io", "backupstoragelocations", "backupstoragelocation", "BackupStorageLocation", shortNames("bsl"), true},
	{"velero.io", "datadownloads", "datadownload", "DataDownload", nil, true},
	{"velero.io", "datauploads", "dataupload", "DataUpload", nil, true},
	{"velero.io", "deletebackuprequests", "deletebackuprequest", "DeleteBackupRequest", nil, true},
	{"velero.io", "downloadrequests", "downloadrequest", "DownloadRequest", nil, true},
	{"velero.io", "podvolumebackups", "podvolumebackup", "PodVolumeBackup", nil, true},
	{"velero.io", "podvolumerestores", "podvolumerestore", "PodVolumeRestore", nil, true},
	{"velero.io", "restores", "restore", "Restore", nil, true},
	{"velero.io", "schedules", "schedule", "Schedule", nil, true},
	{"velero.io", "serverstatusrequests", "serverstatusrequest", "ServerStatusRequest", shortNames("ssr"), true},
	{"velero.io", "volumesnapshotlocations", "volumesnapshotlocation", "VolumeSnapshotLocation", shortNames("vsl"), true},
}

func shortNames(names ...string) []string { return names }

// IsBuiltIn reports whether kube-apiserver serves an API group by itself.
func IsBuiltIn(group string) bool {
	return slices.ContainsFunc(kubernetesResources, func(r Resource) bool { return r.Group == group })
}

// defaultResources returns the resources that an unknown target is assumed to serve: Kubernetes' own kinds, then
// Velero's and those of the CRDs in the backup by group, the order of API servers for groups of equal priority.
func defaultResources(kinds []definition) []Resource {
	custom := slices.Clone(veleroResources)
	for _, d := range kinds {
		custom = append(custom, d.Resource)
	}
	slices.SortStableFunc(custom, func(a, b Resource) int { return cmp.Compare(a.Group, b.Group) })
	return slices.Concat(kubernetesResources, custom)
}
