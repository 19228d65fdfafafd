package job

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var anyPhase = []string{
	"",
	velero.PhaseNew,
	velero.PhaseQueued,
	velero.PhaseReadyToStart,
	velero.PhaseInProgress,
	velero.PhaseInProgress,
	velero.PhaseInProgress,
	velero.PhaseInProgress,
	velero.PhaseWaitingForPluginOperations,
	velero.PhaseWaitingForPluginOperationsPartiallyFailed,
	velero.PhaseFinalizing,
	velero.PhaseFinalizingPartiallyFailed,
	velero.PhaseCompleted,
	velero.PhasePartiallyFailed,
	velero.PhaseFailed,
	velero.PhaseFailedValidation,
	velero.PhaseDeleting,
	"Verifying",
}

var anyVolumePhase = []string{
	"",
	velero.VolumeNew,
	velero.VolumeAccepted,
	velero.VolumePrepared,
	velero.VolumeInProgress,
	velero.VolumeCanceling,
	velero.VolumeCanceled,
	velero.VolumeCompleted,
	velero.VolumeFailed,
	"Odd",
}

var anyKind = []velero.VolumeKind{
	velero.PodVolumeBackup,
	velero.PodVolumeRestore,
	velero.DataUpload,
	velero.DataDownload,
}

// anyJob makes up whatever an API server could say of a job.
type anyJob struct {
	*rand.Rand
	version int
	at      time.Time
}

func (r *anyJob) number() int {
	switch r.IntN(8) {
	case 0:
		return 0
	case 1:
		return -r.IntN(1000)
	case 2:
		return math.MaxInt
	case 3:
		return math.MinInt
	}
	return r.IntN(3000)
}

func (r *anyJob) time() *metav1.Time {
	if r.IntN(3) == 0 {
		return nil
	}
	at := metav1.NewTime(noon.Add(time.Duration(r.IntN(7200)-3600) * time.Second))
	return &at
}

func (r *anyJob) volumes() []Volume {
	volumes := make([]Volume, r.IntN(4))
	for i := range volumes {
		volumes[i] = Volume{
			Kind:  anyKind[r.IntN(len(anyKind))],
			Name:  strconv.Itoa(i),
			UID:   types.UID(strconv.Itoa(i)),
			Phase: anyVolumePhase[r.IntN(len(anyVolumePhase))],
			Done:  int64(r.number()),
			Total: int64(r.number()),
			Created: TimeOrZero(
				r.time(),
			),
			Started:     TimeOrZero(r.time()),
			Completed:   TimeOrZero(r.time()),
			LastChanged: TimeOrZero(r.time()),
		}
	}
	return volumes
}

func (r *anyJob) event() Observation {
	r.version++
	r.at = r.at.Add(time.Duration(r.IntN(4000)-500) * time.Millisecond)
	meta := metav1.ObjectMeta{
		Name: "j", Namespace: "velero", UID: "u", ResourceVersion: strconv.Itoa(r.version),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "velero", Time: r.time()}},
	}
	if r.IntN(50) == 0 {
		meta.UID = "another"
	}
	if r.IntN(4) == 0 {
		meta.ResourceVersion = ""
	}
	phase := anyPhase[r.IntN(len(anyPhase))]
	in := Observation{ObservedAt: r.at, Volumes: r.volumes()}
	if r.IntN(2) == 0 {
		b := &veleroapi.Backup{ObjectMeta: meta}
		b.Status.Phase = veleroapi.BackupPhase(phase)
		b.Status.StartTimestamp, b.Status.CompletionTimestamp = r.time(), r.time()
		b.Status.BackupItemOperationsAttempted, b.Status.BackupItemOperationsCompleted = r.number(), r.number()
		b.Status.BackupItemOperationsFailed, b.Status.QueuePosition = r.number(), r.number()
		if r.IntN(4) > 0 {
			b.Status.Progress = &veleroapi.BackupProgress{TotalItems: r.number(), ItemsBackedUp: r.number()}
		}
		in.Backup = b
		return in
	}
	s := &veleroapi.Restore{ObjectMeta: meta}
	s.Status.Phase = veleroapi.RestorePhase(phase)
	s.Status.StartTimestamp, s.Status.CompletionTimestamp = r.time(), r.time()
	s.Status.RestoreItemOperationsAttempted, s.Status.RestoreItemOperationsCompleted = r.number(), r.number()
	s.Status.RestoreItemOperationsFailed = r.number()
	if r.IntN(4) > 0 {
		s.Status.Progress = &veleroapi.RestoreProgress{TotalItems: r.number(), ItemsRestored: r.number()}
	}
	in.Restore = s
	return in
}

