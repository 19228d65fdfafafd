package job

import (
	"cmp"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/velero"
)

// track is a Job's past, and what was worked out of the resources.
type track struct {
	// filesystem sums up pod volume backups and restores, movers data uploads and downloads.
	filesystem, movers Tally
	// completed are the volumes in them that the job does not have one by one.
	completed *Completed
	samples   samples
	// volumes are the samples of each volume in progress.
	volumes map[velero.VolumeRef]samples
	// moved is when the resource changed its phase or a counter, the others when a volume moved, or was first seen.
	moved, filesystemMoved, moversMoved time.Time
	// movedKnown is false while moved is only the time of the first sight.
	movedKnown bool
	// itemsMoved is moved for the item counters alone.
	itemsMoved time.Time
	// drawnIn is the stage that the fraction belongs to: the present, or the last known one.
	drawnIn Stage
	// revived is true once a phase that is not terminal was written over one that is (Velero issue 7230).
	revived bool
}

// Next folds what the cluster says into what was known. prev is nil at first sight, or for another uid.
// The result shares memory with both, and is prev if nothing changed.
func Next(prev *Job, in Input) *Job {
	object, ok := in.object()
	if !ok {
		return prev
	}
	if prev != nil && prev.UID != object.GetUID() {
		prev = nil
	}
	sameObject := prev != nil && sameVersion(prev.Object, object)
	sameVolumes := prev != nil && slices.Equal(prev.Volumes, in.Volumes) &&
		prev.track.completed.value() == in.Completed.value()
	if sameObject && sameVolumes {
		return prev
	}

	j := &Job{}
	if prev != nil {
		*j = *prev
		j.foreseen = nil
	}
	if !sameObject {
		j.read(in)
	}
	if !sameVolumes {
		j.Volumes = in.Volumes
		j.track.filesystem, j.track.movers = Tally{}, Tally{}
		for i := range in.Volumes {
			j.track.tallyOf(in.Volumes[i].Kind).add(&in.Volumes[i])
		}
		if j.track.completed = in.Completed; in.Completed != nil {
			j.track.filesystem.merge(in.Completed.podVolumes)
			j.track.movers.merge(in.Completed.movers)
		}
		j.track.volumes = sampleVolumes(j.track.volumes, in.Volumes, in.volumesAt())
	}
	j.remember(prev, sameVolumes, in.At)
	j.noteChange(prev, in.At)
	j.enterStage(prev, in.At)
	j.draw(prev)
	j.sample(prev, in)
	return j
}

func (in Input) volumesAt() time.Time { return cmp.Or(in.VolumesAt, in.At) }

func (in Input) object() (Object, bool) {
	switch {
	case in.Backup != nil:
		return in.Backup, true
	case in.Restore != nil:
		return in.Restore, true
	}
	return nil, false
}

func sameVersion(a, b Object) bool {
	return a == b || a.GetResourceVersion() != "" && a.GetResourceVersion() == b.GetResourceVersion()
}

func (j *Job) read(in Input) {
	before := j.Items
	if in.Backup != nil {
		j.readBackup(in.Backup)
	} else {
		j.readRestore(in.Restore)
	}
	j.dropEarlierRun()
	j.Malformed = in.Malformed
	j.Namespace, j.Name, j.UID = j.Object.GetNamespace(), j.Object.GetName(), j.Object.GetUID()
	j.Created = j.Object.GetCreationTimestamp().Time
	j.Deleting = j.Object.GetDeletionTimestamp() != nil

	j.Items.RevisedFrom = before.RevisedFrom
	if before.Known && before.Total > 0 && before.Total != j.Items.Total {
		j.Items.RevisedFrom = before.Total
	}
}

func (j *Job) readBackup(b *velerov1.Backup) {
	j.Kind, j.Object = Backup, b
	j.Phase = string(b.Status.Phase)
	j.Started, j.Completed = TimeOf(b.Status.StartTimestamp), TimeOf(b.Status.CompletionTimestamp)
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
	j.ScheduleName = b.Labels[velerov1.ScheduleNameLabel]
	j.StorageLocation = b.Spec.StorageLocation
	j.QueuePosition = b.Status.QueuePosition
}

func (j *Job) readRestore(r *velerov1.Restore) {
	j.Kind, j.Object = Restore, r
	j.Phase = string(r.Status.Phase)
	j.Started, j.Completed = TimeOf(r.Status.StartTimestamp), TimeOf(r.Status.CompletionTimestamp)
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

// noteChange dates the last change and the last movement.
func (j *Job) noteChange(prev *Job, at time.Time) {
	written := LastWritten(j.Object)
	if prev == nil {
		j.Changed = Latest(written, j.Started, j.Completed, j.track.newestVolume())
		j.track.moved = worked(j.Object)
		j.track.movedKnown = !j.track.moved.IsZero()
		if !j.track.movedKnown {
			// Nothing tells when it last moved, so its silence counts from now.
			j.track.moved = Latest(at, j.Changed)
		}
		j.track.itemsMoved = j.track.moved
		j.track.filesystemMoved, j.track.moversMoved = j.track.filesystem.Newest, j.track.movers.Newest
		return
	}
	j.Changed = Latest(j.Changed, written, j.track.newestVolume())
	if !sameVersion(prev.Object, j.Object) {
		j.Changed = Latest(j.Changed, at)
	}
	if j.Phase != prev.Phase || j.Items != prev.Items || j.Operations != prev.Operations {
		j.track.moved, j.track.movedKnown = Latest(prev.track.moved, at), true
	}
	if j.Items.Done != prev.Items.Done || j.Items.Total != prev.Items.Total || j.Items.Known != prev.Items.Known {
		j.track.itemsMoved = Latest(prev.track.itemsMoved, at)
	}
	j.track.filesystemMoved = volumesMoved(prev.track.filesystemMoved, &prev.track.filesystem, &j.track.filesystem, at)
	j.track.moversMoved = volumesMoved(prev.track.moversMoved, &prev.track.movers, &j.track.movers, at)
}

// volumesMoved is by the volumes' own times, as those first seen need not have moved just now; else by when
// it was seen.
func volumesMoved(before time.Time, was, is *Tally, at time.Time) time.Time {
	switch {
	case *is == *was:
		return before
	case is.Count != was.Count || is.Newest.After(was.Newest):
		return Latest(before, is.Newest)
	}
	return Latest(before, at)
}

// Terminal reports whether the job has ended and will not change by itself.
func (j *Job) Terminal() bool { return velero.TerminalPhase(j.Phase) }

// PhaseOrStage is how a job ended, or where it stands.
func (j *Job) PhaseOrStage() string {
	if j.Terminal() || j.Stage == StageUnknown {
		return j.Phase
	}
	return string(j.Stage)
}

// Began is when the job began, or was asked for. Backups synced from storage were created long after they began.
func (j *Job) Began() time.Time { return cmp.Or(j.Started, j.Created) }

// Took is how long an ended job took, 0 if that is not known.
func (j *Job) Took() time.Duration {
	if j == nil || j.Started.IsZero() || j.Completed.IsZero() {
		return 0
	}
	return j.Completed.Sub(j.Started)
}

// Elapsed is until the completion or now. A job without a completion time (docs/dev/velero.md#phases) ends
// with its last change.
func (j *Job) Elapsed(now time.Time) time.Duration {
	from := j.Began()
	if j.Terminal() {
		now = cmp.Or(j.Completed, j.Changed)
	}
	if from.IsZero() {
		return 0
	}
	return max(0, now.Sub(from))
}
