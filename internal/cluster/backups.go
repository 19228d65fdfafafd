package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// Estimate works out what a restore of the cluster restores.
func (c *Cluster) Estimate(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	progress Progress,
) (estimate collector.Estimate, err error) {
	defer func() { err = c.explain(ctx, j, err) }()
	spec, err := RestoreSpec(j)
	if err != nil {
		return estimate, err
	}
	e, index, err := c.readIndex(ctx, j.Namespace, spec.BackupName, progress)
	if err != nil {
		return estimate, err
	}
	question := collector.RestoreSpec{Restore: spec, Policy: SelectedBy(j), Server: ServerOf(server)}
	if estimate, err = e.Estimate(ctx, index, question, j.Started); err != nil {
		return estimate, err
	}
	estimate.Assumptions = slices.Concat(estimate.Assumptions, index.Noted, MalformedNotes(j))
	sanitize.Object(&estimate)
	return estimate, nil
}

// Contents counts what a backup of the cluster holds.
func (c *Cluster) Contents(
	ctx context.Context,
	j *job.Job,
	progress Progress,
) (contents []collector.ResourceCount, err error) {
	defer func() { err = c.explain(ctx, j, err) }()
	_, index, err := c.readIndex(ctx, j.Namespace, j.Name, progress)
	if err != nil {
		return nil, err
	}
	contents = index.Contents()
	sanitize.Object(&contents)
	return contents, nil
}

// readIndex gets a backup's index, with the credentials of now: they are renewed meanwhile.
func (c *Cluster) readIndex(
	ctx context.Context,
	namespace, backupName string,
	progress Progress,
) (*Store, *collector.Index, error) {
	e, err := c.Store(namespace)
	if err != nil {
		return nil, nil, err
	}
	backup, err := e.Backup(ctx, backupName)
	if err != nil {
		return nil, nil, err
	}
	if err := e.MayDownload(ctx); err != nil {
		return nil, nil, err
	}
	uid := string(backup.UID)
	if err := c.failures.recent(uid, c.Clock()); err != nil {
		return nil, nil, err
	}
	defer c.downloads.join(uid, progress)()
	index, err := e.Index(ctx, backup, func(done, total int64) { c.downloads.report(uid, done, total) })
	if ctx.Err() == nil {
		c.failures.note(uid, err, c.Clock())
	}
	if err != nil {
		return nil, nil, err // a partial answer on a screen would be taken for a whole one
	}
	return e, index, nil
}

// MayDownload asks whether the user may create download requests. No answer counts as yes.
func (e *Store) MayDownload(ctx context.Context) error {
	answer, err := e.client.May(ctx, authorizationv1.ResourceAttributes{
		Namespace: e.namespace, Verb: "create", Group: velerov1.SchemeGroupVersion.Group, Resource: "downloadrequests",
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

// explain makes an error fit for the screen, and logs it.
func (c *Cluster) explain(ctx context.Context, j *job.Job, err error) error {
	c.logFailure(ctx, "reading what is in a backup", j.Name, err)
	return sanitize.Error(err)
}

// downloads tells all who wait for a backup how much of its one download has come.
type downloads struct {
	mu      sync.Mutex
	waiting map[string][]*Progress // by the backup's uid
}

// join waits for a backup until leave is called.
func (d *downloads) join(uid string, progress Progress) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[string][]*Progress{}
	}
	d.waiting[uid] = append(d.waiting[uid], &progress)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.waiting[uid] = slices.DeleteFunc(d.waiting[uid], func(p *Progress) bool { return p == &progress })
		if len(d.waiting[uid]) == 0 {
			delete(d.waiting, uid)
		}
	}
}

func (d *downloads) report(uid string, done, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, progress := range d.waiting[uid] {
		(*progress)(done, total)
	}
}

// counted tells how much was read through it.
type counted struct {
	io.ReadCloser
	done, total int64
	progress    Progress
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.done += int64(n)
	c.progress(c.done, c.total)
	return n, err
}

// What failed is tried again after firstRetry, then after twice as long each time, up to lastRetry.
const (
	firstRetry  = time.Minute
	lastRetry   = time.Hour
	maxFailures = 1000 // how many backups are remembered
)

// failures remembers which backups could not be downloaded: each restore of one
// asks for it, and a tarball may be large, or the store slow to say no.
type failures struct {
	mu sync.Mutex
	of map[string]failure // by the backup's uid
}

type failure struct {
	err  error
	at   time.Time
	wait time.Duration
}

// recent is why a backup is not tried now, nil if it is.
func (f *failures) recent(uid string, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, failed := f.of[uid]
	if next := last.at.Add(last.wait); failed && now.Before(next) {
		return fmt.Errorf(
			"%w (at %s; veltui tries again at %s)",
			last.err,
			last.at.Format(time.TimeOnly),
			next.Format(time.TimeOnly),
		)
	}
	return nil
}

func (f *failures) note(uid string, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, failed := f.of[uid]
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, ErrNoDownload), errors.Is(err, artifact.ErrForbidden):
		return // says nothing about the backup, and costs nothing to ask
	case err == nil:
		delete(f.of, uid)
		return
	case failed && now.Before(last.at.Add(last.wait)):
		return // another who waited for the same download
	case len(f.of) >= maxFailures && !failed:
		return
	}
	if f.of == nil {
		f.of = map[string]failure{}
	}
	f.of[uid] = failure{err, now, min(max(firstRetry, 2*last.wait), lastRetry)}
}