// ask calls all that looks at a job, and fails on answers that make no sense.
func ask(t *testing.T, j *Job, now time.Time) {
	t.Helper()
	if rate, ok := j.Rate(now); ok && (rate <= 0 || math.IsNaN(rate) || math.IsInf(rate, 0)) {
		t.Fatalf("rate is %v", rate)
	}
	if left, ok := j.ETA(now); ok && left < 0 {
		t.Fatalf("time left is %v", left)
	}
	if done, total, _, known := j.Progress(); done < 0 || total < 0 || known && !j.IsTerminal() && total == 0 {
		t.Fatalf("progress is %d of %d, known %v", done, total, known)
	}
	if j.Elapsed(now) < 0 {
		t.Fatalf("elapsed is %v", j.Elapsed(now))
	}
}

// Whatever is said of a job in whatever order: the bar never goes back, is
// never full early, and nothing panics.
func TestAnyHistoryIsHonest(t *testing.T) {
	for seed := range uint64(400) {
		r := &anyJob{Rand: rand.New(rand.NewPCG(seed, 7)), at: noon}
		var j *Job
		for range 60 {
			prev := j
			j = Fold(prev, r.event())
			checkStep(t, prev, j)
			ask(t, j, r.at.Add(time.Duration(r.IntN(100))*time.Second))
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add("InProgress", 117, 242, "Failed", 117, 242, 0, 0, 0, "InProgress", int64(1), int64(2), int64(60), true)
	f.Add(
		"InProgress",
		5,
		0,
		"WaitingForPluginOperations",
		-1,
		math.MaxInt,
		5,
		9,
		-4,
		"Canceled",
		int64(-1),
		int64(math.MaxInt64),
		int64(-60),
		false,
	)
	f.Fuzz(
		func(t *testing.T, phase string, done, total int, after string, doneAfter, totalAfter, attempted, completed, failed int,
			volumePhase string, bytes, size, seconds int64, restore bool) {
			event := func(version, phase string, done, total int, at time.Time) Observation {
				meta := metav1.ObjectMeta{Name: "j", UID: "u", ResourceVersion: version}
				kind := velero.PodVolumeBackup
				in := Observation{ObservedAt: at}
				if restore {
					kind = velero.DataDownload
					in.Restore = &veleroapi.Restore{ObjectMeta: meta, Status: veleroapi.RestoreStatus{
						Phase: veleroapi.RestorePhase(
							phase,
						),
						Progress: &veleroapi.RestoreProgress{
							TotalItems:    total,
							ItemsRestored: done,
						},
						RestoreItemOperationsAttempted: attempted,
						RestoreItemOperationsCompleted: completed,
						RestoreItemOperationsFailed:    failed,
					}}
				} else {
					in.Backup = &veleroapi.Backup{ObjectMeta: meta, Status: veleroapi.BackupStatus{
						Phase: veleroapi.BackupPhase(
							phase,
						),
						Progress:                      &veleroapi.BackupProgress{TotalItems: total, ItemsBackedUp: done},
						BackupItemOperationsAttempted: attempted,
						BackupItemOperationsCompleted: completed,
						BackupItemOperationsFailed:    failed,
					}}
				}
				in.Volumes = []Volume{
					{Kind: kind, Name: "v", Phase: volumePhase, Done: bytes, Total: size, LastChanged: at},
				}
				return in
			}
			later := noon.Add(time.Duration(seconds%1e9) * time.Second)
			first := Fold(nil, event("1", phase, done, total, noon))
			checkStep(t, nil, first)
			second := Fold(first, event("2", after, doneAfter, totalAfter, later))
			checkStep(t, first, second)
			third := Fold(second, event("3", phase, done, total, later.Add(time.Minute)))
			checkStep(t, second, third)
			for _, j := range []*Job{first, second, third} {
				ask(t, j, later)
			}
		},
	)
}
