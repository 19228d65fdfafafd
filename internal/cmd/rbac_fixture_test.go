package cmd

import (
	"context"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// rightsCluster has something for every command to look at, and jobs for each
// role to change.
func (b *bed) rightsCluster(t *testing.T) {
	t.Cleanup(func() { // `backup delete` leaves the requests to Velero
		_ = b.client.DeleteAllOf(context.Background(), &veleroapi.DeleteBackupRequest{}, client.InNamespace("velero"))
	})
	t.Helper()
	ctx := t.Context()
	s := openStore(t, b)
	s.files = map[string]string{
		"RestoreResults/rights-done": quotaResults(),
		"RestoreLog/rights-done":     "time=\"2026-01-01T00:00:00Z\" level=info msg=restored\n",
	}
	s.stored(t, b, "rights-stored", veleroapi.BackupPhaseCompleted)
	done := restore(
		"rights-done",
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 7, Warnings: 1},
	)
	done.Spec.BackupName = "rights-stored"
	b.create(t, done)
	minuteAgo, justNow := metav1.NewTime(time.Now().Add(-time.Minute)), metav1.Now()
	b.create(t, &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "rights-lost"},
		Status: veleroapi.BackupStatus{
			Phase: veleroapi.BackupPhaseFailed, StartTimestamp: &minuteAgo, CompletionTimestamp: &justNow,
			FailureReason: `found a backup with status "InProgress" during the server starting, mark it as "Failed"`,
		},
	})
	b.rightsPods(t)
	for _, role := range append(slices.Clone(rbacRoles), everything) {
		b.create(t, inProgress("rights-"+role, time.Hour))
		b.readyToStart(t, "rights-wake-"+role)
		b.create(
			t,
			&veleroapi.Schedule{
				ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "rights-" + role},
				Spec:       veleroapi.ScheduleSpec{Schedule: "0 0 1 1 *"},
			},
		)
		b.ranHere(t, "rights-gone-"+role, "of-rights-stored")
		b.create(t, restore("rights-gone-"+role, veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
		name := "rights-failed-" + role
		backup := &veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
			Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFailed},
		}
		failed := restore(name, veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFailed})
		for _, o := range []client.Object{backup, failed} {
			if err := b.client.Create(ctx, o, client.FieldOwner("velero-server")); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.client.Delete(context.Background(), o) })
		}
		b.dataUpload(t, name+"-du", backup.UID, veleroapi.DataUploadPhaseInProgress)
		b.podVolumeBackup(t, name+"-pvb", backup.UID)
		b.dataDownload(t, name+"-dd", failed.UID, veleroapi.DataDownloadPhaseInProgress)
		b.podVolumeRestore(t, name+"-pvr", failed.UID)
	}
	// check and get look closer at the newest six jobs: those whose volumes need rights of their own come last.
	hourAgo := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	moving := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "rights-moving"},
		Spec:       veleroapi.BackupSpec{StorageLocation: "of-rights-stored"},
		Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress, StartTimestamp: &hourAgo},
	}
	b.create(t, moving)
	b.dataUpload(t, "rights-du", moving.UID, veleroapi.DataUploadPhasePrepared)
	b.podVolumeBackup(t, "rights-pvb", moving.UID)
	volumes := inProgress("rights-volumes", time.Hour)
	b.create(t, volumes)
	b.dataDownload(t, "rights-dd", volumes.UID, veleroapi.DataDownloadPhasePrepared)
	b.podVolumeRestore(t, "rights-pvr", volumes.UID)
	b.snapshotOf(t, "rights-moving")
	b.create(
		t,
		&veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "rights-policy"},
			Spec: veleroapi.ScheduleSpec{
				Schedule: "0 0 1 1 *",
				Template: veleroapi.BackupSpec{
					ResourcePolicy: &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "rights-slots"},
				},
			},
		},
	)
	b.openShift(t)
	if err := b.EnsureNamespace(ctx, etcd.Namespace); err != nil {
		t.Fatal(err)
	}
	b.etcdBackup(t, "rights-etcd", "BackupCompleted", "Complete")
	ran := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: etcd.Namespace,
			Name:      "rights-etcd",
			Labels:    map[string]string{"app": "cluster-backup-job", "backup-name": "rights-etcd"},
		},
		Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "backup", Image: "x"}},
				},
			},
		},
	}
	b.create(t, ran)
	b.pod(
		t,
		etcd.Namespace,
		"rights-etcd-1",
		map[string]string{"batch.kubernetes.io/job-name": "rights-etcd"},
		corev1.Container{Name: "backup", Image: "x"},
		corev1.PodStatus{Phase: corev1.PodSucceeded},
	)
}

