package job

import "github.com/veltui/veltui/internal/velero"

// almost is the most that is drawn of a job that has not ended (docs/dev/velero.md#after-the-last-item).
const almost = 0.99

// draw sets the fraction, never lower than it was drawn in the same stage.
func (j *Job) draw(prev *Job) {
	fraction, known := j.stageFraction(prev)
	if !j.Terminal() {
		fraction = min(fraction, almost)
	}
	fraction = min(max(fraction, 0), 1)
	if j.Stage != StageUnknown {
		j.track.drawnIn = j.Stage
	}
	if prev != nil && prev.FractionKnown && prev.track.drawnIn == j.track.drawnIn && prev.Terminal() == j.Terminal() {
		fraction, known = max(fraction, prev.Fraction), true
	}
	j.Fraction, j.FractionKnown = fraction, known
}

func (j *Job) stageFraction(prev *Job) (fraction float64, known bool) {
	switch j.Stage {
	case StageItems:
		return ratio(j.Items.Done, j.Items.Total)
	case StageVolumes:
		return j.track.filesystem.fraction()
	case StageOperations:
		if j.operationsAreVolumes() {
			return j.track.movers.fraction()
		}
		return ratio(int(j.Operations.Ended()), j.Operations.Attempted)
	case StageFinalizing:
		return almost, true
	case StageDone:
		return j.finalFraction(prev)
	}
	return 0, false
}

func ratio(done, total int) (fraction float64, known bool) {
	if total <= 0 {
		return 0, false
	}
	return float64(done) / float64(total), true
}

// operationsAreVolumes reports whether the volumes tell more of the operations than their counters do.
func (j *Job) operationsAreVolumes() bool {
	movers := &j.track.movers
	return movers.Sized() || movers.Count > 0 && movers.Count >= j.Operations.Attempted
}

// Ended is how many operations ended, well or not.
func (o Operations) Ended() int64 { return addUp(int64(max(0, o.Completed)), int64(max(0, o.Failed))) }

// finalFraction is 1 only if Completed. A failed job keeps what was drawn of the stage in which it failed.
func (j *Job) finalFraction(prev *Job) (fraction float64, known bool) {
	if j.Phase == velero.PhaseCompleted {
		return 1, true
	}
	if j.Phase == velero.PhaseFailedValidation {
		return 0, false
	}
	fraction, known = ratio(j.Items.Done, j.Items.Total)
	if j.Phase != velero.PhaseFailed {
		return fraction, known
	}
	if fraction >= 1 && j.track.filesystem.Active()+j.track.filesystem.Failed > 0 {
		fraction, known = j.track.filesystem.fraction()
	}
	if prev != nil && (prev.Stage == StageItems || prev.Stage == StageVolumes) && prev.FractionKnown {
		fraction, known = max(fraction, prev.Fraction), true
	}
	return fraction, known
}

// Unit is what the present stage counts.
type Unit string

// The units of progress. Volumes are counted while their sizes are not known.
const (
	UnitItems      Unit = "items"
	UnitBytes      Unit = "bytes"
	UnitOperations Unit = "operations"
	UnitVolumes    Unit = "volumes"
)

// Progress is the present stage's numbers, in its own unit. known is false without a total.
func (j *Job) Progress() (done, total int64, unit Unit, known bool) {
	switch j.Stage {
	case StageVolumes:
		return j.track.filesystem.progress()
	case StageOperations:
		if j.operationsAreVolumes() {
			return j.track.movers.progress()
		}
		done, total = j.Operations.Ended(), int64(max(0, j.Operations.Attempted))
		return done, total, UnitOperations, total > 0
	}
	done, total = int64(max(0, j.Items.Done)), int64(max(0, j.Items.Total))
	return done, total, UnitItems, j.Items.Known && (total > 0 || j.Terminal())
}

func (t Tally) progress() (done, total int64, unit Unit, known bool) {
	if t.Sized() {
		return t.Done, t.Total, UnitBytes, true
	}
	return int64(t.Ended), int64(t.Count), UnitVolumes, t.Count > 0
}
