package oldscene

import (
	"context"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/demo/sim"
)

// The time line of what went wrong before the demo began. The server ran out
// of memory while erp was backed up and while ops was restored. It came back
// two seconds later and marked the restore Failed; the patch that should have
// marked the backup was lost, so nobody owns that one. Ten minutes later crm
// was restored, and the API server was away when its last patch was due.
const (
	erpStarted     = 58*time.Minute + 20*time.Second
	opsStarted     = 57*time.Minute + 40*time.Second
	serverStarted  = 55 * time.Minute
	crmStarted     = 44*time.Minute + 12*time.Second
	crmLastChanged = 42 * time.Minute
)

// writeTrouble creates the jobs that the past left behind.
func writeTrouble(ctx context.Context, api client.Client, velero *sim.Sim, cluster *sim.Cluster, now time.Time) error {
	return firstError(
		func() error { return orphan(ctx, api, cluster, now) },
		func() error { return failedByRestart(ctx, api, velero, now) },
		func() error { return lostPatch(ctx, api, velero, now) },
	)
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// orphan is a backup whose server is gone: InProgress since before the present
// server's start, with nothing in the store.
func orphan(ctx context.Context, api client.Client, cluster *sim.Cluster, now time.Time) error {
	var erp schedule
	for _, s := range schedules {
		if s.name == "erp-nightly" {
			erp = s
		}
	}
	p := past{schedule: erp, started: now.Add(-erpStarted).Truncate(time.Second)}
	record, err := p.record(cluster)
	if err != nil {
		return err
	}
	b := p.object(record)
	b.Status.Phase, b.Status.CompletionTimestamp, b.Status.HookStatus = velerov1.BackupPhaseInProgress, nil, nil
	b.Status.Progress.ItemsBackedUp = b.Status.Progress.TotalItems * 2 / 3
	if err := api.Create(ctx, b); err != nil {
		return fmt.Errorf("creating the orphaned backup: %w", err)
	}
	return backdate(ctx, api, b, now.Add(-serverStarted-4*time.Second))
}

// failedByRestart is what the server's start does to a restore InProgress.
func failedByRestart(ctx context.Context, api client.Client, velero *sim.Sim, now time.Time) error {
	r := restoreOf("ops-rollback", newestPast(now, "ops-nightly"), nil)
	r.Spec.IncludedNamespaces = []string{"ops"}
	completed := metav1.NewTime(now.Add(-serverStarted + 3*time.Second).Truncate(time.Second))
	record, err := velero.PastRestore(r, completed.Time)
	if err != nil {
		return err
	}
	items, _, _ := record.Counts()
	r.Status = velerov1.RestoreStatus{
		Phase: velerov1.RestorePhaseFailed, Progress: &velerov1.RestoreProgress{TotalItems: items, ItemsRestored: items * 3 / 5},
		StartTimestamp: &metav1.Time{Time: now.Add(-opsStarted).Truncate(time.Second)}, CompletionTimestamp: &completed,
		FailureReason: `found a restore with status "InProgress" during the server starting, mark it as "Failed"`,
	}
	if err := api.Create(ctx, r); err != nil {
		return fmt.Errorf("creating the restore that a restart failed: %w", err)
	}
	return backdate(ctx, api, r, completed.Time)
}

// lostPatch is a restore that the present server finished: all items restored,
// all artifacts stored, and InProgress for ever.
func lostPatch(ctx context.Context, api client.Client, velero *sim.Sim, now time.Time) error {
	r := restoreOf("crm-old", newestPast(now, "crm-nightly"), map[string]string{"crm": "crm-rollback"})
	r.Spec.IncludedNamespaces = []string{"crm"}
	r.Status = velerov1.RestoreStatus{
		Phase: velerov1.RestorePhaseInProgress, StartTimestamp: &metav1.Time{Time: now.Add(-crmStarted).Truncate(time.Second)},
	}
	changed := now.Add(-crmLastChanged)
	record, err := velero.PastRestore(r, changed)
	if err != nil {
		return err
	}
	items, _, _ := record.Counts()
	r.Status.Progress = &velerov1.RestoreProgress{TotalItems: items, ItemsRestored: items}
	if err := api.Create(ctx, r); err != nil {
		return fmt.Errorf("creating the restore whose last patch was lost: %w", err)
	}
	record.UID = r.UID
	velero.StoreRestore(record)
	return backdate(ctx, api, r, changed)
}

func restoreOf(name, backup string, mapping map[string]string) *velerov1.Restore {
	return &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Finalizers: []string{"restores.velero.io/external-resources-finalizer"}},
		Spec: velerov1.RestoreSpec{
			BackupName: backup, IncludedNamespaces: []string{"*"}, ExcludedResources: sim.ExcludedFromRestores(),
			NamespaceMapping: mapping, RestorePVs: ptr.To(false),
			ItemOperationTimeout: metav1.Duration{Duration: 4 * time.Hour},
		},
	}
}

// newestPast is the newest of a schedule's backups that completed.
func newestPast(now time.Time, schedule string) string {
	name := ""
	for _, p := range pastBackups(now) {
		if p.schedule.name == schedule && p.phase() == velerov1.BackupPhaseCompleted {
			name = p.name()
		}
	}
	return name
}

// backdate sets the times of the field managers to when the object is said to
// have changed last. The API server takes managed fields that come with an
// update as they are, as long as nothing else changes with it; only the
// creation time stamp stays today's.
func backdate(ctx context.Context, api client.Client, object client.Object, changed time.Time) error {
	fields := object.GetManagedFields()
	for n := range fields {
		fields[n].Time = &metav1.Time{Time: changed.Truncate(time.Second)}
		fields[n].Manager = "velero-server"
	}
	object.SetManagedFields(fields)
	if err := api.Update(ctx, object); err != nil {
		return fmt.Errorf("dating %s back: %w", object.GetName(), err)
	}
	for _, entry := range object.GetManagedFields() {
		if entry.Time == nil || entry.Time.After(changed) {
			return fmt.Errorf("dating %s back: the API server says that %s changed it at %s", object.GetName(), entry.Manager, entry.Time)
		}
	}
	return nil
}