// ranHere creates a backup that this cluster made: its phases have changed its generation.
func (b *bed) ranHere(t *testing.T, name, location string) *veleroapi.Backup {
	t.Helper()
	o := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
		Spec:       veleroapi.BackupSpec{StorageLocation: location},
	}
	b.create(t, o)
	for _, phase := range []veleroapi.BackupPhase{veleroapi.BackupPhaseInProgress, veleroapi.BackupPhaseCompleted} {
		o.Status.Phase = phase
		o.Status.StartTimestamp = &metav1.Time{Time: o.CreationTimestamp.Time}
		if err := b.client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func (b *bed) pod(
	t *testing.T,
	namespace, name string,
	labels map[string]string,
	c corev1.Container,
	status corev1.PodStatus,
) {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName:                      "rights-node",
			Containers:                    []corev1.Container{c},
			TerminationGracePeriodSeconds: new(int64),
		},
	}
	b.create(t, p)
	p.Status = status
	if err := b.client.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// rightsPods are Velero's server, which started after all jobs did, and a
// node-agent whose ConfigMap has slots for its node.
func (b *bed) rightsPods(t *testing.T) {
	t.Helper()
	b.veleroPod(t, time.Now().Add(10*time.Minute))
	b.create(
		t,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "rights-node", Labels: map[string]string{"pool": "db"}}},
	)
	b.create(
		t,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "rights-slots"},
			Data: map[string]string{
				"config.json": `{"loadConcurrency":{"globalConfig":1,"perNodeConfig":[{"nodeSelector":{"matchLabels":{"pool":"db"}},"number":3}]}}`,
			},
		},
	)
	b.pod(
		t,
		"velero",
		"node-agent-rights",
		map[string]string{"role": "node-agent", "name": "node-agent"},
		corev1.Container{
			Name:  "node-agent",
			Image: "velero/velero:v1.18.3",
			Args:  []string{"node-agent", "server", "--node-agent-configmap=rights-slots"},
		},
		corev1.PodStatus{
			Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{
				{
					Name:  "node-agent",
					Ready: true,
					State: corev1.ContainerState{
						Running: &corev1.ContainerStateRunning{
							StartedAt: metav1.NewTime(time.Now().Add(10 * time.Minute)),
						},
					},
				},
			},
		},
	)
}

func ofBackup(name string, uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "velero",
		Name:      name,
		Labels:    map[string]string{veleroapi.BackupUIDLabel: string(uid)},
	}
}

func ofRestore(name string, uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "velero",
		Name:      name,
		Labels:    map[string]string{veleroapi.RestoreUIDLabel: string(uid)},
	}
}

func (b *bed) dataUpload(t *testing.T, name string, uid types.UID, phase veleroapi.DataUploadPhase) {
	t.Helper()
	b.create(t, &veleroapi.DataUpload{ObjectMeta: ofBackup(name, uid),
		Spec:   veleroapi.DataUploadSpec{SourcePVC: "pg", SourceNamespace: "shop"},
		Status: veleroapi.DataUploadStatus{Phase: phase, Node: "rights-node"}})
}

