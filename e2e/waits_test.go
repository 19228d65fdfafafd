//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestLongHook holds a backup in the pre-hook of a pod, as a database's dump
// does: Velero says nothing for as long as the hook's time-out lets it, and it
// is well.
func TestLongHook(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx))
	const name = "hooked"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "db-0", Annotations: map[string]string{
			"pre.hook.backup.velero.io/command": `["gate","hooked"]`,
			"pre.hook.backup.velero.io/timeout": "2h",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "registry.example.com/lab/db:1"}}},
	}
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	must(t, theLab.CreatePod(ctx, pod))
	must(t, theLab.RunPod(ctx, pod.Namespace, pod.Name))
	_, logged, err := theLab.VeleroLog(0)
	must(t, err)
	createBackup(t, name, veleroapi.BackupSpec{IncludedNamespaces: []string{name}}, nil)
	must(t, theLab.AwaitLog(ctx, logged, "running exec hook", lab.Namespace+"/"+name))

	for _, by := range []time.Duration{20 * time.Minute, 110 * time.Minute} {
		at := shifted(t, "hook-"+by.String(), older(by, func(_, n string) bool { return n == name }))
		explain(t, at, "backup/"+name).wantAlive(t)
		wantRefused(t, at, "Backup", name)
	}
	must(t, theLab.OpenGate(name))
	h := ended(t, "Backup", name)
	wantEnd(t, h, "Completed")
	status, _, err := unstructured.NestedMap(h.LastEvent().Object.Object, "status", "hookStatus")
	must(t, err)
	if status["hooksAttempted"] != int64(1) || status["hooksFailed"] != nil {
		t.Errorf("hooks %v, want 1 attempted and none failed", status)
	}
}

// TestTerminatingNamespace restores into a namespace that is being deleted and
// does not go. Velero waits for it in silence, and this server for longer than
// others do.
func TestTerminatingNamespace(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx, "--resource-timeout=2m", "--terminating-resource-timeout=40m"))
	fullBackup(t)
	const name = "terminating"
	keeper := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "keeper", Finalizers: []string{"lab.veltui.io/keep"}},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(t, theLab.Client.Create(ctx, namespace))
	must(t, theLab.Client.Create(ctx, keeper))
	must(t, theLab.Client.Delete(ctx, namespace))
	_, logged, err := theLab.VeleroLog(0)
	must(t, err)
	createRestore(t, name, veleroapi.RestoreSpec{
		BackupName:         full,
		IncludedNamespaces: []string{"media"},
		IncludedResources:  []string{"configmaps"},
		NamespaceMapping:   map[string]string{"media": name},
	}, nil)
	must(t, theLab.AwaitLog(ctx, logged, "will be restored into namespace", name))

	for _, by := range []time.Duration{8 * time.Minute, 30 * time.Minute} {
		at := shifted(t, name+by.String(), older(by, func(_, n string) bool { return n == name }))
		explain(t, at, "restore/"+name).wantAlive(t, "namespace "+name)
		wantRefused(t, at, "Restore", name)
	}
	must(
		t,
		theLab.Client.Patch(
			ctx,
			keeper,
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)),
		),
	)
	wantEnd(t, ended(t, "Restore", name), "Completed")
}

// TestLocationBecomesReadOnly takes the right to write from the location of a
// backup that waits for its operations. Velero's server then ends it as
// PartiallyFailed without finalizing it, as soon as it looks.
func TestLocationBecomesReadOnly(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx))
	const name = "only-read"
	createBackup(
		t,
		name,
		veleroapi.BackupSpec{IncludedNamespaces: []string{"ops"}},
		lab.Annotations{lab.OperationAnnotation: "1s", lab.OperationHoldAnnotation: name},
	)
	await(t, "Backup", name, "wait for its operations", lab.InPhase(waiting))
	must(t, theLab.PauseVelero())
	setAccess(t, veleroapi.BackupStorageLocationAccessModeReadOnly)
	at := shifted(t, name, older(10*time.Minute, func(kind, n string) bool { return n == name }))
	explain(t, at, "backup/"+name).wantWords(t, "storage location "+lab.LocationName, "read-only")
	must(t, theLab.ResumeVelero())
	h := ended(t, "Backup", name)
	setAccess(t, veleroapi.BackupStorageLocationAccessModeReadWrite)
	wantEnd(t, h, "PartiallyFailed")
	wantPhases(t, h, backupPhases(t, "InProgress", waiting, "PartiallyFailed"))
	wantTold(t, h)
}
