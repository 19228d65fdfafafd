package etcd

import "github.com/veltui/veltui/diagnosis"

// Reasons of EtcdBackups. They are API as [diagnosis.Reason] is, and
// docs/reasons.md has a section for them.
const (
	// BackupCompleted: the condition of that name holds, and nothing contradicts it.
	BackupCompleted diagnosis.Reason = "BackupCompleted"
	// FalseCompletion: the condition says completed, the log says failed.
	FalseCompletion diagnosis.Reason = "FalseCompletion"
	// BackupFailed: the condition of that name holds.
	BackupFailed diagnosis.Reason = "BackupFailed"
	// StorageTooSmall: it failed because the claim has too little room.
	StorageTooSmall diagnosis.Reason = "StorageTooSmall"
	// ClaimMissing: the claim that it names is not there.
	ClaimMissing diagnosis.Reason = "ClaimMissing"
	// DeadlineExceeded: it failed because its pods took longer than they may.
	DeadlineExceeded diagnosis.Reason = "DeadlineExceeded"
	// BackupSkipped: the operator left it out because another one ran.
	BackupSkipped diagnosis.Reason = "BackupSkipped"

	// BackupRunning: its pod runs, for no longer than it may.
	BackupRunning diagnosis.Reason = "BackupRunning"
	// PodStarting: its pod is about to run.
	PodStarting diagnosis.Reason = "PodStarting"
	// PodNotStarting: a container of its pod cannot start.
	PodNotStarting diagnosis.Reason = "PodNotStarting"
	// JobRetries: a pod of its Job failed, and the Job makes another.
	JobRetries diagnosis.Reason = "JobRetries"
	// ClaimUnbound: its pod waits for a claim that has no volume.
	ClaimUnbound diagnosis.Reason = "ClaimUnbound"
	// PodUnschedulable: no node can take its pod.
	PodUnschedulable diagnosis.Reason = "PodUnschedulable"
	// NoPod: its Job has made no pod.
	NoPod diagnosis.Reason = "NoPod"
	// PodPastDeadline: its pod runs on though its time is over.
	PodPastDeadline diagnosis.Reason = "PodPastDeadline"

	// WaitingForOperator: the operator has not looked at it yet.
	WaitingForOperator diagnosis.Reason = "WaitingForOperator"
	// WaitingForOtherBackup: another backup runs, and there is only ever one.
	WaitingForOtherBackup diagnosis.Reason = "WaitingForOtherBackup"
	// BehindStuckBackup: the other backup is stuck, so that none can start.
	BehindStuckBackup diagnosis.Reason = "BehindStuckBackup"
	// OperatorSilent: the operator does not do what it does every minute.
	OperatorSilent diagnosis.Reason = "OperatorSilent"
	// NoClaimNamed: it names no claim, so that the operator cannot start it.
	NoClaimNamed diagnosis.Reason = "NoClaimNamed"
	// ResultPending: its Job has ended, and the operator is about to say so.
	ResultPending diagnosis.Reason = "ResultPending"
	// JobGone: its Job is not there, and the operator will make another.
	JobGone diagnosis.Reason = "JobGone"
	// StatusLost: the operator is done with it, but never wrote how it ended.
	StatusLost diagnosis.Reason = "StatusLost"
	// JobsHidden: Jobs may not be listed.
	JobsHidden diagnosis.Reason = "JobsHidden"
	// UnknownCondition: its condition is not known to this veltui.
	UnknownCondition diagnosis.Reason = "UnknownCondition"
)

// Reasons of schedules.
const (
	// WaitingForNextRun: nothing is wrong.
	WaitingForNextRun diagnosis.Reason = "WaitingForNextRun"
	// ScheduleRunning: one of its backups runs.
	ScheduleRunning diagnosis.Reason = "ScheduleRunning"
	// LastBackupFailed: its newest backup that ended holds no data.
	LastBackupFailed diagnosis.Reason = "LastBackupFailed"
	// NoCronSchedule: it has no cron schedule, so that nothing ever runs.
	NoCronSchedule diagnosis.Reason = "NoCronSchedule"
	// CronJobMissing: the operator has not made its CronJob.
	CronJobMissing diagnosis.Reason = "CronJobMissing"
	// RunHangs: a run of its CronJob does not end, so that no other begins.
	RunHangs diagnosis.Reason = "RunHangs"
	// RunMissed: a run was due, and none began.
	RunMissed diagnosis.Reason = "RunMissed"
	// CronJobsHidden: CronJobs may not be listed.
	CronJobsHidden diagnosis.Reason = "CronJobsHidden"
)
