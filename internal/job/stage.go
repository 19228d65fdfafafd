package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/velero"
)

// Stage is a part of a job's life as the screens name it.
type Stage string

// The stages in the order in which a job can pass them.
const (
	StageQueued     Stage = "Queued"
	StageItems      Stage = "Items"
	StageVolumes    Stage = "Volumes"
	StageOperations Stage = "Operations"
	StageFinalizing Stage = "Finalizing"
	StageDone       Stage = "Done"
	// StageDeleting is a backup that is being deleted (phase Deleting).
	StageDeleting Stage = "Deleting"
	// StageUnknown is a phase that this version does not know.
	StageUnknown Stage = "Unknown"
)

// StageRecord says when a stage began and ended.
type StageRecord struct {
	Stage Stage
	// Began and Ended are zero if the stage has not begun or ended.
	Began time.Time
	Ended time.Time
	// Skipped is true for a stage that the job passed without needing it.
	Skipped bool
}

// StageOf is the stage that a phase tells. InProgress covers two: items, and volumes after them.
func StageOf(phase string) Stage {
	switch phase {
	case "", velero.PhaseNew, velero.PhaseQueued, velero.PhaseReadyToStart:
		return StageQueued
	case velero.PhaseInProgress:
		return StageItems
	case velero.PhaseWaiting, velero.PhaseWaitingPartly:
		return StageOperations
	case velero.PhaseFinalizing, velero.PhaseFinalizingPartly:
		return StageFinalizing
	case velero.PhaseDeleting:
		return StageDeleting
	}
	if velero.TerminalPhase(phase) {
		return StageDone
	}
	return StageUnknown
}

// order is the life of every job. StageDeleting follows it; StageUnknown stands outside of it.
var order = [...]Stage{StageQueued, StageItems, StageVolumes, StageOperations, StageFinalizing, StageDone}

func rank(s Stage) int {
	switch s {
	case StageUnknown:
		return -1
	case StageDeleting:
		return len(order)
	}
	return slices.Index(order[:], s)
}

// enterStage finds the stage and dates the records. The stage only goes back if a job that had ended lives again.
func (j *Job) enterStage(prev *Job, at time.Time) {
	stage := j.presentStage(at)
	revived := prev != nil && prev.Terminal() && !j.Terminal() && stage != StageDeleting
	if revived {
		j.track.revived = true
		j.track.samples, j.track.drawnIn = samples{}, ""
	}
	if prev == nil || revived {
		j.Stage = stage
		j.Stages = j.firstRecords()
		return
	}
	reached := prev.reached()
	if stage != StageUnknown && rank(stage) < rank(reached) {
		stage = reached
	}
	j.Stage = stage
	if stage != prev.Stage && stage != StageUnknown {
		j.Stages = j.advance(prev, at)
		return
	}
	j.Stages = prev.Stages
}

// reached is the furthest stage that the job was known to be in.
func (j *Job) reached() Stage { return cmp.Or(j.track.drawnIn, StageQueued) }

// The last items of a backup may stay uncounted until its volumes are done (docs/dev/velero.md#progress):
// with all but a share of them, and quiet for so long, it waits for its volumes.
const (
	uncountedShare = 0.02
	uncountedQuiet = 30 * time.Second
)

func (j *Job) presentStage(at time.Time) Stage {
	stage := StageOf(j.Phase)
	if stage != StageItems || j.track.filesystem.Active() == 0 || !j.Items.Known || j.Items.Total <= 0 {
		return stage
	}
	if j.Items.Done >= j.Items.Total {
		return StageVolumes
	}
	if j.Kind == Backup && float64(j.Items.Done) >= (1-uncountedShare)*float64(j.Items.Total) &&
		at.Sub(j.track.itemsMoved) >= uncountedQuiet {
		return StageVolumes
	}
	return stage
}

// firstRecords dates the stages of a job that is seen for the first time.
func (j *Job) firstRecords() []StageRecord {
	records := make([]StageRecord, len(order)) // no more: most jobs have ended, and there are thousands
	for i, s := range order {
		records[i].Stage = s
	}
	if j.Stage == StageDeleting {
		records = append(records, StageRecord{Stage: StageDeleting})
	}
	records[0].Began = j.Created

	present := rank(j.Stage)
	if present < 0 && !j.Started.IsZero() {
		present = rank(StageItems)
	}
	if present > 0 && !j.Started.IsZero() {
		records[0].Ended, records[1].Began = j.Started, j.Started
	}
	if !j.failed() {
		j.passVolumes(records, present)
	}
	if present >= rank(StageDone) {
		j.endRecords(records)
	} else if present > 0 && records[present].Began.IsZero() {
		now := &records[present]
		now.Began = Latest(j.Changed, j.Started)
		if j.track.moved.After(j.Started) && j.track.moved.Before(now.Began) {
			now.Began = j.track.moved
		}
	}
	closeBefore(records, present)
	return records
}

