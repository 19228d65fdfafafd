package job

import (
	"time"

	"github.com/veltui/veltui/velero"
)

// Moved is when the job's own resource last changed its phase or one of its
// counters, in the cluster's clock. known is false while that is only the time
// at which this process first saw the job.
func (j *Job) Moved() (at time.Time, known bool) { return j.track.moved, j.track.movedKnown }

// ItemsMoved is the same of the item counters alone.
func (j *Job) ItemsMoved() time.Time { return j.track.itemsMoved }

// VolumesMoved is when a volume that counts in the present phase last moved.
// Data movers go on by themselves while Velero is in progress with the items, so
// they do not show that it lives.
func (j *Job) VolumesMoved() time.Time {
	if j.Phase == velero.PhaseInProgress {
		return j.track.filesystemMoved
	}
	return Latest(j.track.filesystemMoved, j.track.moversMoved)
}

// QuietSince is when the job last moved, in the cluster's clock: when its
// phase or numbers last changed, or those of a volume that counts in its phase.
func (j *Job) QuietSince() time.Time { return Latest(j.track.moved, j.VolumesMoved()) }

// PodVolumes sums up the volumes that are moved while the job is InProgress.
func (j *Job) PodVolumes() Tally { return j.track.filesystem }

// DataMovements sums up the volumes that are moved by asynchronous operations.
func (j *Job) DataMovements() Tally { return j.track.movers }

// ActiveVolumes is how many of the job's volumes have not ended.
func (j *Job) ActiveVolumes() int { return j.track.filesystem.Active() + j.track.movers.Active() }

// Revived reports whether the job had ended and went on: Velero, or a person,
// wrote a phase that is not terminal over one that is (Velero issue 7230).
func (j *Job) Revived() bool { return j.track.revived }

// AnyVolumeMoved is when any volume of the job last moved.
func (j *Job) AnyVolumeMoved() time.Time {
	return Latest(j.track.filesystemMoved, j.track.moversMoved)
}
