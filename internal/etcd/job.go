package etcd

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/job"
)

// deadline is a pod's own, by default (bindata/etcd/cluster-backup-job.yaml): it begins when a node takes the pod.
const deadline = 15 * time.Minute

// defaultBackoffLimit is how many pods of a Job may fail (Kubernetes, pkg/apis/batch/v1/defaults.go, SetDefaults_Job).
const defaultBackoffLimit = 6

// Job is a Job of the operator or of a schedule's CronJob.
type Job struct {
	Name string
	// Runs is true for one that writes Backup; a schedule's only makes the EtcdBackup.
	Runs      bool
	Backup    string
	Processed bool

	Created, Started, Ended time.Time
	// Result is Complete, Failed or empty.
	Result, Reason, Message string
	// Failed is how many of its pods have, and Most how many may be made.
	Failed, Most int
	Deadline     time.Duration
	// Pods are those that are seen, oldest first.
	Pods []Pod
}

type Pod struct {
	Name, Node      string
	Phase           corev1.PodPhase
	Reason, Message string
	// Created is when it was made, Started when a node took it.
	Created, Started time.Time
	Unschedulable    string
	// Container is the one that runs or waits, and Waiting why it waits.
	Container, Waiting string
	// Failures are its containers that have failed.
	Failures []Failure
}

type Failure struct {
	Container string
	Reason    string
	// Message is the end of its log (terminationMessagePolicy).
	Message string
}

func readJob(j *batchv1.Job, pods []*corev1.Pod) *Job {
	known := &Job{
		Name:      j.Name,
		Runs:      j.Labels[appLabel] == jobApp,
		Backup:    j.Labels[backupLabel],
		Processed: j.Labels[stateLabel] == processed,
		Created:   j.CreationTimestamp.Time,
		Started:   job.TimeOf(j.Status.StartTime),
		Failed:    int(j.Status.Failed),
		Most:      defaultBackoffLimit + 1,
		Deadline:  deadline,
	}
	if j.Spec.BackoffLimit != nil {
		known.Most = int(*j.Spec.BackoffLimit) + 1
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
	known.Ended = cmp.Or(job.TimeOf(j.Status.CompletionTime), known.Ended)
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
	known := Pod{
		Name:    p.Name,
		Node:    p.Spec.NodeName,
		Phase:   p.Status.Phase,
		Reason:  p.Status.Reason,
		Message: p.Status.Message,
		Created: p.CreationTimestamp.Time,
		Started: job.TimeOf(p.Status.StartTime),
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			// What it thought of preemption is long and no cause.
			message, _, _ := strings.Cut(condition.Message, ". preemption:")
			known.Unschedulable = cmp.Or(message, condition.Reason, "the scheduler does not say why")
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch state := s.State; {
		case state.Terminated != nil && state.Terminated.ExitCode != 0:
			known.Failures = append(
				known.Failures,
				Failure{s.Name, state.Terminated.Reason, strings.TrimSpace(state.Terminated.Message)},
			)
		case state.Running != nil && known.Container == "":
			known.Container = s.Name
		case state.Waiting != nil && known.Container == "":
			known.Container = s.Name
			if !starting(state.Waiting.Reason) {
				known.Waiting = strings.TrimSuffix(state.Waiting.Reason+": "+state.Waiting.Message, ": ")
			}
		}
	}
	return known
}

// starting: a container is about to start (Kubernetes, pkg/kubelet/kubelet_pods.go, ContainerCreating,
// PodInitializing).
func starting(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

// newest returns the newest pod in such a phase, or nil.
func (j *Job) newest(is func(corev1.PodPhase) bool) *Pod {
	for i := range slices.Backward(j.Pods) {
		if is(j.Pods[i].Phase) {
			return &j.Pods[i]
		}
	}
	return nil
}

func (j *Job) live() *Pod {
	return j.newest(func(p corev1.PodPhase) bool { return p != corev1.PodSucceeded && p != corev1.PodFailed })
}

func (j *Job) succeeded() *Pod {
	return j.newest(func(p corev1.PodPhase) bool { return p == corev1.PodSucceeded })
}

func (j *Job) failed() *Pod {
	return j.newest(func(p corev1.PodPhase) bool { return p == corev1.PodFailed })
}

func (p *Pod) Cause() string {
	if p.Reason != "" {
		return strings.TrimSuffix(p.Reason+": "+p.Message, ": ")
	}
	for _, f := range p.Failures {
		return f.Container + ": " + cmp.Or(f.Message, f.Reason, "it failed")
	}
	return ""
}

type Log struct {
	// Failure is the error that the program logged before it ended well.
	Failure string
	// Unread says why the log is not known, and Forbidden that no log may be read.
	Unread    string
	Forbidden bool
}

// backupFailedLine is what a program that fails logs; it succeeds all the same
// (pkg/cmd/backuprestore/backuprestore.go, backupOptions.Run), and the operator goes by the Job.
const backupFailedLine = "run: backup failed: "

// lastLine is what the program logs last, failed or not. A log without it proves nothing.
const lastLine = "config-dir is: "

// ReadLog reads the end of the log of a backup's pod. The text need not be clean.
func ReadLog(text string) Log {
	for line := range strings.Lines(text) {
		if _, failure, found := strings.Cut(line, backupFailedLine); found {
			return Log{Failure: strings.TrimSpace(failure)}
		}
	}
	if !strings.Contains(text, lastLine) {
		return Log{Unread: "it lacks the line with which the program ends"}
	}
	return Log{}
}
