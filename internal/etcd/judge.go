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

// The operator looks at everything once a minute and at each change (backupcontroller.go
// and periodicbackupcontroller.go, ResyncEvery), so three minutes are no coincidence. A pod
// gets one minute to be scheduled, and two beyond its deadline to end.
const (
	operatorPatience = 3 * time.Minute
	schedulePatience = time.Minute
	endPatience      = 2 * time.Minute
)

// The advice that several verdicts give. Nobody can help these objects of the operator on.
const (
	adviseOperator = "Check the etcd ClusterOperator (oc get clusteroperator etcd) and at the pods and logs in " +
		"namespace openshift-etcd-operator; the feature gate AutomatedEtcdBackup must be on"
	adviseAnother = "Make a new EtcdBackup; leave this one to the operator"
)

type assessment struct {
	diagnosis.Case
	cluster *Cluster
}

func (c *Cluster) assess(r Resource, now time.Time) *assessment {
	a := &assessment{Case: diagnosis.Case{Name: r.Name, Now: now}, cluster: c}
	for _, m := range r.Malformed {
		a.Doubts(diagnosis.SourceSchema, time.Time{}, "%s", m.String())
	}
	return a
}

// stuck makes a verdict whose own sentence is the proof, of the kind that is given.
func (a *assessment) stuck(
	by func(diagnosis.Fact) diagnosis.Proof,
	reason diagnosis.Reason,
	advice, format string,
	args ...any,
) diagnosis.Verdict {
	fact := diagnosis.Fact{Holds: true, Text: fmt.Sprintf(format, args...), Source: diagnosis.SourceWatch, At: a.Now}
	v := a.Prove(diagnosis.Stuck, by(fact), reason, advice, "%s", fact.Text)
	v.Facts = a.Facts()
	return v
}

func (a *assessment) since(t time.Time) time.Duration { return max(a.Now.Sub(t), 0) }

func (a *assessment) ago(t time.Time) string { return human.Duration(a.since(t)) }

func (a *assessment) noteUnseen(resources ...string) {
	for _, u := range a.cluster.Unseen {
		if slices.Contains(resources, u.Resource) {
			a.Doubts(
				diagnosis.SourceWatch,
				time.Time{},
				"%s in namespace %s could not be read: %s",
				u.Resource,
				Namespace,
				u.Why,
			)
		}
	}
}

// Stage is the condition as people call it: New, Pending, Running, Completed, Failed, Skipped, or an unknown
// one verbatim.
func (b *Backup) Stage() string {
	switch {
	case b.Condition.Type == "" && len(b.Conditions) == 0:
		return "New"
	case b.Condition.Type == "":
		return "Unknown"
	case b.Condition.Type == Pending && b.Job != nil && b.Job.Result == "":
		if p := b.Job.live(); p != nil && p.Phase == corev1.PodRunning {
			return "Running"
		}
	}
	switch b.Condition.Type {
	case Pending, Completed, Failed, Skipped:
		return strings.TrimPrefix(b.Condition.Type, "Backup")
	}
	return b.Condition.Type
}

func (b *Backup) Ended() bool {
	return b.Condition.Type == Completed || b.Condition.Type == Failed || b.Condition.Type == Skipped
}

