package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Probe asks whether an artifact is stored, by a GET of its first byte: the URL is signed for GET, and Velero signs
// without checking the store. All artifacts are gzipped; another first byte comes from, say, a proxy's error page. An
// object older than the job belongs to an earlier job of its name.
func (f *Fetcher) Probe(ctx context.Context, target Target) (job.Presence, error) {
	p, err := f.probeStored(ctx, target)
	switch {
	case errors.Is(err, ErrAbsent):
		return job.Presence{State: job.Absent, Unchecked: err.Error()}, nil
	case errors.Is(err, ErrUnknowable):
		return job.Presence{Unchecked: err.Error()}, nil
	case err != nil:
		return job.Presence{}, fmt.Errorf("checking whether %s of %s is stored: %w", target.Kind, target.Name, err)
	}
	return p, nil
}

// gzipFirstByte is the first byte of all gzip data.
const gzipFirstByte = 0x1f

func (f *Fetcher) probeStored(ctx context.Context, target Target) (job.Presence, error) {
	s, err := f.openStream(ctx, target, "bytes=0-0")
	if err != nil {
		return job.Presence{}, err
	}
	defer s.Close()
	first := make([]byte, 1)
	switch _, err := io.ReadFull(s, first); {
	case errors.Is(err, io.EOF):
		return job.Presence{Unchecked: "an empty object is stored"}, nil
	case err != nil:
		return job.Presence{}, err
	case first[0] != gzipFirstByte:
		return job.Presence{Unchecked: "what the object store returns is not gzip, which every artifact is"}, nil
	}
	return job.Presence{State: job.Present, LastModified: s.modified}, nil
}

// IsFinalized reports whether Velero stored the contents of an ended backup once more after its operations; true
// without operations, and where the store does not tell. The finalizer sets the phase before it stores the contents,
// and a failed upload changes neither phase nor errors (pkg/controller/backup_finalizer_controller.go, Reconcile;
// 1.14 to 1.18.3). The first upload stores the contents before the results, which are not stored again
// (pkg/persistence/object_store.go, PutBackup): only the store's clock decides.
func (f *Fetcher) IsFinalized(ctx context.Context, b *veleroapi.Backup) (bool, error) {
	ended := b.Status.Phase == veleroapi.BackupPhaseCompleted || b.Status.Phase == veleroapi.BackupPhasePartiallyFailed
	if !ended || b.Status.CompletionTimestamp == nil || b.Status.BackupItemOperationsAttempted <= 0 {
		return true, nil
	}
	contents, err := f.Probe(ctx, Target{Kind: veleroapi.DownloadTargetKindBackupContents, Name: b.Name})
	if err != nil {
		return true, err
	}
	results, err := f.Probe(ctx, Target{Kind: veleroapi.DownloadTargetKindBackupResults, Name: b.Name})
	if err != nil {
		return true, err
	}
	return isFinalized(b, contents, results), nil
}

// isFinalized judges by the times at which both were stored. Copies of a bucket were stored after the backup's end,
// in any order; within the same second it may be either upload.
func isFinalized(b *veleroapi.Backup, contents, results job.Presence) bool {
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
