// Package evidence makes the evidence that tests of the screens show: what an engine would gather about a job.
package evidence

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Phases are the phases to which the user of the evidence may move a job.
var Phases = []string{
	velero.PhaseNew,
	velero.PhaseInProgress,
	velero.PhaseWaitingForPluginOperations,
	velero.PhaseWaitingForPluginOperationsPartiallyFailed,
	velero.PhaseCompleted,
	velero.PhasePartiallyFailed,
	velero.PhaseFailed,
	velero.PhaseFinalizing,
	velero.PhaseFinalizingPartiallyFailed,
}

// LostPatch returns the evidence about a job whose files are all stored, and whose last patch was lost on a server that
// still runs.
func LostPatch(j *job.Job, now time.Time) action.Evidence {

	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(j.Object)
	if err != nil {
		panic(err) // a job is an object
	}
	pod := velero.ServerPod{
		Name:       "velero-7d4",
		StartedAt:  now.Add(-80 * time.Hour),
		Running:    true,
		Version:    "v1.18.3",
		Deployment: "velero",
	}
	e := action.Evidence{
		Now:                  now,
		Job:                  j,
		Object:               &unstructured.Unstructured{Object: raw},
		Server:               velero.NewServer([]velero.ServerPod{pod}, now),
		VolumesListed:        action.Yes,
		AllOpenVolumesListed: action.Yes,
		LocationsListed:      action.Yes,
		MayPatch:             action.Yes,
		JobEvidence:          diagnosis.JobEvidence{HooksChecked: true, AllowedPhases: Phases},
		Username:             "jane",
		Location: &diagnosis.LocationStatus{
			Name:          "default",
			Phase:         "Available",
			LastValidated: now.Add(-20 * time.Second),
		},
		StoredCounts: &job.StoredCounts{Errors: 3, Warnings: 1, Items: 140, ItemsKnown: true},
	}
	for _, target := range action.ArtifactTargets(j.Kind) {
		e.Artifacts = append(e.Artifacts, action.Artifact{
			Target:   target,
			Presence: job.Presence{State: job.Present, LastModified: now.Add(-42 * time.Minute)},
		})
	}
	return e
}
