package assess

import (
	"slices"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
)

// What else needs attention. Stuck jobs, ended jobs and etcd backups have the reasons of packages diagnosis and etcd.
var (
	// ScheduleInvalid: Velero rejected the schedule, and it never runs.
	ScheduleInvalid = diagnosis.NewReason("ScheduleInvalid", diagnosis.NewStep(
		"Correct what the finding names.",
		"kubectl edit schedules.velero.io NAME",
	))
	// ScheduleMissed: a run is due, and Velero has made no backup.
	ScheduleMissed = diagnosis.NewReason("ScheduleMissed", diagnosis.NewStep(
		"Search the server's log for the schedule's name.",
		"veltui describe schedule/NAME",
		"kubectl logs SERVER --since=1h",
	))
	// ForgottenPause: has been paused for more than a day after it missed a run.
	ForgottenPause = diagnosis.NewReason("ForgottenPause", diagnosis.NewStep(
		"Unpause the schedule, or delete it.",
		"veltui schedule unpause NAME",
	))
	// LastRunFailed: the last run of the schedule is not Completed.
	LastRunFailed = diagnosis.NewReason("LastRunFailed", diagnosis.NewStep(
		"Read why its last run failed.",
		"veltui explain backup/BACKUP",
		"veltui describe schedule/NAME",
	))
	// FailingRepeatedly: several runs of the schedule in a row are not Completed.
	FailingRepeatedly = diagnosis.NewReason("FailingRepeatedly", diagnosis.NewStep(
		"Remove the cause of the newest run's errors; earlier ones are mostly the same.",
		"veltui explain backup/BACKUP",
		"veltui describe schedule/NAME",
	))
	// RunsLostData: the newest Completed runs hold fewer items, volumes or bytes than the runs before.
	RunsLostData = diagnosis.NewReason("RunsLostData", diagnosis.NewStep(
		"Compare the runs side by side. Look for claims, namespaces or labels that changed.",
		"veltui describe schedule/NAME",
	))
	// BackupTooOld: the last Completed backup of the schedule is older than thresholds.backup-age.
	BackupTooOld = diagnosis.NewReason("BackupTooOld", diagnosis.NewStep(
		"Find out why its runs fail or are missing.",
		"veltui describe schedule/NAME",
	))
	// ImpossibleCron: no date fits the cron expression, and Velero makes a backup every minute.
	ImpossibleCron = diagnosis.NewReason("ImpossibleCron", diagnosis.NewStep(
		"Correct the expression, and delete the backups.",
		"kubectl edit schedules.velero.io NAME",
	))
	// ExpiresFirst: the backups of the schedule expire before the next run.
	ExpiresFirst = diagnosis.NewReason("ExpiresFirst", diagnosis.NewStep(
		"Raise spec.template.ttl, or run it more often.",
		"kubectl edit schedules.velero.io NAME",
	))
	// LocationMissing: schedules name a storage location that does not exist.
	LocationMissing = diagnosis.NewReason("LocationMissing", diagnosis.NewStep(
		"Create the location, or correct the name in the schedules.",
		"veltui get storage",
		"veltui get schedules",
	))
	// RepositoryNotReady: no volume data can be saved to it or restored from it.
	RepositoryNotReady = diagnosis.NewReason("RepositoryNotReady", diagnosis.NewStep(
		"Its message says why: often the storage location or the repository's password.",
		"veltui describe repository/NAME",
	))
	// MaintenanceFailing: the last maintenance runs of the repository failed.
	MaintenanceFailing = diagnosis.NewReason("MaintenanceFailing", diagnosis.NewStep(
		"Read the errors of its runs. If it ran out of memory, raise the limit of the maintenance jobs.",
		"veltui describe repository/NAME",
	))
	// DeletionStuck: Velero has not begun with the deletion, or does not end it.
	DeletionStuck = diagnosis.NewReason("DeletionStuck", diagnosis.NewStep(
		"Read the server's log. If the server restarted meanwhile, delete the backup again.",
		"veltui get deletions",
		"kubectl logs SERVER --since=1h",
	))
	// VolumesLeftOver: volumes of a job that has ended have not, and nothing ends them; they hold slots, pods and claims.
	VolumesLeftOver = diagnosis.NewReason("VolumesLeftOver", diagnosis.NewStep(
		"Cancel them: the job has ended. If a cancel was requested long ago, restart the node-agent on their node.",
		"veltui finalize KIND/NAME --cancel-volumes",
		"veltui explain KIND/NAME",
	))
	// CancelWithoutEffect: volumes of a job that has ended have not, and a cancellation does not end them.
	CancelWithoutEffect = diagnosis.NewReason("CancelWithoutEffect", diagnosis.NewStep(
		"Restart the node-agent on their node: at its start it takes up what it finds there. If none runs, get the "+
			"node-agent DaemonSet to run.",
		"kubectl delete AGENT",
		"kubectl get pods -l role=node-agent -o wide",
	))
	// MoverLeftOver: pods still run although the volumes that they moved have ended.
	MoverLeftOver = diagnosis.NewReason("MoverLeftOver", diagnosis.NewStep(
		"Delete the pods: what they moved has ended.",
		"kubectl delete pod POD",
		"veltui describe KIND/NAME",
	))
	// ExpiredWithoutLocation: backups have expired, and Velero cannot delete them: their storage location is missing.
	ExpiredWithoutLocation = diagnosis.NewReason("ExpiredWithoutLocation", diagnosis.NewStep(
		"Create the location again, and Velero deletes them. If it is gone for good, delete the objects: Velero does not "+
			"make them again. Its label marks those that have expired.",
		"kubectl get backups.velero.io -l velero.io/gc-failure=BSLNotFound,velero.io/storage-location=LOCATION",
		"kubectl delete backups.velero.io -l velero.io/gc-failure=BSLNotFound,velero.io/storage-location=LOCATION",
	))
	// ExpiredReadOnly: backups have expired, and Velero does not delete them: their storage location is read-only.
	ExpiredReadOnly = diagnosis.NewReason("ExpiredReadOnly", diagnosis.NewStep(
		"If the location is not meant to stay read-only, make it ReadWrite: Velero then deletes them within an hour.",
		`kubectl patch backupstoragelocations.velero.io LOCATION --type=merge -p {"spec":{"accessMode":"ReadWrite"}}`,
		"veltui get storage",
	))
	// BackupsMissing: the schedule made backups that have not expired and are not there.
	BackupsMissing = diagnosis.NewReason("BackupsMissing", diagnosis.NewStep(
		"Find out who deletes them: a GitOps tool that prunes what it did not create, a script, or a lifecycle rule of "+
			"the bucket. The API server's audit log names the user.",
		"veltui describe schedule/NAME",
		"kubectl logs SERVER --since=1h",
	))
	// ScheduleGone: backups of a schedule remain, and no schedule of that name makes new ones.
	ScheduleGone = diagnosis.NewReason("ScheduleGone", diagnosis.NewStep(
		"Create the schedule again; its newest backup shows the template. If it is meant to be gone, acknowledge this.",
		"kubectl get backups.velero.io BACKUP -o yaml",
		"veltui get backups -l velero.io/schedule-name=NAME",
	))
	// ScheduleNameTooLong: its name is longer than a label may be, and the API server refuses each of its backups.
	ScheduleNameTooLong = diagnosis.NewReason("ScheduleNameTooLong", diagnosis.NewStep(
		"Create it again with a name of at most 63 characters, then delete this one.",
		"kubectl get schedules.velero.io NAME -o yaml",
		"kubectl delete schedules.velero.io NAME",
	))
	// MaintenanceOverdue: the repository's last maintenance is long overdue, and nothing says why.
	MaintenanceOverdue = diagnosis.NewReason("MaintenanceOverdue", diagnosis.NewStep(
		"Search the server's log for the repository's name. Its maintenance runs as a Job in Velero's namespace.",
		"kubectl get jobs -l velero.io/repo-name=NAME",
		"kubectl logs SERVER --since=6h",
	))
	// CompletedEmpty: it is Completed, and nothing is in it or was restored.
	CompletedEmpty = diagnosis.NewReason("CompletedEmpty", diagnosis.NewStep(
		"Do not rely on it. Compare its filters with what is there; its log says what they became.",
		"veltui describe KIND/NAME",
	))
	// NamespaceUnprotected: a claim or workload of the namespace is in no backup with its data.
	NamespaceUnprotected = diagnosis.NewReason("NamespaceUnprotected", diagnosis.NewStep(
		"Read which things they are, and the rule that leaves each out.",
		"veltui coverage NAME",
	))
	// CopyAtRisk: the newest copy of something in the namespace is too old, failed, or nothing takes it again.
	CopyAtRisk = diagnosis.NewReason("CopyAtRisk", diagnosis.NewStep(
		"Read which copies they are, and when the last one expires.",
		"veltui coverage NAME",
	))
	// WritesFail: the API server does not store what is written.
	WritesFail = diagnosis.NewReason("WritesFail", diagnosis.NewStep(
		"Look at the API server and etcd: their disk or quota may be full.",
		"kubectl get --raw /readyz?verbose",
	))
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
	VolumesLeftOver,
	CancelWithoutEffect,
	MoverLeftOver,
	ExpiredWithoutLocation,
	ExpiredReadOnly,
	BackupsMissing,
	ScheduleGone,
	ScheduleNameTooLong,
	MaintenanceOverdue,
	CompletedEmpty,
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
	diagnosis.BehindLeftover,
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