// Took is how long it took or has been going for; zero if it has not begun, never ran, or its end is unknown.
func (b *Backup) Took(now time.Time) time.Duration {
	var from time.Time
	switch {
	case b.Condition.Type == Skipped, b.Processed && !b.Ended() && b.Job == nil:
		return 0
	case b.Job != nil && !b.Job.Started.IsZero():
		from = b.Job.Started
	default:
		for _, condition := range b.Conditions {
			if condition.Type == Pending {
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
	case b.Ended():
		to = b.Condition.LastTransitionTime.Time
	}
	return max(to.Sub(from), 0)
}

// Deadline is when the pod that runs now is ended, zero without one on a node.
func (b *Backup) Deadline() time.Time {
	if b.Job == nil || b.Job.Result != "" {
		return time.Time{}
	}
	if p := b.Job.live(); p != nil && !p.Started.IsZero() {
		return p.Started.Add(b.Job.Deadline)
	}
	return time.Time{}
}

// troubled reports whether a backup holds no data, or needs an action.
func troubled(v diagnosis.Verdict) bool {
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
	// Trouble is true if it holds no data or a person has to act.
	Trouble bool
}

// Judge judges one of the cluster's backups at a moment of the cluster's clock.
func (c *Cluster) Judge(b *Backup, now time.Time) JudgedBackup {
	v := c.assess(b.Resource, now).judge(b)
	return JudgedBackup{b, v, troubled(v)}
}

func (a *assessment) stale(format string, args ...any) diagnosis.Verdict {
	since := a.cluster.StaleSince
	a.Doubts(diagnosis.SourceWatch, since, "the API server has not answered for %s", a.ago(since))
	return a.Conclude(diagnosis.Unknown, diagnosis.StaleData, "", format, args...)
}

func (a *assessment) judge(b *Backup) diagnosis.Verdict {
	if !a.cluster.StaleSince.IsZero() && !b.Ended() {
		return a.stale("was %s when the API server last answered", b.Stage())
	}
	if b.Condition.Type != "" {
		a.Supports(
			diagnosis.SourceWatch,
			b.Condition.LastTransitionTime.Time,
			"condition %s is True%s",
			b.Condition.Type,
			said(b.Condition.Message),
		)
	}
	switch b.Condition.Type {
	case Completed:
		return a.completed(b)
	case Failed:
		return a.failed(b)
	case Skipped:
		a.Supports(
			diagnosis.SourceWatch,
			time.Time{},
			"the operator runs one backup at a time, takes the first by name, and skips the others that wait",
		)
		return a.Conclude(
			"",
			BackupSkipped,
			adviseAnother+", while no other runs",
			"skipped: another etcd backup was started in its place",
		)
	case Pending:
		return a.pending(b)
	case "":
		if len(b.Conditions) == 0 {
			return a.notBegun(b)
		}
		return a.Conclude(diagnosis.Unknown, UnknownCondition, "", "no condition is True")
	}
	return a.Conclude(
		diagnosis.Unknown,
		UnknownCondition,
		"",
		"%s, a condition that this veltui does not know%s",
		b.Condition.Type,
		said(b.Condition.Message),
	)
}

func said(message string) string { return human.Clause(": ", message) }

// completed checks the log: the program logs that a backup failed, and ends well.
func (a *assessment) completed(b *Backup) diagnosis.Verdict {
	took := ""
	if d := b.Took(a.Now); d > 0 {
		took = " in " + human.Duration(d)
	}
	const why = "the operator calls a backup completed if its program ended, which it also does when the backup failed"
	if b.Job == nil || b.Job.succeeded() == nil {
		a.noteUnseen(Jobs, Pods)
		a.Doubts(diagnosis.SourceLog, time.Time{}, "the pod's log is not there to read; %s", why)
		return a.Conclude("", BackupCompleted, "", "completed%s, not checked in the log", took)
	}
	pod := b.Job.succeeded().Name
	log, known := a.cluster.logs[pod]
	switch {
	case log.Failure != "":
		a.Supports(diagnosis.SourceLog, b.Job.Ended, "pod %s logged: %s%s", pod, backupFailedLine, log.Failure)
		a.Supports(diagnosis.SourceLog, time.Time{}, "%s", why)
		return a.Conclude(
			"",
			FalseCompletion,
			"Do not rely on this backup. "+adviseAnother,
			"called completed, but the log says that the backup failed: %s",
			log.Failure,
		)
	case !known:
		a.Doubts(diagnosis.SourceLog, time.Time{}, "the log of pod %s was not read; %s", pod, why)
	case log.Unread != "":
		a.Doubts(diagnosis.SourceLog, time.Time{}, "the log of pod %s could not be read: %s; %s", pod, log.Unread, why)
	default:
		a.Supports(diagnosis.SourceLog, b.Job.Ended, "the log of pod %s ends without an error", pod)
		return a.Conclude("", BackupCompleted, "", "completed%s, and the log ends without an error", took)
	}
	return a.Conclude("", BackupCompleted, "", "completed%s, not checked in the log", took)
}

// failed names the cause by the operator's message (validateBackup) or the Job's pods.
func (a *assessment) failed(b *Backup) diagnosis.Verdict {
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
		a.noteUnseen(Jobs)
		return a.Conclude("", BackupFailed, adviseAnother, "failed; the Job is not there to say why")
	}
	a.noteJob(b.Job)
	p := b.Job.failed()
	if p == nil {
		a.noteUnseen(Pods)
		return a.Conclude(
			"",
			BackupFailed,
			adviseAnother,
			"failed: %s",
			cmp.Or(strings.TrimSuffix(b.Job.Reason+": "+b.Job.Message, ": "), "the Job does not say why"),
		)
	}
	a.notePod(p)
	switch cause := p.Cause(); {
	case p.Reason == "DeadlineExceeded":
		return a.Conclude(
			"",
			DeadlineExceeded,
			adviseAnother+"; if it fails again, look at the volume's speed and at etcd's health",
			"failed: the pod ran for longer than %s",
			human.Duration(b.Job.Deadline),
		)
	case tooSmall(p):
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
		return a.Conclude("", BackupFailed, adviseAnother, "failed: %s", cmp.Or(cause, "the pod does not say why"))
	}
}

// tooSmall: twice the size of the database is not free (pkg/cmd/verify/backupstorage.go, isStorageAdequate).
func tooSmall(p *Pod) bool {
	return slices.ContainsFunc(p.Failures, func(f Failure) bool {
		return f.Container == "verify-storage" && strings.Contains(f.Message, "available storage is not adequate")
	})
}

func (a *assessment) noteJob(j *Job) {
	switch {
	case j.Result != "":
		a.Supports(
			diagnosis.SourceWatch,
			j.Ended,
			"Job %s is %s%s",
			j.Name,
			j.Result,
			said(strings.TrimSuffix(j.Reason+": "+j.Message, ": ")),
		)
	case !j.Started.IsZero():
		a.Supports(diagnosis.SourceWatch, j.Started, "Job %s has run for %s", j.Name, a.ago(j.Started))
	}
	if j.Failed > 0 {
		a.Supports(diagnosis.SourceWatch, time.Time{}, "%s of at most %d failed", human.Count(j.Failed, "pod"), j.Most)
	}
}

func (a *assessment) notePod(p *Pod) {
	if cause := p.Cause(); cause != "" {
		a.Supports(diagnosis.SourcePod, p.Created, "pod %s: %s", p.Name, cause)
	}
}
