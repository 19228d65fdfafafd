package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// deadActs are the jobs that die.
var deadActs = map[Act]func(*storyRun, context.Context, Step) error{
	CrashWithMark:      crashWithMark,
	LosePatchOfRestore: losePatchOfRestore,
	LosePatchOfBackup:  losePatchOfBackup,
	EditPhase:          editPhase,
	DeleteLocation:     deleteLocation,
	FailDeletion:       failDeletion,
	DeleteMover:        deleteMover,
	HangCache:          hangCache,
}

// lastPhases are those that a job's last status may carry while it is InProgress.
var lastPhases = []string{"WaitingForPluginOperations", "WaitingForPluginOperationsPartiallyFailed", "Finalizing",
	"FinalizingPartiallyFailed", "Completed", "PartiallyFailed", "Failed"}

func backupOf(namespace string) veleroapi.BackupSpec {
	return veleroapi.BackupSpec{IncludedNamespaces: []string{namespace}}
}

// denyPhases makes the API server refuse some phases of a job.
func (r *storyRun) denyPhases(ctx context.Context, kind, name string, phases ...string) error {
	return r.retryUntilDone(ctx, func() error { return r.lab.DenyPhases(ctx, kind, name, phases...) })
}

func losePatchOfRestore(r *storyRun, ctx context.Context, s Step) error {
	if err := r.denyPhases(ctx, "Restore", s.Name, lastPhases...); err != nil {
		return err
	}
	if err := r.createRestore(
		ctx,
		s.Name,
		baseBackup,
		sourceNamespace,
		lab.Annotations{lab.PaceAnnotation: "1s"},
	); err != nil {
		return err
	}
	return r.losePatch(ctx, "Restore", s.Name, "restores/"+s.Name+"/"+s.Name+"-volumeinfo.json.gz")
}

func losePatchOfBackup(r *storyRun, ctx context.Context, s Step) error {
	if err := r.denyPhases(ctx, "Backup", s.Name, lastPhases...); err != nil {
		return err
	}
	if err := r.createBackup(ctx, s.Name, veleroapi.BackupSpec{}, lab.Annotations{lab.PaceAnnotation: "1s"}); err != nil {
		return err
	}
	return r.losePatch(ctx, "Backup", s.Name, "backups/"+s.Name+"/velero-backup.json")
}

// denyDuration is how long the last status of a job is denied where Velero never gives up.
const denyDuration = 30 * time.Second

// losePatch waits for a job's last upload, after which it asks for nothing more
// but to have its last status taken, and until Velero no longer asks for that. Without a
// resource timeout Velero asks for ever, and the status is late.
func (r *storyRun) losePatch(ctx context.Context, kind, name, last string) error {
	if err := r.waitUntil(ctx, "the last upload of "+name, func() bool { return r.lab.ObjectExists(last) }); err != nil {
		return err
	}
	denied := denyDuration
	if limit := r.story.Limits.Resource; limit > 0 {
		denied = giveUpDelay(limit) + 15*time.Second
		if err := r.recordDeath(map[string]string{"Backup": "backup/", "Restore": "restore/"}[kind] + name); err != nil {
			return err
		}
	}
	sleepContext(ctx, denied)
	return r.retryUntilDone(ctx, func() error { return r.lab.AllowPhases(ctx, kind, name) })
}

// editPhase writes InProgress over the end of a restore, which nobody works on
// then, and has the only worker take another.
func editPhase(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createRestore(ctx, s.Name, baseBackup, sourceNamespace, nil); err != nil {
		return err
	}
	if _, err := r.awaitJob(ctx, "Restore", s.Name, "end", lab.HasEnded); err != nil {
		return err
	}
	if err := r.editByHand(
		ctx,
		&veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: s.Name}},
		"restore/"+s.Name,
		`{"status":{"phase":"InProgress","completionTimestamp":null}}`,
	); err != nil {
		return err
	}
	next := s.Name + "-next"
	if err := r.createRestore(ctx, next, baseBackup, sourceNamespace, nil); err != nil {
		return err
	}
	if _, err := r.awaitJob(
		ctx,
		"Restore",
		next,
		"begin",
		func(h lab.History) bool { return h.LastState().Phase != "" && h.LastState().Phase != "New" },
	); err != nil {
		return err
	}
	return r.recordDeath("restore/" + s.Name)
}

// editByHand changes a job by hand.
func (r *storyRun) editByHand(ctx context.Context, o client.Object, job, json string) error {
	version, err := r.patchObject(ctx, o, json)
	r.recording.AddEntry(Entry{Kind: EditEntry, Job: job, Version: version, Text: json})
	return err
}

// deleteLocation deletes the location of a backup that is then to be finalized.
func deleteLocation(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createBackup(ctx, s.Name, veleroapi.BackupSpec{StorageLocation: spareName}, nil); err != nil {
		return err
	}
	if _, err := r.awaitJob(ctx, "Backup", s.Name, "end", lab.HasEnded); err != nil {
		return err
	}
	location := &veleroapi.BackupStorageLocation{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: spareName}}
	if err := r.retryUntilDone(
		ctx,
		func() error { return client.IgnoreNotFound(r.lab.Client.Delete(ctx, location)) },
	); err != nil {
		return err
	}
	if err := r.editByHand(
		ctx,
		&veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: s.Name}},
		"backup/"+s.Name,
		`{"status":{"phase":"Finalizing","completionTimestamp":null}}`,
	); err != nil {
		return err
	}
	return r.recordDeath("backup/" + s.Name)
}

