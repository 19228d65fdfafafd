package velero

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CustomResourceDefinition is the kind that says which phases an API server accepts.
var CustomResourceDefinition = schema.GroupVersionKind{
	Group:   "apiextensions.k8s.io",
	Version: "v1",
	Kind:    "CustomResourceDefinition",
}

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
	add(
		meta.RESTScopeNamespace,
		velerov1.SchemeGroupVersion,
		"Backup",
		"Restore",
		"PodVolumeBackup",
		"PodVolumeRestore",
		"Schedule",
		"BackupStorageLocation",
		"VolumeSnapshotLocation",
		"BackupRepository",
		"DeleteBackupRequest",
	)
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

// Phases of Backups and Restores (pkg/apis/velero/v1/backup_types.go and restore_types.go;
// docs/dev/velero.md#phases). A phase that is not here belongs to a newer Velero.
const (
	PhaseNew              = "New"
	PhaseQueued           = "Queued"       // backups, since 1.18
	PhaseReadyToStart     = "ReadyToStart" // backups, since 1.18
	PhaseFailedValidation = "FailedValidation"
	PhaseInProgress       = "InProgress"
	PhaseWaiting          = "WaitingForPluginOperations"
	PhaseWaitingPartly    = "WaitingForPluginOperationsPartiallyFailed"
	PhaseFinalizing       = "Finalizing"
	PhaseFinalizingPartly = "FinalizingPartiallyFailed"
	PhaseCompleted        = "Completed"
	PhasePartiallyFailed  = "PartiallyFailed"
	PhaseFailed           = "Failed"
	PhaseDeleting         = "Deleting" // backups
)

// TerminalPhase reports whether Velero never works on a job in that phase again. Deleting is on its way out.
func TerminalPhase(phase string) bool {
	return slices.Contains([]string{PhaseCompleted, PhasePartiallyFailed, PhaseFailed, PhaseFailedValidation}, phase)
}

// Phases of the four volume kinds (pkg/apis/velero/v1/pod_volume_backup_types.go,
// pkg/apis/velero/v2alpha1/data_upload_types.go; docs/dev/velero.md#volumes). Pod
// volumes have Accepted, Prepared, Canceling and Canceled since 1.17.
const (
	VolumeNew        = "New"
	VolumeAccepted   = "Accepted"
	VolumePrepared   = "Prepared"
	VolumeInProgress = "InProgress"
	VolumeCanceling  = "Canceling"
	VolumeCanceled   = "Canceled"
	VolumeCompleted  = "Completed"
	VolumeFailed     = "Failed"
)

// Phases of storage locations, and of DeleteBackupRequests (pkg/apis/velero/v1/backupstoragelocation_types.go
// and delete_backup_request_types.go). An empty phase of a request stands for PhaseNew.
const (
	LocationAvailable   = "Available"
	LocationUnavailable = "Unavailable"
	DeletionInProgress  = "InProgress"
	DeletionProcessed   = "Processed"
)

// Phases of item operations (pkg/itemoperation/shared.go).
const (
	OperationNew       = "New"
	OperationCompleted = "Completed"
	OperationFailed    = "Failed"
)

// refusals are answers of object stores that only a person can mend: codes of S3, Azure and Google
// Cloud for unknown keys and buckets and missing rights (each store's list of error codes).
var refusals = []string{
	"InvalidAccessKeyId",
	"SignatureDoesNotMatch",
	"AccessDenied",
	"AllAccessDisabled",
	"AccountProblem",
	"NoSuchBucket",
	"ExpiredToken",
	"InvalidToken",
	"PermanentRedirect",
	"AuthenticationFailed",
	"AuthorizationFailure",
	"AuthorizationPermissionMismatch",
	"AccountIsDisabled",
	"ContainerNotFound",
	"ResourceNotFound",
	"invalid_grant",
	"Error 401",
	"Error 403",
	"StatusCode: 401",
	"StatusCode: 403",
	"x509: ",
	"NotFound: no such",
}

// RefusedByStore reports whether a location's message will not change by itself, unlike a time-out or a name that was
// not found: a cluster's DNS comes back.
func RefusedByStore(message string) bool {
	return slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(message, r) })
}
