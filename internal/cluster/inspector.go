package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Inspector is what the screens ask of one cluster. Questions end with ctx, and may take as long as
// downloads. Answers and errors are safe to draw, and errors are on one line.
type Inspector interface {
	// Unavailable says why what a part answers is not asked, empty if it is.
	Unavailable(p Part) string

	Next(ctx context.Context) (*watch.Snapshot, error) // waits for one newer than the last one
	Retry()                                            // tries to reach the API server now, with fresh credentials
	WriteFailure() string                              // why the API server did not store the last write, or empty
	ReadEtcdLog(ctx context.Context, pod string)       // into a later snapshot
	ReadVolumes(ctx context.Context, j *job.Job) ([]job.Volume, error)

	Estimate(ctx context.Context, restore *job.Job, server velero.Server, progress Progress) (collector.Estimate, error)
	Contents(ctx context.Context, backup *job.Job, progress Progress) ([]collector.ResourceCount, error)
	KnownRates() forecast.Rates
	LearnRates(r forecast.Rates)

	Results(ctx context.Context, j *job.Job) (artifact.Results, error)
	Resources(ctx context.Context, j *job.Job) ([]artifact.Resources, error)
	StoredVolumes(ctx context.Context, j *job.Job) ([]artifact.Volume, error)
	Operations(ctx context.Context, j *job.Job) ([]artifact.Operation, error)
	Items(ctx context.Context, j *job.Job, server velero.Server) (results.Items, error)
	Verify(
		ctx context.Context,
		j *job.Job,
		in *assess.Assessment,
		progress func(live.Progress),
		far func(string),
	) (verify.Result, error)

	VolumeObject(ctx context.Context, namespace string, volume velero.VolumeRef) (Document, error)
	VolumeObjects(ctx context.Context, j *job.Job, most int) ([]Document, error)
	ReadLog(ctx context.Context, q logs.Query, out logs.Output) error
	Problems(ctx context.Context, j *job.Job) (logs.Problems, error)
	LookCloser(ctx context.Context, a *assess.Assessment, j *job.Job) (CloserLook, error)

	Coverage(ctx context.Context, a *assess.Assessment, o coverage.Options, say func(string)) (*coverage.Result, error)
	Predict(ctx context.Context, a *assess.Assessment, schedule string, say func(string)) (*coverage.Prediction, error)

	// Report makes the document of `veltui report`, in Markdown.
	Report(ctx context.Context, a *assess.Assessment, j assess.Judged) (string, error)
	Save(path string, data []byte) (saved string, err error) // as a new file

	Preview(ctx context.Context, d restorespec.Draft, a *assess.Assessment) Preview
	Check(ctx context.Context, d restorespec.Draft, p Preview, a *assess.Assessment) Check
	Compare(ctx context.Context, d restorespec.Draft, p Preview, a *assess.Assessment, far func(string)) (Check, error)
	DryRun(
		ctx context.Context,
		d restorespec.Draft,
		p Preview,
		a *assess.Assessment,
		secrets bool,
		far func(string),
	) (Check, error)

	Allowed(ctx context.Context, namespace string, kind job.Kind) (why string, err error)
	Gather(ctx context.Context, namespace string, kind job.Kind, name string) (action.Evidence, error)
	Propose(
		ctx context.Context,
		namespace string,
		name action.Name,
		o *unstructured.Unstructured,
		r action.Request,
	) (action.Plan, error)
	Apply(ctx context.Context, plan action.Plan, dryRun bool, report func(action.Progress)) (action.Outcome, error)
}

// Part is a part of what can be asked of a cluster.
type Part string

// The parts of an [Inspector] that a cluster may not have.
const (
	Contents     Part = "Contents"
	Stored       Part = "Stored"
	Items        Part = "Items"
	Objects      Part = "Objects"
	Logs         Part = "Logs"
	Problems     Part = "Problems"
	Looks        Part = "Looks"
	Verification Part = "Verification"
	Comparison   Part = "Comparison" // of contents; also what veltui verifies unasked
	Reports      Part = "Reports"
	Previews     Part = "Previews"
	Changes      Part = "Changes"
)

// Unavailable says why what a part answers is not asked.
func (c *Cluster) Unavailable(p Part) string {
	switch {
	case p == Changes && c.ReadOnly:
		return "read-only: nothing may be changed"
	case p == Comparison && c.ReadOnly:
		return ErrNoDownload.Error()
	case (p == Contents || p == Stored || p == Items || p == Comparison) && c.NoArtifacts:
		return "With --no-artifacts veltui does not read what Velero has stored."
	}
	return ""
}
