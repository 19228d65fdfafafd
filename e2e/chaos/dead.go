package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
)

// deadActs are the jobs that die.
var deadActs = map[Act]func(*run, context.Context, Step) error{
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

func backupOf(namespace string) velerov1.BackupSpec {
	return velerov1.BackupSpec{IncludedNamespaces: []string{namespace}}
}

// deny makes the API server refuse some phases of a job.
func (r *run) deny(ctx context.Context, kind, name string, phases ...string) error {
	return r.retry(ctx, func() error { return r.lab.Deny(ctx, kind, name, phases...) })
}

func losePatchOfRestore(r *run, ctx context.Context, s Step) error {
	if err := r.deny(ctx, "Restore", s.Name, lastPhases...); err != nil {
		return err
	}
	if err := r.restore(ctx, s.Name, base, source, lab.Annotations{lab.Pace: "1s"}); err != nil {
		return err
	}
	return r.losePatch(ctx, "Restore", s.Name, "restores/"+s.Name+"/"+s.Name+"-volumeinfo.json.gz")
}

func losePatchOfBackup(r *run, ctx context.Context, s Step) error {
	if err := r.deny(ctx, "Backup", s.Name, lastPhases...); err != nil {
		return err
	}
	if err := r.backup(ctx, s.Name, velerov1.BackupSpec{}, lab.Annotations{lab.Pace: "1s"}); err != nil {
		return err
	}
	return r.losePatch(ctx, "Backup", s.Name, "backups/"+s.Name+"/velero-backup.json")
}

// lateFor is how long the last status of a job is denied where Velero never gives up.
const lateFor = 30 * time.Second

// losePatch waits for a job's last upload, after which it asks for nothing more
// but to have its last status taken, and until Velero no longer asks for that. Without a
// resource timeout Velero asks for ever, and the status is late.
func (r *run) losePatch(ctx context.Context, kind, name, last string) error {
	if err := r.until(ctx, "the last upload of "+name, func() bool { return r.lab.StoredExists(last) }); err != nil {
		return err
	}
	denied := lateFor
	if limit := r.story.Limits.Resource; limit > 0 {
		denied = givesUpAfter(limit) + 15*time.Second
		if err := r.dies(map[string]string{"Backup": "backup/", "Restore": "restore/"}[kind] + name); err != nil {
			return err
		}
	}
	sleep(ctx, denied)
	return r.retry(ctx, func() error { return r.lab.Allow(ctx, kind, name) })
}

// editPhase writes InProgress over the end of a restore, which nobody works on
// then, and has the only worker take another.
func editPhase(r *run, ctx context.Context, s Step) error {
	if err := r.restore(ctx, s.Name, base, source, nil); err != nil {
		return err
	}
	if _, err := r.await(ctx, "Restore", s.Name, "end", lab.Ended); err != nil {
		return err
	}
	if err := r.edit(
		ctx,
		&velerov1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: s.Name}},
		"restore/"+s.Name,
		`{"status":{"phase":"InProgress","completionTimestamp":null}}`,
	); err != nil {
		return err
	}
	next := s.Name + "-next"
	if err := r.restore(ctx, next, base, source, nil); err != nil {
		return err
	}
	if _, err := r.await(
		ctx,
		"Restore",
		next,
		"begin",
		func(h lab.History) bool { return h.State().Phase != "" && h.State().Phase != "New" },
	); err != nil {
		return err
	}
	return r.dies("restore/" + s.Name)
}

// edit changes a job by hand.
func (r *run) edit(ctx context.Context, o client.Object, job, json string) error {
	version, err := r.patch(ctx, o, json)
	r.out.Add(Entry{Kind: EditEntry, Job: job, Version: version, Text: json})
	return err
}

// deleteLocation deletes the location of a backup that is then to be finalized.
func deleteLocation(r *run, ctx context.Context, s Step) error {
	if err := r.backup(ctx, s.Name, velerov1.BackupSpec{StorageLocation: spare}, nil); err != nil {
		return err
	}
	if _, err := r.await(ctx, "Backup", s.Name, "end", lab.Ended); err != nil {
		return err
	}
	location := &velerov1.BackupStorageLocation{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: spare}}
	if err := r.retry(
		ctx,
		func() error { return client.IgnoreNotFound(r.lab.Client.Delete(ctx, location)) },
	); err != nil {
		return err
	}
	if err := r.edit(
		ctx,
		&velerov1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: s.Name}},
		"backup/"+s.Name,
		`{"status":{"phase":"Finalizing","completionTimestamp":null}}`,
	); err != nil {
		return err
	}
	return r.dies("backup/" + s.Name)
}

