package etcd

import "github.com/veltui/veltui/internal/diagnosis"

// Reasons of etcd backups and their schedules are API as [diagnosis.Reason] is;
// docs/reasons.md lists them. `make docs` writes these comments into it.

// EtcdBackups.
const (
	// BackupCompleted: completed, and nothing contradicts it; the facts say whether its log was read.
	BackupCompleted diagnosis.Reason = "BackupCompleted"
	// FalseCompletion: its condition says completed, but its log says that the backup failed: do not rely on it.
	FalseCompletion diagnosis.Reason = "FalseCompletion"
	// BackupFailed: failed.
	BackupFailed diagnosis.Reason = "BackupFailed"
	// StorageTooSmall: failed because the volume has less room than twice the size of the database.
	StorageTooSmall diagnosis.Reason = "StorageTooSmall"
	// ClaimMissing: failed or waits because the PersistentVolumeClaim that it names is not there.
	ClaimMissing diagnosis.Reason = "ClaimMissing"
	// DeadlineExceeded: failed because its pods ran for longer than they may.
	DeadlineExceeded diagnosis.Reason = "DeadlineExceeded"
	// BackupSkipped: was skipped by the operator, because another one was started in its place.
	BackupSkipped diagnosis.Reason = "BackupSkipped"

	// BackupRunning: its pod runs, for no longer than it may.
	BackupRunning diagnosis.Reason = "BackupRunning"
	// PodStarting: its pod is about to run.
	PodStarting diagnosis.Reason = "PodStarting"
	// PodNotStarting: a container of its pod cannot start.
	PodNotStarting diagnosis.Reason = "PodNotStarting"
	// JobRetries: a pod of its Job failed, and the Job makes another.
	JobRetries diagnosis.Reason = "JobRetries"
	// ClaimUnbound: its pod waits for a PersistentVolumeClaim that has no volume;
	// nothing ends this, and no other etcd backup can start.
	ClaimUnbound diagnosis.Reason = "ClaimUnbound"
	// PodUnschedulable: no node takes its pod; nothing ends this, and no other etcd backup can start.
	PodUnschedulable diagnosis.Reason = "PodUnschedulable"
	// NoPod: its Job has made no pod.
	NoPod diagnosis.Reason = "NoPod"
	// PodPastDeadline: its pod runs on though its time is over.
	PodPastDeadline diagnosis.Reason = "PodPastDeadline"

	// WaitingForOperator: was just made, and the operator is about to look at it.
	WaitingForOperator diagnosis.Reason = "WaitingForOperator"
	// WaitingForOtherBackup: waits for another one: only one runs at a time.
	WaitingForOtherBackup diagnosis.Reason = "WaitingForOtherBackup"
	// BehindStuckBackup: waits for another one that is stuck.
	BehindStuckBackup diagnosis.Reason = "BehindStuckBackup"
	// OperatorSilent: the operator has not done for three minutes what it does every minute.
	OperatorSilent diagnosis.Reason = "OperatorSilent"
	// NoClaimNamed: names no PersistentVolumeClaim, so that the operator cannot start it.
	NoClaimNamed diagnosis.Reason = "NoClaimNamed"
	// ResultPending: its Job has ended, and the operator is about to say so.
	ResultPending diagnosis.Reason = "ResultPending"
	// JobGone: its Job is not there, and the operator is about to make another.
	JobGone diagnosis.Reason = "JobGone"
	// StatusLost: the operator has finished it without recording how it ended, and will not retry.
	StatusLost diagnosis.Reason = "StatusLost"
	// JobsHidden: cannot be judged: you may not list Jobs in openshift-etcd.
	JobsHidden diagnosis.Reason = "JobsHidden"
	// UnknownCondition: has a condition that this veltui does not know.
	UnknownCondition diagnosis.Reason = "UnknownCondition"
)

// Schedules (Backups of config.openshift.io).
const (
	// WaitingForNextRun: waits for its next run, and nothing is wrong.
	WaitingForNextRun diagnosis.Reason = "WaitingForNextRun"
	// ScheduleRunning: one of its backups runs.
	ScheduleRunning diagnosis.Reason = "ScheduleRunning"
	// LastBackupFailed: its last backup holds no data: it failed, was skipped, or completed falsely.
	LastBackupFailed diagnosis.Reason = "LastBackupFailed"
	// NoCronSchedule: has no cron schedule, and never runs.
	NoCronSchedule diagnosis.Reason = "NoCronSchedule"
	// CronJobMissing: the operator has not made its CronJob, and it never runs.
	CronJobMissing diagnosis.Reason = "CronJobMissing"
	// RunHangs: a run of its CronJob does not end, and no other begins.
	RunHangs diagnosis.Reason = "RunHangs"
	// RunMissed: a run was due, and none began.
	RunMissed diagnosis.Reason = "RunMissed"
	// CronJobsHidden: cannot be judged: you may not list CronJobs in openshift-etcd.
	CronJobsHidden diagnosis.Reason = "CronJobsHidden"
)
