package etcd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero/decode"
)

// Namespace is the namespace of the Jobs, CronJobs, claims and pods (pkg/operator/operatorclient, TargetNamespace).
const Namespace = "openshift-etcd"

// These are the resources that are read, by their plural with its group.
const (
	ResourceBackups   = "etcdbackups.operator.openshift.io"
	ResourceSchedules = "backups.config.openshift.io"
	ResourceJobs      = "jobs.batch"
	ResourceCronJobs  = "cronjobs.batch"
	ResourceClaims    = "persistentvolumeclaims"
	ResourcePods      = "pods"
)

// These are the operator's labels (pkg/operator/backupcontroller, backupLabel, backupJobLabel;
// bindata/etcd/cluster-backup-cronjob.yaml).
const (
	appLabel       = "app"
	jobApp         = "cluster-backup-job"
	cronJobApp     = "cluster-backup-cronjob"
	backupLabel    = "backup-name"
	stateLabel     = "state"
	processedState = "processed"
	jobNameLabel   = "batch.kubernetes.io/job-name"
)

// These selectors match what concerns a backup; the namespace contains much else.
const (
	JobSelector     = appLabel + " in (" + jobApp + "," + cronJobApp + ")"
	CronJobSelector = appLabel + "=" + cronJobApp
	PodSelector     = jobNameLabel
)

// These are the conditions of an EtcdBackup, and its reasons (operator/v1alpha1/types_etcdbackup.go,
// BackupConditionReason).
const (
	ConditionPending   = "BackupPending"
	ConditionCompleted = "BackupCompleted"
	ConditionFailed    = "BackupFailed"
	ConditionSkipped   = "BackupSkipped"
)

// Objects are the objects that were read, already sanitized (package sanitize).
type Objects struct {
	Backups   []*unstructured.Unstructured
	Schedules []*unstructured.Unstructured
	Jobs      []*batchv1.Job
	CronJobs  []*batchv1.CronJob
	Claims    []*corev1.PersistentVolumeClaim
	Pods      []*corev1.Pod
}

// UncheckedResource is a resource that could not be read.
type UncheckedResource struct {
	Resource string `json:"resource"`
	// IsMissing is true for a kind that the cluster does not have.
	IsMissing bool `json:"missing,omitempty"`
	// Reason is the API server's answer.
	Reason string `json:"error"`
}

// Cluster is everything that is known of etcd's backups at one moment. It is immutable.
type Cluster struct {
	// Backups are sorted newest first, Schedules by name.
	Backups   []Backup
	Schedules []Schedule
	Unchecked []UncheckedResource
	// StaleSince is set while the API server is unreachable.
	StaleSince time.Time
	// Access is how the commands that verdicts advise reach the cluster.
	Access kubectl.ClusterAccess

	jobs   []*Job
	claims map[string]*corev1.PersistentVolumeClaim // by name
	logs   map[string]BackupLog
}

// Resource has the fields that EtcdBackups and their schedules share.
type Resource struct {
	Name      string
	UID       types.UID
	Created   time.Time
	Malformed []decode.MalformedField
	Object    *unstructured.Unstructured
}

type Backup struct {
	Resource
	// Claim is the PersistentVolumeClaim that the backup is written to.
	Claim string
	// Condition is the newest condition that is True, the zero value if none is.
	Condition  metav1.Condition
	Conditions []metav1.Condition
	// IsProcessed is true once the operator has finished with the backup.
	IsProcessed bool
	// JobName is the Job that the status names. Job is that Job, or the one that names this backup; nil if missing or
	// hidden.
	JobName string
	Job     *Job
	// Schedule is the Backup that the EtcdBackup was made for, empty for one made by hand.
	Schedule string
}

type Schedule struct {
	Resource
	CronSchedule, TimeZone, Claim string
	Retention                     Retention
	// CronJob is nil if it is missing or hidden.
	CronJob *batchv1.CronJob
}

// Retention is how much of a schedule's backups is kept: files on the volume, not EtcdBackups, of
// which the operator keeps those whose Jobs the CronJob keeps (backup_removal_controller.go, sync).
type Retention struct {
	// Type is RetentionNumber or RetentionSize.
	Type string `json:"type"`
	// Limit is a number of backups or of gigabytes, 0 for a type that veltui does not know.
	Limit int64 `json:"limit"`
	// IsDefault says that the operator chose the limit.
	IsDefault bool `json:"default,omitempty"`
}

