package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// jobActs are the jobs that end by themselves. Each act returns once it has
// nothing more to do, which may be before its job has ended.
var jobActs = map[Act]func(*storyRun, context.Context, Step) error{
	PacedRestore: func(r *storyRun, ctx context.Context, s Step) error {
		return r.createRestore(
			ctx,
			s.Name,
			baseBackup,
			sourceNamespace,
			lab.Annotations{lab.PaceAnnotation: (s.Length / actedObjects).String()},
		)
	},
	QueuedRestore: func(r *storyRun, ctx context.Context, s Step) error {
		return r.createRestore(ctx, s.Name, baseBackup, sourceNamespace, nil)
	},
	HeldRestore: func(r *storyRun, ctx context.Context, s Step) error {
		return r.openGateAfter(
			ctx,
			s,
			r.createRestore(ctx, s.Name, baseBackup, sourceNamespace, lab.Annotations{lab.HoldAnnotation: s.Name}),
		)
	},
	OperationsRestore: func(r *storyRun, ctx context.Context, s Step) error {
		return r.createRestore(
			ctx,
			s.Name,
			baseBackup,
			sourceNamespace,
			lab.Annotations{lab.OperationAnnotation: s.Length.String()},
		)
	},
	HookRestore:       runHookRestore,
	SpecHookRestore:   runSpecHookRestore,
	TerminatingTarget: runTerminatingTarget,
	PacedBackup: func(r *storyRun, ctx context.Context, s Step) error {
		return r.createBackup(
			ctx,
			s.Name,
			veleroapi.BackupSpec{},
			lab.Annotations{lab.PaceAnnotation: (s.Length / actedObjects).String()},
		)
	},
	HeldBackup: runHeldBackup,
	HookBackup: runHookBackup,
	OperationsBackup: func(r *storyRun, ctx context.Context, s Step) error {
		return r.createBackup(
			ctx,
			s.Name,
			veleroapi.BackupSpec{},
			lab.Annotations{lab.OperationAnnotation: s.Length.String()},
		)
	},
	// LimitedBackup begins operations that never end, which its own limit ends.
	LimitedBackup: func(r *storyRun, ctx context.Context, s Step) error {
		return r.createBackup(ctx, s.Name, veleroapi.BackupSpec{ItemOperationTimeout: metav1.Duration{Duration: s.Length}},
			lab.Annotations{lab.OperationAnnotation: "1s", lab.OperationHoldAnnotation: s.Name})
	},
	PodVolumeBackup: runPodVolumeBackup,
	MovingBackup: func(r *storyRun, ctx context.Context, s Step) error {
		return r.createMovingBackup(ctx, s.Name, 3, moverOrder{length: s.Length})
	},
	DeletedBackup: runDeletedBackup,
	EverySchedule: func(r *storyRun, ctx context.Context, s Step) error {
		if err := r.createFilledNamespace(ctx, s.Name, 3); err != nil {
			return err
		}
		return r.createObject(ctx, &veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: s.Name},
			Spec: veleroapi.ScheduleSpec{
				Schedule: "* * * * *",
				Template: veleroapi.BackupSpec{IncludedNamespaces: []string{s.Name}},
			},
		})
	},
}

// createRestore restores a namespace of a backup into one with the restore's name.
func (r *storyRun) createRestore(ctx context.Context, name, from, namespace string, annotations lab.Annotations) error {
	return r.createObject(ctx, &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name, Annotations: annotations},
		Spec: veleroapi.RestoreSpec{BackupName: from, IncludedNamespaces: []string{namespace},
			NamespaceMapping: map[string]string{namespace: name}},
	})
}

// createBackup backs a new namespace up, that of the backup's name unless the spec
// names one.
func (r *storyRun) createBackup(
	ctx context.Context,
	name string,
	spec veleroapi.BackupSpec,
	annotations lab.Annotations,
) error {
	if spec.IncludedNamespaces == nil {
		if err := r.createFilledNamespace(ctx, name, 20); err != nil {
			return err
		}
		spec.IncludedNamespaces = []string{name}
	}
	if spec.StorageLocation == "" {
		spec.StorageLocation = lab.LocationName
	}
	return r.createObject(
		ctx,
		&veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name, Annotations: annotations},
			Spec:       spec,
		},
	)
}

