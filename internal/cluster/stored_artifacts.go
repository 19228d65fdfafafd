package cluster

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// resultsCache holds the results of the ended job that was read last: its pages share one download.
type resultsCache struct {
	mu      sync.Mutex
	jobUID  types.UID
	results artifact.Results
}

// FetchResults returns the job's warnings and errors.
func (c *Cluster) FetchResults(ctx context.Context, j *job.Job) (artifact.Results, error) {
	last := &c.resultsCache
	last.mu.Lock()
	defer last.mu.Unlock()
	if j.IsTerminal() && j.UID != "" && last.jobUID == j.UID {
		return last.results, nil
	}
	results, err := readArtifact(ctx, c, j, (*artifact.Fetcher).FetchResults)
	if err == nil && j.IsTerminal() {
		last.jobUID, last.results = j.UID, results
	}
	return results, err
}

// FetchResources returns the items that the job worked on.
func (c *Cluster) FetchResources(ctx context.Context, j *job.Job) ([]artifact.KindItems, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).FetchResourceList)
}

// FetchStoredVolumes returns what the job did with each volume.
func (c *Cluster) FetchStoredVolumes(ctx context.Context, j *job.Job) ([]artifact.VolumeInfo, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).FetchVolumes)
}

// FetchOperations returns the job's asynchronous item operations.
func (c *Cluster) FetchOperations(ctx context.Context, j *job.Job) ([]artifact.Operation, error) {
	return readArtifact(ctx, c, j, (*artifact.Fetcher).FetchItemOperations)
}

// NotFinalizedReason says that the results of a backup's operations are missing from what Velero stored, empty if
// they are not. It reads only the objects that this depends on.
func (c *Cluster) NotFinalizedReason(ctx context.Context, namespace string, b *veleroapi.Backup) (string, error) {
	if b.Status.BackupItemOperationsAttempted <= 0 {
		return "", nil
	}
	finalized, err := readArtifact(
		ctx,
		c,
		&job.Job{Kind: job.Backup, Namespace: namespace, Name: b.Name},
		func(f *artifact.Fetcher, ctx context.Context, _ job.Kind, _ string) (bool, error) {
			return f.IsFinalized(ctx, b)
		},
	)
	if finalized || err != nil {
		return "", err
	}
	return "Velero did not store its contents after its operations: what they made, such as moved volumes, cannot " +
		"be restored", nil
}

// readArtifact reads one artifact, with the current credentials, which are renewed over time.
func readArtifact[T any](
	ctx context.Context,
	c *Cluster,
	j *job.Job,
	read func(*artifact.Fetcher, context.Context, job.Kind, string) (T, error),
) (value T, err error) {
	defer func() {
		c.logFailure(ctx, "reading what is stored of a job", j.Name, err)
		err = sanitize.Error(err)
	}()
	e, err := c.NewBackupStore(j.Namespace)
	if err != nil {
		return value, err
	}
	if c.ReadOnly {
		return value, ErrReadOnlyDownload
	}
	if err := e.CheckDownloadAccess(ctx); err != nil {
		return value, err
	}
	return read(e.artifacts, ctx, j.Kind, j.Name)
}
