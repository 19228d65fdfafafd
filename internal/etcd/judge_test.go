package etcd

import (
	"regexp"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// world builds the objects of a test; its methods add to it.
type world struct {
	Objects
	unseen []UncheckedResource
	stale  time.Time
	logs   map[string]BackupLog
}

// backup adds an EtcdBackup; the last condition is True, those before it False.
func (w *world) backup(name string, age time.Duration, claim string, conditions ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "operator.openshift.io/v1alpha1", "kind": "EtcdBackup",
		"spec": map[string]any{"pvcName": claim},
	}}
	u.SetName(name)
	u.SetCreationTimestamp(ago(age))
	var list []any
	for i, c := range conditions {
		kind, message, _ := strings.Cut(c, ": ")
		status := "False"
		if i == len(conditions)-1 {
			status = "True"
		}
		list = append(list, map[string]any{"type": kind, "reason": kind, "status": status, "message": message,
			"lastTransitionTime": ago(age - time.Duration(i+1)*time.Minute).UTC().Format(time.RFC3339)})
	}
	if list != nil {
		u.Object["status"] = map[string]any{
			"conditions": list,
			"backupJob":  map[string]any{"namespace": Namespace, "name": "job-of-" + name},
		}
	}
	w.Backups = append(w.Backups, u)
	return u
}

func done(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"state": "processed"}) }

// job adds the Job of a backup. result is Complete, Failed or empty.
func (w *world) job(backup string, age time.Duration, result string, ended time.Duration) *batchv1.Job {
	started := ago(age)
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "job-of-" + backup, CreationTimestamp: started,
			Labels: map[string]string{"app": "cluster-backup-job", "backup-name": backup}},
	}
	j.Status.StartTime = &started
	if result != "" {
		j.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobConditionType(result), Status: corev1.ConditionTrue, LastTransitionTime: ago(ended)},
		}
	}
	w.Jobs = append(w.Jobs, j)
	return j
}

func (w *world) pod(job string, age time.Duration, phase corev1.PodPhase) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: job + "-pod", CreationTimestamp: ago(age),
			Labels: map[string]string{"batch.kubernetes.io/job-name": job}},
	}
	started := ago(age)
	p.Status = corev1.PodStatus{Phase: phase, StartTime: &started}
	p.Spec.NodeName = "master-0"
	if phase == corev1.PodRunning {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "cluster-backup", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}
	}
	w.Pods = append(w.Pods, p)
	return p
}

func (w *world) unscheduled(job string, age time.Duration, why string) {
	p := w.pod(job, age, corev1.PodPending)
	p.Spec.NodeName, p.Status.StartTime = "", nil
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: why},
	}
}

func ended(p *corev1.Pod, init bool, container, message string) {
	s := corev1.ContainerStatus{
		Name: container,
		State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: message},
		},
	}
	if init {
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, s)
	} else {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	}
}

func (w *world) claim(name string, phase corev1.PersistentVolumeClaimPhase) {
	w.Claims = append(
		w.Claims,
		&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, CreationTimestamp: ago(time.Hour)},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: phase},
		},
	)
}

func (w *world) hide(resources ...string) {
	for _, r := range resources {
		w.unseen = append(w.unseen, UncheckedResource{Resource: r, Reason: "forbidden"})
	}
}

func (w *world) cluster() *Cluster {
	c := NewCluster(w.Objects, w.unseen)
	c.StaleSince = w.stale
	return c.WithLogs(w.logs)
}

const (
	minute = time.Minute
	pvc    = "etcd-backup-pvc"
	pend   = "BackupPending: executing"
)

