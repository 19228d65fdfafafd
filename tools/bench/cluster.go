package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The namespaces: the small cluster's Velero and the large one's are two in one
// cluster, and every program is told which of them to look at.
const (
	smallNamespace = "velero-small"
	largeNamespace = "velero"
)

// The small cluster, all of it long ended.
const (
	smallBackups  = 30
	smallRestores = 5
)

// bench is the cluster, the programs, and what was measured of them.
type bench struct {
	options
	*testbed.ControlPlane
	client    client.Client
	table     table
	homeDir   string
	startLoad string // the machine's load at the start
	started   time.Time
	// fleet is what the large namespace holds.
	fleet testbed.Fleet
}

func newBench(ctx context.Context, o options) (b *bench, err error) {
	b = &bench{options: o, started: time.Now(), startLoad: readFirstLine("/proc/loadavg")}
	if b.ControlPlane, err = testbed.Start(ctx, testbed.Options{}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stopCluster())
		}
	}()
	config := b.RESTConfig()
	config.QPS = -1
	if b.client, err = client.New(config, client.Options{Scheme: testbed.Scheme()}); err != nil {
		return b, err
	}
	b.client = client.WithFieldOwner(b.client, velero.ServerManager) // only what Velero writes is work
	if b.homeDir = filepath.Join(b.Dir(), "home"); os.Mkdir(b.homeDir, 0o700) != nil {
		return b, fmt.Errorf("making %s", b.homeDir)
	}
	b.table.columns = b.columnNames()
	b.noteVersions(ctx)
	b.fleet = testbed.Fleet{
		Namespace:    largeNamespace,
		Now:          b.started,
		Backups:      o.jobs,
		Restores:     o.jobs,
		DataUploads:  o.uploads,
		RunningCount: o.running,
	}
	ended := testbed.Fleet{
		Namespace: smallNamespace,
		Now:       b.started.Add(-3 * time.Hour),
		Backups:   smallBackups,
		Restores:  smallRestores,
	}
	for _, fleet := range []testbed.Fleet{ended, b.fleet} {
		b.logProgress(
			"filling %s: %d backups, %d restores, %d DataUploads",
			fleet.Namespace,
			fleet.Backups,
			fleet.Restores,
			fleet.DataUploads,
		)
		if err := b.installVelero(ctx, fleet.Namespace); err != nil {
			return b, err
		}
		if err := b.WriteFleet(ctx, fleet); err != nil {
			return b, err
		}
	}
	return b, nil
}

// installVelero makes a namespace with what Velero has in its own: a running server and
// a storage location that it finds available.
func (b *bench) installVelero(ctx context.Context, namespace string) error {
	if err := b.EnsureNamespace(ctx, namespace); err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      "velero-0",
			Labels:    map[string]string{"component": "velero", "deploy": "velero"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "velero", Image: "velero/velero:v1.18.3"}}},
	}
	location := &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"},
		Spec: veleroapi.BackupStorageLocationSpec{
			Provider:    "aws",
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}},
		},
	}
	for _, o := range []client.Object{pod, location} {
		if err := b.client.Create(ctx, o); err != nil {
			return fmt.Errorf("making %s: %w", o.GetName(), err)
		}
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{
			Name:  "velero",
			Ready: true,
			State: corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(b.started.Add(-240 * time.Hour))},
			},
		},
	}}
	if err := b.client.Status().Update(ctx, pod); err != nil {
		return fmt.Errorf("saying that the server runs: %w", err)
	}
	return b.validateLocation(ctx, namespace)
}

// validateLocation is what Velero does once a minute.
func (b *bench) validateLocation(ctx context.Context, namespace string) error {
	location := &veleroapi.BackupStorageLocation{}
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, location); err != nil {
		return err
	}
	now := metav1.Now()
	location.Status.Phase, location.Status.LastValidationTime = veleroapi.BackupStorageLocationPhaseAvailable, &now
	return b.client.Update(ctx, location)
}

func (b *bench) stopCluster() error {
	if b.ControlPlane == nil {
		return nil
	}
	return b.Stop()
}

func (b *bench) logProgress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(b.started).Seconds(), fmt.Sprintf(format, args...))
}

// newCommand is a program with nothing in its surroundings but what it needs.
func (b *bench) newCommand(ctx context.Context, kubeconfig, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	search := strings.Join([]string{filepath.Dir(b.velero), os.Getenv("PATH")}, string(os.PathListSeparator))
	cmd.Env = []string{
		"HOME=" + b.homeDir,
		"PATH=" + search,
		"KUBECONFIG=" + kubeconfig,
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"TMPDIR=" + os.TempDir(),
	}
	return cmd
}

// patchStatus is a merge patch of an object's status.
func (b *bench) patchStatus(ctx context.Context, o client.Object, status string) error {
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":`+status+`}`))
	return b.client.Patch(ctx, o, patch)
}
