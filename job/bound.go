package job

import (
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// Velero's own limits where neither the resource nor the server's flags tell
// others (velero-facts 9.3).
const (
	defaultPodVolumeTimeout     = 4 * time.Hour
	defaultItemOperationTimeout = 4 * time.Hour
	defaultResourceTimeout      = 10 * time.Minute
)

// rebound sets the limits that Velero puts on the stages. It copies records
// only if one of them changes.
func (j *Job) rebound(records []StageRecord) []StageRecord {
	copied := false
	for i := range records {
		bound, by := j.bound(records[i])
		if records[i].Bound.Equal(bound) && records[i].BoundBy == by {
			continue
		}
		if !copied {
			records, copied = slices.Clone(records), true
		}
		records[i].Bound, records[i].BoundBy = bound, by
	}
	return records
}

// bound is when Velero itself gives up on a stage (velero-facts 2.2, 3.9, 7).
func (j *Job) bound(r StageRecord) (time.Time, string) {
	if r.Began.IsZero() || r.Skipped || j.Object == nil {
		return time.Time{}, ""
	}
	switch r.Stage {
	case StageVolumes:
		// One time-out for all pod volumes, counted from the start of the job.
		if !j.Started.IsZero() {
			return j.Started.Add(j.podVolumeTimeout()), "fs-backup-timeout"
		}
	case StageOperations:
		// Counted from the creation of each operation, so from the beginning of
		// the stage at the latest.
		return r.Began.Add(j.itemOperationTimeout()), "itemOperationTimeout"
	case StageFinalizing:
		// Three workers bind volumes, each waits up to the time-out for one.
		// Hooks are waited for without limit.
		if j.Kind == Restore && !j.hasHooks() {
			rounds := (max(1, len(j.Volumes)) + 2) / 3
			return r.Began.Add(time.Duration(rounds) * j.resourceTimeout()), "resource-timeout"
		}
	}
	return time.Time{}, ""
}

func (j *Job) podVolumeTimeout() time.Duration {
	return annotated(j, velerov1.PodVolumeOperationTimeoutAnnotation, defaultPodVolumeTimeout)
}

// snapshotTimeout is how long a backup waits for one CSI snapshot.
func (j *Job) snapshotTimeout() time.Duration {
	if b, ok := j.Object.(*velerov1.Backup); ok {
		return b.Spec.CSISnapshotTimeout.Duration
	}
	return 0
}

func (j *Job) resourceTimeout() time.Duration {
	return annotated(j, velerov1.ResourceTimeoutAnnotation, defaultResourceTimeout)
}

func (j *Job) itemOperationTimeout() time.Duration {
	var timeout time.Duration
	switch o := j.Object.(type) {
	case *velerov1.Backup:
		timeout = o.Spec.ItemOperationTimeout.Duration
	case *velerov1.Restore:
		timeout = o.Spec.ItemOperationTimeout.Duration
	}
	if timeout <= 0 {
		return defaultItemOperationTimeout
	}
	return timeout
}

// hasHooks reports whether the resource itself asks for hooks; annotations of
// pods may ask for more.
func (j *Job) hasHooks() bool {
	switch o := j.Object.(type) {
	case *velerov1.Backup:
		return len(o.Spec.Hooks.Resources) > 0
	case *velerov1.Restore:
		return len(o.Spec.Hooks.Resources) > 0
	}
	return false
}

func annotated(j *Job, key string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(j.Object.GetAnnotations()[key]); err == nil && d > 0 {
		return d
	}
	return otherwise
}
