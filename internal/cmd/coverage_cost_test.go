package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// TestCoverageCost measures coverage of 500 namespaces, 5,000 claims and 300 backups, of which no one claim is in any,
// so that all are read: with COVERAGE_COST=1, as it takes minutes to make them. It asserts nothing.
func TestCoverageCost(t *testing.T) {
	if os.Getenv("COVERAGE_COST") == "" {
		t.Skip("COVERAGE_COST is not set")
	}
	b := control(t)
	s := openStore(t, b)
	b.veleroPod(t, time.Now())
	const namespaces, claims, backups = 500, 5000, 300
	inParallel := func(n int, do func(int) error) {
		t.Helper()
		var running sync.WaitGroup
		slots := make(chan struct{}, 16)
		for i := range n {
			slots <- struct{}{}
			running.Go(func() {
				if err := do(i); err != nil {
					t.Error(err)
				}
				<-slots
			})
		}
		running.Wait()
	}
	create := func(o client.Object) error { return b.client.Create(t.Context(), o) }
	class, size := "cost", corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes, labels := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, map[string]string{"app": "web"}
	inParallel(namespaces, func(i int) error {
		return create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cost-%d", i)}})
	})
	var listed, deployments, volumes []string
	for i := range claims {
		listed = append(listed, fmt.Sprintf(`"cost-%d/data-%d"`, i%namespaces, i))
		deployments = append(deployments, fmt.Sprintf(`"cost-%d/web-%d"`, i%namespaces, i))
		if i > 0 {
			volumes = append(
				volumes,
				fmt.Sprintf(
					`{"pvcName": "data-%d", "pvcNamespace": "cost-%d", "pvName": "cost-%d", "backupMethod": "CSISnapshot", "result": "succeeded"}`,
					i,
					i%namespaces,
					i,
				),
			)
		}
	}
	inParallel(claims, func(i int) error {
		n := fmt.Sprintf("cost-%d", i%namespaces)
		c := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: n, Name: fmt.Sprintf("data-%d", i)},
			Spec: corev1.PersistentVolumeClaimSpec{
				VolumeName: fmt.Sprintf(
					"cost-%d",
					i,
				),
				StorageClassName: &class,
				AccessModes:      modes,
				Resources:        corev1.VolumeResourceRequirements{Requests: size},
			},
		}
		if err := create(c); err != nil {
			return err
		}
		c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size}
		if err := b.client.Status().Update(t.Context(), c); err != nil {
			return err
		}
		if err := create(
			&corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cost-%d", i)},
				Spec: corev1.PersistentVolumeSpec{
					StorageClassName: class,
					Capacity:         size,
					AccessModes:      modes,
					PersistentVolumeSource: corev1.PersistentVolumeSource{
						CSI: &corev1.CSIPersistentVolumeSource{Driver: "x", VolumeHandle: "x"},
					},
				},
			},
		); err != nil {
			return err
		}
		pod := corev1.PodSpec{
			NodeName: "n",
			Containers: []corev1.Container{
				{Name: "c", Image: "c", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}},
			},
			Volumes: []corev1.Volume{
				{
					Name: "v",
					VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name},
					},
				},
			},
		}
		if err := create(
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: n, Name: fmt.Sprintf("web-%d", i)}, Spec: pod},
		); err != nil {
			return err
		}
		pod.NodeName = ""
		return create(
			&appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: n, Name: fmt.Sprintf("web-%d", i)},
				Spec: appsv1.DeploymentSpec{
					Selector: &metav1.LabelSelector{
						MatchLabels: labels,
					},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
				},
			},
		)
	})
	b.create(
		t,
		&veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "cost"},
			Spec:       veleroapi.ScheduleSpec{Schedule: "0 * * * *"},
		},
	)
	list := fmt.Sprintf(
		`{"v1/PersistentVolumeClaim": [%s], "apps/v1/Deployment": [%s]}`,
		strings.Join(listed, ","),
		strings.Join(deployments, ","),
	)
	s.files = map[string]string{}
	s.stored(t, b, "cost-0", veleroapi.BackupPhaseCompleted)
	inParallel(backups, func(i int) error {
		start, end := metav1.NewTime(
			time.Now().Add(-time.Duration(i)*time.Hour),
		), metav1.NewTime(
			time.Now().Add(720*time.Hour-time.Duration(i)*time.Hour),
		)
		return create(
			&veleroapi.Backup{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "velero",
					Name:      fmt.Sprintf("cost-b%d", i),
					Labels:    map[string]string{veleroapi.ScheduleNameLabel: "cost"},
				},
				Spec: veleroapi.BackupSpec{
					StorageLocation: "of-cost-0",
				},
				Status: veleroapi.BackupStatus{
					Phase:          veleroapi.BackupPhaseCompleted,
					StartTimestamp: &start,
					Expiration:     &end,
				},
			},
		)
	})
	for i := range backups {
		s.files[fmt.Sprintf("BackupResourceList/cost-b%d", i)] = list
		s.files[fmt.Sprintf("BackupVolumeInfos/cost-b%d", i)] = "[" + strings.Join(volumes, ",") + "]"
	}
	cache := t.TempDir()
	for _, which := range []string{"first", "second"} {
		cmd := exec.Command(b.binary, "--kubeconfig", b.Kubeconfig(), "coverage", "-n", "velero", "-o", "json")
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "XDG_STATE_HOME="+t.TempDir())
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		began := time.Now()
		_ = cmd.Run()
		took := time.Since(began)
		var d document.Coverage
		if err := json.Unmarshal([]byte(out.String()), &d); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		t.Logf(
			"%s reading: %.1f s (%.1f s of CPU), %d MiB, %d requests to the API server for what there is, %d backups read, %d not, exit code %d, %d namespaces",
			which,
			took.Seconds(),
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
			usage.Maxrss>>10,
			d.Requests,
			d.BackupsRead,
			d.BackupsUnread,
			cmd.ProcessState.ExitCode(),
			len(d.Namespaces),
		)
	}
}
