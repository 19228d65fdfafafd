package watch

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/testbed"
)

// installEtcdCRDs makes the cluster an OpenShift with the feature gate, until the
// test ends.
func (c *cluster) installEtcdCRDs() {
	c.t.Helper()
	if err := testbed.InstallEtcdBackupCRDs(c.t.Context(), c.RESTConfig()); err != nil {
		c.t.Fatal(err)
	}
	if err := c.EnsureNamespace(c.t.Context(), etcd.Namespace); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		for _, name := range []string{etcd.ResourceBackups, etcd.ResourceSchedules} {
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if err := c.Delete(context.Background(), crd); err != nil {
				c.t.Error(err)
			}
			for deadline := time.Now().Add(enough); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				if err := c.Get(context.Background(), client.ObjectKeyFromObject(crd), crd); err != nil {
					break
				}
			}
		}
	})
}

// etcdBackup makes an EtcdBackup with one condition, by the way that it comes:
// the status has an address of its own.
func (c *cluster) etcdBackup(name, condition, message string) *unstructured.Unstructured {
	c.t.Helper()
	u := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "operator.openshift.io/v1alpha1", "kind": "EtcdBackup",
			"spec": map[string]any{"pvcName": "etcd-backup"}},
	}
	u.SetName(name)
	c.create(u)
	if condition == "" {
		return u
	}
	u.Object["status"] = map[string]any{
		"conditions": []any{map[string]any{"type": condition, "reason": condition, "status": "True", "message": message,
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}},
		"backupJob": map[string]any{"namespace": etcd.Namespace, "name": "job-" + name},
	}
	if err := c.Status().Update(c.t.Context(), u); err != nil {
		c.t.Fatal(err)
	}
	return u
}

func etcdSchedule(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "config.openshift.io/v1alpha1", "kind": "Backup",
			"spec": map[string]any{"etcd": map[string]any{
				"schedule": "0 3 * * *",
				"pvcName":  "etcd-backup",
				"retentionPolicy": map[string]any{
					"retentionType": "RetentionSize",
					"retentionSize": map[string]any{"maxSizeOfBackupsGb": int64(20)},
				},
			}}},
	}
	u.SetName(name)
	return u
}

// asked counts requests by their paths.
type asked struct {
	mu    sync.Mutex
	paths []string
}

func (a *asked) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		a.mu.Lock()
		a.paths = append(a.paths, r.URL.Path)
		a.mu.Unlock()
		return next.RoundTrip(r)
	})
}

func (a *asked) about(words ...string) (found []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.paths {
		for _, word := range words {
			if strings.Contains(p, word) {
				found = append(found, p)
				break
			}
		}
	}
	return found
}

