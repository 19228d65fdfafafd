package etcd

import "github.com/veltui/veltui/internal/diagnosis"

// Reasons of etcd backups and their schedules are API as [diagnosis.Reason] is;
// docs/reasons.md lists them. `make docs` writes these comments into it.

// EtcdBackups.
var (
	// BackupCompleted: completed, and nothing contradicts it; the facts say whether its log was read.
	BackupCompleted = diagnosis.NewReason("BackupCompleted", diagnosis.NoStep("Nothing."))
	// FalseCompletion: its condition says completed, but its log says that the backup failed: do not rely on it.
	FalseCompletion = diagnosis.NewReason("FalseCompletion", diagnosis.NewStep(
		"Do not rely on this backup. Make a new EtcdBackup; leave this one to the operator.",
		"kubectl describe etcdbackups.operator.openshift.io NAME -n openshift-etcd",
	))
	// BackupFailed: failed.
	BackupFailed = diagnosis.NewReason("BackupFailed", diagnosis.NewStep(
		"Remove the cause that the verdict names. Make a new EtcdBackup; leave this one to the operator.",
		"kubectl describe etcdbackups.operator.openshift.io NAME -n openshift-etcd",
	))
	// StorageTooSmall: failed because the volume has less room than twice the size of the database.
	StorageTooSmall = diagnosis.NewReason("StorageTooSmall", diagnosis.NewStep(
		"Free space on the volume or make it larger. Make a new EtcdBackup; leave this one to the operator.",
		"kubectl get pvc -n openshift-etcd",
	))
	// ClaimMissing: failed or waits because the PersistentVolumeClaim that it names is not there.
	ClaimMissing = diagnosis.NewReason("ClaimMissing", diagnosis.NewStep(
		"Make the PersistentVolumeClaim. If this backup has failed, make a new EtcdBackup.",
		"kubectl get pvc -n openshift-etcd",
	))
	// DeadlineExceeded: failed because its pods ran for longer than they may.
	DeadlineExceeded = diagnosis.NewReason("DeadlineExceeded", diagnosis.NewStep(
		"Make a new EtcdBackup. If it fails again, look at the speed of the volume and at the health of etcd.",
		"kubectl get clusteroperator etcd -o yaml -n openshift-etcd",
	))
	// BackupSkipped: was skipped by the operator, because another one was started in its place.
	BackupSkipped = diagnosis.NewReason("BackupSkipped", diagnosis.NewStep(
		"Make a new EtcdBackup while no other runs.",
		"veltui etcd",
	))

	// BackupRunning: its pod runs, for no longer than it may.
	BackupRunning = diagnosis.NewReason("BackupRunning", diagnosis.NoStep("Nothing."))
	// PodStarting: its pod is about to run.
	PodStarting = diagnosis.NewReason("PodStarting", diagnosis.NoStep("Nothing."))
	// PodNotStarting: a container of its pod cannot start.
	PodNotStarting = diagnosis.NewReason("PodNotStarting", diagnosis.NewStep(
		"Remove what the verdict names, such as an image that cannot be pulled. Otherwise the pod is ended at "+
			"its deadline, and the Job makes another.",
		"kubectl get pods -o wide -n openshift-etcd",
		"kubectl describe etcdbackups.operator.openshift.io NAME -n openshift-etcd",
	))
	// JobRetries: a pod of its Job failed, and the Job makes another.
	JobRetries = diagnosis.NewReason("JobRetries", diagnosis.NoStep(
		"Nothing at first. The verdict says why the last pod failed.",
		"kubectl get jobs,pods -n openshift-etcd",
	))
	// ClaimUnbound: its pod waits for a PersistentVolumeClaim that has no volume;
	// nothing ends this, and no other etcd backup can start.
	ClaimUnbound = diagnosis.NewReason("ClaimUnbound", diagnosis.NewStep(
		"Look at the events of the claim.",
		"kubectl describe pvc -n openshift-etcd",
	))
	// PodUnschedulable: no node takes its pod; nothing ends this, and no other etcd backup can start.
	PodUnschedulable = diagnosis.NewReason("PodUnschedulable", diagnosis.NewStep(
		"The pod has to run on a control plane node. Look at its events.",
		"kubectl get events --field-selector reason=FailedScheduling -n openshift-etcd",
	))
	// NoPod: its Job has made no pod.
	NoPod = diagnosis.NewReason("NoPod", diagnosis.NewStep(
		"Look at the events of the Job.",
		"kubectl describe jobs -n openshift-etcd",
	))
	// PodPastDeadline: its pod runs on though its time is over.
	PodPastDeadline = diagnosis.NewReason("PodPastDeadline", diagnosis.NewStep(
		"Look at the node: its kubelet has to end the pod.",
		"kubectl get pods -o wide -n openshift-etcd",
	))

	// WaitingForOperator: was just made, and the operator is about to look at it.
	WaitingForOperator = diagnosis.NewReason("WaitingForOperator", diagnosis.NoStep("Nothing."))
	// WaitingForOtherBackup: waits for another one: only one runs at a time.
	WaitingForOtherBackup = diagnosis.NewReason("WaitingForOtherBackup", diagnosis.NoStep(
		"Nothing. Where the verdict says that the operator skips this one, make it again once the other has "+
			"ended.",
		"veltui etcd",
	))
	// BehindStuckBackup: waits for another one that is stuck.
	BehindStuckBackup = diagnosis.NewReason("BehindStuckBackup", diagnosis.NewStep(
		"Help the other one on; its own reason says how.",
		"veltui etcd",
	))
	// OperatorSilent: the operator has not done for three minutes what it does every minute.
	OperatorSilent = diagnosis.NewReason("OperatorSilent", diagnosis.NewStep(
		"Look at the etcd ClusterOperator and at the pods and logs of the operator. The feature gate "+
			"AutomatedEtcdBackup must be on.",
		"kubectl get clusteroperator etcd -o yaml -n openshift-etcd",
		"kubectl logs deployment/etcd-operator -n openshift-etcd-operator --since=1h",
	))
	// NoClaimNamed: names no PersistentVolumeClaim, so that the operator cannot start it.
	NoClaimNamed = diagnosis.NewReason("NoClaimNamed", diagnosis.NewStep(
		"Delete it, and make an EtcdBackup with spec.pvcName.",
		"kubectl delete etcdbackups.operator.openshift.io NAME -n openshift-etcd",
	))
	// ResultPending: its Job has ended, and the operator is about to say so.
	ResultPending = diagnosis.NewReason("ResultPending", diagnosis.NoStep("Nothing."))
	// JobGone: its Job is not there, and the operator is about to make another.
	JobGone = diagnosis.NewReason("JobGone", diagnosis.NoStep(
		"Nothing for three minutes. Then look at the etcd operator.",
		"kubectl get clusteroperator etcd -o yaml -n openshift-etcd",
	))
	// StatusLost: the operator has finished it without recording how it ended, and will not retry.
	StatusLost = diagnosis.NewReason("StatusLost", diagnosis.NewStep(
		"Its Job, if it is still there, says how it ended. Make a new EtcdBackup; leave this one to the "+
			"operator.",
		"kubectl get jobs -n openshift-etcd",
	))
	// JobsHidden: cannot be judged: you may not list Jobs in openshift-etcd.
	JobsHidden = diagnosis.NewReason("JobsHidden", diagnosis.NewStep(
		"Ask for the rights to list Jobs and pods in openshift-etcd.",
		"veltui rbac viewer",
	))
	// UnknownCondition: has a condition that this veltui does not know.
	UnknownCondition = diagnosis.NewReason("UnknownCondition", diagnosis.NewStep(
		"A newer veltui may know the condition.",
		"veltui version",
	))
)