func TestVerdictsOfBackups(t *testing.T) {
	for name, c := range map[string]struct {
		build  func(w *world)
		state  diagnosis.State
		reason diagnosis.Reason
		says   string // in the summary, the facts or the advice
	}{
		"completed, its log read": {func(w *world) {
			done(w.backup("b", 10*minute, pvc, pend, "BackupCompleted: Complete"))
			w.job("b", 9*minute, "Complete", 8*minute)
			w.pod("job-of-b", 9*minute, corev1.PodSucceeded)
			w.logs = map[string]BackupLog{"job-of-b-pod": {}}
		}, "", BackupCompleted, "ends without an error"},
		"completed, its log not read": {func(w *world) {
			done(w.backup("b", 10*minute, pvc, pend, "BackupCompleted: Complete"))
			w.job("b", 9*minute, "Complete", 8*minute)
			w.pod("job-of-b", 9*minute, corev1.PodSucceeded)
		}, "", BackupCompleted, "not checked in the log"},
		"completed, its log may not be read": {func(w *world) {
			done(w.backup("b", 10*minute, pvc, pend, "BackupCompleted: Complete"))
			w.job("b", 9*minute, "Complete", 8*minute)
			w.pod("job-of-b", 9*minute, corev1.PodSucceeded)
			w.logs = map[string]BackupLog{"job-of-b-pod": {Unchecked: "pods/log is forbidden"}}
		}, "", BackupCompleted, "pods/log is forbidden"},
		"completed, its Job gone": {func(w *world) {
			done(w.backup("b", 10*minute, pvc, pend, "BackupCompleted: Complete"))
		}, "", BackupCompleted, "not there to read"},
		"completed, but the log says failed": {func(w *world) {
			done(w.backup("b", 10*minute, pvc, pend, "BackupCompleted: Complete"))
			w.job("b", 9*minute, "Complete", 8*minute)
			w.pod("job-of-b", 9*minute, corev1.PodSucceeded)
			w.logs = map[string]BackupLog{"job-of-b-pod": ParseBackupLog("E1122 03:00:05.1 1 backuprestore.go:66] run: backup failed: snapshot: no space left on device\nI1122 config-dir is: /etc/kubernetes\n")}
		}, "", FalseCompletion, "no space left on device"},
		"failed for a claim that was not there": {func(w *world) {
			done(w.backup("b", 10*minute, pvc, "BackupFailed: unable to find PVC ["+pvc+"]"))
		}, "", ClaimMissing, "Make the PersistentVolumeClaim " + pvc},
		"failed for lack of room": {func(w *world) {
			done(w.backup("b", 60*minute, pvc, pend, "BackupFailed: Failed"))
			w.job("b", 59*minute, "Failed", 40*minute)
			ended(w.pod("job-of-b", 50*minute, corev1.PodFailed), true, "verify-storage",
				`available storage is not adequate for path: "/etc/kubernetes/cluster-backup", required bytes: 220160000, available bytes 104857600`)
		}, "", StorageTooSmall, "required bytes: 220160000"},
		"failed at its deadline": {func(w *world) {
			done(w.backup("b", 60*minute, pvc, pend, "BackupFailed: Failed"))
			w.job("b", 59*minute, "Failed", 40*minute)
			w.pod("job-of-b", 50*minute, corev1.PodFailed).Status.Reason = "DeadlineExceeded"
		}, "", DeadlineExceeded, "longer than 15m"},
		"failed otherwise": {func(w *world) {
			done(w.backup("b", 60*minute, pvc, pend, "BackupFailed: Failed"))
			w.job("b", 59*minute, "Failed", 40*minute)
			ended(w.pod("job-of-b", 50*minute, corev1.PodFailed), false, "cluster-backup", "unknown flag")
		}, "", BackupFailed, "cluster-backup: unknown flag"},
		"failed, nothing left to see": {func(w *world) { done(w.backup("b", 60*minute, pvc, pend, "BackupFailed: Failed")) }, "", BackupFailed, "not there to say why"},
		"skipped": {func(w *world) {
			done(w.backup("b", 60*minute, pvc, "BackupSkipped: skipped due too many simultaneous backups"))
		}, "", BackupSkipped, "one backup at a time"},
		"a condition of a newer operator": {func(w *world) { w.backup("b", 60*minute, pvc, pend, "BackupUploading: to s3") }, diagnosis.Unknown, UnknownCondition, "BackupUploading"},
		"no condition is True": {func(w *world) {
			u := w.backup("b", 60*minute, pvc, pend)
			u.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["status"] = "False"
		}, diagnosis.Unknown, UnknownCondition, "no condition is True"},

		"runs": {func(w *world) {
			w.backup("b", 3*minute, pvc, pend)
			w.job("b", 2*minute, "", 0)
			w.pod("job-of-b", 2*minute, corev1.PodRunning)
		}, diagnosis.Waiting, BackupRunning, "2m of at most 15m on node master-0"},
		"runs, its pods hidden": {func(w *world) {
			w.backup("b", 3*minute, pvc, pend)
			w.job("b", 2*minute, "", 0)
			w.hide(ResourcePods)
		}, diagnosis.Waiting, BackupRunning, "each of its pods may run for 15m"},
		"runs for long, its pods hidden": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.job("b", 29*minute, "", 0)
			w.hide(ResourcePods)
		}, diagnosis.Unknown, diagnosis.PodsHidden, "pods cannot be seen"},
		"a second pod": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.job("b", 29*minute, "", 0).Status.Failed = 1
			ended(w.pod("job-of-b", 29*minute, corev1.PodFailed), false, "cluster-backup", "oops")
			p := w.pod("job-of-b", 2*minute, corev1.PodRunning)
			p.Name += "-2"
		}, diagnosis.Waiting, JobRetries, "1 pod of at most 7 failed: cluster-backup: oops"},
		"past its deadline": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.job("b", 29*minute, "", 0)
			w.pod("job-of-b", 20*minute, corev1.PodRunning)
		}, diagnosis.Stuck, PodPastDeadline, "node master-0 does not end it"},
		"an image that is not there": {func(w *world) {
			w.backup("b", 3*minute, pvc, pend)
			w.job("b", 2*minute, "", 0)
			w.pod("job-of-b", 2*minute, corev1.PodPending).Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "cluster-backup",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "back-off"}}}}
		}, diagnosis.Waiting, PodNotStarting, "ImagePullBackOff: back-off"},
		"its containers are created": {func(w *world) {
			w.backup("b", 3*minute, pvc, pend)
			w.job("b", 2*minute, "", 0)
			w.pod("job-of-b", 1*minute, corev1.PodPending)
		}, diagnosis.Waiting, PodStarting, "about to start"},
		"no pod": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.job("b", 29*minute, "", 0)
		}, diagnosis.Stuck, NoPod, "made no pod"},
		"a claim without a volume": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.job("b", 29*minute, "", 0)
			w.unscheduled("job-of-b", 29*minute, "pod has unbound immediate PersistentVolumeClaims")
			w.claim(pvc, corev1.ClaimPending)
		}, diagnosis.Stuck, ClaimUnbound, "which is Pending"},
		"a claim deleted meanwhile": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.job("b", 29*minute, "", 0)
			w.unscheduled("job-of-b", 29*minute, "persistentvolumeclaim not found")
		}, diagnosis.Stuck, ClaimMissing, "which does not exist"},
		"no node takes it": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.job("b", 29*minute, "", 0)
			w.unscheduled("job-of-b", 29*minute, "0/3 nodes are available")
			w.claim(pvc, corev1.ClaimBound)
		}, diagnosis.Stuck, PodUnschedulable, "nothing ends it"},
		"no node yet": {func(w *world) {
			w.backup("b", 2*minute, pvc, pend)
			w.job("b", minute, "", 0)
			w.unscheduled("job-of-b", minute/2, "0/3 nodes are available")
		}, diagnosis.Waiting, PodStarting, "waits for a node"},

		"half processed": {func(w *world) { done(w.backup("b", 30*minute, pvc, pend)) }, diagnosis.Stuck, StatusLost, "will not retry"},
		"half processed, its Job still there": {func(w *world) {
			done(w.backup("b", 30*minute, pvc, pend))
			w.job("b", 29*minute, "Complete", 28*minute)
		}, diagnosis.Stuck, StatusLost, "the Job is Complete"},
		"half processed, Jobs hidden": {func(w *world) {
			done(w.backup("b", 30*minute, pvc, pend))
			w.hide(ResourceJobs)
		}, diagnosis.Stuck, StatusLost, "could not be read"},
		"its Job has just ended": {func(w *world) {
			w.backup("b", 5*minute, pvc, pend)
			w.job("b", 4*minute, "Complete", minute)
		}, diagnosis.Waiting, ResultPending, "about to say so"},
		"the Job ended long ago": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.job("b", 29*minute, "Failed", 10*minute)
		}, diagnosis.Stuck, OperatorSilent, "clusteroperator etcd"},
		"the Job is gone": {func(w *world) { w.backup("b", 30*minute, pvc, pend) }, diagnosis.Waiting, JobGone, "makes another"},
		"Jobs hidden": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.hide(ResourceJobs)
		}, diagnosis.Unknown, JobsHidden, "jobs.batch in namespace openshift-etcd could not be read"},

		"just made":      {func(w *world) { w.backup("b", minute, pvc) }, diagnosis.Waiting, WaitingForOperator, "within a minute"},
		"made long ago":  {func(w *world) { w.backup("b", 20*minute, pvc) }, diagnosis.Stuck, OperatorSilent, "has done nothing for 20m"},
		"no claim named": {func(w *world) { w.backup("b", 20*minute, "") }, diagnosis.Stuck, NoClaimNamed, "spec.pvcName"},
		"its Job runs, its status was lost": {func(w *world) {
			w.backup("b", 5*minute, pvc)
			w.job("b", 2*minute, "", 0)
			w.pod("job-of-b", 2*minute, corev1.PodRunning)
		}, diagnosis.Waiting, BackupRunning, "its status does not name one"},
		"behind another": {func(w *world) {
			w.backup("a", 3*minute, pvc, pend)
			w.job("a", 2*minute, "", 0)
			w.pod("job-of-a", 2*minute, corev1.PodRunning)
			w.backup("b", 2*minute, pvc)
		}, diagnosis.Waiting, WaitingForOtherBackup, "one etcd backup runs at a time"},
		"behind another, and about to be skipped": {func(w *world) {
			w.backup("a", 3*minute, pvc, pend)
			w.job("a", 2*minute, "", 0)
			w.pod("job-of-a", 2*minute, corev1.PodRunning)
			w.backup("b", 2*minute, pvc)
			w.backup("aa", 2*minute, pvc)
		}, diagnosis.Waiting, WaitingForOtherBackup, "starts aa and skips this one"},
		"behind a stuck one": {func(w *world) {
			w.backup("a", 33*minute, pvc, pend)
			w.job("a", 32*minute, "", 0)
			w.unscheduled("job-of-a", 32*minute, "unbound")
			w.claim(pvc, corev1.ClaimPending)
			w.backup("b", 20*minute, pvc)
		}, diagnosis.Stuck, BehindStuckBackup, "oc describe pvc"},
		"the API server is away": {func(w *world) {
			w.backup("b", 30*minute, pvc, pend)
			w.stale = now.Add(-minute)
		}, diagnosis.Unknown, diagnosis.StaleData, "was Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			c.build(w)
			cluster := w.cluster()
			b, found := cluster.FindBackup("b")
			if !found {
				t.Fatal("the backup is not there")
			}
			v := cluster.JudgeBackup(b, now).Verdict
			checkNamed(t, v)
			if v.State() != c.state || v.Reason != c.reason {
				t.Errorf("%q %s, want %q %s: %s", v.State(), v.Reason, c.state, c.reason, v.Summary())
			}
			all := v.Summary() + "\n" + v.Advice
			for _, f := range v.Facts {
				all += "\n" + f.Text
			}
			if !strings.Contains(all, c.says) {
				t.Errorf("%q is not in\n%s", c.says, all)
			}
			if v.State() == diagnosis.Stuck && v.Advice == "" {
				t.Error("stuck, and no advice")
			}
			for _, never := range []string{"kubectl patch", "oc patch", "finalizer"} {
				if strings.Contains(all, never) {
					t.Errorf("advises %q", never)
				}
			}
		})
	}
}

