package inspect

import (
	"context"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
)

// Artifacts reads what Velero has stored, for the pages of a job.
type Artifacts struct{ *Cluster }

// Results are the job's warnings and errors.
func (r *Artifacts) Results(ctx context.Context, j *job.Job) (artifact.Results, error) {
	return readArtifact(ctx, r, j, (*artifact.Fetcher).Results)
}

// Resources are the items that the job worked on.
func (r *Artifacts) Resources(ctx context.Context, j *job.Job) ([]artifact.Resources, error) {
	return readArtifact(ctx, r, j, (*artifact.Fetcher).ResourceList)
}

// Volumes are what the job did with each volume.
func (r *Artifacts) Volumes(ctx context.Context, j *job.Job) ([]artifact.Volume, error) {
	return readArtifact(ctx, r, j, (*artifact.Fetcher).Volumes)
}

// Operations are its asynchronous item operations.
func (r *Artifacts) Operations(ctx context.Context, j *job.Job) ([]artifact.Operation, error) {
	return readArtifact(ctx, r, j, (*artifact.Fetcher).ItemOperations)
}

// WhyNotFinalized says that what a backup's operations made is missing in what Velero
// stored of it, empty if it is not. Only the objects that are asked of are read.
func (r *Artifacts) WhyNotFinalized(ctx context.Context, namespace string, b *velerov1.Backup) (string, error) {
	finalized, err := readArtifact(ctx, r, &job.Job{Kind: job.Backup, Namespace: namespace, Name: b.Name}, func(f *artifact.Fetcher, ctx context.Context, _ job.Kind, _ string) (bool, error) {
		return f.Finalized(ctx, b)
	})
	if finalized || err != nil {
		return "", err
	}
	return "Velero did not store its contents after its operations: what they made, such as moved volumes, cannot be restored", nil
}

// readArtifact reads one artifact, with the credentials of now: they are renewed meanwhile.
func readArtifact[T any](ctx context.Context, r *Artifacts, j *job.Job, read func(*artifact.Fetcher, context.Context, job.Kind, string) (T, error)) (value T, err error) {
	defer func() {
		if err != nil {
			if ctx.Err() == nil {
				r.Log.Info("reading what is stored of a job", "for", j.Name, "error", err)
			}
			err = sanitize.Error(err)
		}
	}()
	e, err := r.Store(j.Namespace)
	if err != nil {
		return value, err
	}
	if r.ReadOnly {
		return value, ErrReadOnlyDownload
	}
	if err := e.MayDownload(ctx); err != nil {
		return value, err
	}
	return read(e.artifacts, ctx, j.Kind, j.Name)
}
