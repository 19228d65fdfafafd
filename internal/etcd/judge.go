package etcd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
)

// The operator checks everything once a minute and at each change (backupcontroller.go and
// periodicbackupcontroller.go, ResyncEvery), so three minutes of silence are no coincidence. A pod gets one minute to
// be scheduled, and two beyond its deadline to end.
const (
	maxOperatorSilence = 3 * time.Minute
	podSchedulingGrace = time.Minute
	podDeadlineGrace   = 2 * time.Minute
)

// These texts are advice that several verdicts give. Nobody can help these objects of the operator along.
const (
	operatorAdvice = "Check the etcd ClusterOperator (oc get clusteroperator etcd) and at the pods and logs in " +
		"namespace openshift-etcd-operator; the feature gate AutomatedEtcdBackup must be on"
	newBackupAdvice = "Make a new EtcdBackup; leave this one to the operator"
)

type judgment struct {
	diagnosis.VerdictBuilder
	cluster *Cluster
}

func (c *Cluster) newJudgment(r Resource, now time.Time) *judgment {
	a := &judgment{VerdictBuilder: diagnosis.VerdictBuilder{Subject: r.Name, Now: now}, cluster: c}
	a.Names.Name, a.Names.Access = r.Name, c.Access
	for _, m := range r.Malformed {
		a.AddDoubt(diagnosis.SourceSchema, time.Time{}, "%s", m.String())
	}
	return a
}

// concludeStuck returns a verdict whose own sentence is the proof, of the kind given by by.
func (a *judgment) concludeStuck(
	by func(diagnosis.Fact) diagnosis.Proof,
	reason diagnosis.Reason,
	advice, format string,
	args ...any,
) diagnosis.Verdict {
	fact := diagnosis.Fact{Supports: true, Text: fmt.Sprintf(format, args...), Source: diagnosis.SourceWatch, At: a.Now}
	v := a.ConcludeProven(diagnosis.Stuck, by(fact), reason, advice, "%s", fact.Text)
	v.Facts = a.Facts()
	return v
}

func (a *judgment) durationSince(t time.Time) time.Duration { return max(a.Now.Sub(t), 0) }

func (a *judgment) formatAgo(t time.Time) string { return human.Duration(a.durationSince(t)) }

func (a *judgment) noteUnchecked(resources ...string) {
	for _, u := range a.cluster.Unchecked {
		if slices.Contains(resources, u.Resource) {
			a.AddDoubt(
				diagnosis.SourceWatch,
				time.Time{},
				"%s in namespace %s could not be read: %s",
				u.Resource,
				Namespace,
				u.Reason,
			)
		}
	}
}

// StageName returns the common name of the condition: New, Pending, Running, Completed, Failed, Skipped, or an
// unknown condition verbatim.
func (b *Backup) StageName() string {
	switch {
	case b.Condition.Type == "" && len(b.Conditions) == 0:
		return "New"
	case b.Condition.Type == "":
		return "Unknown"
	case b.Condition.Type == ConditionPending && b.Job != nil && b.Job.Result == "":
		if p := b.Job.activePod(); p != nil && p.Phase == corev1.PodRunning {
			return "Running"
		}
	}
	switch b.Condition.Type {
	case ConditionPending, ConditionCompleted, ConditionFailed, ConditionSkipped:
		return strings.TrimPrefix(b.Condition.Type, "Backup")
	}
	return b.Condition.Type
}

func (b *Backup) HasEnded() bool {
	return b.Condition.Type == ConditionCompleted || b.Condition.Type == ConditionFailed ||
		b.Condition.Type == ConditionSkipped
}

// TotalDuration returns how long the backup took or has been running; zero if it has not begun, never ran, or its end
// is unknown.
func (b *Backup) TotalDuration(now time.Time) time.Duration {
	var from time.Time
	switch {
	case b.Condition.Type == ConditionSkipped, b.IsProcessed && !b.HasEnded() && b.Job == nil:
		return 0
	case b.Job != nil && !b.Job.Started.IsZero():
		from = b.Job.Started
	default:
		for _, condition := range b.Conditions {
			if condition.Type == ConditionPending {
				from = condition.LastTransitionTime.Time
			}
		}
	}
	if from.IsZero() {
		return 0
	}
	to := now
	switch {
	case b.Job != nil && !b.Job.Ended.IsZero():
		to = b.Job.Ended
	case b.HasEnded():
		to = b.Condition.LastTransitionTime.Time
	}
	return max(to.Sub(from), 0)
}

