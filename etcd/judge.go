package etcd

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
)

// What is patience: the operator looks at everything once a minute and whenever
// something changes (backupcontroller.go and periodicbackupcontroller.go,
// ResyncEvery), so that three minutes without it are no coincidence. A pod gets
// one to be scheduled, and two beyond its deadline to end.
const (
	operatorPatience = 3 * time.Minute
	schedulePatience = time.Minute
	endPatience      = 2 * time.Minute
)

// The advice that several verdicts give. Nothing helps these objects on: they
// are the operator's own.
const (
	adviseOperator = "Look at the etcd ClusterOperator (oc get clusteroperator etcd) and at the pods and logs in namespace openshift-etcd-operator; the feature gate AutomatedEtcdBackup must be on"
	adviseAnother  = "Make a new EtcdBackup; leave this one to the operator"
)

// assessment gathers the facts of one verdict.
type assessment struct {
	diagnosis.Ledger
	cluster *Cluster
	now     time.Time
	name    string
}

func (a *assessment) conclude(state diagnosis.Open, reason diagnosis.Reason, advice, format string, args ...any) diagnosis.Verdict {
	v := diagnosis.Undecided(state, reason, a.name+": "+fmt.Sprintf(format, args...))
	v.Facts, v.Advice = a.Facts(), advice
	return v
}

// stuck makes a verdict whose own sentence is the proof, of the kind that is given.
func (a *assessment) stuck(by func(diagnosis.Fact) diagnosis.Proof, reason diagnosis.Reason, advice, format string, args ...any) diagnosis.Verdict {
	text := fmt.Sprintf(format, args...)
	v := diagnosis.Proven(diagnosis.Stuck, by(diagnosis.Fact{Holds: true, Text: text, Source: diagnosis.SourceWatch, At: a.now}), reason, a.name+": "+text)
	v.Facts, v.Advice = a.Facts(), advice
	return v
}

func (a *assessment) since(t time.Time) time.Duration { return max(a.now.Sub(t), 0) }

func (a *assessment) ago(t time.Time) string { return human.Duration(a.since(t)) }

// noteUnseen says what could not be read and may matter.
func (a *assessment) noteUnseen(resources ...string) {
	for _, u := range a.cluster.Unseen {
		for _, r := range resources {
			if u.Resource == r {
				a.Doubts(diagnosis.SourceWatch, time.Time{}, "%s in namespace %s could not be read: %s", r, Namespace, u.Why)
			}
		}
	}
}

// Stage is an EtcdBackup's condition as people call it: New, Pending, Running,
// Completed, Failed, Skipped, or a condition that veltui does not know, verbatim.
func (b *Backup) Stage() string {
	switch {
	case b.Condition.Type == "" && len(b.Conditions) == 0:
		return "New"
	case b.Condition.Type == "":
		return "Unknown"
	case b.Condition.Type == Pending && b.Job != nil && b.Job.Result == "" && b.Job.running():
		return "Running"
	}
	switch b.Condition.Type {
	case Pending, Completed, Failed, Skipped:
		return strings.TrimPrefix(b.Condition.Type, "Backup")
	}
	return b.Condition.Type
}

func (j *Job) running() bool {
	p := j.live()
	return p != nil && p.Phase == corev1.PodRunning
}

// Ended reports whether the operator has said how it ended.
func (b *Backup) Ended() bool {
	return b.Condition.Type == Completed || b.Condition.Type == Failed || b.Condition.Type == Skipped
}

// Took is how long it took, or has been going for. It is zero for one that has
// not begun, was never run, or whose end is not known.
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
				from = condition.Changed
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
		to = b.Condition.Changed
	}
	return max(to.Sub(from), 0)
}

// Deadline is when the pod that runs now is ended, zero if none runs or no node
// has taken it.
func (b *Backup) Deadline() time.Time {
	if b.Job == nil || b.Job.Result != "" {
		return time.Time{}
	}
	if p := b.Job.live(); p != nil && !p.Started.IsZero() {
		return p.Started.Add(b.Job.Deadline)
	}
	return time.Time{}
}

// troubled reports whether a verdict means that a backup holds no data, or that
// a person has to act.
func troubled(v diagnosis.Verdict) bool {
	switch v.Reason {
	case FalseCompletion, BackupFailed, StorageTooSmall, ClaimMissing, DeadlineExceeded, BackupSkipped, LastBackupFailed:
		return true
	}
	return v.State() == diagnosis.Stuck || v.State() == diagnosis.Orphaned
}

// JudgedBackup is an EtcdBackup with its verdict.
type JudgedBackup struct {
	*Backup
	Verdict diagnosis.Verdict
	// Trouble is true if it holds no data or a person has to act.
	Trouble bool
}

// Judge judges one of the cluster's backups at a moment of the cluster's clock.
func (c *Cluster) Judge(b *Backup, now time.Time) JudgedBackup {
	a := &assessment{cluster: c, now: now, name: b.Name}
	for _, m := range b.Malformed {
		a.Doubts(diagnosis.SourceSchema, time.Time{}, "%s", m.String())
	}
	v := a.judge(b)
	return JudgedBackup{b, v, troubled(v)}
}

