package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/watch"
)

// etcdObject is one of OpenShift's objects.
func etcdObject(group, kind, name string, age time.Duration, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": group + "/v1alpha1", "kind": kind, "spec": spec},
	}
	u.SetName(name)
	u.SetUID(types.UID(name))
	u.SetCreationTimestamp(ago(age))
	return u
}

func etcdBackup(name string, age time.Duration, claim, condition, message string) *unstructured.Unstructured {
	u := etcdObject("operator.openshift.io", "EtcdBackup", name, age, map[string]any{"pvcName": claim})
	if condition != "" {
		u.Object["status"] = map[string]any{
			"backupJob": map[string]any{"namespace": etcd.Namespace, "name": "job-of-" + name},
			"conditions": []any{
				map[string]any{"type": condition, "reason": condition, "status": "True", "message": message,
					"lastTransitionTime": ago(age - 90*time.Second).UTC().Format(time.RFC3339)},
			},
		}
	}
	return u
}

// openShift is a snapshot with etcd backups, of which one waits for a claim.
func openShift(logs map[string]etcd.BackupLog, unseen ...etcd.UncheckedResource) *watch.Snapshot {
	job := func(backup string, age time.Duration, result batchv1.JobConditionType) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: meta("job-of-"+backup, age)}
		j.Labels = map[string]string{"app": "cluster-backup-job", "backup-name": backup}
		j.Status.StartTime = ptr(ago(age))
		if result != "" {
			j.Status.Conditions = []batchv1.JobCondition{
				{Type: result, Status: corev1.ConditionTrue, LastTransitionTime: ago(age - time.Minute)},
			}
		}
		return j
	}
	pod := func(backup string, age time.Duration, phase corev1.PodPhase) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: meta("job-of-"+backup+"-x7k2p", age)}
		p.Labels = map[string]string{"batch.kubernetes.io/job-name": "job-of-" + backup}
		p.Spec.NodeName, p.Status = "master-1", corev1.PodStatus{Phase: phase, StartTime: ptr(ago(age))}
		return p
	}
	waiting := pod("before-upgrade", 40*time.Minute, corev1.PodPending)
	waiting.Spec.NodeName, waiting.Status.StartTime = "", nil
	waiting.Status.Conditions = []corev1.PodCondition{
		{
			Type:    corev1.PodScheduled,
			Status:  corev1.ConditionFalse,
			Message: "0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/6 nodes are available.",
		},
	}
	claim := func(name string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: meta(name, 900*time.Hour)}
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("50Gi")}
		c.Status.Phase = phase
		return c
	}
	cronJob := &batchv1.CronJob{
		ObjectMeta: meta("nightly", 900*time.Hour),
		Status:     batchv1.CronJobStatus{LastScheduleTime: ptr(ago(9 * time.Hour))},
	}
	nightly := etcdBackup("nightly-29920465", 9*time.Hour, "etcd-backup", etcd.ConditionCompleted, "Complete")
	nightly.Object["metadata"].(map[string]any)["ownerReferences"] = []any{
		map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": "nightly-29920465", "uid": "u"},
	}
	lost := etcdBackup("audit-q3", 290*time.Hour, "etcd-backup", etcd.ConditionPending, "Executing job job-of-audit-q3")
	lost.SetLabels(map[string]string{"state": "processed"})
	snap := snapshotOf()
	snap.Etcd = etcd.NewCluster(etcd.Objects{
		Backups: []*unstructured.Unstructured{
			etcdBackup(
				"before-upgrade",
				41*time.Minute,
				"etcd-before-upgrade",
				etcd.ConditionPending,
				"Executing job job-of-before-upgrade",
			),
			nightly,
			lost,
			etcdBackup("next", time.Minute, "etcd-backup", "", ""),
		},
		Schedules: []*unstructured.Unstructured{
			etcdObject("config.openshift.io", "Backup", "nightly", 900*time.Hour, map[string]any{"etcd": map[string]any{
				"schedule": "0 3 * * *", "timeZone": "UTC", "pvcName": "etcd-backup"}}),
		},
		Jobs: []*batchv1.Job{
			job("before-upgrade", 40*time.Minute, ""),
			job("nightly-29920465", 9*time.Hour, batchv1.JobComplete),
		},
		CronJobs: []*batchv1.CronJob{cronJob},
		Claims: []*corev1.PersistentVolumeClaim{
			claim("etcd-backup", corev1.ClaimBound),
			claim("etcd-before-upgrade", corev1.ClaimPending),
		},
		Pods: []*corev1.Pod{waiting, pod("nightly-29920465", 9*time.Hour, corev1.PodSucceeded)},
	}, unseen).WithLogs(logs)
	return snap
}

