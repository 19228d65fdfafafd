package etcd

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// defaultDeadline is the default deadline of a pod (bindata/etcd/cluster-backup-job.yaml): it begins when a node
// takes the pod.
const defaultDeadline = 15 * time.Minute

// defaultBackoffLimit is how many pods of a Job may fail (Kubernetes, pkg/apis/batch/v1/defaults.go, SetDefaults_Job).
const defaultBackoffLimit = 6

// Job is a Job of the operator or of a schedule's CronJob.
type Job struct {
	Name string
	// WritesBackup is true for a Job that writes Backup; a schedule's Job only makes the EtcdBackup.
	WritesBackup bool
	BackupName   string
	IsProcessed  bool

	Created, Started, Ended time.Time
	// Result is Complete, Failed or empty.
	Result, Reason, Message string
	// FailedPods is how many of its pods have failed, and MaxPods how many may be made.
	FailedPods, MaxPods int
	Deadline            time.Duration
	// Pods are the visible pods, oldest first.
	Pods []Pod
}

type Pod struct {
	Name, Node      string
	Phase           corev1.PodPhase
	Reason, Message string
	// Created is when the pod was made, Started when a node took it.
	Created, Started    time.Time
	UnschedulableReason string
	// Container is the container that runs or waits, and WaitingReason why it waits.
	Container, WaitingReason string
	// Failures are the pod's containers that have failed.
	Failures []ContainerFailure
}

type ContainerFailure struct {
	Container string
	Reason    string
	// Message is the end of the container's log (terminationMessagePolicy).
	Message string
}

func readJob(j *batchv1.Job, pods []*corev1.Pod) *Job {
	known := &Job{
		Name:         j.Name,
		WritesBackup: j.Labels[appLabel] == jobApp,
		BackupName:   j.Labels[backupLabel],
		IsProcessed:  j.Labels[stateLabel] == processedState,
		Created:      j.CreationTimestamp.Time,
		Started:      job.TimeOrZero(j.Status.StartTime),
		FailedPods:   int(j.Status.Failed),
		MaxPods:      defaultBackoffLimit + 1,
		Deadline:     defaultDeadline,
	}
	if j.Spec.BackoffLimit != nil {
		known.MaxPods = int(*j.Spec.BackoffLimit) + 1
	}
	if limit := j.Spec.Template.Spec.ActiveDeadlineSeconds; limit != nil && *limit > 0 &&
		*limit < int64(365*24*time.Hour/time.Second) {
		known.Deadline = time.Duration(*limit) * time.Second
	}
	for _, condition := range j.Status.Conditions {
		if condition.Status == corev1.ConditionTrue &&
			(condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			known.Result, known.Reason, known.Message = string(condition.Type), condition.Reason, condition.Message
			known.Ended = condition.LastTransitionTime.Time
		}
	}
	known.Ended = cmp.Or(job.TimeOrZero(j.Status.CompletionTime), known.Ended)
	for _, p := range pods {
		if p.Labels[jobNameLabel] == j.Name {
			known.Pods = append(known.Pods, readPod(p))
		}
	}
	slices.SortStableFunc(
		known.Pods,
		func(a, b Pod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) },
	)
	return known
}

func readPod(p *corev1.Pod) Pod {
	pod := velero.ReadPodState(p)
	known := Pod{
		Name:    pod.Name,
		Node:    pod.Node,
		Phase:   pod.Phase,
		Reason:  pod.Reason,
		Message: pod.Message,
		Created: pod.Created,
		Started: pod.Started,
	}
	if pod.IsUnscheduled {
		// What the scheduler thought of preemption is long and no cause.
		message, _, _ := strings.Cut(pod.UnscheduledMessage, ". preemption:")
		known.UnschedulableReason = cmp.Or(message, pod.UnscheduledReason, "the scheduler does not say why")
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		switch {
		case c.HasFailed():
			known.Failures = append(
				known.Failures,
				ContainerFailure{c.Name, c.End.Reason, strings.TrimSpace(c.End.Message)},
			)
		case c.IsRunning && known.Container == "":
			known.Container = c.Name
		case c.IsWaiting && known.Container == "":
			known.Container = c.Name
			if !c.IsStarting() {
				known.WaitingReason = strings.TrimSuffix(c.WaitingReason+": "+c.WaitingMessage, ": ")
			}
		}
	}
	return known
}

// findNewestPod returns the newest pod in such a phase, or nil.
func (j *Job) findNewestPod(is func(corev1.PodPhase) bool) *Pod {
	for i := range slices.Backward(j.Pods) {
		if is(j.Pods[i].Phase) {
			return &j.Pods[i]
		}
	}
	return nil
}

func (j *Job) activePod() *Pod {
	return j.findNewestPod(func(p corev1.PodPhase) bool { return p != corev1.PodSucceeded && p != corev1.PodFailed })
}

func (j *Job) succeededPod() *Pod {
	return j.findNewestPod(func(p corev1.PodPhase) bool { return p == corev1.PodSucceeded })
}

func (j *Job) failedPod() *Pod {
	return j.findNewestPod(func(p corev1.PodPhase) bool { return p == corev1.PodFailed })
}

func (p *Pod) FailureCause() string {
	if p.Reason != "" {
		return strings.TrimSuffix(p.Reason+": "+p.Message, ": ")
	}
	for _, f := range p.Failures {
		return f.Container + ": " + cmp.Or(f.Message, f.Reason, "it failed")
	}
	return ""
}

type BackupLog struct {
	// Failure is the error that the program logged before it ended successfully.
	Failure string
	// Unchecked says why the log is unknown, and IsForbidden that no log may be read.
	Unchecked   string
	IsForbidden bool
}

// backupFailedLine is what a failed program logs; it exits successfully nevertheless
// (pkg/cmd/backuprestore/backuprestore.go, backupOptions.Run), and the operator relies on the Job.
const backupFailedLine = "run: backup failed: "

// lastLogLine is what the program logs last, whether it failed or not. A log without this line proves nothing.
const lastLogLine = "config-dir is: "

// ParseBackupLog reads the end of the log of a backup's pod. The text need not be sanitized.
func ParseBackupLog(text string) BackupLog {
	for line := range strings.Lines(text) {
		if _, failure, found := strings.Cut(line, backupFailedLine); found {
			return BackupLog{Failure: strings.TrimSpace(failure)}
		}
	}
	if !strings.Contains(text, lastLogLine) {
		return BackupLog{Unchecked: "it lacks the line with which the program ends"}
	}
	return BackupLog{}
}
