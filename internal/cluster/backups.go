package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// EstimateRestore estimates what a restore of the cluster restores.
func (c *Cluster) EstimateRestore(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	progress Progress,
) (estimate collector.Estimate, err error) {
	defer func() { err = c.logAndSanitize(ctx, j, err) }()
	spec, err := FindRestoreSpec(j)
	if err != nil {
		return estimate, err
	}
	e, index, err := c.readIndex(ctx, j.Namespace, spec.BackupName, progress)
	if err != nil {
		return estimate, err
	}
	question := collector.RestoreInput{Restore: spec, Policy: SelectionPolicy(j), Server: BuildCollectorServer(server)}
	if estimate, err = e.EstimateRestoreSpec(ctx, index, question, j.Started); err != nil {
		return estimate, err
	}
	estimate.Assumptions = slices.Concat(estimate.Assumptions, index.Noted, MalformedSpecNotes(j))
	sanitize.Object(&estimate)
	return estimate, nil
}

// CountResources counts the resources in a backup of the cluster.
func (c *Cluster) CountResources(
	ctx context.Context,
	j *job.Job,
	progress Progress,
) (contents []collector.ResourceCount, err error) {
	defer func() { err = c.logAndSanitize(ctx, j, err) }()
	_, index, err := c.readIndex(ctx, j.Namespace, j.Name, progress)
	if err != nil {
		return nil, err
	}
	contents = index.CountResources()
	sanitize.Object(&contents)
	return contents, nil
}

// readIndex reads a backup's index with the current credentials, which are renewed over time.
func (c *Cluster) readIndex(
	ctx context.Context,
	namespace, backupName string,
	progress Progress,
) (*BackupStore, *collector.Index, error) {
	e, err := c.NewBackupStore(namespace)
	if err != nil {
		return nil, nil, err
	}
	backup, err := e.FetchBackup(ctx, backupName)
	if err != nil {
		return nil, nil, err
	}
	if err := e.CheckDownloadAccess(ctx); err != nil {
		return nil, nil, err
	}
	uid := string(backup.UID)
	if err := c.downloadFailures.recentFailure(uid, c.Clock()); err != nil {
		return nil, nil, err
	}
	defer c.downloads.addWaiter(uid, progress)()
	index, err := e.ReadIndex(ctx, backup, func(done, total int64) { c.downloads.reportProgress(uid, done, total) })
	if ctx.Err() == nil {
		c.downloadFailures.recordResult(uid, err, c.Clock())
	}
	if err != nil {
		return nil, nil, err // on a screen, a partial answer would look complete
	}
	return e, index, nil
}

// CheckDownloadAccess checks whether the user may create download requests. No answer counts as yes.
func (e *BackupStore) CheckDownloadAccess(ctx context.Context) error {
	answer, err := e.client.CheckAccess(ctx, authorizationv1.ResourceAttributes{
		Namespace: e.namespace, Verb: "create", Group: veleroapi.GroupVersion.Group, Resource: "downloadrequests",
	})
	if err == nil && !answer.Allowed {
		return fmt.Errorf(
			"%w: you may not create downloadrequests.velero.io in namespace %s",
			artifact.ErrForbidden,
			e.namespace,
		)
	}
	return nil
}

// logAndSanitize logs an error and makes it safe for the screen.
func (c *Cluster) logAndSanitize(ctx context.Context, j *job.Job, err error) error {
	c.logFailure(ctx, "reading what is in a backup", j.Name, err)
	return sanitize.Error(err)
}

// downloads reports the progress of a backup's one download to all who wait for it.
type downloads struct {
	mu      sync.Mutex
	waiters map[string][]*Progress // by the backup's uid
}

// addWaiter registers progress for a backup's download until leave is called.
func (d *downloads) addWaiter(uid string, progress Progress) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiters == nil {
		d.waiters = map[string][]*Progress{}
	}
	d.waiters[uid] = append(d.waiters[uid], &progress)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.waiters[uid] = slices.DeleteFunc(d.waiters[uid], func(p *Progress) bool { return p == &progress })
		if len(d.waiters[uid]) == 0 {
			delete(d.waiters, uid)
		}
	}
}

func (d *downloads) reportProgress(uid string, done, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, progress := range d.waiters[uid] {
		(*progress)(done, total)
	}
}

// countingReader reports how much was read through it.
type countingReader struct {
	io.ReadCloser
	done, total int64
	progress    Progress
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.done += int64(n)
	c.progress(c.done, c.total)
	return n, err
}

// A failed download is retried after firstRetryDelay, then after twice as long each time, up to maxRetryDelay.
const (
	firstRetryDelay = time.Minute
	maxRetryDelay   = time.Hour
	maxFailures     = 1000 // how many backups are remembered
)

// downloadFailures remembers which backups could not be downloaded: each restore of such a backup asks for it, and a
// tarball may be large, or the store slow to refuse.
type downloadFailures struct {
	mu    sync.Mutex
	byUID map[string]downloadFailure // by the backup's uid
}

type downloadFailure struct {
	err        error
	at         time.Time
	retryDelay time.Duration
}

// recentFailure returns why a backup is not retried yet, nil if it is retried.
func (f *downloadFailures) recentFailure(uid string, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, failed := f.byUID[uid]
	if next := last.at.Add(last.retryDelay); failed && now.Before(next) {
		return fmt.Errorf(
			"%w (at %s; veltui tries again at %s)",
			last.err,
			human.TimeOfDay(last.at, now),
			human.TimeOfDay(next, now),
		)
	}
	return nil
}

func (f *downloadFailures) recordResult(uid string, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, failed := f.byUID[uid]
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, ErrNoDownload), errors.Is(err, artifact.ErrForbidden):
		return // the error says nothing about the backup, and asking again costs nothing
	case err == nil:
		delete(f.byUID, uid)
		return
	case failed && now.Before(last.at.Add(last.retryDelay)):
		return // another waiter for the same download has recorded it
	case len(f.byUID) >= maxFailures && !failed:
		return
	}
	if f.byUID == nil {
		f.byUID = map[string]downloadFailure{}
	}
	f.byUID[uid] = downloadFailure{err, now, min(max(firstRetryDelay, 2*last.retryDelay), maxRetryDelay)}
}