// String formats what is kept: "15 backups (default)", "20 GB".
func (r Retention) String() string {
	text := r.Type
	switch r.Type {
	case retentionByNumber:
		text = human.Count(r.Limit, "backup")
	case retentionBySize:
		text = fmt.Sprintf("%d GB", r.Limit)
	}
	if r.IsDefault {
		text += " (default)"
	}
	return text
}

// These are the operator's defaults for a Backup without a retention (periodicbackupcontroller.go,
// setRetentionPolicyInitContainer).
const (
	retentionByNumber, retentionBySize           = "RetentionNumber", "RetentionSize"
	defaultRetentionNumber, defaultRetentionSize = 15, 10
)

type backupFields struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		PVCName string `json:"pvcName"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
		BackupJob  struct {
			Name string `json:"name"`
		} `json:"backupJob"`
	} `json:"status"`
}

type scheduleFields struct {
	Spec struct {
		Etcd struct {
			Schedule        string `json:"schedule"`
			TimeZone        string `json:"timeZone"`
			PVCName         string `json:"pvcName"`
			RetentionPolicy struct {
				RetentionType   string `json:"retentionType"`
				RetentionNumber *struct {
					Max int64 `json:"maxNumberOfBackups"`
				} `json:"retentionNumber"`
				RetentionSize *struct {
					Max int64 `json:"maxSizeOfBackupsGb"`
				} `json:"retentionSize"`
			} `json:"retentionPolicy"`
		} `json:"etcd"`
	} `json:"spec"`
}

// NewCluster builds a Cluster from objects. The fields of an object that cannot be read are listed in its Malformed.
func NewCluster(o Objects, unseen []UncheckedResource) *Cluster {
	c := &Cluster{Unchecked: unseen, claims: map[string]*corev1.PersistentVolumeClaim{}}
	for _, claim := range o.Claims {
		c.claims[claim.Name] = claim
	}
	cronOf := map[string]string{}
	for _, j := range o.Jobs {
		if j.Labels[appLabel] == cronJobApp {
			cronOf[j.Name] = findOwner(j, "CronJob")
		}
		c.jobs = append(c.jobs, readJob(j, o.Pods))
	}
	for _, u := range o.Schedules {
		c.Schedules = append(c.Schedules, readSchedule(u, o.CronJobs))
	}
	slices.SortStableFunc(c.Schedules, func(a, b Schedule) int { return cmp.Compare(a.Name, b.Name) })
	for _, u := range o.Backups {
		b := readBackup(u)
		b.Job = c.findJob(&b)
		b.Schedule = findSchedule(&b, cronOf)
		c.Backups = append(c.Backups, b)
	}
	slices.SortStableFunc(c.Backups, func(a, b Backup) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
	})
	return c
}

// readResource also reads the fields of an object into fields; ok is false if that fails as a whole.
func readResource(u *unstructured.Unstructured, fields any) (r Resource, ok bool) {
	malformed, err := decode.Unstructured(u, fields)
	return Resource{u.GetName(), u.GetUID(), u.GetCreationTimestamp().Time, malformed, u}, err == nil
}

func readBackup(u *unstructured.Unstructured) Backup {
	var f backupFields
	resource, ok := readResource(u, &f)
	b := Backup{Resource: resource}
	if !ok {
		return b
	}
	b.Claim, b.IsProcessed = f.Spec.PVCName, f.Metadata.Labels[stateLabel] == processedState
	b.JobName, b.Conditions = f.Status.BackupJob.Name, f.Status.Conditions
	for _, c := range b.Conditions {
		if c.Status == metav1.ConditionTrue &&
			(b.Condition.Type == "" || !c.LastTransitionTime.Time.Before(b.Condition.LastTransitionTime.Time)) {
			b.Condition = c
		}
	}
	return b
}

func readSchedule(u *unstructured.Unstructured, cronJobs []*batchv1.CronJob) Schedule {
	var f scheduleFields
	resource, ok := readResource(u, &f)
	s := Schedule{Resource: resource}
	for _, job := range cronJobs {
		if job.Name == s.Name {
			s.CronJob = job
		}
	}
	if !ok {
		return s
	}
	spec, policy := f.Spec.Etcd, f.Spec.Etcd.RetentionPolicy
	s.CronSchedule, s.TimeZone, s.Claim = spec.Schedule, spec.TimeZone, spec.PVCName
	s.Retention.Type = cmp.Or(policy.RetentionType, retentionByNumber)
	switch {
	case s.Retention.Type == retentionByNumber && policy.RetentionNumber != nil:
		s.Retention.Limit, s.Retention.IsDefault = policy.RetentionNumber.Max, false
	case s.Retention.Type == retentionBySize && policy.RetentionSize != nil:
		s.Retention.Limit, s.Retention.IsDefault = policy.RetentionSize.Max, false
	case s.Retention.Type == retentionByNumber:
		s.Retention.Limit, s.Retention.IsDefault = defaultRetentionNumber, true
	case s.Retention.Type == retentionBySize:
		s.Retention.Limit, s.Retention.IsDefault = defaultRetentionSize, true
	}
	return s
}

// findJob returns the Job that a backup names, or the newest Job that names the backup (backupcontroller.go,
// indexJobsByBackupLabelName).
func (c *Cluster) findJob(b *Backup) *Job {
	var found *Job
	for _, j := range c.jobs {
		if j.WritesBackup &&
			(j.Name == b.JobName || j.BackupName == b.Name && (found == nil || j.Created.After(found.Created))) {
			found = j
			if j.Name == b.JobName {
				break
			}
		}
	}
	return found
}

// findSchedule finds the schedule by the backup's owner, a CronJob's Job (requestbackup.go, Run), which is named
// after the CronJob and the minutes of the run (Kubernetes, pkg/controller/cronjob/utils.go, getJobName).
func findSchedule(b *Backup, cronOf map[string]string) string {
	job := findOwner(b.Object, "Job")
	return cmp.Or(cronOf[job], job[:max(0, strings.LastIndexByte(job, '-'))])
}

func findOwner(o metav1.Object, kind string) string {
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == kind {
			return owner.Name
		}
	}
	return ""
}

func (c *Cluster) WithLogs(logs map[string]BackupLog) *Cluster {
	known := *c
	known.logs = logs
	return &known
}

// FindUnreadLogPod returns the pod whose log tells whether a completed backup failed, empty if there is none or its log
// was read.
func (c *Cluster) FindUnreadLogPod(b *Backup) string {
	if b.Condition.Type != ConditionCompleted || b.Job == nil {
		return ""
	}
	p := b.Job.succeededPod()
	if p == nil {
		return ""
	}
	if log, known := c.logs[p.Name]; known && log.Unchecked == "" {
		return ""
	}
	return p.Name
}

func (c *Cluster) wasRead(resource string) bool {
	return !slices.ContainsFunc(c.Unchecked, func(u UncheckedResource) bool { return u.Resource == resource })
}

func (c *Cluster) FindBackup(name string) (*Backup, bool) {
	at := slices.IndexFunc(c.Backups, func(b Backup) bool { return b.Name == name })
	if at < 0 {
		return nil, false
	}
	return &c.Backups[at], true
}

func (c *Cluster) FormatClaim(name string) string {
	claim := c.claims[name]
	switch {
	case name == "":
		return "none"
	case claim == nil && c.wasRead(ResourceClaims):
		return name + ", which is not there"
	case claim == nil:
		return name
	}
	text := name + ", " + cmp.Or(string(claim.Status.Phase), "without a phase")
	if size, found := claim.Status.Capacity[corev1.ResourceStorage]; found {
		return text + ", " + human.Bytes(size.Value())
	}
	if size, found := claim.Spec.Resources.Requests[corev1.ResourceStorage]; found {
		text += ", asks for " + human.Bytes(size.Value())
	}
	return text
}

// FindClaim returns the claim of a name, nil if it does not exist or was not read.
func (c *Cluster) FindClaim(name string) *corev1.PersistentVolumeClaim { return c.claims[name] }
