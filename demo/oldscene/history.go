package oldscene

import (
	"context"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/demo/sim"
)

// past is a backup that ended before the demo began.
type past struct {
	schedule schedule
	started  time.Time
	// turn is its number within the schedule, the newest being 0.
	turn int
	// torn is when the server's restart ended it; zero if it did not.
	torn time.Time
}

// pastBackups are the schedules' finished backups, oldest first, as far as
// they ended before now.
func pastBackups(now time.Time) []past {
	var all []past
	for _, s := range schedules {
		for turn := range s.past {
			p := past{schedule: s, started: s.newest(now).Add(-time.Duration(turn) * s.period), turn: turn}
			if restart := now.Add(-serverStarted); p.started.Before(restart) && p.completed().After(restart) {
				p.torn = restart.Add(3 * time.Second)
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b past) int { return a.started.Compare(b.started) })
	return all
}

// phase mixes the ends as a healthy but real cluster does: of 110 hourly runs
// about one in twelve has errors, and one in forty failed as a whole.
func (p past) phase() velerov1.BackupPhase {
	switch n := p.turn + len(p.schedule.name); {
	case !p.torn.IsZero():
		return velerov1.BackupPhaseFailed
	case p.turn == 0:
		return velerov1.BackupPhaseCompleted
	case n%43 == 17:
		return velerov1.BackupPhaseFailed
	case n%61 == 23:
		return velerov1.BackupPhaseFailedValidation
	case n%12 == 5:
		return velerov1.BackupPhasePartiallyFailed
	default:
		return velerov1.BackupPhaseCompleted
	}
}

func (p past) completed() time.Time {
	return p.started.Add(p.schedule.took + time.Duration(p.turn*37%23)*time.Second)
}

func (p past) name() string { return p.schedule.name + "-" + p.started.UTC().Format("20060102150405") }

// writeHistory creates the finished backups and stores their artifacts. They
// are created oldest first; that their creation is today's while their start
// is of another day is what a cluster shows whose backups were synced from an
// object store.
func writeHistory(ctx context.Context, api client.Client, velero *sim.Sim, cluster *sim.Cluster, now time.Time) error {
	for _, p := range pastBackups(now) {
		record, err := p.record(cluster)
		if err != nil {
			return err
		}
		b := p.object(record)
		if err := api.Create(ctx, b); err != nil {
			return fmt.Errorf("creating the finished backup %s: %w", b.Name, err)
		}
		record.UID = b.UID
		if b.Status.CompletionTimestamp == nil {
			// Only its last change tells when it ended.
			if err := backdate(ctx, api, b, p.completed()); err != nil {
				return err
			}
		}
		if stored(b.Status.Phase) {
			velero.StoreBackup(record)
		}
	}
	return nil
}

// stored reports whether a backup that ended so has its artifacts in the store.
func stored(phase velerov1.BackupPhase) bool {
	return phase == velerov1.BackupPhaseCompleted || phase == velerov1.BackupPhasePartiallyFailed
}

func (p past) record(cluster *sim.Cluster) (*sim.BackupRecord, error) {
	spec := p.schedule.template()
	items, volumes, err := cluster.Contents(&spec)
	if err != nil {
		return nil, err
	}
	completed := p.completed()
	for n := range volumes {
		volumes[n].Started, volumes[n].Completed = p.started.Add(4*time.Second), completed.Add(-2*time.Second)
	}
	record := &sim.BackupRecord{Namespace: Namespace, Name: p.name(), Started: p.started, Completed: completed, Items: items, Volumes: volumes}
	if p.phase() == velerov1.BackupPhasePartiallyFailed {
		namespace := p.schedule.namespaces[0]
		record.Errors.Namespaces = map[string][]string{namespace: {
			fmt.Sprintf("error executing hook in container main of pod %s/%s-api: command terminated with exit code 1", namespace, namespace),
		}}
		if p.turn%2 == 0 {
			record.Warnings.Velero = []string{"kopia snapshot of volume data finished with 2 ignored file errors"}
		}
	}
	return record, nil
}

func (p past) object(record *sim.BackupRecord) *velerov1.Backup {
	items, warnings, errors := record.Counts()
	started, completed := metav1.NewTime(record.Started), metav1.NewTime(record.Completed)
	b := &velerov1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: p.name(), Annotations: sim.Annotations(), Labels: map[string]string{
			velerov1.ScheduleNameLabel: p.schedule.name, velerov1.StorageLocationLabel: "default",
		}},
		Spec: p.schedule.template(),
		Status: velerov1.BackupStatus{
			Version: 1, FormatVersion: "1.1.0", Phase: p.phase(), Warnings: warnings, Errors: errors,
			Expiration:     &metav1.Time{Time: started.Add(p.schedule.ttl)},
			StartTimestamp: &started, CompletionTimestamp: &completed,
			Progress: &velerov1.BackupProgress{TotalItems: items, ItemsBackedUp: items}, HookStatus: &velerov1.HookStatus{},
		},
	}
	switch b.Status.Phase {
	case velerov1.BackupPhaseFailed:
		b.Status.FailureReason = "error uploading backup to object storage: rpc error: code = Unknown desc = context deadline exceeded"
		// An upload that failed leaves no completion (velero-facts 1.3).
		b.Status.CompletionTimestamp = nil
		if !p.torn.IsZero() {
			b.Status.FailureReason = `found a backup with status "InProgress" during the server starting, mark it as "Failed"`
			b.Status.CompletionTimestamp = &metav1.Time{Time: p.torn}
			b.Status.Progress.ItemsBackedUp = items / 2
			b.Status.HookStatus = nil
		}
	case velerov1.BackupPhaseFailedValidation:
		b.Status.StartTimestamp, b.Status.CompletionTimestamp, b.Status.Progress, b.Status.HookStatus = nil, nil, nil, nil
		b.Status.ValidationErrors = []string{"backup can't be created because BackupStorageLocation default is in Unavailable status."}
	}
	return b
}