func (a *assessment) judge(b *Backup) diagnosis.Verdict {
	ended := b.Ended()
	if since := a.cluster.StaleSince; !since.IsZero() && !ended {
		a.Doubts(diagnosis.SourceWatch, since, "the API server has not answered for %s", a.ago(since))
		return a.conclude(diagnosis.Unknown, diagnosis.StaleData, "", "was %s when the API server last answered", b.Stage())
	}
	if b.Condition.Type != "" {
		a.Supports(diagnosis.SourceWatch, b.Condition.Changed, "condition %s is True%s", b.Condition.Type, said(b.Condition.Message))
	}
	switch b.Condition.Type {
	case Completed:
		return a.completed(b)
	case Failed:
		return a.failed(b)
	case Skipped:
		a.Supports(diagnosis.SourceWatch, time.Time{}, "the operator runs one backup at a time, takes the first by name, and skips the others that wait")
		return a.conclude("", BackupSkipped, adviseAnother+", while no other runs", "skipped: another etcd backup was started in its place")
	case Pending:
		return a.pending(b)
	case "":
		if len(b.Conditions) == 0 {
			return a.notBegun(b)
		}
		return a.conclude(diagnosis.Unknown, UnknownCondition, "", "none of its conditions is True")
	}
	return a.conclude(diagnosis.Unknown, UnknownCondition, "", "%s, a condition that this veltui does not know%s", b.Condition.Type, said(b.Condition.Message))
}

func said(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// completed looks for the lie: the program that makes the backup logs that it
// failed, and ends well (see [ReadLog]).
func (a *assessment) completed(b *Backup) diagnosis.Verdict {
	took := ""
	if d := b.Took(a.now); d > 0 {
		took = " in " + human.Duration(d)
	}
	const why = "the operator calls a backup completed if its program ended, which it also does when the backup failed"
	if b.Job == nil || b.Job.succeeded() == nil {
		a.noteUnseen(Jobs, Pods)
		a.Doubts(diagnosis.SourceLog, time.Time{}, "the log of its pod is not there to read; %s", why)
		return a.conclude("", BackupCompleted, "", "completed%s, not checked in its log", took)
	}
	pod := b.Job.succeeded().Name
	log, known := a.cluster.logs[pod]
	switch {
	case log.Failure != "":
		a.Supports(diagnosis.SourceLog, b.Job.Ended, "pod %s logged: %s%s", pod, backupFailedLine, log.Failure)
		a.Supports(diagnosis.SourceLog, time.Time{}, "%s", why)
		return a.conclude("", FalseCompletion, "Do not rely on this backup. "+adviseAnother, "called completed, but its log says that the backup failed: %s", log.Failure)
	case !known:
		a.Doubts(diagnosis.SourceLog, time.Time{}, "the log of pod %s was not read; %s", pod, why)
	case log.Unread != "":
		a.Doubts(diagnosis.SourceLog, time.Time{}, "the log of pod %s could not be read: %s; %s", pod, log.Unread, why)
	default:
		a.Supports(diagnosis.SourceLog, b.Job.Ended, "the log of pod %s ends without an error", pod)
		return a.conclude("", BackupCompleted, "", "completed%s, and its log ends without an error", took)
	}
	return a.conclude("", BackupCompleted, "", "completed%s, not checked in its log", took)
}

// failed names the cause: the operator's own message (validateBackup), or what
// the pods of the Job left.
func (a *assessment) failed(b *Backup) diagnosis.Verdict {
	if strings.HasPrefix(b.Condition.Message, "unable to find PVC") {
		return a.conclude("", ClaimMissing, fmt.Sprintf("Make the PersistentVolumeClaim %s in namespace %s, then a new EtcdBackup", b.Claim, Namespace),
			"failed: there was no PersistentVolumeClaim %s in namespace %s", b.Claim, Namespace)
	}
	if b.Job == nil {
		a.noteUnseen(Jobs)
		return a.conclude("", BackupFailed, adviseAnother, "failed; its Job is not there to say why")
	}
	a.noteJob(b.Job)
	p := b.Job.failed()
	if p == nil {
		a.noteUnseen(Pods)
		return a.conclude("", BackupFailed, adviseAnother, "failed: %s", cmp.Or(strings.TrimSuffix(b.Job.Reason+": "+b.Job.Message, ": "), "its Job does not say why"))
	}
	a.notePod(p)
	switch cause := p.Cause(); {
	case p.Reason == "DeadlineExceeded":
		return a.conclude("", DeadlineExceeded, adviseAnother+"; if it fails again, look at the volume's speed and at etcd's health", "failed: its pod ran for longer than %s", human.Duration(b.Job.Deadline))
	case tooSmall(p):
		return a.conclude("", StorageTooSmall, fmt.Sprintf("Free space on the volume of PersistentVolumeClaim %s or make it larger, then make a new EtcdBackup", b.Claim), "failed: %s", cause)
	default:
		return a.conclude("", BackupFailed, adviseAnother, "failed: %s", cmp.Or(cause, "its pod does not say why"))
	}
}

// tooSmall recognises the check that comes before a backup: twice the size of
// the database must be free (pkg/cmd/verify/backupstorage.go, isStorageAdequate).
func tooSmall(p *Pod) bool {
	for _, f := range p.Failures {
		if f.Container == "verify-storage" && strings.Contains(f.Message, "available storage is not adequate") {
			return true
		}
	}
	return false
}

func (a *assessment) noteJob(j *Job) {
	switch {
	case j.Result != "":
		a.Supports(diagnosis.SourceWatch, j.Ended, "Job %s is %s%s", j.Name, j.Result, said(strings.TrimSuffix(j.Reason+": "+j.Message, ": ")))
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
