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
	// StageDeleting is the stage of a backup that is being deleted (phase Deleting).
	StageDeleting Stage = "Deleting"
	// StageUnknown is the stage for a phase that this version does not know.
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

// StageOf returns the stage for a phase. InProgress covers two stages: items, and volumes after them; StageOf returns
// the first.
func StageOf(phase string) Stage {
	switch phase {
	case "", velero.PhaseNew, velero.PhaseQueued, velero.PhaseReadyToStart:
		return StageQueued
	case velero.PhaseInProgress:
		return StageItems
	case velero.PhaseWaitingForPluginOperations, velero.PhaseWaitingForPluginOperationsPartiallyFailed:
		return StageOperations
	case velero.PhaseFinalizing, velero.PhaseFinalizingPartiallyFailed:
		return StageFinalizing
	case velero.PhaseDeleting:
		return StageDeleting
	}
	if velero.IsTerminalPhase(phase) {
		return StageDone
	}
	return StageUnknown
}

// stageOrder is the life of every job. StageDeleting follows it; StageUnknown is not part of it.
var stageOrder = [...]Stage{StageQueued, StageItems, StageVolumes, StageOperations, StageFinalizing, StageDone}

func stageRank(s Stage) int {
	switch s {
	case StageUnknown:
		return -1
	case StageDeleting:
		return len(stageOrder)
	}
	return slices.Index(stageOrder[:], s)
}

// updateStage determines the stage and dates the records. The stage only goes back if an ended job is revived.
func (j *Job) updateStage(prev *Job, at time.Time) {
	stage := j.presentStage(at)
	revived := prev != nil && prev.IsTerminal() && !j.IsTerminal() && stage != StageDeleting
	if revived {
		j.track.revived = true
		j.track.samples, j.track.fractionStage = sampleList{}, ""
	}
	if prev == nil || revived {
		j.Stage = stage
		j.Stages = j.newStageRecords()
		return
	}
	reached := prev.furthestStage()
	if stage != StageUnknown && stageRank(stage) < stageRank(reached) {
		stage = reached
	}
	j.Stage = stage
	if stage != prev.Stage && stage != StageUnknown {
		j.Stages = j.advanceRecords(prev, at)
		return
	}
	j.Stages = prev.Stages
}

// furthestStage returns the furthest stage that the job is known to have reached.
func (j *Job) furthestStage() Stage { return cmp.Or(j.track.fractionStage, StageQueued) }

// The last items of a backup may stay uncounted until its volumes are done (docs/dev/velero.md#progress): if only
// this share is left, and nothing moved for this long, the backup waits for its volumes.
const (
	uncountedShare = 0.02
	uncountedQuiet = 30 * time.Second
)

func (j *Job) presentStage(at time.Time) Stage {
	stage := StageOf(j.Phase)
	if stage != StageItems || j.track.podVolumes.ActiveCount() == 0 || !j.Items.Known || j.Items.Total <= 0 {
		return stage
	}
	if j.Items.Done >= j.Items.Total {
		return StageVolumes
	}
	if j.Kind == Backup && float64(j.Items.Done) >= (1-uncountedShare)*float64(j.Items.Total) &&
		at.Sub(j.track.itemsMovedAt) >= uncountedQuiet {
		return StageVolumes
	}
	return stage
}

// newStageRecords dates the stages of a job when it is first seen.
func (j *Job) newStageRecords() []StageRecord {
	records := make([]StageRecord, len(stageOrder)) // no more: most jobs have ended, and there are thousands
	for i, s := range stageOrder {
		records[i].Stage = s
	}
	if j.Stage == StageDeleting {
		records = append(records, StageRecord{Stage: StageDeleting})
	}
	records[0].Began = j.Created

	present := stageRank(j.Stage)
	if present < 0 && !j.Started.IsZero() {
		present = stageRank(StageItems)
	}
	if present > 0 && !j.Started.IsZero() {
		records[0].Ended, records[1].Began = j.Started, j.Started
	}
	if !j.hasFailed() {
		j.dateMiddleStages(records, present)
	}
	if present >= stageRank(StageDone) {
		j.endRecords(records)
	} else if present > 0 && records[present].Began.IsZero() {
		now := &records[present]
		now.Began = LatestTime(j.LastChanged, j.Started)
		if j.track.movedAt.After(j.Started) && j.track.movedAt.Before(now.Began) {
			now.Began = j.track.movedAt
		}
	}
	endEarlierRecords(records, present)
	return records
}

