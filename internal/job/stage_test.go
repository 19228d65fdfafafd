package job

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero"
)

// step is one look at a job: its state, and what is expected of it.
type step struct {
	after    time.Duration
	job      spec
	stage    Stage
	fraction float64
	known    bool
	done     int64
	total    int64
	unit     Unit
}

func walk(t *testing.T, steps []step) *Job {
	t.Helper()
	var j *Job
	at := noon
	for i, s := range steps {
		at = at.Add(s.after)
		s.job.name = "j"
		in := s.job.input()
		in.ObservedAt = at
		object, _ := in.customResource()
		object.SetResourceVersion(strconv.Itoa(i))
		prev := j
		j = Fold(prev, in)
		checkStep(t, prev, j)
		if j.Stage != s.stage || !close(j.Fraction, s.fraction) || j.FractionKnown != s.known {
			t.Fatalf(
				"step %d: stage %s, fraction %v (%v); want %s, %v (%v)",
				i,
				j.Stage,
				j.Fraction,
				j.FractionKnown,
				s.stage,
				s.fraction,
				s.known,
			)
		}
		done, total, unit, _ := j.Progress()
		if s.unit != "" && (done != s.done || total != s.total || unit != s.unit) {
			t.Fatalf("step %d: progress %d of %d %s; want %d of %d %s", i, done, total, unit, s.done, s.total, s.unit)
		}
	}
	return j
}