// failDeletion has a backup deleted while the object store is away, before
// Velero knows that it is.
func failDeletion(r *run, ctx context.Context, s Step) error {
	if err := r.backup(ctx, s.Name, velerov1.BackupSpec{}, nil); err != nil {
		return err
	}
	if _, err := r.await(ctx, "Backup", s.Name, "end", lab.Ended); err != nil {
		return err
	}
	return r.outage(ctx, Step{Name: s.Name, Length: 5 * time.Second}, func() error {
		if err := r.lab.KillS3(); err != nil {
			return err
		}
		if err := r.deletion(ctx, s.Name); err != nil {
			return err
		}
		var request velerov1.DeleteBackupRequest
		if err := r.until(ctx, "the deletion to end", func() bool {
			err := r.lab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: s.Name}, &request)
			return err == nil && request.Status.Phase == velerov1.DeleteBackupRequestPhaseProcessed
		}); err != nil {
			return err
		}
		if h, err := r.lab.Live(ctx, "Backup", s.Name); err != nil || h.State().Phase != "Deleting" {
			return fmt.Errorf("the backup is %s, not Deleting (%w)", h.Summary(), err)
		}
		return r.dies("backup/" + s.Name)
	}, func() error { return r.lab.StartS3(ctx) })
}

// deleteMover deletes the pod that moves a volume.
func deleteMover(r *run, ctx context.Context, s Step) error {
	if err := r.moving(ctx, s.Name, 1, mover{hangs: true}); err != nil {
		return err
	}
	upload, err := r.upload(ctx, s.Name, velerov2alpha1.DataUploadPhaseInProgress)
	if err != nil {
		return err
	}
	sleep(ctx, 5*time.Second)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: upload}}
	if err := r.retry(
		ctx,
		func() error { return r.lab.Client.Delete(ctx, pod, client.GracePeriodSeconds(0)) },
	); err != nil {
		return err
	}
	return r.dies("backup/" + s.Name)
}

// upload waits until a DataUpload of a backup is in a phase.
func (r *run) upload(
	ctx context.Context,
	backup string,
	phase velerov2alpha1.DataUploadPhase,
) (name string, err error) {
	var list velerov2alpha1.DataUploadList
	_, err = r.await(ctx, "Backup", backup, "have an upload that is "+string(phase), func(h lab.History) bool {
		if lab.Ended(h) {
			return true
		}
		if r.lab.Client.List(
			ctx,
			&list,
			client.InNamespace(lab.Namespace),
			client.MatchingLabels{velerov1.BackupNameLabel: backup},
		) != nil {
			return false
		}
		i := slices.IndexFunc(list.Items, func(u velerov2alpha1.DataUpload) bool { return u.Status.Phase == phase })
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
func hangCache(r *run, ctx context.Context, s Step) error {
	definition := trapDefinition()
	if err := r.until(ctx, "no other restore", func() bool {
		var list velerov1.RestoreList
		if r.lab.Client.List(ctx, &list, client.InNamespace(lab.Namespace)) != nil {
			return false
		}
		return !slices.ContainsFunc(list.Items, func(x velerov1.Restore) bool {
			return x.Status.Phase == "" || x.Status.Phase == velerov1.RestorePhaseNew ||
				x.Status.Phase == velerov1.RestorePhaseInProgress && !r.isDead("restore/"+x.Name)
		})
	}); err != nil {
		return err
	}
	_, logged, err := r.lab.VeleroLog(0)
	if err != nil {
		return err
	}
	if _, err := r.patch(ctx, definition, versions(false, true)); err != nil {
		return err
	}
	if err := r.restore(ctx, s.Name, trap, trap, nil); err != nil {
		return err
	}
	if err := r.lab.AwaitLog(ctx, logged, "waiting informer cache sync", s.Name); err != nil {
		return err
	}
	return r.dies("restore/" + s.Name)
}

func (r *run) isDead(job string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dead[job]
}

// versions is a patch of the trap's definition.
func versions(first, second bool) string {
	const version = `{"name":%q,"served":%t,"storage":%t,` +
		`"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`
	return `{"spec":{"versions":[` +
		fmt.Sprintf(version, "v1", first, true) + "," +
		fmt.Sprintf(version, "v2", second, false) + `]}}`
}
