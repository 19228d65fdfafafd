package ui

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/restoreform"
	"github.com/veltui/veltui/watch"
)

// Backend is what the dashboard asks of one cluster: what each of its screens asks, and what it asks itself. Questions
// end with ctx, and may take as long as downloads. Answers and errors are safe to draw, and errors are on one line.
type Backend interface {
	snapshotSource
	estimator
	assessor
	changePlanner
	jobview.Backend
	restoreform.Backend
	dialog.Engine
}

// snapshotSource follows the cluster.
type snapshotSource interface {
	Next(ctx context.Context) (*watch.Snapshot, error) // waits for one newer than the last one
	Retry()                                            // tries to reach the API server now, with fresh credentials
	WriteFailure() string                              // why the API server did not store the last write, or empty
	ReadEtcdLog(ctx context.Context, pod string)       // into a later snapshot
}

// estimator computes what a restore will restore, and how fast restores go.
type estimator interface {
	EstimateRestore(
		ctx context.Context,
		restore *job.Job,
		server velero.Server,
		progress cluster.Progress,
	) (collector.Estimate, error)
	CountResources(
		ctx context.Context,
		backup *job.Job,
		progress cluster.Progress,
	) ([]collector.ResourceCount, error)
	LoadRates() forecast.Rates
	LearnRates(r forecast.Rates)
}

// assessor gathers what verdicts and findings need beyond the snapshot.
type assessor interface {
	TakeCloserLook(ctx context.Context, a *assess.Assessment, j *job.Job) (cluster.CloserLook, error)
	ReadServerLogs(ctx context.Context, a *assess.Assessment, jobs []*job.Job) assess.LogReading
	AssessCoverage(
		ctx context.Context,
		a *assess.Assessment,
		o coverage.Options,
		say func(string),
	) (*coverage.Result, error)
	PredictBackup(
		ctx context.Context,
		a *assess.Assessment,
		schedule string,
		say func(string),
	) (*coverage.Prediction, error)
}

// changePlanner says what may be changed, and plans changes that are about no running job.
type changePlanner interface {
	CheckPatchAccess(ctx context.Context, namespace string, kind job.Kind) (why string, err error)
	ProposePlan(
		ctx context.Context,
		namespace string,
		name action.Kind,
		o *unstructured.Unstructured,
		r action.Request,
	) (action.Plan, error)
}