// failDeletion has a backup deleted while the object store is away, before
// Velero knows that it is.
func failDeletion(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createBackup(ctx, s.Name, veleroapi.BackupSpec{}, nil); err != nil {
		return err
	}
	if _, err := r.awaitJob(ctx, "Backup", s.Name, "end", lab.HasEnded); err != nil {
		return err
	}
	return r.causeOutage(ctx, Step{Name: s.Name, Length: 5 * time.Second}, func() error {
		if err := r.lab.KillS3(); err != nil {
			return err
		}
		if err := r.requestDeletion(ctx, s.Name); err != nil {
			return err
		}
		var request veleroapi.DeleteBackupRequest
		if err := r.waitUntil(ctx, "the deletion to end", func() bool {
			err := r.lab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: s.Name}, &request)
			return err == nil && request.Status.Phase == veleroapi.DeleteBackupRequestPhaseProcessed
		}); err != nil {
			return err
		}
		if h, err := r.lab.ReadJob(ctx, "Backup", s.Name); err != nil || h.LastState().Phase != "Deleting" {
			return fmt.Errorf("the backup is %s, not Deleting (%w)", h.Summary(), err)
		}
		return r.recordDeath("backup/" + s.Name)
	}, func() error { return r.lab.StartS3(ctx) })
}

// deleteMover deletes the pod that moves a volume.
func deleteMover(r *storyRun, ctx context.Context, s Step) error {
	if err := r.createMovingBackup(ctx, s.Name, 1, moverOrder{hangs: true}); err != nil {
		return err
	}
	upload, err := r.awaitUpload(ctx, s.Name, veleroapi.DataUploadPhaseInProgress)
	if err != nil {
		return err
	}
	sleepContext(ctx, 5*time.Second)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: upload}}
	if err := r.retryUntilDone(
		ctx,
		func() error { return r.lab.Client.Delete(ctx, pod, client.GracePeriodSeconds(0)) },
	); err != nil {
		return err
	}
	return r.recordDeath("backup/" + s.Name)
}

// awaitUpload waits until a DataUpload of a backup is in a phase.
func (r *storyRun) awaitUpload(
	ctx context.Context,
	backup string,
	phase veleroapi.DataUploadPhase,
) (name string, err error) {
	var list veleroapi.DataUploadList
	_, err = r.awaitJob(ctx, "Backup", backup, "have an upload that is "+string(phase), func(h lab.History) bool {
		if lab.HasEnded(h) {
			return true
		}
		if r.lab.Client.List(
			ctx,
			&list,
			client.InNamespace(lab.Namespace),
			client.MatchingLabels{veleroapi.BackupNameLabel: backup},
		) != nil {
			return false
		}
		i := slices.IndexFunc(list.Items, func(u veleroapi.DataUpload) bool { return u.Status.Phase == phase })
		if i >= 0 {
			name = list.Items[i].Name
		}
		return i >= 0
	})
	if err == nil && name == "" {
		err = fmt.Errorf("backup %s ended before its upload was %s", backup, phase)
	}
	return name, err
}

// hangCache stops serving the version of a kind that the server has just seen,
// and restores an object of it: Velero waits without limit for a list of them.
func hangCache(r *storyRun, ctx context.Context, s Step) error {
	definition := trapDefinition()
	if err := r.waitUntil(ctx, "no other restore", func() bool {
		var list veleroapi.RestoreList
		if r.lab.Client.List(ctx, &list, client.InNamespace(lab.Namespace)) != nil {
			return false
		}
		return !slices.ContainsFunc(list.Items, func(x veleroapi.Restore) bool {
			return x.Status.Phase == "" || x.Status.Phase == veleroapi.RestorePhaseNew ||
				x.Status.Phase == veleroapi.RestorePhaseInProgress && !r.isDead("restore/"+x.Name)
		})
	}); err != nil {
		return err
	}
	_, logged, err := r.lab.VeleroLog(0)
	if err != nil {
		return err
	}
	if _, err := r.patchObject(ctx, definition, versionsPatch(false, true)); err != nil {
		return err
	}
	if err := r.createRestore(ctx, s.Name, trapNamespace, trapNamespace, nil); err != nil {
		return err
	}
	if err := r.lab.AwaitLog(ctx, logged, "waiting informer cache sync", s.Name); err != nil {
		return err
	}
	return r.recordDeath("restore/" + s.Name)
}

func (r *storyRun) isDead(job string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deadJobs[job]
}

// versionsPatch is a patch of the trap's definition.
func versionsPatch(first, second bool) string {
	const version = `{"name":%q,"served":%t,"storage":%t,` +
		`"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`
	return `{"spec":{"versions":[` +
		fmt.Sprintf(version, "v1", first, true) + "," +
		fmt.Sprintf(version, "v2", second, false) + `]}}`
}
