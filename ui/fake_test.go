package ui

import (
	"cmp"
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
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	came "github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// fakeCluster plays a cluster. A test gives it the parts that it needs; of the others there is nothing to know.
type fakeCluster struct {
	source interface {
		Next(ctx context.Context) (*watch.Snapshot, error)
		Retry()
	}
	contents    *oracle
	stored      storedParts
	noArtifacts string
	coverage    func(*assess.Assessment, func(string)) (*coverage.Result, error)
	predict     func(string, func(string)) (*coverage.Prediction, error)
	items       *inventory
	objects     *archive
	log         *scribe
	problems    *serverLog
	verified    verify.Result
	*previewer
	finalizer *fakeFinalizer
	propose   func(action.Kind, *unstructured.Unstructured, action.Request) (action.Plan, error)
	looker    *watcher
	readLogs  func([]*job.Job) assess.LogReading
	etcdLogs  readLogs
	failure   string
}

type storedParts interface {
	FetchResults(ctx context.Context, j *job.Job) (artifact.Results, error)
	FetchStoredVolumes(ctx context.Context, j *job.Job) ([]artifact.VolumeInfo, error)
	FetchOperations(ctx context.Context, j *job.Job) ([]artifact.Operation, error)
}

var _ Backend = (*fakeCluster)(nil)

// fake is the first cluster of a test.
func fake(o *Options) *fakeCluster { return o.Clusters[0].Backend.(*fakeCluster) }

func newFake() *fakeCluster {
	return &fakeCluster{source: &scripted{snapshots: make(chan *watch.Snapshot, 1), retries: make(chan struct{}, 1)}}
}

// never is the answer to what a test does not play.
func never[T any](ctx context.Context) (none T, err error) {
	<-ctx.Done()
	return none, ctx.Err()
}

func (f *fakeCluster) UnavailableReason(p cluster.Capability) string {
	switch {
	case p == cluster.CapabilityContents && f.contents == nil, p == cluster.CapabilityChanges && f.finalizer == nil,
		p == cluster.CapabilityItems && f.items == nil, p == cluster.CapabilityObjects && f.objects == nil, p == cluster.CapabilityLogs && f.log == nil,
		p == cluster.CapabilityProblems && f.problems == nil, p == cluster.CapabilityCloserLooks && f.looker == nil, p == cluster.CapabilityVerification && f.verified.CountByState == nil,
		p == cluster.CapabilityPreviews && f.previewer == nil, p == cluster.CapabilityReports:
		return "a test does not play it"
	case p == cluster.CapabilityStored && f.stored == nil && f.coverage == nil:
		return cmp.Or(f.noArtifacts, " ")
	}
	return ""
}

func (f *fakeCluster) Next(ctx context.Context) (*watch.Snapshot, error) { return f.source.Next(ctx) }

func (f *fakeCluster) Retry() { f.source.Retry() }

func (f *fakeCluster) WriteFailure() string { return f.failure }

func (f *fakeCluster) ReadEtcdLog(_ context.Context, pod string) {
	f.etcdLogs.pods = append(f.etcdLogs.pods, pod)
}

func (f *fakeCluster) ReadVolumes(ctx context.Context, _ *job.Job) ([]job.Volume, error) {
	return never[[]job.Volume](ctx)
}

func (f *fakeCluster) EstimateRestore(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	progress cluster.Progress,
) (collector.Estimate, error) {
	return f.contents.Estimate(ctx, j, server, progress)
}

func (f *fakeCluster) CountResources(
	ctx context.Context,
	j *job.Job,
	progress cluster.Progress,
) ([]collector.ResourceCount, error) {
	return f.contents.Contents(ctx, j, progress)
}

func (f *fakeCluster) PredictBackup(
	ctx context.Context,
	_ *assess.Assessment,
	schedule string,
	say func(string),
) (*coverage.Prediction, error) {
	if f.predict == nil {
		return never[*coverage.Prediction](ctx)
	}
	return f.predict(schedule, say)
}

func (f *fakeCluster) AssessCoverage(
	ctx context.Context,
	a *assess.Assessment,
	_ coverage.Options,
	say func(string),
) (*coverage.Result, error) {
	if f.coverage == nil {
		return never[*coverage.Result](ctx)
	}
	return f.coverage(a, say)
}

func (f *fakeCluster) LoadRates() forecast.Rates { return f.contents.rates.rates }

func (f *fakeCluster) LearnRates(r forecast.Rates) {
	if f.contents != nil {
		f.contents.rates.rates = f.contents.rates.rates.MergeNewer(r)
	}
}

func (f *fakeCluster) FetchResults(ctx context.Context, j *job.Job) (artifact.Results, error) {
	return f.stored.FetchResults(ctx, j)
}

func (f *fakeCluster) GatherEndEvidence(context.Context, *assess.Assessment, *job.Job) diagnosis.EndEvidence {
	return diagnosis.EndEvidence{}
}

func (f *fakeCluster) FetchStoredVolumes(ctx context.Context, j *job.Job) ([]artifact.VolumeInfo, error) {
	return f.stored.FetchStoredVolumes(ctx, j)
}

func (f *fakeCluster) FetchOperations(ctx context.Context, j *job.Job) ([]artifact.Operation, error) {
	return f.stored.FetchOperations(ctx, j)
}

func (f *fakeCluster) FetchItems(ctx context.Context, _ *job.Job, _ velero.Server) (came.Items, error) {
	if f.items == nil {
		return never[came.Items](ctx)
	}
	return f.items.items, f.items.err
}

func (f *fakeCluster) VerifyRestore(
	context.Context,
	*job.Job,
	*assess.Assessment,
	func(live.Progress),
	func(string),
) (verify.Result, error) {
	return f.verified, nil
}

func (f *fakeCluster) FetchVolumeObject(
	ctx context.Context,
	namespace string,
	v velero.VolumeRef,
) (cluster.ObjectDocument, error) {
	return f.objects.VolumeObject(ctx, namespace, v)
}

func (f *fakeCluster) FetchVolumeObjects(ctx context.Context, _ *job.Job, _ int) ([]cluster.ObjectDocument, error) {
	if f.objects == nil {
		return never[[]cluster.ObjectDocument](ctx)
	}
	return f.objects.documents, f.objects.note("volume resources")
}

func (f *fakeCluster) ReadLog(ctx context.Context, q logs.Query, out logs.Output) error {
	if f.log == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.log.Read(ctx, q, out)
}

func (f *fakeCluster) FetchProblems(ctx context.Context, j *job.Job) (logs.Problems, error) {
	if f.problems == nil {
		return never[logs.Problems](ctx)
	}
	return f.problems.Problems(ctx, j)
}

func (f *fakeCluster) TakeCloserLook(
	ctx context.Context, _ *assess.Assessment, j *job.Job,
) (cluster.CloserLook, error) {
	if f.looker == nil {
		return never[cluster.CloserLook](ctx)
	}
	found, err := f.looker.Look(ctx, j)
	if err != nil {
		found = assess.CloserLook{At: noon, Err: err.Error()}
	}
	return cluster.CloserLook{CloserLook: found}, err
}

func (f *fakeCluster) ReadServerLogs(
	ctx context.Context, _ *assess.Assessment, jobs []*job.Job,
) assess.LogReading {
	if f.readLogs == nil {
		<-ctx.Done()
		return assess.LogReading{Err: ctx.Err().Error()}
	}
	return f.readLogs(jobs)
}

func (f *fakeCluster) BuildReport(ctx context.Context, _ *assess.Assessment, _ assess.JudgedJob) (string, error) {
	return never[string](ctx)
}

func (f *fakeCluster) CheckPatchAccess(ctx context.Context, namespace string, kind job.Kind) (string, error) {
	return f.finalizer.Allowed(ctx, namespace, kind)
}

// ProposePlan plays no answer unless a test has one.
func (f *fakeCluster) ProposePlan(
	ctx context.Context,
	namespace string,
	name action.Kind,
	o *unstructured.Unstructured,
	r action.Request,
) (action.Plan, error) {
	if f.propose == nil {
		return never[action.Plan](ctx)
	}
	return f.propose(name, o, r)
}

func (f *fakeCluster) GatherEvidence(
	ctx context.Context,
	namespace string,
	kind job.Kind,
	name string,
) (action.Evidence, error) {
	return f.finalizer.Gather(ctx, namespace, kind, name)
}

func (f *fakeCluster) ApplyPlan(
	ctx context.Context,
	plan action.Plan,
	dryRun bool,
	report func(action.Progress),
) (action.Outcome, error) {
	return f.finalizer.Apply(ctx, plan, dryRun, report)
}
