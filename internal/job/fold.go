package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// track is a Job's past, and what was computed from the resources.
type track struct {
	// podVolumes sums up pod volume backups and restores, movers sums up data uploads and downloads.
	podVolumes, dataMovements VolumeTally
	// completed sums up the volumes in these tallies that the job does not hold one by one.
	completed *CompletedVolumes
	samples   sampleList
	// volumeSamples are the samples of each volume in progress.
	volumeSamples map[velero.VolumeRef]sampleList
	// movedAt is when the resource changed its phase or a counter; the others are when a volume moved, or was first seen.
	movedAt, podVolumesMovedAt, dataMovementsMovedAt time.Time
	// movedKnown is false while moved is only the time at which the job was first seen.
	movedKnown bool
	// itemsMovedAt is like moved, for the item counters alone.
	itemsMovedAt time.Time
	// fractionStage is the stage that the fraction belongs to: the current stage, or the last known one.
	fractionStage Stage
	// revived is true once a non-terminal phase was written over a terminal one (Velero issue 7230).
	revived bool
}

// Fold returns the job that results from prev and what the cluster says now. prev is nil when the job is first seen,
// or for another uid. The result shares memory with both, and is prev if nothing changed.
func Fold(prev *Job, in Observation) *Job {
	object, ok := in.customResource()
	if !ok {
		return prev
	}
	if prev != nil && prev.UID != object.GetUID() {
		prev = nil
	}
	sameObject := prev != nil && isSameVersion(prev.Object, object)
	sameVolumes := prev != nil && slices.Equal(prev.Volumes, in.Volumes) &&
		prev.track.completed.valueOrZero() == in.Completed.valueOrZero()
	if sameObject && sameVolumes {
		return prev
	}

	j := &Job{}
	if prev != nil {
		*j = *prev
		j.forecastLeft = nil
	}
	if !sameObject {
		j.readResource(in)
	}
	if !sameVolumes {
		j.Volumes = in.Volumes
		j.track.podVolumes, j.track.dataMovements = VolumeTally{}, VolumeTally{}
		for i := range in.Volumes {
			j.track.tallyOf(in.Volumes[i].Kind).addVolume(&in.Volumes[i])
		}
		if j.track.completed = in.Completed; in.Completed != nil {
			j.track.podVolumes.addTally(in.Completed.podVolumes)
			j.track.dataMovements.addTally(in.Completed.dataMovements)
		}
		j.track.volumeSamples = sampleVolumes(j.track.volumeSamples, in.Volumes, in.volumesAt())
	}
	j.recordSeenChanges(prev, sameVolumes, in.ObservedAt)
	j.updateChangeTimes(prev, in.ObservedAt)
	j.updateStage(prev, in.ObservedAt)
	j.updateFraction(prev)
	j.recordSample(prev, in)
	return j
}

func (in Observation) volumesAt() time.Time { return cmp.Or(in.VolumesObservedAt, in.ObservedAt) }

func (in Observation) customResource() (Object, bool) {
	switch {
	case in.Backup != nil:
		return in.Backup, true
	case in.Restore != nil:
		return in.Restore, true
	}
	return nil, false
}

func isSameVersion(a, b Object) bool {
	return a == b || a.GetResourceVersion() != "" && a.GetResourceVersion() == b.GetResourceVersion()
}

func (j *Job) readResource(in Observation) {
	before := j.Items
	if in.Backup != nil {
		j.readBackup(in.Backup)
	} else {
		j.readRestore(in.Restore)
	}
	j.dropEarlierRun()
	j.MalformedFields = in.MalformedFields
	j.Namespace, j.Name, j.UID = j.Object.GetNamespace(), j.Object.GetName(), j.Object.GetUID()
	j.Created = j.Object.GetCreationTimestamp().Time
	j.Deleting = j.Object.GetDeletionTimestamp() != nil

	j.Items.RevisedFrom = before.RevisedFrom
	if before.Known && before.Total > 0 && before.Total != j.Items.Total {
		j.Items.RevisedFrom = before.Total
	}
}

func (j *Job) readBackup(b *veleroapi.Backup) {
	j.Kind, j.Object = Backup, b
	j.Phase = string(b.Status.Phase)
	j.Started, j.Completed = TimeOrZero(b.Status.StartTimestamp), TimeOrZero(b.Status.CompletionTimestamp)
	j.Items = Items{}
	if p := b.Status.Progress; p != nil {
		j.Items = Items{Known: true, Done: p.ItemsBackedUp, Total: p.TotalItems}
	}
	j.Operations = Operations{
		b.Status.BackupItemOperationsAttempted,
		b.Status.BackupItemOperationsCompleted,
		b.Status.BackupItemOperationsFailed,
	}
	j.Warnings, j.Errors = b.Status.Warnings, b.Status.Errors
	j.FailureReason, j.ValidationErrors = b.Status.FailureReason, b.Status.ValidationErrors
	j.ScheduleName = b.Labels[veleroapi.ScheduleNameLabel]
	j.StorageLocation = b.Spec.StorageLocation
	j.QueuePosition = b.Status.QueuePosition
}

