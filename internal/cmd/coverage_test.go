package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// boundClaim makes a claim that is bound to a volume of a CSI driver.
func (b *bed) boundClaim(t *testing.T, namespace, name string, labels map[string]string) {
	t.Helper()
	class, size := "cov", corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	b.create(
		t,
		&corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName: class,
				Capacity:         size,
				AccessModes:      modes,
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					NFS: &corev1.NFSVolumeSource{Server: "x", Path: "/x"},
				},
			},
		},
	)
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName:       "pv-" + name,
			StorageClassName: &class,
			AccessModes:      modes,
			Resources:        corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	b.create(t, c)
	c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size}
	if err := b.client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// TestCoverage reads claims and workloads from the API server and what is stored from the object store: what is
// covered, what is not and why, from memory the second time, and marked where nothing may be read.
func TestCoverage(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	targetNamespaces(t, b, "cov-shop", "cov-off")
	b.veleroPod(t, time.Now())
	b.boundClaim(t, "cov-shop", "saved", nil)
	b.boundClaim(t, "cov-shop", "hidden", map[string]string{veleroapi.ExcludeFromBackupLabel: "true"})
	b.boundClaim(t, "cov-off", "lost", nil)
	labels := map[string]string{"app": "web"}
	for _, name := range []string{"web", "refused"} {
		b.create(
			t,
			&appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "cov-shop", Name: name},
				Spec: appsv1.DeploymentSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: labels},
						Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
					},
				},
			},
		)
	}
	yes := true
	b.create(
		t,
		&veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "cov-hourly"},
			Spec: veleroapi.ScheduleSpec{
				Schedule: "0 * * * *",
				Template: veleroapi.BackupSpec{
					IncludedNamespaces:       []string{"cov-shop"},
					DefaultVolumesToFsBackup: &yes,
				},
			},
		},
	)
	s.stored(t, b, "cov-1", veleroapi.BackupPhasePartiallyFailed)
	partly := &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "cov-1"}}
	if err := b.client.Patch(
		t.Context(),
		partly,
		client.RawPatch(types.MergePatchType, []byte(`{"status": {"errors": 1}}`)),
	); err != nil {
		t.Fatal(err)
	}
	s.files = map[string]string{
		"BackupResourceList/cov-1": `{"v1/Namespace": ["cov-shop"], "v1/PersistentVolumeClaim": ["cov-shop/saved"], "v1/PersistentVolume": ["pv-saved"], "apps/v1/Deployment": ["cov-shop/web", "cov-shop/refused"], "v1/Secret": ["cov-shop/password"]}`,
		"BackupVolumeInfos/cov-1":  `[{"pvcName": "saved", "pvcNamespace": "cov-shop", "pvName": "pv-saved", "backupMethod": "PodVolumeBackup", "result": "succeeded", "pvbInfo": {"Phase": "Completed"}}]`,
		"BackupResults/cov-1":      `{"errors": {"namespaces": {"cov-shop": [" name: /refused message: /Error backing up item error: /error executing custom action (groupResource=deployments.apps, namespace=cov-shop, name=refused): rpc error: code = Unknown desc = no"]}}}`,
	}
	cache := t.TempDir()
	run := func(args ...string) (d document.Coverage, stderr string, code int) {
		t.Helper()
		cmd := b.command(t, append([]string{"coverage", "-n", "velero", "-o", "json"}, args...)...)
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&errs)
		_ = cmd.Run()
		checkSchema(t, out.String(), append([]string{"coverage"}, args...))
		if err := json.Unmarshal([]byte(out.String()), &d); err != nil {
			t.Fatalf("%v: %s%s", err, out.String(), errs.String())
		}
		return d, errs.String(), cmd.ProcessState.ExitCode()
	}
	told := func(d document.Coverage) string {
		var lines []string
		for _, n := range d.Namespaces {
			for _, i := range append(n.Claims, n.Workloads...) {
				lines = append(lines, fmt.Sprintf("%s/%s %s %s %s", i.Namespace, i.Name, i.State, i.Reason, i.Backup))
			}
		}
		return strings.Join(lines, "\n")
	}
	d, stderr, code := run("cov-shop", "cov-off")
	want := "cov-off/lost unprotected NamespaceNotIncluded \ncov-shop/hidden unprotected LabelExcluded \ncov-shop/saved warning NotMounted cov-1\ncov-shop/refused unprotected ItemFailed \ncov-shop/web covered  cov-1"
	if told(d) != want || code != ExitRefused || d.State != coverage.Unprotected || d.BackupsRead == 0 {
		t.Errorf("exit code %d, %s\n%s\nexpected\n%s", code, stderr, told(d), want)
	}
	before := s.downloads.Load()
	if d, _, _ = run("cov-shop", "cov-off"); told(d) != want || s.downloads.Load() != before {
		t.Errorf("the second time %d downloads: %s", s.downloads.Load()-before, told(d))
	}
	files, err := filepath.Glob(filepath.Join(cache, "veltui/coverage/*.coverage"))
	if err != nil || len(files) == 0 {
		t.Errorf("nothing is kept: %v", err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}

	// What is kept suffices for who creates nothing; without it nothing is known.
	if d, _, _ = run("--read-only", "cov-shop", "cov-off"); told(d) != want {
		t.Errorf("read-only: %s", told(d))
	}
	cache = t.TempDir()
	d, _, code = run("--read-only", "cov-shop")
	if code != ExitError || d.State != coverage.Undecided || d.BackupsUnread == 0 ||
		!strings.Contains(strings.Join(d.Unchecked, " "), "read-only") {
		t.Errorf("read-only without a cache: exit code %d, %+v", code, d)
	}

	stdout, stderr, code := b.run(t, "coverage", "-n", "velero", "--next", "cov-hourly", "-o", "json")
	var p document.Prediction
	if err := json.Unmarshal([]byte(stdout), &p); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, stderr)
	}
	if fmt.Sprint(
		p.Namespaces,
		p.Claims,
		p.ClaimsWithData,
		p.Workloads,
	) != "[cov-shop] [cov-shop/saved] [] map[Deployment:[cov-shop/refused cov-shop/web]]" {
		t.Errorf("%+v", p)
	}
	stdout, _, _ = b.run(t, "coverage", "-n", "velero", "cov-shop")
	if !strings.Contains(stdout, "hidden") || !strings.Contains(stdout, "! unprotected") {
		t.Errorf("%s", stdout)
	}
	if stdout, _, _ = b.run(
		t,
		"coverage",
		"-n",
		"velero",
		"--unprotected",
		"cov-off",
		"cov-shop",
	); strings.Contains(stdout, "web") ||
		!strings.Contains(stdout, "lost") {
		t.Errorf("unprotected: %s", stdout)
	}
	for _, args := range [][]string{{"--next", "x", "cov-shop"}, {"--next", "x", "--unprotected"}, {"--max-age", "-1h"}, {"-o", "toml"}} {
		if _, stderr, code := b.run(t, append([]string{"coverage", "-n", "velero"}, args...)...); code != ExitUsage {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestCoverageOutOfTime reads from a store that drips: within the limit coverage says what it could not read.
func TestCoverageOutOfTime(t *testing.T) {
	testbed.RequireMore(t)
	b := control(t)
	s := openStore(t, b)
	targetNamespaces(t, b, "cov-late")
	b.veleroPod(t, time.Now())
	b.boundClaim(t, "cov-late", "late", nil)
	s.files = map[string]string{"BackupResourceList/cov-late-1": dripping}
	s.stored(t, b, "cov-late-1", veleroapi.BackupPhaseCompleted)
	stdout, stderr, code := b.run(t, "coverage", "-n", "velero", "--timeout", "20s", "-o", "json", "cov-late")
	var d document.Coverage
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	if code != ExitError || d.State != coverage.Undecided ||
		!strings.Contains(strings.Join(d.Unchecked, " "), "backup cov-late-1: not read in time") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}
