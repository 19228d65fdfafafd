// Package veleroapi has the types, phases and labels of Velero's API that veltui uses. It is the only package that
// imports them: if a release of Velero moves them, only this package changes.
package veleroapi

import (
	"github.com/vmware-tanzu/velero/pkg/apis/velero/shared"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	"github.com/vmware-tanzu/velero/pkg/label"
	"k8s.io/apimachinery/pkg/runtime"
)

// GroupVersion is the version of all of Velero's kinds except the data mover's, which have GroupVersionV2Alpha1.
var (
	GroupVersion         = velerov1.SchemeGroupVersion
	GroupVersionV2Alpha1 = velerov2alpha1.SchemeGroupVersion
)

// AddToScheme adds the kinds of both versions to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	if err := velerov1.AddToScheme(scheme); err != nil {
		return err
	}
	return velerov2alpha1.AddToScheme(scheme)
}

// ValidLabel returns the label value that Velero writes for a name: names of more than 63 characters are cut and end
// with a hash.
func ValidLabel(name string) string { return label.GetValidName(name) }

// Kinds and their parts.
type (
	Backup                            = velerov1.Backup
	BackupHooks                       = velerov1.BackupHooks
	BackupList                        = velerov1.BackupList
	BackupPhase                       = velerov1.BackupPhase
	BackupProgress                    = velerov1.BackupProgress
	BackupRepository                  = velerov1.BackupRepository
	BackupRepositoryMaintenanceResult = velerov1.BackupRepositoryMaintenanceResult
	BackupRepositoryMaintenanceStatus = velerov1.BackupRepositoryMaintenanceStatus
	BackupRepositoryPhase             = velerov1.BackupRepositoryPhase
	BackupRepositorySpec              = velerov1.BackupRepositorySpec
	BackupRepositoryStatus            = velerov1.BackupRepositoryStatus
	BackupResourceHook                = velerov1.BackupResourceHook
	BackupResourceHookSpec            = velerov1.BackupResourceHookSpec
	BackupSpec                        = velerov1.BackupSpec
	BackupStatus                      = velerov1.BackupStatus
	BackupStorageLocation             = velerov1.BackupStorageLocation
	BackupStorageLocationAccessMode   = velerov1.BackupStorageLocationAccessMode
	BackupStorageLocationList         = velerov1.BackupStorageLocationList
	BackupStorageLocationPhase        = velerov1.BackupStorageLocationPhase
	BackupStorageLocationSpec         = velerov1.BackupStorageLocationSpec
	BackupStorageLocationStatus       = velerov1.BackupStorageLocationStatus
	CSISnapshotSpec                   = velerov2alpha1.CSISnapshotSpec
	DataDownload                      = velerov2alpha1.DataDownload
	DataDownloadList                  = velerov2alpha1.DataDownloadList
	DataDownloadPhase                 = velerov2alpha1.DataDownloadPhase
	DataDownloadSpec                  = velerov2alpha1.DataDownloadSpec
	DataDownloadStatus                = velerov2alpha1.DataDownloadStatus
	DataMoveOperationProgress         = shared.DataMoveOperationProgress
	DataUpload                        = velerov2alpha1.DataUpload
	DataUploadList                    = velerov2alpha1.DataUploadList
	DataUploadPhase                   = velerov2alpha1.DataUploadPhase
	DataUploadSpec                    = velerov2alpha1.DataUploadSpec
	DataUploadStatus                  = velerov2alpha1.DataUploadStatus
	DeleteBackupRequest               = velerov1.DeleteBackupRequest
	DeleteBackupRequestList           = velerov1.DeleteBackupRequestList
	DeleteBackupRequestPhase          = velerov1.DeleteBackupRequestPhase
	DeleteBackupRequestSpec           = velerov1.DeleteBackupRequestSpec
	DeleteBackupRequestStatus         = velerov1.DeleteBackupRequestStatus
	DownloadRequest                   = velerov1.DownloadRequest
	DownloadRequestList               = velerov1.DownloadRequestList
	DownloadRequestSpec               = velerov1.DownloadRequestSpec
	DownloadRequestStatus             = velerov1.DownloadRequestStatus
	DownloadTarget                    = velerov1.DownloadTarget
	DownloadTargetKind                = velerov1.DownloadTargetKind
	ExecHook                          = velerov1.ExecHook
	ExecRestoreHook                   = velerov1.ExecRestoreHook
	HookErrorMode                     = velerov1.HookErrorMode
	HookStatus                        = velerov1.HookStatus
	InitRestoreHook                   = velerov1.InitRestoreHook
	Metadata                          = velerov1.Metadata
	ObjectStorageLocation             = velerov1.ObjectStorageLocation
	PodVolumeBackup                   = velerov1.PodVolumeBackup
	PodVolumeBackupList               = velerov1.PodVolumeBackupList
	PodVolumeBackupPhase              = velerov1.PodVolumeBackupPhase
	PodVolumeBackupSpec               = velerov1.PodVolumeBackupSpec
	PodVolumeBackupStatus             = velerov1.PodVolumeBackupStatus
	PodVolumeRestore                  = velerov1.PodVolumeRestore
	PodVolumeRestoreList              = velerov1.PodVolumeRestoreList
	PodVolumeRestorePhase             = velerov1.PodVolumeRestorePhase
	PodVolumeRestoreSpec              = velerov1.PodVolumeRestoreSpec
	PodVolumeRestoreStatus            = velerov1.PodVolumeRestoreStatus
	PolicyType                        = velerov1.PolicyType
	Restore                           = velerov1.Restore
	RestoreHooks                      = velerov1.RestoreHooks
	RestoreList                       = velerov1.RestoreList
	RestorePhase                      = velerov1.RestorePhase
	RestoreProgress                   = velerov1.RestoreProgress
	RestoreResourceHook               = velerov1.RestoreResourceHook
	RestoreResourceHookSpec           = velerov1.RestoreResourceHookSpec
	RestoreSpec                       = velerov1.RestoreSpec
	RestoreStatus                     = velerov1.RestoreStatus
	RestoreStatusSpec                 = velerov1.RestoreStatusSpec
	Schedule                          = velerov1.Schedule
	SchedulePhase                     = velerov1.SchedulePhase
	ScheduleSpec                      = velerov1.ScheduleSpec
	ScheduleStatus                    = velerov1.ScheduleStatus
	ServerStatusRequest               = velerov1.ServerStatusRequest
	StorageType                       = velerov1.StorageType
	TargetVolumeSpec                  = velerov2alpha1.TargetVolumeSpec
	UploaderConfigForBackup           = velerov1.UploaderConfigForBackup
	UploaderConfigForRestore          = velerov1.UploaderConfigForRestore
	VolumeSnapshotLocation            = velerov1.VolumeSnapshotLocation
	VolumeSnapshotLocationSpec        = velerov1.VolumeSnapshotLocationSpec
)