// unnamed begins a clause with what a reader who sees only the clause cannot tell.
var unnamed = regexp.MustCompile(`(?i)(^|[.:;,] (and |but |nor )?)its?\b`)

// checkNamed: check, the first screen and notifications show the text away from the name.
func checkNamed(t *testing.T, v diagnosis.Verdict) {
	t.Helper()
	if unnamed.MatchString(v.Text) {
		t.Errorf("names nothing: %s", v.Text)
	}
}

func (w *world) schedule(name string, age time.Duration, cron string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "config.openshift.io/v1alpha1", "kind": "Backup",
			"spec": map[string]any{"etcd": map[string]any{"schedule": cron, "timeZone": "UTC", "pvcName": pvc}}},
	}
	u.SetName(name)
	u.SetCreationTimestamp(ago(age))
	w.Schedules = append(w.Schedules, u)
	return u
}

func (w *world) cronJob(name string, age, last time.Duration, active ...string) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, CreationTimestamp: ago(age)}}
	if last > 0 {
		at := ago(last)
		c.Status.LastScheduleTime = &at
	}
	for _, job := range active {
		c.Status.Active = append(c.Status.Active, corev1.ObjectReference{Name: job})
		w.Jobs = append(
			w.Jobs,
			&batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{
					Namespace:         Namespace,
					Name:              job,
					CreationTimestamp: ago(last),
					Labels:            map[string]string{"app": "cluster-backup-cronjob"},
					OwnerReferences:   []metav1.OwnerReference{{Kind: "CronJob", Name: name}},
				},
			},
		)
	}
	w.CronJobs = append(w.CronJobs, c)
	return c
}

