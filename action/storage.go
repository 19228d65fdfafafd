package action

import (
	"context"
	"fmt"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/velero"
)

// Storage is the object store as Velero's DownloadRequests show it: a [Prober]
// and a [Counter].
type Storage struct{ Artifacts *artifact.Fetcher }

// Probe asks for the first byte of a file.
func (s Storage) Probe(ctx context.Context, _ job.Kind, name, target string) (job.Presence, error) {
	p, err := s.Artifacts.Probe(ctx, artifact.Target{Kind: velerov1.DownloadTargetKind(target), Name: name})
	if err != nil {
		return job.Presence{}, err
	}
	switch p.State {
	case artifact.Present:
		return job.Presence{State: job.Present, LastModified: p.Modified}, nil
	case artifact.Absent:
		return job.Presence{State: job.Absent, Why: p.Reason}, nil
	}
	return job.Presence{Why: p.Reason}, nil
}

// Errors reads from the stored results how many errors a job counted.
func (s Storage) Errors(ctx context.Context, kind job.Kind, name string) (int, error) {
	results, err := s.Artifacts.Results(ctx, kind, name)
	if err != nil {
		return 0, fmt.Errorf("reading the stored results: %w", err)
	}
	return results.Errors.Count(), nil
}

// Counts reads results, item operations and, of a backup, how many items it
// has. Velero always stores a list of operations, so an absent one is an error.
func (s Storage) Counts(ctx context.Context, kind job.Kind, name string) (job.StoredCounts, error) {
	results, err := s.Artifacts.Results(ctx, kind, name)
	if err != nil {
		return job.StoredCounts{}, fmt.Errorf("reading the stored results: %w", err)
	}
	operations, err := s.Artifacts.ItemOperations(ctx, kind, name)
	if err != nil {
		return job.StoredCounts{}, fmt.Errorf("reading the stored operations: %w", err)
	}
	resources, err := s.Artifacts.ResourceList(ctx, kind, name)
	if err != nil {
		return job.StoredCounts{}, fmt.Errorf("reading the stored resource list: %w", err)
	}
	counts := countStored(results, operations)
	counts.ItemsKnown = true
	for _, r := range resources {
		counts.Items += len(r.Items)
	}
	return counts, nil
}

func countStored(r artifact.Results, operations []artifact.Operation) job.StoredCounts {
	c := job.StoredCounts{Warnings: r.Warnings.Count(), Errors: r.Errors.Count()}
	for _, o := range operations {
		c.Operations.Attempted++
		switch o.Phase {
		case velero.OperationCompleted:
			c.Operations.Completed++
		case velero.OperationFailed:
			c.Operations.Failed++
		}
	}
	return c
}