func (r *storyRun) createFilledNamespace(ctx context.Context, name string, objects int) error {
	for _, o := range append([]client.Object{newNamespace(name)}, newConfigMaps(name, objects)...) {
		if err := r.createObject(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// openGateAfter opens the gate of a job after the step's length.
func (r *storyRun) openGateAfter(ctx context.Context, s Step, created error) error {
	if created != nil {
		return created
	}
	sleepContext(ctx, s.Length)
	return r.lab.OpenGate(s.Name)
}

// runHeldBackup holds a backup, and has another behind it that shares its namespace.
func runHeldBackup(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createBackup(
		ctx,
		s.Name,
		veleroapi.BackupSpec{},
		lab.Annotations{lab.HoldAnnotation: s.Name},
	); err != nil {
		return err
	}
	return r.openGateAfter(
		ctx,
		s,
		r.createBackup(ctx, s.Name+"-behind", veleroapi.BackupSpec{IncludedNamespaces: []string{s.Name}}, nil),
	)
}

// runHookBackup holds a backup in the hook of a pod.
func runHookBackup(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createRunningPod(ctx, s.Name, map[string]string{
		"pre.hook.backup.velero.io/command": `["gate","` + s.Name + `"]`, "pre.hook.backup.velero.io/timeout": "2h",
	}); err != nil {
		return err
	}
	return r.openGateAfter(
		ctx,
		s,
		r.createBackup(ctx, s.Name, veleroapi.BackupSpec{IncludedNamespaces: []string{s.Name}}, nil),
	)
}

// createRunningPod makes a namespace with a pod that runs and has a volume.
func (r *storyRun) createRunningPod(ctx context.Context, name string, annotations map[string]string) error {
	if err := r.createFilledNamespace(ctx, name, 5); err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "db-0", Annotations: annotations},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "db", Image: "registry.example.com/lab/db:1",
				VolumeMounts: []corev1.VolumeMount{{Name: "files", MountPath: "/files"}}}},
			Volumes: []corev1.Volume{
				{Name: "files", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
	if err := r.createObject(ctx, pod); err != nil {
		return err
	}
	return r.retryUntilDone(ctx, func() error { return r.lab.RunPod(ctx, name, pod.Name) })
}

func runPodVolumeBackup(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createRunningPod(ctx, s.Name, nil); err != nil {
		return err
	}
	yes := true
	return r.createBackup(
		ctx,
		s.Name,
		veleroapi.BackupSpec{IncludedNamespaces: []string{s.Name}, DefaultVolumesToFsBackup: &yes},
		nil,
	)
}

// runHookRestore restores a pod that does not run for a while, with a command to
// run in it. Since 1.18.3 Velero waits for it no longer than for other
// resources (pkg/controller/restore_finalizer_controller.go WaitRestoreExecHook).
func runHookRestore(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createRestore(ctx, s.Name, hookSource, hookSource, nil); err != nil {
		return err
	}
	return r.runRestoredPod(ctx, s, "hook-restore")
}

// runSpecHookRestore is runHookRestore with the command in the restore's spec, and a pod that
// names none.
func runSpecHookRestore(r *storyRun, ctx context.Context, s Step) error {
	hook := veleroapi.RestoreResourceHookSpec{
		Name: "warm-up",
		PostHooks: []veleroapi.RestoreResourceHook{{Exec: &veleroapi.ExecRestoreHook{
			Container: "db", Command: []string{"gate", s.Name},
		}}},
	}
	if err := r.createObject(ctx, &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: s.Name},
		Spec: veleroapi.RestoreSpec{BackupName: plainSource, IncludedNamespaces: []string{plainSource},
			NamespaceMapping: map[string]string{plainSource: s.Name},
			Hooks:            veleroapi.RestoreHooks{Resources: []veleroapi.RestoreResourceHookSpec{hook}}},
	}); err != nil {
		return err
	}
	return r.runRestoredPod(ctx, s, s.Name)
}