func (j *Job) readRestore(r *veleroapi.Restore) {
	j.Kind, j.Object = Restore, r
	j.Phase = string(r.Status.Phase)
	j.Started, j.Completed = TimeOrZero(r.Status.StartTimestamp), TimeOrZero(r.Status.CompletionTimestamp)
	j.Items = Items{}
	if p := r.Status.Progress; p != nil {
		j.Items = Items{Known: true, Done: p.ItemsRestored, Total: p.TotalItems}
	}
	j.Operations = Operations{
		r.Status.RestoreItemOperationsAttempted,
		r.Status.RestoreItemOperationsCompleted,
		r.Status.RestoreItemOperationsFailed,
	}
	j.Warnings, j.Errors = r.Status.Warnings, r.Status.Errors
	j.FailureReason, j.ValidationErrors = r.Status.FailureReason, r.Status.ValidationErrors
	j.BackupName = r.Spec.BackupName
	j.ScheduleName = r.Spec.ScheduleName
}

// updateChangeTimes sets the times of the last change and the last movement.
func (j *Job) updateChangeTimes(prev *Job, at time.Time) {
	written := LastWritten(j.Object)
	if prev == nil {
		j.LastChanged = LatestTime(written, j.Started, j.Completed, j.track.newestVolumeChange())
		j.track.movedAt = lastStatusWrite(j.Object)
		j.track.movedKnown = !j.track.movedAt.IsZero()
		if !j.track.movedKnown {
			// Nothing tells when the job last moved, so its silence counts from now.
			j.track.movedAt = LatestTime(at, j.LastChanged)
		}
		j.track.itemsMovedAt = j.track.movedAt
		j.track.podVolumesMovedAt = j.track.podVolumes.LastChanged
		j.track.dataMovementsMovedAt = j.track.dataMovements.LastChanged
		return
	}
	j.LastChanged = LatestTime(j.LastChanged, written, j.track.newestVolumeChange())
	if !isSameVersion(prev.Object, j.Object) {
		j.LastChanged = LatestTime(j.LastChanged, at)
	}
	if j.Phase != prev.Phase || j.Items != prev.Items || j.Operations != prev.Operations {
		j.track.movedAt, j.track.movedKnown = LatestTime(prev.track.movedAt, at), true
	}
	if j.Items.Done != prev.Items.Done || j.Items.Total != prev.Items.Total || j.Items.Known != prev.Items.Known {
		j.track.itemsMovedAt = LatestTime(prev.track.itemsMovedAt, at)
	}
	j.track.podVolumesMovedAt = newestVolumeMovement(
		prev.track.podVolumesMovedAt,
		&prev.track.podVolumes,
		&j.track.podVolumes,
		at,
	)
	j.track.dataMovementsMovedAt = newestVolumeMovement(
		prev.track.dataMovementsMovedAt,
		&prev.track.dataMovements,
		&j.track.dataMovements,
		at,
	)
}

// newestVolumeMovement returns when volumes last moved: by the volumes' own times if new volumes were seen, because
// those need not have moved just now; otherwise the time at which the movement was seen.
func newestVolumeMovement(before time.Time, was, is *VolumeTally, at time.Time) time.Time {
	switch {
	case *is == *was:
		return before
	case is.Count != was.Count || is.LastChanged.After(was.LastChanged):
		return LatestTime(before, is.LastChanged)
	}
	return LatestTime(before, at)
}

// IsTerminal reports whether the job has ended and will not change by itself.
func (j *Job) IsTerminal() bool { return velero.IsTerminalPhase(j.Phase) }

// PhaseOrStage returns how a job ended, or its current stage.
func (j *Job) PhaseOrStage() string {
	if j.IsTerminal() || j.Stage == StageUnknown {
		return j.Phase
	}
	return string(j.Stage)
}

// BeganAt returns when the job began, or was created. Backups synced from storage were created long after they began.
func (j *Job) BeganAt() time.Time { return cmp.Or(j.Started, j.Created) }

// AgeSince returns the time from which a job's age counts, which never moves: its creation, or the start of a backup
// that was synced from storage later.
func (j *Job) AgeSince() time.Time {
	if !j.Started.IsZero() && (j.Created.IsZero() || j.Started.Before(j.Created)) {
		return j.Started
	}
	return j.Created
}

// TotalDuration returns how long an ended job took, 0 if unknown.
func (j *Job) TotalDuration() time.Duration {
	if j == nil || j.Started.IsZero() || j.Completed.IsZero() {
		return 0
	}
	return j.Completed.Sub(j.Started)
}

// Elapsed returns the time until the completion or now. A job without a completion time (docs/dev/velero.md#phases)
// ends with its last change.
func (j *Job) Elapsed(now time.Time) time.Duration {
	from := j.BeganAt()
	if j.IsTerminal() {
		now = cmp.Or(j.Completed, j.LastChanged)
	}
	if from.IsZero() {
		return 0
	}
	return max(0, now.Sub(from))
}