func TestGoldenEtcd(t *testing.T) {
	failed := map[string]etcd.BackupLog{
		"job-of-nightly-29920465-x7k2p": {Failure: "could not write snapshot: no space left on device"},
	}
	for _, s := range []struct {
		name string
		keys []string
	}{
		{"etcd", []string{"7"}},
		{"etcd-backup-stuck", []string{"7", "down", "enter"}},
		{"etcd-backup-false", []string{"7", "down", "down", "enter"}},
		{"etcd-schedule", []string{"7", "end", "enter"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m := screen(t, openShift(failed), size[0], size[1])
				for _, key := range s.keys {
					checkFrame(t, m)
					press(t, m, key)
				}
				golden(t, name, plain(checkFrame(t, m)))
			})
		}
	}
	for _, size := range [][2]int{{16, 3}, {24, 8}, {40, 12}, {300, 100}} {
		m := screen(t, openShift(nil), size[0], size[1])
		press(t, m, "7")
		checkFrame(t, m)
		press(t, m, "enter")
		checkFrame(t, m)
	}
}

// The tab is there only if the cluster has the kinds.
func TestEtcdTabComesAndGoes(t *testing.T) {
	m := screen(t, snapshotOf(), 120, 40)
	if frame := ansi.Strip(checkFrame(t, m)); strings.Contains(frame, "Etcd") {
		t.Errorf("a tab without the kinds:\n%s", frame)
	}
	show(m, openShift(nil))
	press(t, m, "7")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "[7 Etcd 5 !") ||
		!strings.Contains(frame, "before-upgrade") {
		t.Errorf("no tab:\n%s", frame)
	}
	show(m, snapshotOf())
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "no longer has etcd backups of OpenShift") {
		t.Errorf("the kinds are gone, but:\n%s", frame)
	}
}

// What may not be listed is named, in the list and on the page.
func TestEtcdTabWithoutRights(t *testing.T) {
	snap := openShift(nil)
	hidden := func(resource string) etcd.UncheckedResource {
		return etcd.UncheckedResource{Resource: resource, Reason: resource + " is forbidden"}
	}
	u := etcdBackup("audit-q3", 290*time.Hour, "etcd-backup", etcd.ConditionPending, "Executing job")
	snap.Etcd = etcd.NewCluster(
		etcd.Objects{Backups: []*unstructured.Unstructured{u}},
		[]etcd.UncheckedResource{hidden(etcd.ResourceJobs), hidden(etcd.ResourcePods), hidden(etcd.ResourceSchedules)},
	)
	m := screen(t, snap, 120, 40)
	press(t, m, "7")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "You may not list backups.config.openshift.io.") ||
		!strings.Contains(frame, "docs/rbac.md") {
		t.Errorf("the list does not say what is missing:\n%s", frame)
	}
	press(t, m, "enter")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "jobs.batch is forbidden") ||
		!strings.Contains(frame, "JobsHidden") {
		t.Errorf("the page does not say what is missing:\n%s", frame)
	}
	snap.Etcd = etcd.NewCluster(etcd.Objects{}, []etcd.UncheckedResource{hidden(etcd.ResourceBackups), hidden(etcd.ResourceSchedules)})
	m = screen(t, snap, 120, 40)
	press(t, m, "7")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(
		frame,
		"You may not list etcdbackups.operator.openshift.io.",
	) {
		t.Errorf("nothing may be listed:\n%s", frame)
	}
}

// readLogs notes which logs were asked for.
type readLogs struct{ pods []string }

func (r *readLogs) ReadEtcdLog(_ context.Context, pod string) { r.pods = append(r.pods, pod) }

// runs runs a command and what it is made of.
func runs(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if batch, ok := cmd().(tea.BatchMsg); ok {
		for _, c := range batch {
			runs(c)
		}
	}
}

// The log of a completed backup is read when its page opens, and only then.
func TestEtcdLogIsReadWithThePage(t *testing.T) {
	logs := &readLogs{}
	m := screen(t, openShift(nil), 120, 40, func(o *Options) { logs = &fake(o).etcdLogs })
	open := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			runs(press(t, m, key))
		}
	}
	open("7", "down", "enter", "esc")
	if len(logs.pods) != 0 {
		t.Errorf("read %v for one that has not ended", logs.pods)
	}
	open("down", "enter")
	if len(logs.pods) != 1 || logs.pods[0] != "job-of-nightly-29920465-x7k2p" {
		t.Fatalf("read %v", logs.pods)
	}
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "not checked in the log") {
		t.Errorf("before the log is read:\n%s", frame)
	}
	show(m, openShift(map[string]etcd.BackupLog{logs.pods[0]: {}}))
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "the log ends without an error") {
		t.Errorf("after it was read:\n%s", frame)
	}
}
