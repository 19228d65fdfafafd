package velero

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// CRDGroupVersionKind is the kind that tells which phases an API server accepts.
var CRDGroupVersionKind = schema.GroupVersionKind{
	Group:   "apiextensions.k8s.io",
	Version: "v1",
	Kind:    "CustomResourceDefinition",
}

// VolumeSnapshotGroupVersion is the API of CSI snapshots, which a cluster need not serve.
var VolumeSnapshotGroupVersion = schema.GroupVersion{Group: "snapshot.storage.k8s.io", Version: "v1"}

// NewRESTMapper returns a mapper of kinds to resources that does not need the API server: a kind that the server does
// not serve gives a 404 only for that kind.
func NewRESTMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	add := func(scope meta.RESTScope, group schema.GroupVersion, kinds ...string) {
		for _, kind := range kinds {
			m.Add(group.WithKind(kind), scope)
		}
	}
	add(
		meta.RESTScopeNamespace,
		veleroapi.GroupVersion,
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
	add(meta.RESTScopeNamespace, veleroapi.GroupVersionV2Alpha1, "DataUpload", "DataDownload")
	add(meta.RESTScopeNamespace, corev1.SchemeGroupVersion, "Pod", "Event", "ConfigMap")
	add(meta.RESTScopeRoot, corev1.SchemeGroupVersion, "Namespace", "Node")
	add(meta.RESTScopeNamespace, VolumeSnapshotGroupVersion, "VolumeSnapshot")
	add(meta.RESTScopeRoot, VolumeSnapshotGroupVersion, "VolumeSnapshotContent")
	add(meta.RESTScopeRoot, CRDGroupVersionKind.GroupVersion(), CRDGroupVersionKind.Kind)
	return m
}

// Phases of Backups and Restores (pkg/apis/velero/v1/backup_types.go and restore_types.go;
// docs/dev/velero.md#phases). A phase that is not listed belongs to a newer Velero.
const (
	PhaseNew                                       = "New"
	PhaseQueued                                    = "Queued"       // backups, since 1.18
	PhaseReadyToStart                              = "ReadyToStart" // backups, since 1.18
	PhaseFailedValidation                          = "FailedValidation"
	PhaseInProgress                                = "InProgress"
	PhaseWaitingForPluginOperations                = "WaitingForPluginOperations"
	PhaseWaitingForPluginOperationsPartiallyFailed = "WaitingForPluginOperationsPartiallyFailed"
	PhaseFinalizing                                = "Finalizing"
	PhaseFinalizingPartiallyFailed                 = "FinalizingPartiallyFailed"
	PhaseCompleted                                 = "Completed"
	PhasePartiallyFailed                           = "PartiallyFailed"
	PhaseFailed                                    = "Failed"
	PhaseDeleting                                  = "Deleting" // backups
)

// IsTerminalPhase reports whether Velero never works again on a job in that phase. A job that is Deleting is not in a
// terminal phase.
func IsTerminalPhase(phase string) bool {
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

// permanentStoreErrors are answers of object stores that only a person can resolve: codes of S3, Azure and Google Cloud
// for unknown keys and buckets and missing rights (each store's list of error codes).
var permanentStoreErrors = []string{
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

// IsPermanentStoreError reports whether the cause of a location's message will not go away by itself, unlike a time-out
// or a name that was not found: a cluster's DNS comes back.
func IsPermanentStoreError(message string) bool {
	return slices.ContainsFunc(permanentStoreErrors, func(r string) bool { return strings.Contains(message, r) })
}
