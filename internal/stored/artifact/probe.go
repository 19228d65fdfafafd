package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Probe asks whether an artifact is stored, by a GET of its first byte: the URL is signed for
// GET, and Velero signs without looking. All artifacts are gzipped; another first byte is, say, a
// proxy's error page. An object older than the job belongs to an earlier one of its name.
func (f *Fetcher) Probe(ctx context.Context, target Target) (job.Presence, error) {
	p, err := f.probe(ctx, target)
	switch {
	case errors.Is(err, ErrAbsent):
		return job.Presence{State: job.Absent, Why: err.Error()}, nil
	case errors.Is(err, ErrUnknowable):
		return job.Presence{Why: err.Error()}, nil
	case err != nil:
		return job.Presence{}, fmt.Errorf("checking whether %s of %s is stored: %w", target.Kind, target.Name, err)
	}
	return p, nil
}

func (f *Fetcher) probe(ctx context.Context, target Target) (job.Presence, error) {
	s, err := f.open(ctx, target, "bytes=0-0")
	if err != nil {
		return job.Presence{}, err
	}
	defer s.Close()
	first := make([]byte, 1)
	switch _, err := io.ReadFull(s, first); {
	case errors.Is(err, io.EOF):
		return job.Presence{Why: "an empty object is stored"}, nil
	case err != nil:
		return job.Presence{}, err
	case first[0] != gzipMagic[0]:
		return job.Presence{Why: "what the object store returns is not gzip, which every artifact is"}, nil
	}
	return job.Presence{State: job.Present, LastModified: s.modified}, nil
}

// Finalized reports whether Velero stored the contents of an ended backup once more after its operations;
// true without operations, and where the store does not tell. The finalizer sets the phase before it stores
// them, and a failed upload changes neither phase nor errors (pkg/controller/backup_finalizer_controller.go,
// Reconcile; 1.14 to 1.18.3). The first upload stores the contents before the results, which are not stored
// again (pkg/persistence/object_store.go, PutBackup): the store's clock alone decides.
func (f *Fetcher) Finalized(ctx context.Context, b *velerov1.Backup) (bool, error) {
	ended := b.Status.Phase == velerov1.BackupPhaseCompleted || b.Status.Phase == velerov1.BackupPhasePartiallyFailed
	if !ended || b.Status.CompletionTimestamp == nil || b.Status.BackupItemOperationsAttempted <= 0 {
		return true, nil
	}
	contents, err := f.Probe(ctx, Target{Kind: velerov1.DownloadTargetKindBackupContents, Name: b.Name})
	if err != nil {
		return true, err
	}
	results, err := f.Probe(ctx, Target{Kind: velerov1.DownloadTargetKindBackupResults, Name: b.Name})
	if err != nil {
		return true, err
	}
	return finalized(b, contents, results), nil
}

// finalized decides by when both were stored. Copies of a bucket were stored after the backup's end, in
// any order; in the same second it may be either upload.
func finalized(b *velerov1.Backup, contents, results job.Presence) bool {
	ended := b.Status.CompletionTimestamp.Time
	switch {
	case contents.State != job.Present,
		results.State != job.Present,
		contents.LastModified.IsZero(),
		results.LastModified.IsZero():
		return true
	case !results.LastModified.Before(ended), contents.LastModified.After(results.LastModified):
		return true
	}
	return contents.LastModified.Equal(results.LastModified) && ended.Sub(results.LastModified) < velero.ClockMargin
}
