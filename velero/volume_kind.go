package velero

import (
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// VolumeKind is a custom resource that moves one volume's data.
type VolumeKind string

// The four kinds.
const (
	PodVolumeBackup  VolumeKind = "PodVolumeBackup"
	PodVolumeRestore VolumeKind = "PodVolumeRestore"
	DataUpload       VolumeKind = "DataUpload"
	DataDownload     VolumeKind = "DataDownload"
)

// VolumeKinds are all of them.
var VolumeKinds = [...]VolumeKind{PodVolumeBackup, PodVolumeRestore, DataUpload, DataDownload}

// IsPodVolume reports whether the volume is read or written in a pod's file
// system, while its job is InProgress, and not as an asynchronous operation.
func (k VolumeKind) IsPodVolume() bool { return k == PodVolumeBackup || k == PodVolumeRestore }

// GroupVersionKind is the kind with its API group and version.
func (k VolumeKind) GroupVersionKind() schema.GroupVersionKind {
	if k.IsPodVolume() {
		return velerov1.SchemeGroupVersion.WithKind(string(k))
	}
	return velerov2alpha1.SchemeGroupVersion.WithKind(string(k))
}

// Resource is the plural that the API server serves the kind under.
func (k VolumeKind) Resource() string { return strings.ToLower(string(k)) + "s" }