// Deadline returns when the pod that now runs is ended, zero if no pod is on a node.
func (b *Backup) Deadline() time.Time {
	if b.Job == nil || b.Job.Result != "" {
		return time.Time{}
	}
	if p := b.Job.activePod(); p != nil && !p.Started.IsZero() {
		return p.Started.Add(b.Job.Deadline)
	}
	return time.Time{}
}

// isTroubled reports whether a backup holds no data, or needs an action.
func isTroubled(v diagnosis.Verdict) bool {
	lost := []diagnosis.Reason{
		FalseCompletion,
		BackupFailed,
		StorageTooSmall,
		ClaimMissing,
		DeadlineExceeded,
		BackupSkipped,
		LastBackupFailed,
	}
	return v.State() == diagnosis.Stuck || v.State() == diagnosis.Orphaned || slices.Contains(lost, v.Reason)
}

type JudgedBackup struct {
	*Backup
	Verdict diagnosis.Verdict
	// IsTroubled is true if the backup holds no data or a person has to act.
	IsTroubled bool
}

// JudgeBackup judges one of the cluster's backups at a time of the cluster's clock.
func (c *Cluster) JudgeBackup(b *Backup, now time.Time) JudgedBackup {
	v := c.newJudgment(b.Resource, now).judgeBackup(b)
	return JudgedBackup{b, v, isTroubled(v)}
}

func (a *judgment) concludeStale(format string, args ...any) diagnosis.Verdict {
	since := a.cluster.StaleSince
	a.AddDoubt(diagnosis.SourceWatch, since, "the API server has not answered for %s", a.formatAgo(since))
	return a.Conclude(diagnosis.Unknown, diagnosis.StaleData, "", format, args...)
}

func (a *judgment) judgeBackup(b *Backup) diagnosis.Verdict {
	if !a.cluster.StaleSince.IsZero() && !b.HasEnded() {
		return a.concludeStale("was %s when the API server last answered", b.StageName())
	}
	if b.Condition.Type != "" {
		a.AddSupport(
			diagnosis.SourceWatch,
			b.Condition.LastTransitionTime.Time,
			"condition %s is True%s",
			b.Condition.Type,
			messageSuffix(b.Condition.Message),
		)
	}
	switch b.Condition.Type {
	case ConditionCompleted:
		return a.judgeCompleted(b)
	case ConditionFailed:
		return a.judgeFailed(b)
	case ConditionSkipped:
		a.AddSupport(
			diagnosis.SourceWatch,
			time.Time{},
			"the operator runs one backup at a time, takes the first by name, and skips the others that wait",
		)
		return a.Conclude(
			"",
			BackupSkipped,
			newBackupAdvice+", while no other runs",
			"skipped: another etcd backup was started in its place",
		)
	case ConditionPending:
		return a.judgePending(b)
	case "":
		if len(b.Conditions) == 0 {
			return a.judgeNotBegun(b)
		}
		return a.Conclude(diagnosis.Unknown, UnknownCondition, "", "no condition is True")
	}
	return a.Conclude(
		diagnosis.Unknown,
		UnknownCondition,
		"",
		"%s, a condition that this veltui does not know%s",
		b.Condition.Type,
		messageSuffix(b.Condition.Message),
	)
}

func messageSuffix(message string) string { return human.Prefixed(": ", message) }

// judgeCompleted checks the log: a program whose backup failed logs that, and exits successfully.
func (a *judgment) judgeCompleted(b *Backup) diagnosis.Verdict {
	took := ""
	if d := b.TotalDuration(a.Now); d > 0 {
		took = " in " + human.Duration(d)
	}
	const why = "the operator calls a backup completed if its program ended, which it also does when the backup failed"
	if b.Job == nil || b.Job.succeededPod() == nil {
		a.noteUnchecked(ResourceJobs, ResourcePods)
		a.AddDoubt(diagnosis.SourceLog, time.Time{}, "the pod's log is not there to read; %s", why)
		return a.Conclude("", BackupCompleted, "", "completed%s, not checked in the log", took)
	}
	pod := b.Job.succeededPod().Name
	log, known := a.cluster.logs[pod]
	switch {
	case log.Failure != "":
		a.AddSupport(diagnosis.SourceLog, b.Job.Ended, "pod %s logged: %s%s", pod, backupFailedLine, log.Failure)
		a.AddSupport(diagnosis.SourceLog, time.Time{}, "%s", why)
		return a.Conclude(
			"",
			FalseCompletion,
			"Do not rely on this backup. "+newBackupAdvice,
			"called completed, but the log says that the backup failed: %s",
			log.Failure,
		)
	case !known:
		a.AddDoubt(diagnosis.SourceLog, time.Time{}, "the log of pod %s was not read; %s", pod, why)
	case log.Unchecked != "":
		a.AddDoubt(diagnosis.SourceLog, time.Time{}, "the log of pod %s could not be read: %s; %s", pod, log.Unchecked, why)
	default:
		a.AddSupport(diagnosis.SourceLog, b.Job.Ended, "the log of pod %s ends without an error", pod)
		return a.Conclude("", BackupCompleted, "", "completed%s, and the log ends without an error", took)
	}
	return a.Conclude("", BackupCompleted, "", "completed%s, not checked in the log", took)
}

