package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/velero"
)

// Backups is what the dashboard asks about backups' contents. Everything
// that it answers is safe to draw.
type Backups struct {
	*Cluster

	downloads downloads
	failures  failures
}

// Estimate works out what a restore of the cluster restores.
func (r *Backups) Estimate(ctx context.Context, j *job.Job, server velero.Server, progress Progress) (estimate collector.Estimate, err error) {
	defer func() { err = r.explain(j, err) }()
	spec, err := RestoreSpec(j)
	if err != nil {
		return estimate, err
	}
	e, index, err := r.read(ctx, j.Namespace, spec.BackupName, progress)
	if err != nil {
		return estimate, err
	}
	question := collector.RestoreSpec{Restore: spec, Server: ServerOf(server)}
	if estimate, err = e.Estimate(ctx, index, question, j.Started); err != nil {
		return estimate, err
	}
	estimate.Assumptions = slices.Concat(estimate.Assumptions, index.Problems(), MalformedNotes(j))
	sanitize.Object(&estimate)
	return estimate, nil
}

// Contents counts what a backup of the cluster holds.
func (r *Backups) Contents(ctx context.Context, j *job.Job, progress Progress) (contents []collector.ResourceCount, err error) {
	defer func() { err = r.explain(j, err) }()
	_, index, err := r.read(ctx, j.Namespace, j.Name, progress)
	if err != nil {
		return nil, err
	}
	contents = index.Contents()
	sanitize.Object(&contents)
	return contents, nil
}

// read gets a backup's index. The kubeconfig is read anew each time, because
// credentials are renewed while the dashboard runs.
func (r *Backups) read(ctx context.Context, namespace, backupName string, progress Progress) (*Store, *collector.Index, error) {
	e, err := r.Store(namespace)
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
	if err := r.failures.recent(uid, r.Clock()); err != nil {
		return nil, nil, err
	}
	defer r.downloads.join(uid, progress)()
	index, err := e.Index(ctx, backup, func(done, total int64) { r.downloads.report(uid, done, total) })
	if ctx.Err() == nil {
		r.failures.note(uid, err, r.Clock())
	}
	if err != nil {
		return nil, nil, err // a partial answer on a screen would be taken for a whole one
	}
	return e, index, nil
}

// MayDownload asks whether the user may create download requests, so that
// nothing is tried in vain. No answer counts as yes.
func (e *Store) MayDownload(ctx context.Context) error {
	answer, err := e.client.May(ctx, authorizationv1.ResourceAttributes{
		Namespace: e.namespace, Verb: "create", Group: velerov1.SchemeGroupVersion.Group, Resource: "downloadrequests",
	})
	if err == nil && !answer.Allowed {
		return fmt.Errorf("%w: you may not create downloadrequests.velero.io in namespace %s", artifact.ErrForbidden, e.namespace)
	}
	return nil
}

// explain makes an error fit for the screen, and logs it.
func (r *Backups) explain(j *job.Job, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.Canceled) {
		r.Log.Info("reading what is in a backup", "for", j.Name, "error", err)
	}
	return errors.New(sanitize.String(err.Error()))
}
