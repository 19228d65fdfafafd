package ui

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// noon is the present in every test of this package.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

func meta(name string, created time.Duration) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         "velero",
		Name:              name,
		UID:               types.UID("uid-" + name),
		CreationTimestamp: ago(created),
	}
}

// backupJob and restoreJob make a job as it is after one look at a resource
// that last changed the given time ago.
func backupJob(name string, created time.Duration, status veleroapi.BackupStatus, changed time.Duration) *job.Job {
	b := &veleroapi.Backup{ObjectMeta: meta(name, created), Status: status}
	b.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: ptr(ago(changed))}}
	b.Spec.IncludedNamespaces = []string{name}
	return job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon})
}

func restoreJob(
	name, backup string,
	created time.Duration,
	status veleroapi.RestoreStatus,
	changed time.Duration,
	volumes ...job.Volume,
) *job.Job {
	r := &veleroapi.Restore{ObjectMeta: meta(name, created), Status: status}
	r.Spec.BackupName = backup
	r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: ptr(ago(changed))}}
	return job.Fold(nil, job.Observation{Restore: r, Volumes: volumes, ObservedAt: noon})
}

// running replays a restore at a steady pace, so that it has a rate and an ETA.
func running(name, backup string, done, total, perSecond int) *job.Job {
	var j *job.Job
	seconds := done / perSecond
	for s := min(seconds, 60); s >= 0; s-- {
		r := &veleroapi.Restore{ObjectMeta: meta(name, time.Duration(seconds)*time.Second)}
		r.Spec.BackupName = backup
		r.Status = veleroapi.RestoreStatus{
			Phase:          veleroapi.RestorePhaseInProgress,
			StartTimestamp: ptr(ago(time.Duration(seconds) * time.Second)),
			Progress:       &veleroapi.RestoreProgress{ItemsRestored: done - s*perSecond, TotalItems: total},
		}
		j = job.Fold(j, job.Observation{Restore: r, ObservedAt: noon.Add(-time.Duration(s) * time.Second)})
	}
	return j
}

func ended(
	name string,
	phase veleroapi.BackupPhase,
	items int,
	took, when time.Duration,
	errors, warnings int,
) *job.Job {
	return backupJob(name, when+took, veleroapi.BackupStatus{
		Phase: phase, StartTimestamp: ptr(ago(when + took)), CompletionTimestamp: ptr(ago(when)),
		Progress: &veleroapi.BackupProgress{ItemsBackedUp: items, TotalItems: items}, Errors: errors, Warnings: warnings,
	}, when)
}

func ptr[T any](v T) *T { return &v }

// stageful is a snapshot with a bit of everything: what screens.md draws.
func stageful() *watch.Snapshot {
	jobs := []*job.Job{
		running("shop-restore-2", "nightly-shop-20261120", 871, 1402, 34),
		restoreJob(
			"db-restore",
			"nightly-db-20261120",
			14*time.Minute,
			veleroapi.RestoreStatus{
				Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: ptr(ago(14 * time.Minute)),
				Progress: &veleroapi.RestoreProgress{ItemsRestored: 42, TotalItems: 42},
			},
			12*time.Minute,
			job.Volume{
				Kind:        velero.PodVolumeRestore,
				Name:        "db-restore-1",
				UID:         "v1",
				Phase:       "InProgress",
				Target:      "db/postgres-0:data",
				Node:        "node-a",
				Done:        9 << 30,
				Total:       20 << 30,
				Created:     noon.Add(-13 * time.Minute),
				LastChanged: noon.Add(-6 * time.Second),
			},
			job.Volume{
				Kind:        velero.PodVolumeRestore,
				Name:        "db-restore-2",
				UID:         "v2",
				Phase:       "Completed",
				Target:      "db/postgres-0:wal",
				Node:        "node-a",
				Done:        4 << 30,
				Total:       4 << 30,
				Created:     noon.Add(-13 * time.Minute),
				Completed:   noon.Add(-5 * time.Minute),
				LastChanged: noon.Add(-5 * time.Minute),
			},
			job.Volume{
				Kind:        velero.PodVolumeRestore,
				Name:        "db-restore-3",
				UID:         "v3",
				Phase:       "New",
				Target:      "db/postgres-1:data",
				Created:     noon.Add(-13 * time.Minute),
				LastChanged: noon.Add(-13 * time.Minute),
			},
		),
		restoreJob("crm-old", "nightly-crm-20261119", 50*time.Minute, veleroapi.RestoreStatus{
			Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: ptr(ago(50 * time.Minute)),
			Progress: &veleroapi.RestoreProgress{ItemsRestored: 140, TotalItems: 140},
		}, 42*time.Minute),
		backupJob(
			"nightly-crm",
			41*time.Second,
			veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress, StartTimestamp: ptr(ago(41 * time.Second)),
				Progress: &veleroapi.BackupProgress{ItemsBackedUp: 310, TotalItems: 1290}},
			time.Second,
		),
		backupJob(
			"nightly-erp",
			30*time.Second,
			veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseQueued, QueuePosition: 1},
			30*time.Second,
		),
		ended("hourly-web-0900", veleroapi.BackupPhaseCompleted, 402, 67*time.Second, 20*time.Minute, 0, 0),
		ended("hourly-db-0900", veleroapi.BackupPhasePartiallyFailed, 88, 221*time.Second, 25*time.Minute, 2, 5),
	}
	return snapshotOf(jobs...)
}

