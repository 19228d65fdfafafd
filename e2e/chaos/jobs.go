package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
)

// jobActs are the jobs that end by themselves. Each act returns once it has
// nothing more to do, which may be before its job has ended.
var jobActs = map[Act]func(*run, context.Context, Step) error{
	PacedRestore: func(r *run, ctx context.Context, s Step) error {
		return r.restore(ctx, s.Name, base, source, lab.Annotations{lab.Pace: (s.Length / acted).String()})
	},
	QueuedRestore: func(r *run, ctx context.Context, s Step) error { return r.restore(ctx, s.Name, base, source, nil) },
	HeldRestore: func(r *run, ctx context.Context, s Step) error {
		return r.held(ctx, s, r.restore(ctx, s.Name, base, source, lab.Annotations{lab.Hold: s.Name}))
	},
	OperationsRestore: func(r *run, ctx context.Context, s Step) error {
		return r.restore(ctx, s.Name, base, source, lab.Annotations{lab.Operation: s.Length.String()})
	},
	HookRestore:       hookRestore,
	SpecHookRestore:   specHookRestore,
	TerminatingTarget: terminatingTarget,
	PacedBackup: func(r *run, ctx context.Context, s Step) error {
		return r.backup(ctx, s.Name, velerov1.BackupSpec{}, lab.Annotations{lab.Pace: (s.Length / acted).String()})
	},
	HeldBackup: heldBackup,
	HookBackup: hookBackup,
	OperationsBackup: func(r *run, ctx context.Context, s Step) error {
		return r.backup(ctx, s.Name, velerov1.BackupSpec{}, lab.Annotations{lab.Operation: s.Length.String()})
	},
	// LimitedBackup begins operations that never end, which its own limit ends.
	LimitedBackup: func(r *run, ctx context.Context, s Step) error {
		return r.backup(ctx, s.Name, velerov1.BackupSpec{ItemOperationTimeout: metav1.Duration{Duration: s.Length}},
			lab.Annotations{lab.Operation: "1s", lab.OperationHold: s.Name})
	},
	PodVolumeBackup: podVolumeBackup,
	MovingBackup: func(r *run, ctx context.Context, s Step) error {
		return r.moving(ctx, s.Name, 3, mover{length: s.Length})
	},
	DeletedBackup: deletedBackup,
	EverySchedule: func(r *run, ctx context.Context, s Step) error {
		if err := r.namespaceWith(ctx, s.Name, 3); err != nil {
			return err
		}
		return r.create(ctx, &velerov1.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: s.Name},
			Spec: velerov1.ScheduleSpec{
				Schedule: "* * * * *",
				Template: velerov1.BackupSpec{IncludedNamespaces: []string{s.Name}},
			},
		})
	},
}

// restore restores a namespace of a backup into one with the restore's name.
func (r *run) restore(ctx context.Context, name, from, namespace string, annotations lab.Annotations) error {
	return r.create(ctx, &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name, Annotations: annotations},
		Spec: velerov1.RestoreSpec{BackupName: from, IncludedNamespaces: []string{namespace},
			NamespaceMapping: map[string]string{namespace: name}},
	})
}

// backup backs a new namespace up, that of the backup's name unless the spec
// names one.
func (r *run) backup(ctx context.Context, name string, spec velerov1.BackupSpec, annotations lab.Annotations) error {
	if spec.IncludedNamespaces == nil {
		if err := r.namespaceWith(ctx, name, 20); err != nil {
			return err
		}
		spec.IncludedNamespaces = []string{name}
	}
	if spec.StorageLocation == "" {
		spec.StorageLocation = lab.Location
	}
	return r.create(
		ctx,
		&velerov1.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name, Annotations: annotations},
			Spec:       spec,
		},
	)
}

