package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// Contents are the items that a backup with this spec stores, and the volumes
// whose data it moves, as if it ran to its end at once.
func (c *Cluster) Contents(spec *velerov1.BackupSpec) ([]*Item, []MovedVolume, error) {
	found, err := c.collect(spec)
	if err != nil {
		return nil, nil, fmt.Errorf("reading a backup's label selector: %w", err)
	}
	run := &backupRun{found: found, record: &BackupRecord{}}
	for _, item := range found.listed {
		if item.Excluded {
			continue
		}
		run.record.Items = append(run.record.Items, item)
		if volume, ok := found.volumes[item.PersistentVolume]; ok && item.PersistentVolume != "" {
			run.record.Items = append(run.record.Items, volume)
		}
		for _, v := range c.volumesOf(item.Namespace, item.Name) {
			if item.GroupResource() == "pods" && spec.DefaultVolumesToFsBackup != nil && *spec.DefaultVolumesToFsBackup {
				run.record.Volumes = append(run.record.Volumes, MovedVolume{
					Volume: v, Method: byPodVolume, SnapshotID: snapshotID(v.Namespace, v.Claim),
				})
			}
		}
	}
	storeDefinitions(run)
	return slices.Clip(run.record.Items), run.record.Volumes, nil
}

// PastRestore is the record of a restore that ran to its end in the past: what
// its artifacts hold, and what its counters must say. The backup that it
// restores from must be in the store. r is not changed.
func (s *Sim) PastRestore(r *velerov1.Restore, completed time.Time) (*RestoreRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	source, ok := s.backupRecords[r.Spec.BackupName]
	if !ok {
		return nil, fmt.Errorf("restore %s: backup %q is not in the store", r.Name, r.Spec.BackupName)
	}
	filter, err := newRestoreFilter(s.Cluster, &r.Spec)
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", r.Name, err)
	}
	record := &RestoreRecord{
		Namespace: r.Namespace, Name: r.Name, Backup: r.Spec.BackupName, UID: r.UID,
		Started: timeOf(r.Status.StartTimestamp), Completed: completed,
	}
	work := s.planRestore(source, filter, r.Spec.NamespaceMapping)
	// Every namespace here is younger than the past, so the restore made it.
	clear(work.exists)
	work.definitionsPass()
	for !work.done() {
		work.handle(&record.Warnings, &record.Errors)
	}
	record.Outcomes = work.outcomes
	return record, nil
}

// Counts are the numbers that a job's status shows of its results.
func (r *RestoreRecord) Counts() (items, warnings, errors int) {
	return len(r.Outcomes), r.Warnings.count(), r.Errors.count()
}

// Counts are the numbers that a job's status shows of its results.
func (r *BackupRecord) Counts() (items, warnings, errors int) {
	return len(r.Items), r.Warnings.count(), r.Errors.count()
}

// ExcludedFromRestores are the resources that the server adds to the excluded
// ones of every restore.
func ExcludedFromRestores() []string { return slices.Clone(neverRestored) }

// Annotations are those that the server writes on every backup.
func Annotations() map[string]string {
	b := &velerov1.Backup{}
	annotate(b)
	return b.Annotations
}

// StepUntil steps the simulation in its own time, period by period, until met
// says so or limit of simulated time has passed; for tests and for setting a
// stage. It reports whether met did.
func (s *Sim) StepUntil(ctx context.Context, period, limit time.Duration, met func() bool) bool {
	for end := s.present().Add(limit); s.present().Before(end) && ctx.Err() == nil; {
		if met() {
			return true
		}
		now := s.present().Add(period)
		s.Step(ctx, now, now)
	}
	return met()
}
