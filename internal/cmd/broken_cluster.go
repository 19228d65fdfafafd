package cmd

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/ui"
	"github.com/veltui/veltui/watch"
)

// brokenCluster is a cluster of which nothing is known but why. It answers every question with that error.
type brokenCluster struct{ err error }

var _ ui.Backend = brokenCluster{}

// newBrokenCluster makes the error safe to draw: its text may come from a server.
func newBrokenCluster(err error) brokenCluster { return brokenCluster{cluster.SanitizeError(err)} }

func (b brokenCluster) UnavailableReason(cluster.Capability) string { return b.err.Error() }

func (b brokenCluster) Next(context.Context) (*watch.Snapshot, error) { return nil, b.err }

func (brokenCluster) Retry() {}

func (brokenCluster) WriteFailure() string { return "" }

func (brokenCluster) ReadEtcdLog(context.Context, string) {}

func (b brokenCluster) ReadVolumes(context.Context, *job.Job) ([]job.Volume, error) {
	return nil, b.err
}

func (b brokenCluster) EstimateRestore(
	context.Context,
	*job.Job,
	velero.Server,
	cluster.Progress,
) (collector.Estimate, error) {
	return collector.Estimate{}, b.err
}

func (b brokenCluster) CountResources(
	context.Context,
	*job.Job,
	cluster.Progress,
) ([]collector.ResourceCount, error) {
	return nil, b.err
}

func (brokenCluster) LoadRates() forecast.Rates { return forecast.Rates{} }

func (brokenCluster) LearnRates(forecast.Rates) {}

func (b brokenCluster) FetchResults(context.Context, *job.Job) (artifact.Results, error) {
	return artifact.Results{}, b.err
}

func (b brokenCluster) GatherEndEvidence(context.Context, *assess.Assessment, *job.Job) diagnosis.EndEvidence {
	why := b.err.Error()
	return diagnosis.EndEvidence{ResultsUnread: why, PodEventsUnread: why, LogUnread: why}
}

func (b brokenCluster) FetchStoredVolumes(context.Context, *job.Job) ([]artifact.VolumeInfo, error) {
	return nil, b.err
}

func (b brokenCluster) FetchOperations(context.Context, *job.Job) ([]artifact.Operation, error) {
	return nil, b.err
}

func (b brokenCluster) FetchItems(context.Context, *job.Job, velero.Server) (results.Items, error) {
	return results.Items{}, b.err
}

func (b brokenCluster) VerifyRestore(
	context.Context,
	*job.Job,
	*assess.Assessment,
	func(live.Progress),
	func(string),
) (verify.Result, error) {
	return verify.Result{}, b.err
}

func (b brokenCluster) FetchVolumeObject(
	context.Context,
	string,
	velero.VolumeRef,
) (cluster.ObjectDocument, error) {
	return cluster.ObjectDocument{}, b.err
}

func (b brokenCluster) FetchVolumeObjects(context.Context, *job.Job, int) ([]cluster.ObjectDocument, error) {
	return nil, b.err
}

func (b brokenCluster) ReadLog(context.Context, logs.Query, logs.Output) error { return b.err }

func (b brokenCluster) FetchProblems(context.Context, *job.Job) (logs.Problems, error) {
	return logs.Problems{}, b.err
}

func (b brokenCluster) TakeCloserLook(
	context.Context,
	*assess.Assessment,
	*job.Job,
) (cluster.CloserLook, error) {
	return cluster.CloserLook{}, b.err
}

func (b brokenCluster) ReadServerLogs(context.Context, *assess.Assessment, []*job.Job) assess.LogReading {
	return assess.LogReading{Err: b.err.Error()}
}

func (b brokenCluster) AssessCoverage(
	context.Context,
	*assess.Assessment,
	coverage.Options,
	func(string),
) (*coverage.Result, error) {
	return nil, b.err
}

func (b brokenCluster) PredictBackup(
	context.Context,
	*assess.Assessment,
	string,
	func(string),
) (*coverage.Prediction, error) {
	return nil, b.err
}

func (b brokenCluster) BuildReport(context.Context, *assess.Assessment, assess.JudgedJob) (string, error) {
	return "", b.err
}

func (b brokenCluster) SaveFile(string, []byte) (string, error) { return "", b.err }

func (b brokenCluster) PreviewRestore(
	context.Context,
	restorespec.Draft,
	*assess.Assessment,
) cluster.Preview {
	return cluster.Preview{ItemsUnchecked: b.err.Error()}
}

func (b brokenCluster) CheckRestore(
	context.Context,
	restorespec.Draft,
	cluster.Preview,
	*assess.Assessment,
) cluster.CheckResult {
	return cluster.CheckResult{Unchecked: []string{b.err.Error()}}
}

func (b brokenCluster) CompareRestore(
	context.Context,
	restorespec.Draft,
	cluster.Preview,
	*assess.Assessment,
	func(string),
) (cluster.CheckResult, error) {
	return cluster.CheckResult{}, b.err
}

func (b brokenCluster) DryRunRestore(
	context.Context,
	restorespec.Draft,
	cluster.Preview,
	*assess.Assessment,
	bool,
	func(string),
) (cluster.CheckResult, error) {
	return cluster.CheckResult{}, b.err
}

func (b brokenCluster) CheckPatchAccess(context.Context, string, job.Kind) (string, error) {
	return "", b.err
}

func (b brokenCluster) GatherEvidence(
	context.Context,
	string,
	job.Kind,
	string,
) (action.Evidence, error) {
	return action.Evidence{}, b.err
}

func (b brokenCluster) ProposePlan(
	context.Context,
	string,
	action.Kind,
	*unstructured.Unstructured,
	action.Request,
) (action.Plan, error) {
	return action.Plan{}, b.err
}

func (b brokenCluster) ApplyPlan(
	context.Context,
	action.Plan,
	bool,
	func(action.Progress),
) (action.Outcome, error) {
	return action.Outcome{}, b.err
}
