package cmd

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/view/document"
)

// openShift gives the cluster the kinds of etcd backups until the test ends.
func (b *bed) openShift(t *testing.T) {
	t.Helper()
	if err := testbed.InstallEtcdBackupCRDs(t.Context(), b.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{etcd.ResourceBackups, etcd.ResourceSchedules} {
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if err := b.client.Delete(context.Background(), crd); err != nil {
				t.Error(err)
			}
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				if b.client.Get(context.Background(), client.ObjectKeyFromObject(crd), crd) != nil {
					break
				}
			}
		}
	})
}

func openShiftObject(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	u.SetName(name)
	return u
}

func (b *bed) etcdBackup(t *testing.T, name, condition, message string) {
	t.Helper()
	u := openShiftObject("operator.openshift.io/v1alpha1", "EtcdBackup", name, map[string]any{"pvcName": "etcd-claim"})
	b.create(t, u)
	u.Object["status"] = map[string]any{
		"conditions": []any{map[string]any{"type": condition, "reason": condition, "status": "True",
			"message": message, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}},
	}
	if err := b.client.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

func TestEtcdWithoutTheKinds(t *testing.T) {
	stdout, stderr, code := control(t).run(t, "etcd")
	if code != ExitError || stdout != "" ||
		!holdsAll(stderr, "this cluster has no etcd backups of OpenShift", "AutomatedEtcdBackup") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestEtcd(t *testing.T) {
	b := control(t)
	b.openShift(t)
	stdout, stderr, code := b.run(t, "etcd")
	if code != ExitOK || stdout != "" || !strings.Contains(stderr, "No etcd backups and no schedules found.") {
		t.Errorf("of none: exit code %d, %q, %q", code, stdout, stderr)
	}
	b.etcdBackup(t, "good", "BackupCompleted", "Complete")
	b.etcdBackup(t, "bad", "BackupFailed", "unable to find PVC [etcd-claim] \x1b]52;c;eA==\x07\u202e")
	b.create(
		t,
		openShiftObject("config.openshift.io/v1alpha1", "Backup", "nightly", map[string]any{"etcd": map[string]any{
			"schedule": "0 3 * * *", "timeZone": "UTC", "pvcName": "etcd-claim"}}),
	)

	stdout, stderr, code = b.run(t, "etcd")
	if code != ExitOK || stderr != "" ||
		!holdsAll(
			stdout,
			"SCHEDULE",
			"nightly",
			"0 3 * * *",
			"BACKUP",
			"good",
			"Completed",
			"bad",
			"Failed",
			"ClaimMissing",
		) {
		t.Errorf("table: exit code %d, %s%s", code, stdout, stderr)
	}
	stdout, _, _ = b.run(t, "etcd", "-o", "wide")
	checkPlain(t, "wide", stdout)
	if !holdsAll(stdout, "15 backups (default)", "unable to find PVC") {
		t.Errorf("wide: %s", stdout)
	}
	if stdout, _, _ = b.run(
		t,
		"etcd",
		"-o",
		"name",
	); !holdsAll(
		stdout,
		"backup.config.openshift.io/nightly\n",
		"etcdbackup.operator.openshift.io/good\n",
	) {
		t.Errorf("names: %s", stdout)
	}
	stdout, _, code = b.run(t, "etcd", "bad")
	checkPlain(t, "one", stdout)
	if code != ExitOK ||
		!holdsAll(stdout, "verdict: ClaimMissing", "facts:", "next: Make the PersistentVolumeClaim etcd-claim") ||
		strings.Contains(stdout, "good") {
		t.Errorf("one: exit code %d, %s", code, stdout)
	}
	if _, stderr, code = b.run(
		t,
		"etcd",
		"good",
		"nobody",
	); code != ExitError ||
		!strings.Contains(stderr, `named "nobody"`) {
		t.Errorf("one that is not there: exit code %d, %s", code, stderr)
	}
	if _, _, code = b.run(t, "etcd", "-o", "xml"); code != ExitUsage {
		t.Errorf("-o xml: exit code %d", code)
	}
	for _, format := range []string{"json", "yaml"} {
		stdout, _, _ = b.run(t, "etcd", "-o", format)
		checkDocument(t, format, stdout)
	}
	stdout, _, _ = b.run(t, "etcd", "-o", "json")
	var d document.EtcdBackupList
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatal(err)
	}
	if d.Kind != "EtcdBackupList" || len(d.Items) != 2 || len(d.Schedules) != 1 || len(d.Unseen) != 0 {
		t.Fatalf("document %+v", d)
	}
	for _, item := range d.Items {
		if item.Name == "bad" &&
			(!item.Trouble || item.Verdict.Reason != "ClaimMissing" || item.Condition != "BackupFailed" || item.Claim != "etcd-claim") {
			t.Errorf("item %+v", item)
		}
	}
}

// What may not be read is named beside what may.
func TestEtcdWithoutRights(t *testing.T) {
	b := control(t)
	b.openShift(t)
	b.etcdBackup(t, "seen", "BackupCompleted", "Complete")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "etcd-viewer"}, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{"operator.openshift.io"},
			Resources: []string{"etcdbackups"},
			Verbs:     []string{"get", "list", "watch"},
		},
	}}
	b.create(t, role)
	b.create(
		t,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "etcd-viewer"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "etcd-viewer"}},
		},
	)
	for user, code := range map[string]int{"etcd-viewer": ExitOK, "etcd-nobody": ExitError} {
		config, err := b.AddUser(user)
		if err != nil {
			t.Fatal(err)
		}
		path, err := b.KubeconfigFor(config, user)
		if err != nil {
			t.Fatal(err)
		}
		var out, said string
		eventually(t, user+" has its rights", func() bool {
			var got int
			out, said, got = b.run(t, "etcd", "--kubeconfig", path)
			return got == code
		})
		if code == ExitOK &&
			!(holdsAll(out, "seen", "Completed") && holdsAll(said, "jobs.batch could not be read", "cronjobs.batch", "backups.config.openshift.io", "persistentvolumeclaims", "pods")) {
			t.Errorf("%s: %s%s", user, out, said)
		}
		if code == ExitError && !strings.Contains(said, "you may not list etcdbackups.operator.openshift.io") {
			t.Errorf("%s: %s", user, said)
		}
	}
}