// of makes a backup one of a schedule.
func of(u *unstructured.Unstructured, job string) *unstructured.Unstructured {
	u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job}})
	return u
}

func TestVerdictsOfSchedules(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		build  func(w *world)
		state  diagnosis.State
		reason diagnosis.Reason
		says   string
	}{
		"well": {func(w *world) {
			w.schedule("s", 48*hour, "0 * * * *")
			w.cronJob("s", 48*hour, hour)
			w.claim(pvc, corev1.ClaimBound)
			done(of(w.backup("s-1", 59*minute, pvc, pend, "BackupCompleted: Complete"), "s-1"))
		}, diagnosis.Waiting, WaitingForNextRun, "next run in 1h"},
		"runs": {func(w *world) {
			w.schedule("s", 48*hour, "0 * * * *")
			w.cronJob("s", 48*hour, minute)
			of(w.backup("s-1", 2*minute, pvc, pend), "s-1")
			w.job("s-1", minute, "", 0)
			w.pod("job-of-s-1", minute, corev1.PodRunning)
		}, diagnosis.Waiting, ScheduleRunning, "1m of at most 15m"},
		"its backup is stuck": {func(w *world) {
			w.schedule("s", 48*hour, "0 * * * *")
			w.cronJob("s", 48*hour, 59*minute)
			done(of(w.backup("s-1", 59*minute, pvc, pend), "s-1"))
		}, diagnosis.Stuck, StatusLost, "s-1"},
		"the last backup failed": {func(w *world) {
			w.schedule("s", 48*hour, "0 * * * *")
			w.cronJob("s", 48*hour, hour)
			done(of(w.backup("s-1", 119*minute, pvc, pend, "BackupCompleted: Complete"), "s-1"))
			done(of(w.backup("s-2", 59*minute, pvc, "BackupFailed: unable to find PVC [x]"), "s-2"))
		}, diagnosis.Waiting, LastBackupFailed, "the last that completed is s-1"},
		"no schedule": {func(w *world) { w.schedule("s", 48*hour, "") }, diagnosis.Stuck, NoCronSchedule, "never runs"},
		"no CronJob":  {func(w *world) { w.schedule("s", 48*hour, "@daily") }, diagnosis.Stuck, CronJobMissing, "PeriodicBackupControllerDegraded"},
		"just made":   {func(w *world) { w.schedule("s", minute, "@daily") }, diagnosis.Waiting, WaitingForOperator, "within a minute"},
		"CronJobs hidden": {func(w *world) {
			w.schedule("s", 48*hour, "@daily")
			w.hide(ResourceCronJobs)
		}, diagnosis.Unknown, CronJobsHidden, "cronjobs.batch"},
		"a run that hangs": {func(w *world) {
			w.schedule("s", 48*hour, "0 * * * *")
			w.cronJob("s", 48*hour, 5*hour, "s-1")
			w.unscheduled("s-1", 5*hour, "persistentvolumeclaim not found")
		}, diagnosis.Stuck, RunHangs, "Make the PersistentVolumeClaim"},
		"a run that was missed": {func(w *world) {
			w.schedule("s", 48*hour, "0 * * * *")
			w.cronJob("s", 48*hour, 5*hour)
		}, diagnosis.Stuck, RunMissed, "a run was due 4h"},
		"never ran, and need not have": {func(w *world) {
			w.schedule("s", 2*hour, "0 3 * * *")
			w.cronJob("s", 2*hour, 0)
			w.claim(pvc, corev1.ClaimBound)
		}, diagnosis.Waiting, WaitingForNextRun, "next run in 15h"},
		"the API server is away": {func(w *world) {
			w.schedule("s", 48*hour, "@daily")
			w.stale = now.Add(-minute)
		}, diagnosis.Unknown, diagnosis.StaleData, "last answered"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			c.build(w)
			cluster := w.cluster()
			v := cluster.JudgeSchedule(&cluster.Schedules[0], now).Verdict
			checkNamed(t, v)
			if v.State() != c.state || v.Reason != c.reason {
				t.Errorf("%q %s, want %q %s: %s", v.State(), v.Reason, c.state, c.reason, v.Summary())
			}
			all := v.Summary() + "\n" + v.Advice
			for _, f := range v.Facts {
				all += "\n" + f.Text
			}
			if !strings.Contains(all, c.says) {
				t.Errorf("%q is not in\n%s", c.says, all)
			}
		})
	}
}

