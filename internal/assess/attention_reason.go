package assess

import (
	"slices"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
)

// What else needs attention. Stuck and ended jobs and etcd backups have the reasons above.
const (
	// ScheduleInvalid: Velero rejected the schedule, and it never runs.
	ScheduleInvalid diagnosis.Reason = "ScheduleInvalid"
	// ScheduleMissed: a run is due, and Velero has made no backup.
	ScheduleMissed diagnosis.Reason = "ScheduleMissed"
	// ForgottenPause: has been paused for more than a day after it missed a run.
	ForgottenPause diagnosis.Reason = "ForgottenPause"
	// LastRunFailed: the last run of the schedule is not Completed.
	LastRunFailed diagnosis.Reason = "LastRunFailed"
	// FailingRepeatedly: several runs of the schedule in a row are not Completed.
	FailingRepeatedly diagnosis.Reason = "FailingRepeatedly"
	// RunsLostData: the newest Completed runs hold fewer items, volumes or bytes than the runs before.
	RunsLostData diagnosis.Reason = "RunsLostData"
	// BackupTooOld: the last Completed backup of the schedule is older than thresholds.backup-age.
	BackupTooOld diagnosis.Reason = "BackupTooOld"
	// ImpossibleCron: no date fits the cron expression, and Velero makes a backup every minute.
	ImpossibleCron diagnosis.Reason = "ImpossibleCron"
	// ExpiresFirst: the backups of the schedule expire before the next run.
	ExpiresFirst diagnosis.Reason = "ExpiresFirst"
	// LocationMissing: schedules name a storage location that does not exist.
	LocationMissing diagnosis.Reason = "LocationMissing"
	// RepositoryNotReady: no volume data can be saved to it or restored from it.
	RepositoryNotReady diagnosis.Reason = "RepositoryNotReady"
	// MaintenanceFailing: the last maintenance runs of the repository failed.
	MaintenanceFailing diagnosis.Reason = "MaintenanceFailing"
	// DeletionStuck: Velero has not begun with the deletion, or does not end it.
	DeletionStuck diagnosis.Reason = "DeletionStuck"
	// NamespaceUnprotected: a claim or workload of the namespace is in no backup with its data.
	NamespaceUnprotected diagnosis.Reason = "NamespaceUnprotected"
	// CopyAtRisk: the newest copy of something in the namespace is too old, failed, or nothing takes it again.
	CopyAtRisk diagnosis.Reason = "CopyAtRisk"
	// WritesFail: the API server does not store what is written.
	WritesFail diagnosis.Reason = "WritesFail"
)

// FindingReasons are those that a finding can have.
func FindingReasons() []diagnosis.Reason { return slices.Clone(findingReasons) }

var findingReasons = []diagnosis.Reason{
	ScheduleInvalid,
	ImpossibleCron,
	ScheduleMissed,
	ForgottenPause,
	LastRunFailed,
	FailingRepeatedly,
	RunsLostData,
	BackupTooOld,
	ExpiresFirst,
	LocationMissing,
	RepositoryNotReady,
	MaintenanceFailing,
	DeletionStuck,
	NamespaceUnprotected,
	CopyAtRisk,
	WritesFail,
	diagnosis.NotPickedUp,
	diagnosis.QueuedBehind,
	diagnosis.ConcurrencyLimit,
	diagnosis.NamespaceOverlap,
	diagnosis.RestoreWorkerBusy,
	diagnosis.QueueBlocked,
	diagnosis.QueueStalled,
	diagnosis.WorkerHung,
	diagnosis.ForgottenReady,
	diagnosis.NotHandled,
	diagnosis.CollectingItems,
	diagnosis.KindNotListed,
	diagnosis.SlowItem,
	diagnosis.RunningHook,
	diagnosis.NamespaceTerminating,
	diagnosis.PreparingRepository,
	diagnosis.RepositoryLocked,
	diagnosis.UploadingArtifacts,
	diagnosis.LostPatch,
	diagnosis.Reopened,
	diagnosis.SchemaTooOld,
	diagnosis.StatusSubresource,
	diagnosis.LocationReadOnly,
	diagnosis.LimitPassed,
	diagnosis.CancelledVolumeHang,
	diagnosis.WaitingForSnapshot,
	diagnosis.WaitingForSlot,
	diagnosis.PreparingVolume,
	diagnosis.VolumeSilent,
	diagnosis.VolumeStalled,
	diagnosis.MoverUnschedulable,
	diagnosis.MoverGone,
	diagnosis.MoverForgotten,
	diagnosis.NodeAgentMissing,
	diagnosis.WaitingForOperations,
	diagnosis.Finalizing,
	diagnosis.FinalizingBehind,
	diagnosis.FinalizerStalled,
	diagnosis.HookHung,
	diagnosis.LocationUnavailable,
	diagnosis.DeletionFailed,
	diagnosis.ServerRestarted,
	diagnosis.ServerElsewhere,
	diagnosis.ServerDown,
	diagnosis.ServerCrashLooping,
	diagnosis.MalformedSpec,
	diagnosis.PartiallyFailed,
	diagnosis.Failed,
	diagnosis.FailedValidation,
	etcd.FalseCompletion,
	etcd.BackupFailed,
	etcd.StorageTooSmall,
	etcd.ClaimMissing,
	etcd.DeadlineExceeded,
	etcd.BackupSkipped,
	etcd.PodNotStarting,
	etcd.JobRetries,
	etcd.ClaimUnbound,
	etcd.PodUnschedulable,
	etcd.NoPod,
	etcd.PodPastDeadline,
	etcd.WaitingForOtherBackup,
	etcd.BehindStuckBackup,
	etcd.OperatorSilent,
	etcd.NoClaimNamed,
	etcd.ResultPending,
	etcd.JobGone,
	etcd.StatusLost,
	etcd.LastBackupFailed,
	etcd.NoCronSchedule,
	etcd.CronJobMissing,
	etcd.RunHangs,
	etcd.RunMissed,
}