func close(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestRestoreThroughVolumes(t *testing.T) {
	pvr := func(a, b Volume) []Volume { return []Volume{a, b} }
	v := func(name, phase string, done, total int64) Volume {
		return volume(velero.PodVolumeRestore, name, phase, done, total, 9, 9)
	}
	running := func(done, total int, volumes []Volume) spec {
		return spec{
			kind:    Restore,
			phase:   velero.PhaseInProgress,
			started: 1,
			done:    done,
			total:   total,
			volumes: volumes,
		}
	}
	ended := spec{kind: Restore, phase: velero.PhaseCompleted, started: 1, ended: 0.1, done: 10, total: 10}
	j := walk(t, []step{
		{job: spec{kind: Restore, total: -1, created: 1}, stage: StageQueued},
		{job: spec{kind: Restore, phase: velero.PhaseInProgress, started: 1, total: -1}, stage: StageItems},
		{
			after:    time.Second,
			job:      running(2, 8, nil),
			stage:    StageItems,
			fraction: 0.25,
			known:    true,
			done:     2,
			total:    8,
			unit:     UnitItems,
		},
		{
			after:    time.Second,
			job:      running(3, 20, nil),
			stage:    StageItems,
			fraction: 0.25,
			known:    true,
			done:     3,
			total:    20,
			unit:     UnitItems,
		},
		{after: time.Second, job: running(10, 10, nil), stage: StageItems, fraction: maxUnfinishedFraction, known: true},
		{
			after:    time.Second,
			job:      running(10, 10, pvr(v("a", velero.VolumeNew, 0, 0), v("b", velero.VolumeCompleted, 5, 5))),
			stage:    StageVolumes,
			fraction: 0.5,
			known:    true,
			done:     1,
			total:    2,
			unit:     UnitVolumes,
		},
		{
			after: time.Second,
			job: running(
				10,
				10,
				pvr(v("a", velero.VolumeInProgress, 10, 95), v("b", velero.VolumeCompleted, 5, 5)),
			),
			stage:    StageVolumes,
			fraction: 0.5,
			known:    true,
			done:     15,
			total:    100,
			unit:     UnitBytes,
		},
		{
			after: time.Second,
			job: running(
				10,
				10,
				pvr(v("a", velero.VolumeInProgress, 99, 95), v("b", velero.VolumeCompleted, 5, 5)),
			),
			stage:    StageVolumes,
			fraction: maxUnfinishedFraction,
			known:    true,
			done:     100,
			total:    100,
			unit:     UnitBytes,
		},
		{
			after: time.Second,
			job: running(
				10,
				10,
				pvr(v("a", velero.VolumeCompleted, 60, 95), v("b", velero.VolumeCompleted, 5, 5)),
			),
			stage:    StageVolumes,
			fraction: maxUnfinishedFraction,
			known:    true,
			done:     100,
			total:    100,
			unit:     UnitBytes,
		},
		{
			after:    time.Second,
			job:      spec{kind: Restore, phase: velero.PhaseFinalizing, started: 1, done: 10, total: 10},
			stage:    StageFinalizing,
			fraction: maxUnfinishedFraction,
			known:    true,
		},
		{after: time.Second, job: running(10, 10, nil), stage: StageFinalizing, fraction: maxUnfinishedFraction, known: true},
		{after: time.Second, job: ended, stage: StageDone, fraction: 1, known: true},
	})
	if j.Items.RevisedFrom != 20 {
		t.Errorf("revised from %d, want 20", j.Items.RevisedFrom)
	}
	volumes := j.FindStageRecord(StageVolumes)
	if got := volumes.Ended.Sub(volumes.Began); got != 4*time.Second {
		t.Errorf("volumes took %v", got)
	}
	if !j.FindStageRecord(StageOperations).Skipped {
		t.Error("operations are not skipped")
	}
	if done := j.FindStageRecord(StageDone); !done.Began.Equal(j.Completed) {
		t.Errorf("done began %v", done.Began)
	}
}

// A backup's last items stay uncounted while it waits for its volumes.
func TestBackupWaitsForVolumesBeforeLastItems(t *testing.T) {
	pvb := func(done int64) []Volume {
		return []Volume{volume(velero.PodVolumeBackup, "a", velero.VolumeInProgress, done, 100, 1, 1)}
	}
	at := func(items int, bytes int64) spec {
		return spec{phase: velero.PhaseInProgress, started: 1, done: items, total: 1000, volumes: pvb(bytes)}
	}
	walk(t, []step{
		{job: at(900, 10), stage: StageItems, fraction: 0.9, known: true},
		{after: 40 * time.Second, job: at(900, 20), stage: StageItems, fraction: 0.9, known: true},
		{after: time.Second, job: at(985, 20), stage: StageItems, fraction: 0.985, known: true},
		{after: 10 * time.Second, job: at(985, 30), stage: StageItems, fraction: 0.985, known: true},
		{
			after:    30 * time.Second,
			job:      at(985, 40),
			stage:    StageVolumes,
			fraction: 0.4,
			known:    true,
			done:     40,
			total:    100,
			unit:     UnitBytes,
		},
		{after: time.Second, job: at(986, 40), stage: StageVolumes, fraction: 0.4, known: true},
	})
}

func TestBackupThroughOperations(t *testing.T) {
	du := func(phase string, done, total int64) []Volume {
		return []Volume{volume(velero.DataUpload, "a", phase, done, total, 1, 1)}
	}
	waiting := func(completed int, volumes []Volume) spec {
		return spec{
			phase:   velero.PhaseWaitingForPluginOperations,
			started: 1,
			done:    9,
			total:   9,
			ops:     [3]int{4, completed, 0},
			volumes: volumes,
		}
	}
	j := walk(t, []step{
		{job: spec{phase: velero.PhaseQueued, position: 2, total: -1}, stage: StageQueued},
		{after: time.Second, job: spec{phase: velero.PhaseReadyToStart, total: -1}, stage: StageQueued},
		{
			after: time.Second,
			job: spec{
				phase:   velero.PhaseInProgress,
				started: 1,
				done:    9,
				total:   9,
				volumes: du(velero.VolumeInProgress, 1, 10),
			},
			stage:    StageItems,
			fraction: maxUnfinishedFraction,
			known:    true,
		},
		{
			after:    time.Second,
			job:      waiting(1, nil),
			stage:    StageOperations,
			fraction: 0.25,
			known:    true,
			done:     1,
			total:    4,
			unit:     UnitOperations,
		},
		{
			after:    time.Second,
			job:      waiting(1, du(velero.VolumeInProgress, 0, 0)),
			stage:    StageOperations,
			fraction: 0.25,
			known:    true,
			done:     1,
			total:    4,
			unit:     UnitOperations,
		},
		{
			after:    time.Second,
			job:      waiting(1, du(velero.VolumeInProgress, 4, 10)),
			stage:    StageOperations,
			fraction: 0.4,
			known:    true,
			done:     4,
			total:    10,
			unit:     UnitBytes,
		},
		{
			after:    time.Second,
			job:      waiting(2, du(velero.VolumeFailed, 5, 10)),
			stage:    StageOperations,
			fraction: maxUnfinishedFraction,
			known:    true,
			done:     5,
			total:    5,
			unit:     UnitBytes,
		},
		{
			after:    time.Second,
			job:      spec{phase: velero.PhaseFinalizingPartiallyFailed, started: 1, done: 9, total: 9},
			stage:    StageFinalizing,
			fraction: maxUnfinishedFraction,
			known:    true,
		},
		{
			after:    time.Second,
			job:      spec{phase: velero.PhasePartiallyFailed, started: 1, ended: 0.1, done: 9, total: 9},
			stage:    StageDone,
			fraction: 1,
			known:    true,
		},
		{
			after: time.Second,
			job:   spec{phase: velero.PhaseDeleting, started: 1, ended: 0.1, done: 9, total: 9},
			stage: StageDeleting,
		},
	})
	if r := j.FindStageRecord(StageDeleting); r.Began.IsZero() || j.IsTerminal() {
		t.Errorf("deleting began %v, terminal %v", r.Began, j.IsTerminal())
	}
}

func TestHowTheBarEnds(t *testing.T) {
	items := func(phase string, done, total int) spec {
		return spec{phase: phase, started: 1, done: done, total: total}
	}
	volumes := func(phase, volumePhase string) spec {
		return spec{
			phase:   phase,
			started: 1,
			done:    9,
			total:   9,
			volumes: []Volume{volume(velero.PodVolumeBackup, "v", volumePhase, 41, 100, 1, 1)},
		}
	}
	for name, steps := range map[string][]step{
		"completed without items":    {{job: items(velero.PhaseCompleted, 0, 0), stage: StageDone, fraction: 1, known: true}},
		"completed without progress": {{job: items(velero.PhaseCompleted, 0, -1), stage: StageDone, fraction: 1, known: true}},
		"failed keeps its numbers":   {{job: items(velero.PhaseFailed, 117, 242), stage: StageDone, fraction: 117. / 242, known: true}},
		"failed is not lower than drawn": {
			{job: items(velero.PhaseInProgress, 60, 100), stage: StageItems, fraction: 0.6, known: true},
			{after: time.Second, job: items(velero.PhaseFailed, 117, 242), stage: StageDone, fraction: 0.6, known: true}},
		"failed while volumes moved": {
			{job: volumes(velero.PhaseInProgress, velero.VolumeInProgress), stage: StageVolumes, fraction: 0.41, known: true},
			{after: time.Second, job: volumes(velero.PhaseFailed, velero.VolumeInProgress), stage: StageDone, fraction: 0.41, known: true}},
		"failed while volumes moved, seen late": {{job: volumes(velero.PhaseFailed, velero.VolumeInProgress), stage: StageDone, fraction: 0.41, known: true}},
		"partially failed with all items": {
			{job: items(velero.PhaseFinalizingPartiallyFailed, 51, 51), stage: StageFinalizing, fraction: maxUnfinishedFraction, known: true},
			{after: time.Second, job: items(velero.PhasePartiallyFailed, 51, 51), stage: StageDone, fraction: 1, known: true}},
		"partially failed without progress": {{job: items(velero.PhasePartiallyFailed, 0, -1), stage: StageDone}},
		"failed validation":                 {{job: items(velero.PhaseFailedValidation, 0, -1), stage: StageDone}},
		"failed becomes completed": { // Velero issue 7230
			{job: items(velero.PhaseFailed, 117, 242), stage: StageDone, fraction: 117. / 242, known: true},
			{after: time.Second, job: items(velero.PhaseCompleted, 242, 242), stage: StageDone, fraction: 1, known: true}},
		"a forced end that did not hold": {
			{job: items(velero.PhaseCompleted, 9, 9), stage: StageDone, fraction: 1, known: true},
			{after: time.Second, job: items(velero.PhaseFinalizing, 9, 9), stage: StageFinalizing, fraction: maxUnfinishedFraction, known: true},
			{after: time.Second, job: items(velero.PhasePartiallyFailed, 9, 9), stage: StageDone, fraction: 1, known: true}},
		"a phase of the future on the way": {
			{job: items(velero.PhaseInProgress, 60, 100), stage: StageItems, fraction: 0.6, known: true},
			{after: time.Second, job: items("Verifying", 60, 100), stage: StageUnknown, fraction: 0.6, known: true},
			{after: time.Second, job: items(velero.PhaseInProgress, 50, 100), stage: StageItems, fraction: 0.6, known: true},
			{after: time.Second, job: items("Verifying", 60, 100), stage: StageUnknown, fraction: 0.6, known: true},
			{after: time.Second, job: items(velero.PhaseWaitingForPluginOperations, 60, 100), stage: StageOperations}},
	} {
		t.Run(name, func(t *testing.T) { walk(t, steps) })
	}
}

func TestAnotherJobOfTheSameName(t *testing.T) {
	old := spec{name: "j", phase: velero.PhaseInProgress, started: 1, done: 6, total: 9}.job(t)
	in := spec{name: "j", total: -1}.input()
	in.Backup.UID = "another"
	j := Fold(old, in)
	if j.Stage != StageQueued || j.Fraction != 0 || j.Items.Known {
		t.Errorf("the new job carries over stage %s, fraction %v, items %+v", j.Stage, j.Fraction, j.Items)
	}
}

// Who starts late knows what the cluster's own time stamps say, and no more.
func TestSeenLate(t *testing.T) {
	began := func(j *Job) []Stage {
		var out []Stage
		for _, r := range j.Stages {
			if !r.Began.IsZero() {
				out = append(out, r.Stage)
			}
		}
		return out
	}
	waiting := spec{
		name:    "j",
		phase:   velero.PhaseWaitingForPluginOperations,
		created: 70,
		started: 60,
		changed: 20,
		done:    9,
		total:   9,
		ops:     [3]int{1, 0, 0},
	}.job(
		t,
	)
	if got := began(waiting); !slices.Equal(got, []Stage{StageQueued, StageItems, StageOperations}) {
		t.Errorf("known: %v", got)
	}
	if r := waiting.FindStageRecord(StageOperations); !r.Began.Equal(minutesAgo(20)) {
		t.Errorf("operations began %v, want the last change", r.Began)
	}
	if r := waiting.FindStageRecord(StageQueued); r.Ended.Sub(r.Began) != 10*time.Minute {
		t.Errorf("queued for %v, want 10m", r.Ended.Sub(r.Began))
	}
	if !waiting.FindStageRecord(StageVolumes).Skipped {
		t.Error("volumes are not skipped, though there are none")
	}
	ended := spec{
		name:    "j",
		phase:   velero.PhaseCompleted,
		created: 70,
		started: 60,
		ended:   30,
		changed: 30,
		done:    9,
		total:   9,
	}.job(
		t,
	)
	if got := began(ended); !slices.Equal(got, []Stage{StageQueued, StageItems, StageFinalizing, StageDone}) {
		t.Errorf("known: %v", got)
	}
	if got := ended.Elapsed(noon); got != 30*time.Minute {
		t.Errorf("elapsed %v, want 30m", got)
	}
	failed := spec{
		name:    "j",
		phase:   velero.PhaseFailed,
		created: 70,
		started: 60,
		changed: 30,
		done:    9,
		total:   90,
	}.job(
		t,
	)
	for _, r := range failed.Stages[2:5] {
		if r.Skipped || !r.Began.IsZero() {
			t.Errorf("stage %s of a job that failed before it: %+v", r.Stage, r)
		}
	}
	if got := failed.Elapsed(noon); got != 30*time.Minute {
		t.Errorf("elapsed %v without a completion time, want until the last change", got)
	}
}

// An age is that of kubectl, and goes on when a job that waited starts. A backup that was synced from storage is as old
// as its run.
func TestAgeSince(t *testing.T) {
	created, started := minutesAgo(10), minutesAgo(2)
	for name, c := range map[string]struct{ created, started, want time.Time }{
		"waits":         {created, time.Time{}, created},
		"waited":        {created, started, created},
		"was synced":    {started, created, created},
		"never created": {time.Time{}, started, started},
	} {
		if got := (&Job{Created: c.created, Started: c.started}).AgeSince(); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