func (r *run) namespaceWith(ctx context.Context, name string, objects int) error {
	for _, o := range append([]client.Object{namespace(name)}, configMaps(name, objects)...) {
		if err := r.create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// held opens the gate of a job after the step's length.
func (r *run) held(ctx context.Context, s Step, created error) error {
	if created != nil {
		return created
	}
	sleep(ctx, s.Length)
	return r.lab.OpenGate(s.Name)
}

// heldBackup holds a backup, and has another behind it that shares its namespace.
func heldBackup(r *run, ctx context.Context, s Step) error {
	if err := r.backup(ctx, s.Name, velerov1.BackupSpec{}, lab.Annotations{lab.Hold: s.Name}); err != nil {
		return err
	}
	return r.held(
		ctx,
		s,
		r.backup(ctx, s.Name+"-behind", velerov1.BackupSpec{IncludedNamespaces: []string{s.Name}}, nil),
	)
}

// hookBackup holds a backup in the hook of a pod.
func hookBackup(r *run, ctx context.Context, s Step) error {
	if err := r.runningPod(ctx, s.Name, map[string]string{
		"pre.hook.backup.velero.io/command": `["gate","` + s.Name + `"]`, "pre.hook.backup.velero.io/timeout": "2h",
	}); err != nil {
		return err
	}
	return r.held(ctx, s, r.backup(ctx, s.Name, velerov1.BackupSpec{IncludedNamespaces: []string{s.Name}}, nil))
}

// runningPod makes a namespace with a pod that runs and has a volume.
func (r *run) runningPod(ctx context.Context, name string, annotations map[string]string) error {
	if err := r.namespaceWith(ctx, name, 5); err != nil {
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
	if err := r.create(ctx, pod); err != nil {
		return err
	}
	return r.retry(ctx, func() error { return r.lab.RunPod(ctx, name, pod.Name) })
}

func podVolumeBackup(r *run, ctx context.Context, s Step) error {
	if err := r.runningPod(ctx, s.Name, nil); err != nil {
		return err
	}
	yes := true
	return r.backup(
		ctx,
		s.Name,
		velerov1.BackupSpec{IncludedNamespaces: []string{s.Name}, DefaultVolumesToFsBackup: &yes},
		nil,
	)
}

// hookRestore restores a pod that does not run for a while, with a command to
// run in it. Since 1.18.3 Velero waits for it no longer than for other
// resources (pkg/controller/restore_finalizer_controller.go WaitRestoreExecHook).
func hookRestore(r *run, ctx context.Context, s Step) error {
	if err := r.restore(ctx, s.Name, hookSource, hookSource, nil); err != nil {
		return err
	}
	return r.runRestoredPod(ctx, s, "hook-restore")
}

// specHookRestore is hookRestore with the command in the restore's spec, and a pod that
// names none.
func specHookRestore(r *run, ctx context.Context, s Step) error {
	hook := velerov1.RestoreResourceHookSpec{
		Name: "warm-up",
		PostHooks: []velerov1.RestoreResourceHook{{Exec: &velerov1.ExecRestoreHook{
			Container: "db", Command: []string{"gate", s.Name},
		}}},
	}
	if err := r.create(ctx, &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: s.Name},
		Spec: velerov1.RestoreSpec{BackupName: plainSource, IncludedNamespaces: []string{plainSource},
			NamespaceMapping: map[string]string{plainSource: s.Name},
			Hooks:            velerov1.RestoreHooks{Resources: []velerov1.RestoreResourceHookSpec{hook}}},
	}); err != nil {
		return err
	}
	return r.runRestoredPod(ctx, s, s.Name)
}

// runRestoredPod runs the pod of a restore after the step's length, and then lets the
// command in it through its gate.
func (r *run) runRestoredPod(ctx context.Context, s Step, gate string) error {
	if err := r.until(ctx, "the pod to be restored", func() bool {
		return r.lab.Client.Get(ctx, client.ObjectKey{Namespace: s.Name, Name: "db-0"}, &corev1.Pod{}) == nil
	}); err != nil {
		return err
	}
	sleep(ctx, s.Length)
	if err := r.retry(ctx, func() error { return r.lab.RunPod(ctx, s.Name, "db-0") }); err != nil {
		return err
	}
	return r.lab.OpenGate(gate)
}

// terminatingTarget restores into a namespace that takes long to go, or longer
// than Velero waits.
func terminatingTarget(r *run, ctx context.Context, s Step) error {
	keeper := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "keeper", Finalizers: []string{"lab.veltui.io/keep"}},
	}
	if err := r.create(ctx, namespace(s.Name)); err != nil {
		return err
	}
	if err := r.create(ctx, keeper); err != nil {
		return err
	}
	if err := r.retry(ctx, func() error { return r.lab.Client.Delete(ctx, namespace(s.Name)) }); err != nil {
		return err
	}
	if err := r.restore(ctx, s.Name, base, source, nil); err != nil {
		return err
	}
	if _, err := r.await(
		ctx,
		"Restore",
		s.Name,
		"begin",
		func(h lab.History) bool { return h.State().Phase != "" },
	); err != nil {
		return err
	}
	sleep(ctx, s.Length)
	_, err := r.patch(ctx, keeper, `{"metadata":{"finalizers":null}}`)
	return err
}

// deletedBackup makes a backup and has Velero delete it.
func deletedBackup(r *run, ctx context.Context, s Step) error {
	if err := r.backup(ctx, s.Name, velerov1.BackupSpec{}, nil); err != nil {
		return err
	}
	if _, err := r.await(ctx, "Backup", s.Name, "end", lab.Ended); err != nil {
		return err
	}
	return r.deletion(ctx, s.Name)
}

// deletion asks Velero to delete a backup.
func (r *run) deletion(ctx context.Context, name string) error {
	return r.create(
		ctx,
		&velerov1.DeleteBackupRequest{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name},
			Spec: velerov1.DeleteBackupRequestSpec{BackupName: name}},
	)
}

// moving backs new volumes up whose data a mover is to move, as m says.
func (r *run) moving(ctx context.Context, name string, claims int, m mover) error {
	if err := r.namespaceWith(ctx, name, 3); err != nil {
		return err
	}
	for i := range claims {
		if err := r.retry(ctx, func() error {
			return client.IgnoreAlreadyExists(r.lab.CreateClaim(ctx, name, fmt.Sprintf("data-%d", i)))
		}); err != nil {
			return err
		}
	}
	m.length /= time.Duration(claims)
	r.movers.order(name, m)
	yes := true
	return r.backup(ctx, name, velerov1.BackupSpec{IncludedNamespaces: []string{name}, SnapshotMoveData: &yes}, nil)
}

// jobName is KIND/NAME in lower case.
func jobName(o *unstructured.Unstructured) string {
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

// ended reports whether a job is in a phase that Velero itself never leaves but
// to delete.
func ended(o *unstructured.Unstructured) bool { return lab.Ended(lab.History{{Object: o}}) }