// wait waits until so many requests are about a word.
func (a *asked) wait(t *testing.T, n int, word string) {
	t.Helper()
	for deadline := time.Now().Add(enough); len(a.about(word)) < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests about %s, want %d", len(a.about(word)), word, n)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A cluster without the kinds is asked one question, and no other until somebody
// wants to know again.
func TestWithoutEtcdBackups(t *testing.T) {
	c := newCluster(t)
	cfg, counted := c.RESTConfig(), &asked{}
	cfg.Wrap(counted.wrap)
	f := c.watch(
		Options{Config: cfg, Namespace: c.namespace("no-etcd"), timing: defaultTiming},
	) // a busy machine misses no heartbeat of these
	f.until("the watches are live", isLive)
	counted.wait(t, 1, "openshift")
	// Some heartbeats later there is still only that one.
	counted.wait(t, len(counted.about("kube-system"))+3, "kube-system")
	if found := counted.about("openshift"); len(found) != 1 || found[0] != "/apis/operator.openshift.io/v1alpha1" {
		t.Errorf("asked %v, want one question", found)
	}
	if f.Latest().Etcd != nil {
		t.Error("etcd backups where there are none")
	}
	reader, err := NewEtcdBackupReader(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Read(t.Context()); !errors.Is(err, ErrNoEtcdBackups) {
		t.Errorf("read: %v", err)
	}

	// The feature gate is switched on: looking again finds the kinds.
	c.installEtcdCRDs()
	f.Retry()
	f.until("the kinds are found", func(s *Snapshot) bool { return s.Etcd != nil })
}

func TestEtcdBackupsAreWatched(t *testing.T) {
	c := newCluster(t)
	c.installEtcdCRDs()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: etcd.Namespace,
			Name:      "job-nightly-1",
			Labels:    map[string]string{"app": "cluster-backup-job", "backup-name": "nightly-1"},
		},
		Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: "cluster-backup", Image: "x"}}}},
		},
	}
	other := job.DeepCopy()
	other.Name, other.Labels = "unrelated", nil
	done := job.DeepCopy()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: etcd.Namespace, Name: "etcd-backup"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		},
	}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	c.create(job, other, claim, etcdSchedule("nightly"))
	for _, o := range []*batchv1.Job{job, other} {
		t.Cleanup(func() {
			_ = c.Delete(context.Background(), o, client.PropagationPolicy(metav1.DeletePropagationBackground))
		})
	}
	t.Cleanup(func() { _ = c.Delete(context.Background(), claim) })
	c.etcdBackup("nightly-1", etcd.ConditionPending, "executing\x1b[31m \u202etxt")

	f := c.watch(Options{Namespace: c.namespace("etcd")})
	s := f.until("the backup and its Job are there", func(s *Snapshot) bool {
		return s.Etcd != nil && len(s.Etcd.Backups) == 1 && s.Etcd.Backups[0].Job != nil && len(s.Etcd.Schedules) == 1
	})
	b := s.Etcd.Backups[0]
	if strings.ContainsAny(b.Condition.Message, "\x1b\u202e") {
		t.Errorf("message %q", b.Condition.Message)
	}
	if got := s.Etcd.Schedules[0].Retention; got != (etcd.Retention{Type: "RetentionSize", Limit: 20}) {
		t.Errorf("retention %+v", got)
	}
	if s.Etcd.FindClaim("etcd-backup") == nil || len(s.Etcd.Unchecked) > 0 {
		t.Errorf("claim not seen, unseen %v", s.Etcd.Unchecked)
	}
	for _, source := range s.Sources {
		if strings.Contains(source.Resource, "openshift") {
			t.Errorf("%s is among Velero's kinds", source.Resource)
		}
	}

	c.etcdBackup("by-hand", etcd.ConditionSkipped, "skipped due too many simultaneous backups")
	s = f.until("a new one has come", func(s *Snapshot) bool {
		b, found := s.Etcd.FindBackup("by-hand")
		return found && b.Condition.Type == etcd.ConditionSkipped
	})
	if v := s.Etcd.JudgeBackup(mustFind(t, s.Etcd, "by-hand"), s.At).Verdict; v.Reason != etcd.BackupSkipped {
		t.Errorf("judged %s", v.Reason)
	}

	reader, err := NewEtcdBackupReader(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	read, err := reader.Read(t.Context())
	if err != nil || len(read.Backups) != 2 || len(read.Schedules) != 1 || len(read.Unchecked) != 0 {
		t.Fatalf("read %+v, %v", read, err)
	}
	// A log that cannot be read says why in the next snapshot; here no node has one.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: etcd.Namespace,
			Name:      "job-done-x7k2p",
			Labels:    map[string]string{"batch.kubernetes.io/job-name": "job-done"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "cluster-backup", Image: "x"}}},
	}
	done.ObjectMeta = metav1.ObjectMeta{
		Namespace: etcd.Namespace,
		Name:      "job-done",
		Labels:    map[string]string{"app": "cluster-backup-job", "backup-name": "done"},
	}
	c.create(pod, done)
	t.Cleanup(func() {
		_ = c.Delete(context.Background(), pod, client.GracePeriodSeconds(0))
		_ = c.Delete(context.Background(), done, client.PropagationPolicy(metav1.DeletePropagationBackground))
	})
	pod.Status.Phase = corev1.PodSucceeded
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	c.etcdBackup("done", etcd.ConditionCompleted, "Complete")
	f.until("the pod's log can be asked for", func(s *Snapshot) bool {
		b, found := s.Etcd.FindBackup("done")
		if !found {
			return false
		}
		return s.Etcd.FindUnreadLogPod(b) != ""
	})
	f.ReadEtcdLog(t.Context(), pod.Name)
	f.until("the facts say why the log could not be read", func(s *Snapshot) bool {
		v := s.Etcd.JudgeBackup(mustFind(t, s.Etcd, "done"), s.At).Verdict
		return v.Reason == etcd.BackupCompleted &&
			slices.ContainsFunc(
				v.Facts,
				func(f diagnosis.Fact) bool { return strings.Contains(f.Text, "could not be read") },
			)
	})
	if log := reader.ReadLog(t.Context(), "gone"); log.Unchecked == "" || !strings.Contains(log.Unchecked, "not found") {
		t.Errorf("log %+v", log)
	}
}

// What may not be read is named, and what may be read is there.
func TestEtcdBackupsWithoutRights(t *testing.T) {
	c := newCluster(t)
	c.installEtcdCRDs()
	c.etcdBackup("visible", "", "")
	ns := c.namespace("etcd-rights")
	name := ns + "-user"
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{mayRead("operator.openshift.io", "etcdbackups")},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	c.create(role, binding)
	cfg := c.user(name, ns, mayRead("velero.io", "*"), mayRead("", "pods"))

	s := c.watch(Options{Config: cfg, Namespace: ns}).
		until("the backup is there", func(s *Snapshot) bool { return s.Etcd != nil && len(s.Etcd.Backups) == 1 })
	hidden := func(cluster *etcd.Cluster) map[string]bool {
		found := map[string]bool{}
		for _, u := range cluster.Unchecked {
			found[u.Resource] = strings.Contains(u.Reason, "forbidden") && !u.IsMissing
		}
		return found
	}
	want := []string{etcd.ResourceSchedules, etcd.ResourceJobs, etcd.ResourceCronJobs, etcd.ResourceClaims, etcd.ResourcePods}
	reader, err := NewEtcdBackupReader(cfg)
	if err != nil {
		t.Fatal(err)
	}
	read, err := reader.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, cluster := range map[string]*etcd.Cluster{"watched": s.Etcd, "read": read} {
		got := hidden(cluster)
		for _, r := range want {
			if !got[r] {
				t.Errorf("%s: %s is not named: %v", what, r, cluster.Unchecked)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %v", what, got)
		}
	}
	later := s.At.Add(time.Hour)
	if v := s.Etcd.JudgeBackup(
		&s.Etcd.Backups[0],
		later,
	).Verdict; v.State() != diagnosis.Unknown ||
		v.Reason != etcd.JobsHidden {
		t.Errorf("judged %s %s", v.State(), v.Reason)
	}
}

func mustFind(t *testing.T, c *etcd.Cluster, name string) *etcd.Backup {
	t.Helper()
	b, found := c.FindBackup(name)
	if !found {
		t.Fatalf("there is no %s", name)
	}
	return b
}
