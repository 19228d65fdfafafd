package diagnosis

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestDeadlines(t *testing.T) {
	annotated := func(key, value string) func(*veleroapi.Restore) {
		return func(r *veleroapi.Restore) { r.Annotations = map[string]string{key: value} }
	}
	pvr := []job.Volume{volume(velero.PodVolumeRestore, "v", velero.VolumeInProgress, 1, 2, 1, 1)}
	four := []job.Volume{pvr[0], pvr[0], pvr[0], pvr[0]}
	for _, c := range []struct {
		name  string
		job   spec
		stage job.Stage
		want  float64 // minutes before noon, negative: after
		by    string
	}{
		{"volumes", spec{phase: velero.PhaseInProgress, started: 60, done: 9, total: 9, volumes: pvr}, job.StageVolumes, -239, "fs-backup-timeout"},
		{"volumes, annotated", spec{phase: velero.PhaseInProgress, started: 60, done: 9, total: 9, volumes: pvr,
			restore: annotated("velero.io/pod-volume-timeout", "90m")}, job.StageVolumes, -89, "fs-backup-timeout"},
		{"volumes, annotated with nonsense", spec{phase: velero.PhaseInProgress, started: 60, done: 9, total: 9, volumes: pvr,
			restore: annotated("velero.io/pod-volume-timeout", "soon")}, job.StageVolumes, -239, "fs-backup-timeout"},
		{"volumes, annotated with less than nothing", spec{phase: velero.PhaseInProgress, started: 60, done: 9, total: 9, volumes: pvr,
			restore: annotated("velero.io/pod-volume-timeout", "-5m")}, job.StageVolumes, 1, "fs-backup-timeout"},
		{"operations", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 30, ops: [3]int{1, 0, 0},
			restore: func(r *veleroapi.Restore) { r.Spec.ItemOperationTimeout = metav1.Duration{Duration: time.Hour} }},
			job.StageOperations, -30, "itemOperationTimeout"},
		{"finalizing", spec{phase: velero.PhaseFinalizing, started: 60, changed: 5}, job.StageFinalizing, -5, "resource-timeout"},
		{"finalizing four volumes", spec{phase: velero.PhaseFinalizing, started: 60, changed: 5, volumes: four}, job.StageFinalizing, -15, "resource-timeout"},
	} {
		c.job.name, c.job.kind = "r", job.Restore
		j := c.job.job(t)
		at, by := StageDeadline(j, healthy())
		if want := minutesAgo(c.want); j.Stage != c.stage || !at.Equal(want) || by != c.by {
			t.Errorf("%s: %v by %q in stage %s, want %v by %q", c.name, at, by, j.Stage, want, c.by)
		}
	}
	hooks := spec{
		name:    "r",
		kind:    job.Restore,
		phase:   velero.PhaseFinalizing,
		started: 60,
		changed: 5,
		restore: func(r *veleroapi.Restore) {
			r.Spec.Hooks.Resources = []veleroapi.RestoreResourceHookSpec{{Name: "h"}}
		},
	}
	if at, _ := StageDeadline(hooks.job(t), healthy()); !at.Equal(minutesAgo(-15)) {
		t.Errorf("hooks are waited for after one round of volumes, yet the bound is %v", at)
	}
	if at, _ := StageDeadline(hooks.job(t), with(version17("v1.18.2"))); !at.IsZero() {
		t.Errorf("hooks are waited for without limit, yet the bound is %v", at)
	}
}

// TestEndedJobsCostNothing: of a job that has ended, and there may be tens of thousands, neither the waits nor the queue
// are looked at.
func TestEndedJobsCostNothing(t *testing.T) {
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		for _, phase := range []string{velero.PhaseCompleted, velero.PhaseFailed, velero.PhaseFailedValidation} {
			j, env := spec{name: "j", kind: kind, phase: phase, started: 60, changed: 5}.job(t), healthy()
			allocated := testing.AllocsPerRun(100, func() {
				_, setting := StageDeadline(j, env)
				if _, _, waits := QueuePosition(j, env); waits || setting != "" {
					t.Fatalf("a %s that is %s waits, or has a deadline", kind, phase)
				}
			})
			if allocated > 0 {
				t.Errorf("the deadline and the place of a %s that is %s cost %v allocations", kind, phase, allocated)
			}
		}
	}
}
