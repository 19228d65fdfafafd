package job

import "github.com/veltui/veltui/internal/velero"

// maxUnfinishedFraction is the largest fraction of a job that has not ended (docs/dev/velero.md#after-the-last-item).
const maxUnfinishedFraction = 0.99

// updateFraction sets the fraction, never lower than before in the same stage.
func (j *Job) updateFraction(prev *Job) {
	fraction, known := j.stageFraction(prev)
	if !j.IsTerminal() {
		fraction = min(fraction, maxUnfinishedFraction)
	}
	fraction = min(max(fraction, 0), 1)
	if j.Stage != StageUnknown {
		j.track.fractionStage = j.Stage
	}
	if prev != nil && prev.FractionKnown && prev.track.fractionStage == j.track.fractionStage &&
		prev.IsTerminal() == j.IsTerminal() {
		fraction, known = max(fraction, prev.Fraction), true
	}
	j.Fraction, j.FractionKnown = fraction, known
}

func (j *Job) stageFraction(prev *Job) (fraction float64, known bool) {
	switch j.Stage {
	case StageItems:
		return fractionOf(j.Items.Done, j.Items.Total)
	case StageVolumes:
		return j.track.podVolumes.computeFraction()
	case StageOperations:
		if j.areVolumesMoreExact() {
			return j.track.dataMovements.computeFraction()
		}
		return fractionOf(int(j.Operations.EndedCount()), j.Operations.Attempted)
	case StageFinalizing:
		return maxUnfinishedFraction, true
	case StageDone:
		return j.finalFraction(prev)
	}
	return 0, false
}

func fractionOf(done, total int) (fraction float64, known bool) {
	if total <= 0 {
		return 0, false
	}
	return float64(done) / float64(total), true
}

// areVolumesMoreExact reports whether the volumes say more about the operations than the operations' counters do.
func (j *Job) areVolumesMoreExact() bool {
	movers := &j.track.dataMovements
	return movers.IsSized() || movers.Count > 0 && movers.Count >= j.Operations.Attempted
}

// EndedCount returns how many operations ended, successfully or not.
func (o Operations) EndedCount() int64 {
	return addSaturating(int64(max(0, o.Completed)), int64(max(0, o.Failed)))
}

// finalFraction returns 1 only if the job Completed. A failed job keeps the fraction of the stage in which it failed.
func (j *Job) finalFraction(prev *Job) (fraction float64, known bool) {
	if j.Phase == velero.PhaseCompleted {
		return 1, true
	}
	if j.Phase == velero.PhaseFailedValidation {
		return 0, false
	}
	fraction, known = fractionOf(j.Items.Done, j.Items.Total)
	if j.Phase != velero.PhaseFailed {
		return fraction, known
	}
	if fraction >= 1 && j.track.podVolumes.ActiveCount()+j.track.podVolumes.Failed > 0 {
		fraction, known = j.track.podVolumes.computeFraction()
	}
	if prev != nil && (prev.Stage == StageItems || prev.Stage == StageVolumes) && prev.FractionKnown {
		fraction, known = max(fraction, prev.Fraction), true
	}
	return fraction, known
}

// Unit is what the current stage counts.
type Unit string

// The units of progress. Volumes are counted while their sizes are unknown.
const (
	UnitItems      Unit = "items"
	UnitBytes      Unit = "bytes"
	UnitOperations Unit = "operations"
	UnitVolumes    Unit = "volumes"
)

// Progress returns the current stage's numbers, in its own unit. known is false without a total.
func (j *Job) Progress() (done, total int64, unit Unit, known bool) {
	switch j.Stage {
	case StageVolumes:
		return j.track.podVolumes.sumProgress()
	case StageOperations:
		if j.areVolumesMoreExact() {
			return j.track.dataMovements.sumProgress()
		}
		done, total = j.Operations.EndedCount(), int64(max(0, j.Operations.Attempted))
		return done, total, UnitOperations, total > 0
	}
	done, total = int64(max(0, j.Items.Done)), int64(max(0, j.Items.Total))
	return done, total, UnitItems, j.Items.Known && (total > 0 || j.IsTerminal())
}

// IsEmpty reports whether the job is Completed and Velero counted no item: it saved or restored nothing.
func (j *Job) IsEmpty() bool {
	return j.Phase == velero.PhaseCompleted && j.Items.Known && j.Items.Done <= 0 && j.Items.Total <= 0 &&
		j.VolumeCount() == 0
}

func (t VolumeTally) sumProgress() (done, total int64, unit Unit, known bool) {
	if t.IsSized() {
		return t.Done, t.Total, UnitBytes, true
	}
	return int64(t.Ended), int64(t.Count), UnitVolumes, t.Count > 0
}
