package cluster

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// Only a restore that has the worker, or waits for it, is ahead of a new one: not one
// that is being finalized, nor one that Velero has left behind.
func TestRestoresAhead(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute)) }
	restore := func(name string, phase veleroapi.RestorePhase, started, changed int) *job.Job {
		r := &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:         "velero",
				Name:              name,
				UID:               types.UID(name),
				CreationTimestamp: at(max(started, changed)),
			},
		}
		written := at(changed)
		r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: &written}}
		r.Status.Phase = phase
		if started > 0 {
			began := at(started)
			r.Status.StartTimestamp, r.Status.Progress = &began, &veleroapi.RestoreProgress{
				TotalItems:    9,
				ItemsRestored: 4,
			}
		}
		return job.Fold(nil, job.Observation{Restore: r, ObservedAt: now})
	}
	jobs := []*job.Job{
		restore("finalized", veleroapi.RestorePhaseFinalizing, 90, 70),
		restore("left", veleroapi.RestorePhaseInProgress, 60, 50),
		restore("runs", veleroapi.RestorePhaseInProgress, 30, 0),
		restore("next", veleroapi.RestorePhaseNew, 0, 5),
	}
	snap := &watch.Snapshot{At: now, Health: watch.Health{State: watch.Live}, Jobs: jobs, Active: jobs}
	snap.Server = velero.Server{
		Visible: true,
		ServerPod: velero.ServerPod{
			Name:      "velero-0",
			Running:   true,
			StartedAt: now.Add(-48 * time.Hour),
			Version:   "v1.18.3",
			Flags:     velero.DefaultServerFlags(),
		},
	}
	v := BuildVeleroState(snap, "nightly")
	if !slices.Equal(v.Running, []string{"runs"}) || !slices.Equal(v.Waiting, []string{"next"}) {
		t.Errorf("%q run and %q wait", v.Running, v.Waiting)
	}
}