// Schedules (Backups of config.openshift.io).
var (
	// WaitingForNextRun: waits for its next run, and nothing is wrong.
	WaitingForNextRun = diagnosis.NewReason("WaitingForNextRun", diagnosis.NoStep("Nothing."))
	// ScheduleRunning: one of its backups runs.
	ScheduleRunning = diagnosis.NewReason("ScheduleRunning", diagnosis.NoStep("Nothing."))
	// LastBackupFailed: its last backup holds no data: it failed, was skipped, or completed falsely.
	LastBackupFailed = diagnosis.NewReason("LastBackupFailed", diagnosis.NewStep(
		"Look at that backup; its own reason says what to do.",
		"veltui etcd",
	))
	// NoCronSchedule: has no cron schedule, and never runs.
	NoCronSchedule = diagnosis.NewReason("NoCronSchedule", diagnosis.NewStep(
		"Set spec.etcd.schedule.",
		"kubectl edit backups.config.openshift.io NAME -n openshift-etcd",
	))
	// CronJobMissing: the operator has not made its CronJob, and it never runs.
	CronJobMissing = diagnosis.NewReason("CronJobMissing", diagnosis.NewStep(
		"The condition PeriodicBackupControllerDegraded of the etcd operator may say why.",
		"kubectl get clusteroperator etcd -o yaml -n openshift-etcd",
	))
	// RunHangs: a run of its CronJob does not end, and no other begins.
	RunHangs = diagnosis.NewReason("RunHangs", diagnosis.NewStep(
		"Look at the Job that the verdict names. Often its PersistentVolumeClaim is missing.",
		"kubectl describe jobs -n openshift-etcd",
	))
	// RunMissed: a run was due, and none began.
	RunMissed = diagnosis.NewReason("RunMissed", diagnosis.NewStep(
		"Look at the CronJob.",
		"kubectl describe cronjobs -n openshift-etcd",
	))
	// CronJobsHidden: cannot be judged: you may not list CronJobs in openshift-etcd.
	CronJobsHidden = diagnosis.NewReason("CronJobsHidden", diagnosis.NewStep(
		"Ask for the rights to list CronJobs in openshift-etcd.",
		"veltui rbac viewer",
	))
)
