package artifact

import (
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// Finalized reports whether Velero stored the contents of an ended backup once more
// after its operations, which put snapshots and the results of data movements into them.
// It is true of a backup without operations, and where the store does not tell. An error
// means that it could not be asked.
//
// The backup finalizer sets the phase before it stores them, and an upload that fails
// changes neither phase nor errors (pkg/controller/backup_finalizer_controller.go,
// Reconcile; 1.14 to 1.18.3). The first upload stores the contents before the results,
// which are not stored again (pkg/persistence/object_store.go, PutBackup), so that the
// store's clock alone decides.
func (f *Fetcher) Finalized(ctx context.Context, b *velerov1.Backup) (bool, error) {
	if !hasOperations(b) {
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

// hasOperations reports whether the finalizer had something to add to the contents.
func hasOperations(b *velerov1.Backup) bool {
	ended := b.Status.Phase == velerov1.BackupPhaseCompleted || b.Status.Phase == velerov1.BackupPhasePartiallyFailed
	return ended && b.Status.CompletionTimestamp != nil && b.Status.BackupItemOperationsAttempted > 0
}

// storeClockMargin is how far the store's clock may be from the server's.
const storeClockMargin = 2 * time.Minute

// finalized decides by when the store says that it stored both. Copies of a bucket were
// stored after the backup's end, in any order. Stored in the same second, both may be
// of the first upload, or the finalizer came at once.
func finalized(b *velerov1.Backup, contents, results Presence) bool {
	ended := b.Status.CompletionTimestamp.Time
	switch {
	case contents.State != Present, results.State != Present, contents.Modified.IsZero(), results.Modified.IsZero():
		return true
	case !results.Modified.Before(ended), contents.Modified.After(results.Modified):
		return true
	}
	return contents.Modified.Equal(results.Modified) && ended.Sub(results.Modified) < storeClockMargin
}
