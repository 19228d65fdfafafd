package velero

import (
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// CustomResourceDefinition is the kind that says which phases an API server
// accepts.
var CustomResourceDefinition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// VolumeSnapshots is the API of CSI snapshots, which a cluster need not serve.
var VolumeSnapshots = schema.GroupVersion{Group: "snapshot.storage.k8s.io", Version: "v1"}

// Scheme knows Velero's types and those of Kubernetes that veltui reads.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, authorizationv1.AddToScheme, authenticationv1.AddToScheme,
		velerov1.AddToScheme, velerov2alpha1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
}

// Mapper maps the kinds that veltui reads to their resources without asking the
// API server, so that a kind which the server does not have is a 404 on that
// kind's own requests and nothing else.
func Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Backup", "Restore", "PodVolumeBackup", "PodVolumeRestore", "Schedule",
		"BackupStorageLocation", "BackupRepository", "DeleteBackupRequest"} {
		m.Add(velerov1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"DataUpload", "DataDownload"} {
		m.Add(velerov2alpha1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Event"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	m.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	m.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)
	m.Add(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), meta.RESTScopeRoot)
	m.Add(VolumeSnapshots.WithKind("VolumeSnapshot"), meta.RESTScopeNamespace)
	m.Add(VolumeSnapshots.WithKind("VolumeSnapshotContent"), meta.RESTScopeRoot)
	m.Add(CustomResourceDefinition, meta.RESTScopeRoot)
	return m
}