func (b *bed) dataDownload(t *testing.T, name string, uid types.UID, phase veleroapi.DataDownloadPhase) {
	t.Helper()
	b.create(t, &veleroapi.DataDownload{
		ObjectMeta: ofRestore(name, uid),
		Spec: veleroapi.DataDownloadSpec{
			TargetVolume: veleroapi.TargetVolumeSpec{PVC: "pg", Namespace: "shop"},
		},
		Status: veleroapi.DataDownloadStatus{Phase: phase, Node: "rights-node"},
	})
}

func (b *bed) podVolumeBackup(t *testing.T, name string, uid types.UID) {
	t.Helper()
	v := &veleroapi.PodVolumeBackup{
		ObjectMeta: ofBackup(name, uid),
		Spec:       veleroapi.PodVolumeBackupSpec{Volume: "spool", UploaderType: "kopia", Node: "rights-node"},
		Status:     veleroapi.PodVolumeBackupStatus{Phase: veleroapi.PodVolumeBackupPhaseInProgress},
	}
	v.Spec.Pod.Namespace, v.Spec.Pod.Name = "shop", "mail-0"
	b.create(t, v)
}

func (b *bed) podVolumeRestore(t *testing.T, name string, uid types.UID) {
	t.Helper()
	v := &veleroapi.PodVolumeRestore{
		ObjectMeta: ofRestore(name, uid),
		Spec:       veleroapi.PodVolumeRestoreSpec{Volume: "spool", UploaderType: "kopia"},
		Status: veleroapi.PodVolumeRestoreStatus{
			Phase: veleroapi.PodVolumeRestorePhaseInProgress,
			Node:  "rights-node",
		},
	}
	v.Spec.Pod.Namespace, v.Spec.Pod.Name = "shop", "mail-0"
	b.create(t, v)
}

// snapshotOf makes a CSI snapshot that a backup waits for.
func (b *bed) snapshotOf(t *testing.T, backup string) {
	t.Helper()
	yes := true
	crd := func(plural, kind string, scope apiextensionsv1.ResourceScope) {
		b.create(t, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{
				Name:        plural + ".snapshot.storage.k8s.io",
				Annotations: map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, for a test"},
			},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "snapshot.storage.k8s.io",
				Scope: scope,
				Names: apiextensionsv1.CustomResourceDefinitionNames{
					Plural:   plural,
					Kind:     kind,
					ListKind: kind + "List",
				},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
					{
						Name:    "v1",
						Served:  true,
						Storage: true,
						Schema: &apiextensionsv1.CustomResourceValidation{
							OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
								Type:                   "object",
								XPreserveUnknownFields: &yes,
							},
						},
					},
				},
			},
		})
	}
	crd("volumesnapshots", "VolumeSnapshot", apiextensionsv1.NamespaceScoped)
	crd("volumesnapshotclasses", "VolumeSnapshotClass", apiextensionsv1.ClusterScoped)
	crd("volumesnapshotcontents", "VolumeSnapshotContent", apiextensionsv1.ClusterScoped)
	for _, u := range []*unstructured.Unstructured{
		{Object: map[string]any{"kind": "VolumeSnapshotContent", "metadata": map[string]any{"name": "rights-content"}}},
		{Object: map[string]any{"kind": "VolumeSnapshot", "metadata": map[string]any{"name": "rights-snapshot", "namespace": "velero",
			"labels": map[string]any{veleroapi.BackupNameLabel: backup}}, "status": map[string]any{"boundVolumeSnapshotContentName": "rights-content"}}},
	} {
		u.SetAPIVersion("snapshot.storage.k8s.io/v1")
		eventually(
			t,
			u.GetKind()+" is served",
			func() bool { return b.client.Create(t.Context(), u.DeepCopy()) == nil },
		)
		t.Cleanup(func() { _ = b.client.Delete(context.Background(), u) })
	}
}
