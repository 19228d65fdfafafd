package job

import (
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// A volume's rate follows its own bytes, and its time left the bytes to come.
func TestVolumeRate(t *testing.T) {
	const mib = 1 << 20
	start := minutesAgo(10)
	var j *Job
	at := start
	for i := range 13 { // every ten seconds 100 MiB, and from the seventh on 10 MiB
		at = start.Add(time.Duration(i) * 10 * time.Second)
		done := int64(min(i, 6)*100+max(0, i-6)*10) * mib
		v := volume(velero.DataUpload, "a", velero.VolumeInProgress, done, 2000*mib, 10, 0)
		v.Started, v.LastChanged = start, at
		waits := volume(velero.DataUpload, "b", velero.VolumePrepared, 0, 0, 10, 9)
		in := spec{phase: "WaitingForPluginOperations", volumes: []Volume{v, waits}}.input()
		in.ObservedAt = at
		j = Fold(j, in)
	}
	v, waits := &j.Volumes[0], &j.Volumes[1]
	rate, ok := j.VolumeRate(v, at)
	if want := 660.0 * mib / 120; !ok || rate < want*0.99 || rate > want*1.01 {
		t.Errorf("%v MiB/s, %v; want %v", rate/mib, ok, want/mib)
	}
	left, ok := j.VolumeETA(v, at)
	if want := 1340 * 120.0 / 660; !ok || left.Seconds() < want*0.99 || left.Seconds() > want*1.01 {
		t.Errorf("%v left, %v; want %v s", left, ok, want)
	}
	if _, ok := j.VolumeRate(v, at.Add(time.Minute)); ok {
		t.Error("a volume that is silent for a minute has a rate")
	}
	if _, ok := j.VolumeRate(waits, at); ok {
		t.Error("a volume that waits has a rate")
	}
}

// The job is not done before its slowest volume is, however fast the others are.
func TestETAWaitsForTheSlowestVolume(t *testing.T) {
	const mib = 1 << 20
	start := minutesAgo(10)
	for phase, kind := range map[string]velero.VolumeKind{
		velero.PhaseWaitingForPluginOperations: velero.DataUpload,
		velero.PhaseInProgress:                 velero.PodVolumeBackup,
	} {
		var j *Job
		at := start
		for i := range int64(10) {
			at = start.Add(time.Duration(i) * 10 * time.Second)
			fast := volume(kind, "fast", velero.VolumeInProgress, 100*i*mib, 1500*mib, 10, 0)
			slow := volume(kind, "slow", velero.VolumeInProgress, 5*i*mib, 200*mib, 10, 0)
			in := spec{phase: phase, done: 10, total: 10, volumes: []Volume{fast, slow}}.input()
			for k := range in.Volumes {
				in.Volumes[k].Started, in.Volumes[k].LastChanged = start, at
			}
			in.ObservedAt = at
			j = Fold(j, in)
			left, known := j.ETA(at)
			for k := range j.Volumes {
				if of, ok := j.VolumeETA(&j.Volumes[k], at); ok && known && of > left {
					t.Errorf("%s: %v left, but %s needs %v", phase, left, j.Volumes[k].Name, of)
				}
			}
		}
		slowest, _ := j.VolumeETA(&j.Volumes[1], at)
		if left, known := j.ETA(at); !known || left != slowest || left < 5*time.Minute {
			t.Errorf("%s: %v left (%v), the slowest volume needs %v", phase, left, known, slowest)
		}
	}
}

// At first sight only the resource's own times tell.
func TestVolumeRateAtFirstSight(t *testing.T) {
	const mib = 1 << 20
	now := minutesAgo(0)
	for _, c := range []struct {
		name          string
		started       float64 // minutes ago
		done, total   int64
		quiet         time.Duration
		cancel, known bool
		left          time.Duration
	}{
		{"half done in ten minutes", 10, 600 * mib, 1200 * mib, 0, false, true, 10 * time.Minute},
		{"ten seconds old", 10.0 / 60, 600 * mib, 1200 * mib, 0, false, false, 0},
		{"silent", 10, 600 * mib, 1200 * mib, time.Minute, false, false, 0},
		{"a few bytes", 10, 100, 1200 * mib, 0, false, false, 0},
		{"a cancel was requested", 10, 600 * mib, 1200 * mib, 0, true, false, 0},
		{"never started", 0, 600 * mib, 1200 * mib, 0, false, false, 0},
		{"numbers no one can mean", 10, 1<<63 - 1, -5, 0, false, false, 0},
	} {
		v := volume(velero.PodVolumeBackup, "a", velero.VolumeInProgress, c.done, c.total, 20, 0)
		v.LastChanged, v.CancelRequested = now.Add(-c.quiet), c.cancel
		if v.Started = (time.Time{}); c.started > 0 {
			v.Started = minutesAgo(c.started)
		}
		j := spec{phase: velero.PhaseInProgress, volumes: []Volume{v}}.job(t)
		if _, ok := j.VolumeRate(&v, now); ok != c.known {
			t.Errorf("%s: known is %v", c.name, ok)
		}
		if left, ok := j.VolumeETA(&v, now); ok != (c.left > 0) || left.Round(time.Second) != c.left {
			t.Errorf("%s: %v left, %v", c.name, left, ok)
		}
	}
}

// A volume's numbers come from outside: whatever they are, they give no time
// left that nobody can mean.
func TestVolumeNumbersFromOutside(t *testing.T) {
	const most = 1<<63 - 1
	start := minutesAgo(10)
	for name, numbers := range map[string]func(i int64) (done, total int64){
		"below zero":                 func(i int64) (int64, int64) { return -most + i<<30, most },
		"from below zero to above":   func(i int64) (int64, int64) { return (i - 6) << 59, most },
		"a total below zero":         func(i int64) (int64, int64) { return i << 30, -most },
		"a total that shrinks":       func(i int64) (int64, int64) { return i << 30, most >> (i * 4) },
		"a total that shrinks below": func(i int64) (int64, int64) { return i << 30, 1 << 20 },
		"done goes back":             func(i int64) (int64, int64) { return most - i<<30, most },
		"in turns":                   func(i int64) (int64, int64) { return most * (i % 2), most * (1 - i%2) },
	} {
		var j *Job
		at := start
		for i := range int64(13) {
			at = start.Add(time.Duration(i) * 10 * time.Second)
			du := &veleroapi.DataUpload{}
			du.Name, du.Status.Phase = "a", veleroapi.DataUploadPhaseInProgress
			du.Status.Progress.BytesDone, du.Status.Progress.TotalBytes = numbers(i)
			v := VolumeFromDataUpload(du)
			v.Started, v.LastChanged = start, at
			in := spec{phase: velero.PhaseWaitingForPluginOperations, volumes: []Volume{v}}.input()
			in.ObservedAt = at
			j = Fold(j, in)
			rate, ok := j.VolumeRate(&v, at)
			left, known := j.VolumeETA(&v, at)
			if ok && (rate < 0 || rate > 1<<40 || v.Done == 0) || known && left < time.Minute {
				t.Errorf("%s: %v bytes a second (%v), %v left (%v)", name, rate, ok, left, known)
			}
		}
	}
}