// Phases, labels, annotations and other constants.
const (
	AsyncOperationIDLabel                                = velerov1.AsyncOperationIDLabel
	BackupNameLabel                                      = velerov1.BackupNameLabel
	BackupPhaseCompleted                                 = velerov1.BackupPhaseCompleted
	BackupPhaseDeleting                                  = velerov1.BackupPhaseDeleting
	BackupPhaseFailed                                    = velerov1.BackupPhaseFailed
	BackupPhaseFailedValidation                          = velerov1.BackupPhaseFailedValidation
	BackupPhaseFinalizing                                = velerov1.BackupPhaseFinalizing
	BackupPhaseFinalizingPartiallyFailed                 = velerov1.BackupPhaseFinalizingPartiallyFailed
	BackupPhaseInProgress                                = velerov1.BackupPhaseInProgress
	BackupPhaseNew                                       = velerov1.BackupPhaseNew
	BackupPhasePartiallyFailed                           = velerov1.BackupPhasePartiallyFailed
	BackupPhaseQueued                                    = velerov1.BackupPhaseQueued
	BackupPhaseReadyToStart                              = velerov1.BackupPhaseReadyToStart
	BackupPhaseWaitingForPluginOperations                = velerov1.BackupPhaseWaitingForPluginOperations
	BackupPhaseWaitingForPluginOperationsPartiallyFailed = velerov1.BackupPhaseWaitingForPluginOperationsPartiallyFailed
	BackupRepositoryMaintenanceFailed                    = velerov1.BackupRepositoryMaintenanceFailed
	BackupRepositoryMaintenanceSucceeded                 = velerov1.BackupRepositoryMaintenanceSucceeded
	BackupRepositoryPhaseNotReady                        = velerov1.BackupRepositoryPhaseNotReady
	BackupRepositoryPhaseReady                           = velerov1.BackupRepositoryPhaseReady
	BackupRepositoryTypeRestic                           = velerov1.BackupRepositoryTypeRestic
	BackupStorageLocationAccessModeReadOnly              = velerov1.BackupStorageLocationAccessModeReadOnly
	BackupStorageLocationAccessModeReadWrite             = velerov1.BackupStorageLocationAccessModeReadWrite
	BackupStorageLocationPhaseAvailable                  = velerov1.BackupStorageLocationPhaseAvailable
	BackupStorageLocationPhaseUnavailable                = velerov1.BackupStorageLocationPhaseUnavailable
	BackupUIDLabel                                       = velerov1.BackupUIDLabel
	CSIFeatureFlag                                       = velerov1.CSIFeatureFlag
	DataDownloadLabel                                    = velerov1.DataDownloadLabel
	DataDownloadPhaseCompleted                           = velerov2alpha1.DataDownloadPhaseCompleted
	DataDownloadPhaseInProgress                          = velerov2alpha1.DataDownloadPhaseInProgress
	DataDownloadPhasePrepared                            = velerov2alpha1.DataDownloadPhasePrepared
	DataUploadLabel                                      = velerov1.DataUploadLabel
	DataUploadNameAnnotation                             = velerov1.DataUploadNameAnnotation
	DataUploadPhaseAccepted                              = velerov2alpha1.DataUploadPhaseAccepted
	DataUploadPhaseCompleted                             = velerov2alpha1.DataUploadPhaseCompleted
	DataUploadPhaseInProgress                            = velerov2alpha1.DataUploadPhaseInProgress
	DataUploadPhasePrepared                              = velerov2alpha1.DataUploadPhasePrepared
	DeleteBackupRequestPhaseInProgress                   = velerov1.DeleteBackupRequestPhaseInProgress
	DeleteBackupRequestPhaseNew                          = velerov1.DeleteBackupRequestPhaseNew
	DeleteBackupRequestPhaseProcessed                    = velerov1.DeleteBackupRequestPhaseProcessed
	DownloadRequestPhaseProcessed                        = velerov1.DownloadRequestPhaseProcessed
	DownloadTargetKindBackupContents                     = velerov1.DownloadTargetKindBackupContents
	DownloadTargetKindBackupItemOperations               = velerov1.DownloadTargetKindBackupItemOperations
	DownloadTargetKindBackupLog                          = velerov1.DownloadTargetKindBackupLog
	DownloadTargetKindBackupResourceList                 = velerov1.DownloadTargetKindBackupResourceList
	DownloadTargetKindBackupResults                      = velerov1.DownloadTargetKindBackupResults
	DownloadTargetKindBackupVolumeInfos                  = velerov1.DownloadTargetKindBackupVolumeInfos
	DownloadTargetKindBackupVolumeSnapshots              = velerov1.DownloadTargetKindBackupVolumeSnapshots
	DownloadTargetKindCSIBackupVolumeSnapshotContents    = velerov1.DownloadTargetKindCSIBackupVolumeSnapshotContents
	DownloadTargetKindCSIBackupVolumeSnapshots           = velerov1.DownloadTargetKindCSIBackupVolumeSnapshots
	DownloadTargetKindRestoreItemOperations              = velerov1.DownloadTargetKindRestoreItemOperations
	DownloadTargetKindRestoreLog                         = velerov1.DownloadTargetKindRestoreLog
	DownloadTargetKindRestoreResourceList                = velerov1.DownloadTargetKindRestoreResourceList
	DownloadTargetKindRestoreResults                     = velerov1.DownloadTargetKindRestoreResults
	DownloadTargetKindRestoreVolumeInfo                  = velerov1.DownloadTargetKindRestoreVolumeInfo
	DynamicPVRestoreLabel                                = velerov1.DynamicPVRestoreLabel
	ExcludeFromBackupLabel                               = velerov1.ExcludeFromBackupLabel
	GlobalBackupVolumePolicyConfigMapAnnotation          = velerov1.GlobalBackupVolumePolicyConfigMapAnnotation
	PVBLabel                                             = velerov1.PVBLabel
	PVCUIDLabel                                          = velerov1.PVCUIDLabel
	PVRLabel                                             = velerov1.PVRLabel
	PodVolumeBackupPhaseCompleted                        = velerov1.PodVolumeBackupPhaseCompleted
	PodVolumeBackupPhaseInProgress                       = velerov1.PodVolumeBackupPhaseInProgress
	PodVolumeBackupPhaseNew                              = velerov1.PodVolumeBackupPhaseNew
	PodVolumeOperationTimeoutAnnotation                  = velerov1.PodVolumeOperationTimeoutAnnotation
	PodVolumeRestorePhaseCompleted                       = velerov1.PodVolumeRestorePhaseCompleted
	PodVolumeRestorePhaseFailed                          = velerov1.PodVolumeRestorePhaseFailed
	PodVolumeRestorePhaseInProgress                      = velerov1.PodVolumeRestorePhaseInProgress
	PolicyTypeNone                                       = velerov1.PolicyTypeNone
	PolicyTypeUpdate                                     = velerov1.PolicyTypeUpdate
	ResourceTimeoutAnnotation                            = velerov1.ResourceTimeoutAnnotation
	ResourceUsageLabel                                   = velerov1.ResourceUsageLabel
	RestoreNameLabel                                     = velerov1.RestoreNameLabel
	RestorePhaseCompleted                                = velerov1.RestorePhaseCompleted
	RestorePhaseFailed                                   = velerov1.RestorePhaseFailed
	RestorePhaseFailedValidation                         = velerov1.RestorePhaseFailedValidation
	RestorePhaseFinalizing                               = velerov1.RestorePhaseFinalizing
	RestorePhaseFinalizingPartiallyFailed                = velerov1.RestorePhaseFinalizingPartiallyFailed
	RestorePhaseInProgress                               = velerov1.RestorePhaseInProgress
	RestorePhaseNew                                      = velerov1.RestorePhaseNew
	RestorePhasePartiallyFailed                          = velerov1.RestorePhasePartiallyFailed
	RestorePhaseWaitingForPluginOperations               = velerov1.RestorePhaseWaitingForPluginOperations
	RestoreUIDLabel                                      = velerov1.RestoreUIDLabel
	ScheduleNameLabel                                    = velerov1.ScheduleNameLabel
	SchedulePhaseEnabled                                 = velerov1.SchedulePhaseEnabled
	SchedulePhaseFailedValidation                        = velerov1.SchedulePhaseFailedValidation
	ServerStatusRequestPhaseProcessed                    = velerov1.ServerStatusRequestPhaseProcessed
	SnapshotTypeCSI                                      = velerov2alpha1.SnapshotTypeCSI
	StorageLocationLabel                                 = velerov1.StorageLocationLabel
	VolumeSnapshotClassDriverBackupAnnotationPrefix      = velerov1.VolumeSnapshotClassDriverBackupAnnotationPrefix
	VolumeSnapshotClassDriverPVCAnnotation               = velerov1.VolumeSnapshotClassDriverPVCAnnotation
	VolumeSnapshotClassKubernetesAnnotation              = velerov1.VolumeSnapshotClassKubernetesAnnotation
	VolumeSnapshotClassSelectorLabel                     = velerov1.VolumeSnapshotClassSelectorLabel
	VolumeSnapshotLabel                                  = velerov1.VolumeSnapshotLabel
	VolumesToBackupAnnotation                            = velerov1.VolumesToBackupAnnotation
	VolumesToExcludeAnnotation                           = velerov1.VolumesToExcludeAnnotation
)