// judgeFailed names the cause from the operator's message (validateBackup) or the Job's pods.
func (a *judgment) judgeFailed(b *Backup) diagnosis.Verdict {
	if strings.HasPrefix(b.Condition.Message, "unable to find PVC") {
		return a.Conclude(
			"",
			ClaimMissing,
			fmt.Sprintf("Make the PersistentVolumeClaim %s in namespace %s, then a new EtcdBackup", b.Claim, Namespace),
			"failed: there was no PersistentVolumeClaim %s in namespace %s",
			b.Claim,
			Namespace,
		)
	}
	if b.Job == nil {
		a.noteUnchecked(ResourceJobs)
		return a.Conclude("", BackupFailed, newBackupAdvice, "failed; the Job is not there to say why")
	}
	a.noteJobFacts(b.Job)
	p := b.Job.failedPod()
	if p == nil {
		a.noteUnchecked(ResourcePods)
		return a.Conclude(
			"",
			BackupFailed,
			newBackupAdvice,
			"failed: %s",
			cmp.Or(strings.TrimSuffix(b.Job.Reason+": "+b.Job.Message, ": "), "the Job does not say why"),
		)
	}
	a.notePodFacts(p)
	switch cause := p.FailureCause(); {
	case p.Reason == "DeadlineExceeded":
		return a.Conclude(
			"",
			DeadlineExceeded,
			newBackupAdvice+"; if it fails again, look at the volume's speed and at etcd's health",
			"failed: the pod ran for longer than %s",
			human.Duration(b.Job.Deadline),
		)
	case isVolumeTooSmall(p):
		return a.Conclude(
			"",
			StorageTooSmall,
			fmt.Sprintf(
				"Free space on the volume of PersistentVolumeClaim %s or make it larger, then make a new EtcdBackup",
				b.Claim,
			),
			"failed: %s",
			cause,
		)
	default:
		return a.Conclude("", BackupFailed, newBackupAdvice, "failed: %s", cmp.Or(cause, "the pod does not say why"))
	}
}

// isVolumeTooSmall reports whether twice the size of the database is not free (pkg/cmd/verify/backupstorage.go,
// isStorageAdequate).
func isVolumeTooSmall(p *Pod) bool {
	return slices.ContainsFunc(p.Failures, func(f ContainerFailure) bool {
		return f.Container == "verify-storage" && strings.Contains(f.Message, "available storage is not adequate")
	})
}

func (a *judgment) noteJobFacts(j *Job) {
	switch {
	case j.Result != "":
		a.AddSupport(
			diagnosis.SourceWatch,
			j.Ended,
			"Job %s is %s%s",
			j.Name,
			j.Result,
			messageSuffix(strings.TrimSuffix(j.Reason+": "+j.Message, ": ")),
		)
	case !j.Started.IsZero():
		a.AddSupport(diagnosis.SourceWatch, j.Started, "Job %s has run for %s", j.Name, a.formatAgo(j.Started))
	}
	if j.FailedPods > 0 {
		a.AddSupport(
			diagnosis.SourceWatch,
			time.Time{},
			"%s of at most %d failed",
			human.Count(j.FailedPods, "pod"),
			j.MaxPods,
		)
	}
}

func (a *judgment) notePodFacts(p *Pod) {
	if cause := p.FailureCause(); cause != "" {
		a.AddSupport(diagnosis.SourcePod, p.Created, "pod %s: %s", p.Name, cause)
	}
}
