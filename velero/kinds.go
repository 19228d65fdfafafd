package velero

import (
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CustomResourceDefinition is the kind that says which phases an API server accepts.
var CustomResourceDefinition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// VolumeSnapshots is the API of CSI snapshots, which a cluster need not serve.
var VolumeSnapshots = schema.GroupVersion{Group: "snapshot.storage.k8s.io", Version: "v1"}

// Mapper maps kinds to resources without the API server: a kind that it does not serve is a 404 on that kind alone.
func Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	add := func(scope meta.RESTScope, group schema.GroupVersion, kinds ...string) {
		for _, kind := range kinds {
			m.Add(group.WithKind(kind), scope)
		}
	}
	add(meta.RESTScopeNamespace, velerov1.SchemeGroupVersion, "Backup", "Restore", "PodVolumeBackup", "PodVolumeRestore", "Schedule",
		"BackupStorageLocation", "BackupRepository", "DeleteBackupRequest")
	add(meta.RESTScopeNamespace, velerov2alpha1.SchemeGroupVersion, "DataUpload", "DataDownload")
	add(meta.RESTScopeNamespace, corev1.SchemeGroupVersion, "Pod", "Event", "ConfigMap")
	add(meta.RESTScopeRoot, corev1.SchemeGroupVersion, "Namespace", "Node")
	add(meta.RESTScopeRoot, authorizationv1.SchemeGroupVersion, "SelfSubjectAccessReview")
	add(meta.RESTScopeRoot, authenticationv1.SchemeGroupVersion, "SelfSubjectReview")
	add(meta.RESTScopeNamespace, VolumeSnapshots, "VolumeSnapshot")
	add(meta.RESTScopeRoot, VolumeSnapshots, "VolumeSnapshotContent")
	add(meta.RESTScopeRoot, CustomResourceDefinition.GroupVersion(), CustomResourceDefinition.Kind)
	return m
}