// runRestoredPod runs the pod of a restore after the step's length, and then lets the
// command in it through its gate.
func (r *storyRun) runRestoredPod(ctx context.Context, s Step, gate string) error {
	if err := r.waitUntil(ctx, "the pod to be restored", func() bool {
		return r.lab.Client.Get(ctx, client.ObjectKey{Namespace: s.Name, Name: "db-0"}, &corev1.Pod{}) == nil
	}); err != nil {
		return err
	}
	sleepContext(ctx, s.Length)
	if err := r.retryUntilDone(ctx, func() error { return r.lab.RunPod(ctx, s.Name, "db-0") }); err != nil {
		return err
	}
	return r.lab.OpenGate(gate)
}

// runTerminatingTarget restores into a namespace that takes long to go, or longer
// than Velero waits.
func runTerminatingTarget(r *storyRun, ctx context.Context, s Step) error {
	keeper := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "keeper", Finalizers: []string{"lab.veltui.io/keep"}},
	}
	if err := r.createObject(ctx, newNamespace(s.Name)); err != nil {
		return err
	}
	if err := r.createObject(ctx, keeper); err != nil {
		return err
	}
	if err := r.retryUntilDone(ctx, func() error { return r.lab.Client.Delete(ctx, newNamespace(s.Name)) }); err != nil {
		return err
	}
	if err := r.createRestore(ctx, s.Name, baseBackup, sourceNamespace, nil); err != nil {
		return err
	}
	if _, err := r.awaitJob(
		ctx,
		"Restore",
		s.Name,
		"begin",
		func(h lab.History) bool { return h.LastState().Phase != "" },
	); err != nil {
		return err
	}
	sleepContext(ctx, s.Length)
	_, err := r.patchObject(ctx, keeper, `{"metadata":{"finalizers":null}}`)
	return err
}

// runDeletedBackup makes a backup and has Velero delete it.
func runDeletedBackup(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createBackup(ctx, s.Name, veleroapi.BackupSpec{}, nil); err != nil {
		return err
	}
	if _, err := r.awaitJob(ctx, "Backup", s.Name, "end", lab.HasEnded); err != nil {
		return err
	}
	return r.requestDeletion(ctx, s.Name)
}

// requestDeletion asks Velero to delete a backup.
func (r *storyRun) requestDeletion(ctx context.Context, name string) error {
	return r.createObject(
		ctx,
		&veleroapi.DeleteBackupRequest{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name},
			Spec: veleroapi.DeleteBackupRequestSpec{BackupName: name}},
	)
}

// createMovingBackup backs new volumes up whose data a mover is to move, as m says.
func (r *storyRun) createMovingBackup(ctx context.Context, name string, claims int, m moverOrder) error {
	if err := r.createFilledNamespace(ctx, name, 3); err != nil {
		return err
	}
	for i := range claims {
		if err := r.retryUntilDone(ctx, func() error {
			return client.IgnoreAlreadyExists(r.lab.CreateClaim(ctx, name, fmt.Sprintf("data-%d", i)))
		}); err != nil {
			return err
		}
	}
	m.length /= time.Duration(claims)
	r.movers.setOrder(name, m)
	yes := true
	return r.createBackup(ctx, name, veleroapi.BackupSpec{IncludedNamespaces: []string{name}, SnapshotMoveData: &yes}, nil)
}

// jobName is KIND/NAME in lower case.
func jobName(o *unstructured.Unstructured) string {
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

// hasEnded reports whether a job is in a phase that Velero itself never leaves but
// to delete.
func hasEnded(o *unstructured.Unstructured) bool { return lab.HasEnded(lab.History{{Object: o}}) }