// snapshotOf is a live snapshot with the given jobs and a healthy Velero.
func snapshotOf(jobs ...*job.Job) *watch.Snapshot {
	snap := &watch.Snapshot{
		Seq:             1,
		At:              noon,
		Namespace:       "velero",
		NamespaceOrigin: watch.OriginSearch,
		Health:          watch.Health{State: watch.Live, Since: noon.Add(-time.Hour)},
		Sources: []watch.Source{
			{Resource: "backups.velero.io", State: watch.SourceLive},
			{Resource: "restores.velero.io", State: watch.SourceLive},
			{
				Resource: watch.StorageLocations,
				State:    watch.SourceLive,
			},
			{Resource: watch.Repositories, State: watch.SourceLive},
			{Resource: watch.DeleteRequests, State: watch.SourceLive},
		},
		Jobs: jobs,
		Server: velero.Server{
			Visible: true,
			SeenAt:  noon,
			ServerPod: velero.ServerPod{Running: true, Ready: true, Name: "velero-7d4", Version: "v1.18.3",
				StartedAt: noon.Add(-80 * time.Hour), Flags: velero.DefaultServerFlags()},
		},
		NodeAgents: []velero.NodeAgent{
			{Pod: "node-agent-a", Node: "node-a", Ready: true, StartedAt: noon.Add(-80 * time.Hour)},
		},
		Schedules: []*veleroapi.Schedule{
			{
				ObjectMeta: meta("nightly-crm", 9*time.Hour), // after its run of today would have been due
				Spec: veleroapi.ScheduleSpec{
					Schedule: "0 2 * * *",
					Template: veleroapi.BackupSpec{
						TTL:                metav1.Duration{Duration: 720 * time.Hour},
						IncludedNamespaces: []string{"crm"},
					},
				},
				Status: veleroapi.ScheduleStatus{Phase: veleroapi.SchedulePhaseEnabled},
			},
		},
		StorageLocations: []*veleroapi.BackupStorageLocation{
			{
				ObjectMeta: meta("default", 24*time.Hour),
				Spec: veleroapi.BackupStorageLocationSpec{
					Provider: "aws",
					Default:  true,
					StorageType: veleroapi.StorageType{
						ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "backups", Prefix: "prod-east"},
					},
				},
				Status: veleroapi.BackupStorageLocationStatus{
					Phase:              veleroapi.BackupStorageLocationPhaseAvailable,
					LastValidationTime: ptr(ago(20 * time.Second)),
				},
			},
		},
	}
	for _, j := range jobs {
		if !j.IsTerminal() {
			snap.Active = append(snap.Active, j)
		}
	}
	return snap
}

// manyJobs is a snapshot with n ended backups beside the usual ones.
func manyJobs(n int) *watch.Snapshot {
	snap := stageful()
	for i := range n {
		snap.Jobs = append(
			snap.Jobs,
			ended(
				fmt.Sprintf("daily-%04d", i),
				veleroapi.BackupPhaseCompleted,
				100+i,
				time.Minute,
				time.Duration(i+2)*time.Hour,
				0,
				0,
			),
		)
	}
	return snap
}

// scripted is a source whose snapshots the test hands in.
type scripted struct {
	snapshots chan *watch.Snapshot
	retries   chan struct{}
}

func (s *scripted) Next(ctx context.Context) (*watch.Snapshot, error) {
	select {
	case snap := <-s.snapshots:
		return snap, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *scripted) Retry() { s.retries <- struct{}{} }
