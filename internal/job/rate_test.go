package job

import (
	"math"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// moving feeds a restore's item counts, one event each step, and returns the
// last Job and its time.
func moving(t *testing.T, step time.Duration, total int, counts ...int) (*Job, time.Time) {
	t.Helper()
	var j *Job
	at := noon
	for i, n := range counts {
		at = noon.Add(time.Duration(i) * step)
		in := spec{name: "r", kind: Restore, phase: velero.PhaseInProgress, started: 1, done: n, total: total}.input()
		in.ObservedAt = at
		j = Fold(j, in)
	}
	return j, at
}

func steady(from, by, n int) []int {
	counts := make([]int, n)
	for i := range counts {
		counts[i] = from + i*by
	}
	return counts
}

func TestItemRate(t *testing.T) {
	j, at := moving(t, time.Second, 1000, steady(100, 20, 11)...)
	rate, ok := j.Rate(at)
	if !ok || math.Abs(rate-20) > 0.01 {
		t.Errorf("rate %v, %v; want 20/s", rate, ok)
	}
	left, ok := j.ETA(at)
	if want := 35 * time.Second; !ok || (left-want).Abs() > time.Second {
		t.Errorf("ETA %v, %v; want %v", left, ok, want)
	}
	if left, ok := j.ETA(at.Add(1500 * time.Millisecond)); !ok || (left-33500*time.Millisecond).Abs() > time.Second {
		t.Errorf("ETA 1.5s later is %v, %v; want it to run down", left, ok)
	}
	slower, ok := j.Rate(at.Add(12 * time.Second))
	if !ok || slower >= rate/1.5 {
		t.Errorf("12s of silence leave the rate at %v, %v", slower, ok)
	}
	if rate, ok := j.Rate(at.Add(20 * time.Second)); ok {
		t.Errorf("rate is %v although nothing came for 20s", rate)
	}
	if left, ok := j.ETA(at.Add(20 * time.Second)); ok {
		t.Errorf("ETA is %v although nothing came for 20s", left)
	}
}

// A window forgets: the speed of the first kind does not count for the second.
func TestItemRateFollows(t *testing.T) {
	counts := steady(0, 50, 61)
	for i := range 90 {
		counts = append(counts, 3000+(i+1)*3)
	}
	j, at := moving(t, time.Second, 10000, counts...)
	if rate, ok := j.Rate(at); !ok || math.Abs(rate-3) > 0.1 {
		t.Errorf("rate %v, %v; want 3/s", rate, ok)
	}
}

func TestNoRateWithoutEvidence(t *testing.T) {
	for name, counts := range map[string][]int{
		"one look":       {100},
		"too short":      {100, 150, 200, 250},
		"too few":        {100, 101, 102, 103, 104, 105, 106, 107},
		"one jump":       {100, 100, 100, 100, 100, 100, 100, 600},
		"went back":      {500, 520, 540, 560, 580, 600, 620, 100},
		"no numbers yet": {0},
	} {
		j, at := moving(t, time.Second, 1000, counts...)
		if rate, ok := j.Rate(at); ok {
			t.Errorf("%s: rate %v", name, rate)
		}
		if left, ok := j.ETA(at); ok {
			t.Errorf("%s: ETA %v", name, left)
		}
	}
	j, at := moving(t, time.Second, 0, steady(100, 20, 11)...)
	if _, ok := j.Rate(at); ok {
		t.Error("a rate without a total")
	}
	j, at = moving(t, time.Second, 300, steady(100, 20, 11)...)
	if left, ok := j.ETA(at); ok {
		t.Errorf("all items are done, yet %v are left", left)
	}
}

func TestClockGoesBackOrStandsStill(t *testing.T) {
	var j *Job
	at := noon
	for i := range 20 {
		in := spec{
			name:    "r",
			kind:    Restore,
			phase:   velero.PhaseInProgress,
			started: 1,
			done:    100 + 20*i,
			total:   1000,
		}.input()
		switch {
		case i == 10:
			at = at.Add(-time.Hour)
		case i%3 != 0: // every third event bears the time of the one before
			at = at.Add(time.Second)
		}
		in.ObservedAt = at
		j = Fold(j, in)
		if rate, ok := j.Rate(at); ok && (rate <= 0 || math.IsInf(rate, 0) || rate > 100) {
			t.Fatalf("event %d: rate %v", i, rate)
		}
	}
	if _, ok := j.Rate(at); !ok {
		t.Error("no rate nine events after the clock went back")
	}
	if rate, ok := j.Rate(at.Add(-time.Hour)); ok && rate <= 0 {
		t.Errorf("asked for the past, the rate is %v", rate)
	}
}

// uploading feeds one data upload, one event each ten seconds.
func uploading(t *testing.T, phase string, volumes ...Volume) (*Job, time.Time) {
	t.Helper()
	var j *Job
	at := noon
	for i, v := range volumes {
		at = noon.Add(time.Duration(i) * 10 * time.Second)
		v.LastChanged = at
		in := spec{
			name:    "b",
			phase:   phase,
			started: 1,
			done:    9,
			total:   9,
			ops:     [3]int{1, 0, 0},
			volumes: []Volume{v},
		}.input()
		in.ObservedAt = at
		j = Fold(j, in)
	}
	return j, at
}

func TestByteRate(t *testing.T) {
	const mib = 1 << 20
	v := func(done, total int64) Volume {
		return volume(velero.DataUpload, "v", velero.VolumeInProgress, done*mib, total*mib, 0, 0)
	}
	j, at := uploading(t, velero.PhaseWaitingForPluginOperations, v(0, 1000), v(100, 1000), v(200, 1000), v(300, 1000), v(400, 1000))
	if _, _, unit, known := j.Progress(); unit != UnitBytes || !known {
		t.Fatalf("progress in %s, known %v", unit, known)
	}
	if rate, ok := j.Rate(at.Add(9 * time.Second)); !ok || math.Abs(rate-10*mib) > mib {
		t.Errorf("rate %v, %v; want 10 MiB/s", rate, ok)
	}
	if left, ok := j.ETA(at); !ok || (left-time.Minute).Abs() > 2*time.Second {
		t.Errorf("ETA %v, %v; want 1m", left, ok)
	}
	if _, ok := j.ETA(at.Add(time.Minute)); ok {
		t.Error("an ETA although no byte came for a minute")
	}
	j, at = uploading(t, velero.PhaseWaitingForPluginOperations, v(0, 100), v(100, 500), v(200, 900), v(300, 1100), v(400, 1500))
	if _, ok := j.Rate(at); !ok {
		t.Error("no rate while the total grows")
	}
	if left, ok := j.ETA(at); ok {
		t.Errorf("ETA %v while the total grows", left)
	}
	j, at = uploading(t, velero.PhaseWaitingForPluginOperations, v(0, 1000), v(100, 1000))
	if _, ok := j.Rate(at); ok {
		t.Error("a rate from two looks")
	}
	j, at = uploading(t, velero.PhaseFinalizing, v(0, 1000), v(100, 1000), v(200, 1000), v(300, 1000))
	if _, ok := j.ETA(at); ok {
		t.Error("an ETA while finalizing")
	}
}

// The samples are bounded, and a Job's own do not change when others follow.
func TestSamplesAreBoundedAndShared(t *testing.T) {
	var j *Job
	var early *Job
	var earlyRate float64
	for i := range 5 * samplesPerList {
		in := spec{
			name:    "r",
			kind:    Restore,
			phase:   velero.PhaseInProgress,
			started: 1,
			done:    10 * i,
			total:   1 << 30,
		}.input()
		in.ObservedAt = noon.Add(time.Duration(i) * time.Second)
		j = Fold(j, in)
		if i == 100 {
			early = j
			earlyRate, _ = j.Rate(in.ObservedAt)
		}
	}
	n := 0
	for range j.track.samples.eachSample() {
		n++
	}
	if n < samplesPerList || n > 2*samplesPerList {
		t.Errorf("%d samples are kept, want between %d and %d", n, samplesPerList, 2*samplesPerList)
	}
	if rate, ok := early.Rate(noon.Add(100 * time.Second)); !ok || rate != earlyRate {
		t.Errorf("an old job's rate changed from %v to %v", earlyRate, rate)
	}
}

func TestRateStartsAnewInEachStage(t *testing.T) {
	j, at := moving(t, time.Second, 300, steady(100, 20, 11)...)
	in := Observation{ObservedAt: at.Add(time.Second), Restore: &veleroapi.Restore{}}
	j.Object.(*veleroapi.Restore).DeepCopyInto(in.Restore)
	in.Restore.ResourceVersion = "finalizing"
	in.Restore.Status.Phase = veleroapi.RestorePhaseFinalizing
	j = Fold(j, in)
	if rate, ok := j.Rate(in.ObservedAt); ok {
		t.Errorf("rate %v while finalizing", rate)
	}
}