func (j *Job) failed() bool {
	return j.Phase == velero.PhaseFailed || j.Phase == velero.PhaseFailedValidation
}

// passVolumes dates or skips the stages between the items and the present one.
func (j *Job) passVolumes(records []StageRecord, present int) {
	for i := rank(StageVolumes); i < min(present, rank(StageDone)); i++ {
		r := &records[i]
		switch {
		case r.Stage == StageVolumes && j.track.filesystem.Count > 0:
			r.Began = Latest(j.lastVolume(true), j.Started)
		case r.Stage == StageOperations && (j.track.movers.Count > 0 || j.Operations.Attempted > 0):
			r.Began = Latest(j.lastVolume(false), j.Started)
		case r.Stage == StageFinalizing && (j.Phase == velero.PhaseCompleted || j.Phase == velero.PhasePartiallyFailed):
			r.Began = Latest(j.Completed, j.Started)
		default:
			r.Skipped = true
			continue
		}
		r.Ended = r.Began
	}
}

// lastVolume is when the last volume of a sort ended.
func (j *Job) lastVolume(podVolumes bool) time.Time {
	summed := j.track.completed.value()
	last := summed.lastMover
	if podVolumes {
		last = summed.lastPodVolume
	}
	for i := range j.Volumes {
		if j.Volumes[i].Kind.IsPodVolume() == podVolumes {
			last = Latest(last, j.Volumes[i].Completed)
		}
	}
	return last
}

// endRecords dates the end of a job that is first seen when it is over.
func (j *Job) endRecords(records []StageRecord) {
	done := &records[rank(StageDone)]
	if done.Began = j.Completed; j.Completed.IsZero() {
		done.Began = Latest(j.Changed, j.Started, j.Created)
	}
	if j.Stage == StageDeleting {
		records[rank(StageDeleting)].Began = Latest(j.Changed, done.Began)
	}
}

// closeBefore ends what began before the present stage.
func closeBefore(records []StageRecord, present int) {
	end := time.Time{}
	for i := min(present, len(records)-1); i >= 0; i-- {
		r := &records[i]
		if i < present && r.Ended.IsZero() && !r.Began.IsZero() {
			r.Ended = Latest(end, r.Began)
		}
		if !r.Began.IsZero() {
			end = r.Began
		}
	}
}

// advance dates a change of stage that this process saw, by the cluster's time stamps if possible.
func (j *Job) advance(prev *Job, at time.Time) []StageRecord {
	records := slices.Clone(prev.Stages)
	if j.Stage == StageDeleting && records[len(records)-1].Stage != StageDeleting {
		records = append(records, StageRecord{Stage: StageDeleting})
	}
	from, to := rank(prev.reached()), rank(j.Stage)
	if to <= from {
		return prev.Stages // back from a phase that is not known
	}
	began := Latest(at, records[from].Began)
	switch {
	case (j.Stage == StageItems || j.Stage == StageVolumes) && from == 0 && !j.Started.IsZero():
		began = j.Started
	case j.Stage == StageDone && !j.Completed.IsZero():
		began = j.Completed
	}
	if from == 0 && to > rank(StageItems) && !j.Started.IsZero() {
		// The whole run of items fell between two looks.
		items := &records[rank(StageItems)]
		items.Began, items.Ended = j.Started, Latest(began, j.Started)
		records[0].Ended = j.Started
	}
	for i := from + 1; i < to && i < len(records) && !j.failed(); i++ {
		records[i].Skipped = records[i].Skipped || records[i].Began.IsZero()
	}
	if records[from].Ended.IsZero() {
		records[from].Ended = Latest(began, records[from].Began)
	}
	records[to].Began, records[to].Skipped = began, false
	return records
}

func (j *Job) Record(s Stage) StageRecord {
	if i := slices.IndexFunc(j.Stages, func(r StageRecord) bool { return r.Stage == s }); i >= 0 {
		return j.Stages[i]
	}
	return StageRecord{Stage: s}
}
