package collector

import (
	"cmp"
	"slices"
)

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
	{"autoscaling", "horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler", short("hpa"), true},
	{"batch", "cronjobs", "cronjob", "CronJob", short("cj"), true},
	{"batch", "jobs", "job", "Job", nil, true},
	{"certificates.k8s.io", "certificatesigningrequests", "certificatesigningrequest", "CertificateSigningRequest", short("csr"), false},
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
	{"storage.k8s.io", "volumeattributesclasses", "volumeattributesclass", "VolumeAttributesClass", short("vac"), false},
	{"admissionregistration.k8s.io", "mutatingadmissionpolicies", "mutatingadmissionpolicy", "MutatingAdmissionPolicy", nil, false},
	{"admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "mutatingadmissionpolicybinding", "MutatingAdmissionPolicyBinding", nil, false},
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration", "MutatingWebhookConfiguration", nil, false},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies", "validatingadmissionpolicy", "ValidatingAdmissionPolicy", nil, false},
	{"admissionregistration.k8s.io", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding", "ValidatingAdmissionPolicyBinding", nil, false},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations", "validatingwebhookconfiguration", "ValidatingWebhookConfiguration", nil, false},
	{"apiextensions.k8s.io", "customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition", short("crd", "crds"), false},
	{"scheduling.k8s.io", "priorityclasses", "priorityclass", "PriorityClass", short("pc"), false},
	{"coordination.k8s.io", "leases", "lease", "Lease", nil, true},
	{"node.k8s.io", "runtimeclasses", "runtimeclass", "RuntimeClass", nil, false},
	{"discovery.k8s.io", "endpointslices", "endpointslice", "EndpointSlice", nil, true},
	{"resource.k8s.io", "deviceclasses", "deviceclass", "DeviceClass", nil, false},
	{"resource.k8s.io", "resourceclaims", "resourceclaim", "ResourceClaim", nil, true},
	{"resource.k8s.io", "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate", nil, true},
	{"resource.k8s.io", "resourceslices", "resourceslice", "ResourceSlice", nil, false},
	{"flowcontrol.apiserver.k8s.io", "flowschemas", "flowschema", "FlowSchema", nil, false},
	{"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "prioritylevelconfiguration", "PriorityLevelConfiguration", nil, false},
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

// offline is what a target is taken to serve when nothing is known of it:
// Kubernetes' own kinds, then Velero's and those of the CRDs in the backup by
// group, which is how API servers order groups of equal priority.
func offline(kinds []definition) []Resource {
	custom := slices.Clone(veleroKinds)
	for _, d := range kinds {
		custom = append(custom, d.Resource)
	}
	slices.SortStableFunc(custom, func(a, b Resource) int { return cmp.Compare(a.Group, b.Group) })
	return slices.Concat(kubernetes, custom)
}