func (j *Job) hasFailed() bool {
	return j.Phase == velero.PhaseFailed || j.Phase == velero.PhaseFailedValidation
}

// dateMiddleStages dates or skips the stages between the items and the current stage.
func (j *Job) dateMiddleStages(records []StageRecord, present int) {
	for i := stageRank(StageVolumes); i < min(present, stageRank(StageDone)); i++ {
		r := &records[i]
		switch {
		case r.Stage == StageVolumes && j.track.podVolumes.Count > 0:
			r.Began = LatestTime(j.lastVolumeEnd(true), j.Started)
		case r.Stage == StageOperations && (j.track.dataMovements.Count > 0 || j.Operations.Attempted > 0):
			r.Began = LatestTime(j.lastVolumeEnd(false), j.Started)
		case r.Stage == StageFinalizing && (j.Phase == velero.PhaseCompleted || j.Phase == velero.PhasePartiallyFailed):
			r.Began = LatestTime(j.Completed, j.Started)
		default:
			r.Skipped = true
			continue
		}
		r.Ended = r.Began
	}
}

// lastVolumeEnd returns when the last pod volume, or the last data movement, ended.
func (j *Job) lastVolumeEnd(podVolumes bool) time.Time {
	summed := j.track.completed.valueOrZero()
	last := summed.lastDataMovement
	if podVolumes {
		last = summed.lastPodVolume
	}
	for i := range j.Volumes {
		if j.Volumes[i].Kind.IsPodVolume() == podVolumes {
			last = LatestTime(last, j.Volumes[i].Completed)
		}
	}
	return last
}

// endRecords dates the end of a job that is first seen after it has ended.
func (j *Job) endRecords(records []StageRecord) {
	done := &records[stageRank(StageDone)]
	if done.Began = j.Completed; j.Completed.IsZero() {
		done.Began = LatestTime(j.LastChanged, j.Started, j.Created)
	}
	if j.Stage == StageDeleting {
		records[stageRank(StageDeleting)].Began = LatestTime(j.LastChanged, done.Began)
	}
}

// endEarlierRecords ends the stages before the current one.
func endEarlierRecords(records []StageRecord, present int) {
	end := time.Time{}
	for i := min(present, len(records)-1); i >= 0; i-- {
		r := &records[i]
		if i < present && r.Ended.IsZero() && !r.Began.IsZero() {
			r.Ended = LatestTime(end, r.Began)
		}
		if !r.Began.IsZero() {
			end = r.Began
		}
	}
}

// advanceRecords dates a change of stage that this process saw, by the cluster's time stamps if possible.
func (j *Job) advanceRecords(prev *Job, at time.Time) []StageRecord {
	records := slices.Clone(prev.Stages)
	if j.Stage == StageDeleting && records[len(records)-1].Stage != StageDeleting {
		records = append(records, StageRecord{Stage: StageDeleting})
	}
	from, to := stageRank(prev.furthestStage()), stageRank(j.Stage)
	if to <= from {
		return prev.Stages // back from an unknown phase
	}
	began := LatestTime(at, records[from].Began)
	switch {
	case (j.Stage == StageItems || j.Stage == StageVolumes) && from == 0 && !j.Started.IsZero():
		began = j.Started
	case j.Stage == StageDone && !j.Completed.IsZero():
		began = j.Completed
	}
	if from == 0 && to > stageRank(StageItems) && !j.Started.IsZero() {
		// All items were done between two observations.
		items := &records[stageRank(StageItems)]
		items.Began, items.Ended = j.Started, LatestTime(began, j.Started)
		records[0].Ended = j.Started
	}
	for i := from + 1; i < to && i < len(records) && !j.hasFailed(); i++ {
		records[i].Skipped = records[i].Skipped || records[i].Began.IsZero()
	}
	if records[from].Ended.IsZero() {
		records[from].Ended = LatestTime(began, records[from].Began)
	}
	records[to].Began, records[to].Skipped = began, false
	return records
}

func (j *Job) FindStageRecord(s Stage) StageRecord {
	if i := slices.IndexFunc(j.Stages, func(r StageRecord) bool { return r.Stage == s }); i >= 0 {
		return j.Stages[i]
	}
	return StageRecord{Stage: s}
}