func TestRetention(t *testing.T) {
	for name, c := range map[string]struct {
		policy map[string]any
		want   Retention
	}{
		"none":               {nil, Retention{retentionByNumber, 15, true}},
		"a number":           {map[string]any{"retentionType": retentionByNumber, "retentionNumber": map[string]any{"maxNumberOfBackups": int64(5)}}, Retention{retentionByNumber, 5, false}},
		"a size":             {map[string]any{"retentionType": retentionBySize, "retentionSize": map[string]any{"maxSizeOfBackupsGb": int64(20)}}, Retention{retentionBySize, 20, false}},
		"a size, but not it": {map[string]any{"retentionType": retentionBySize}, Retention{retentionBySize, 10, true}},
		"a newer one":        {map[string]any{"retentionType": "RetentionAge"}, Retention{"RetentionAge", 0, false}},
	} {
		w := &world{}
		u := w.schedule("s", time.Hour, "@daily")
		if c.policy != nil {
			u.Object["spec"].(map[string]any)["etcd"].(map[string]any)["retentionPolicy"] = c.policy
		}
		if got := w.cluster().Schedules[0].Retention; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Only a log with its last line says that a backup went well.
func TestReadLog(t *testing.T) {
	for text, want := range map[string]BackupLog{
		"I1 1 x.go:1] config-dir is: /etc/kubernetes\n":                                            {},
		"E1 1 x.go:1] run: backup failed: no space\nI1 1 x.go:1] config-dir is: /etc/kubernetes\n": {Failure: "no space"},
		"":                 {Unchecked: "it lacks the line with which the program ends"},
		"snapshot saved\n": {Unchecked: "it lacks the line with which the program ends"},
	} {
		if got := ParseBackupLog(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// A field of the wrong shape costs itself: the schema is a preview.
func TestMalformedCostsItself(t *testing.T) {
	w := &world{}
	w.backup("good", time.Hour, pvc)
	u := w.backup("odd", time.Hour, pvc)
	u.Object["spec"] = map[string]any{"pvcName": int64(7)}
	u.Object["status"] = map[string]any{
		"conditions": []any{
			int64(1),
			map[string]any{"type": "BackupCompleted", "status": "True", "lastTransitionTime": "yesterday"},
		},
	}
	c := w.cluster()
	odd, _ := c.FindBackup("odd")
	if len(c.Backups) != 2 || len(odd.Malformed) == 0 {
		t.Fatalf("%d backups, malformed %v", len(c.Backups), odd.Malformed)
	}
	if v := c.JudgeBackup(odd, now).Verdict; !strings.Contains(v.Facts[0].Text, "spec.pvcName") {
		t.Errorf("facts %v", v.Facts)
	}
}
