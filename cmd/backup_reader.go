package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/ui"
	"github.com/veltui/veltui/velero"
)

// backupReader is what the dashboard asks about backups' contents. Everything
// that it answers is safe to draw.
type backupReader struct {
	cli     *cli
	caFile  string
	indexes *cache.Cache
	log     *slog.Logger

	downloads downloads
	failures  failures
}

var _ ui.Estimator = (*backupReader)(nil)

// Estimate works out what a restore of the cluster restores.
func (r *backupReader) Estimate(ctx context.Context, j *job.Job, server velero.Server, progress ui.Progress) (estimate collector.Estimate, err error) {
	defer func() { err = r.explain(j, err) }()
	spec, err := restoreSpec(j)
	if err != nil {
		return estimate, err
	}
	e, index, err := r.read(ctx, j.Namespace, spec.BackupName, progress)
	if err != nil {
		return estimate, err
	}
	question := collector.RestoreSpec{Restore: spec, Server: serverOf(server)}
	if estimate, err = e.estimate(ctx, index, question, j.Started); err != nil {
		return estimate, err
	}
	estimate.Assumptions = slices.Concat(estimate.Assumptions, index.Problems(), malformedNotes(j))
	sanitize.Object(&estimate)
	return estimate, nil
}

// Contents counts what a backup of the cluster holds.
func (r *backupReader) Contents(ctx context.Context, j *job.Job, progress ui.Progress) (contents []collector.ResourceCount, err error) {
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
func (r *backupReader) read(ctx context.Context, namespace, backupName string, progress ui.Progress) (*estimator, *collector.Index, error) {
	config, err := r.cli.restConfig()
	if err != nil {
		return nil, nil, err
	}
	e, err := r.cli.newEstimator(config, namespace, r.caFile, r.indexes, r.log)
	if err != nil {
		return nil, nil, err
	}
	backup, err := e.backup(ctx, backupName)
	if err != nil {
		return nil, nil, err
	}
	if err := e.mayDownload(ctx); err != nil {
		return nil, nil, err
	}
	uid := string(backup.UID)
	if err := r.failures.recent(uid, r.cli.clock()); err != nil {
		return nil, nil, err
	}
	defer r.downloads.join(uid, progress)()
	index, err := e.index(ctx, backup, func(done, total int64) { r.downloads.report(uid, done, total) })
	if ctx.Err() == nil {
		r.failures.note(uid, err, r.cli.clock())
	}
	if err != nil {
		return nil, nil, err // a partial answer on a screen would be taken for a whole one
	}
	return e, index, nil
}

// mayDownload asks whether the user may create download requests, so that
// nothing is tried in vain. No answer counts as yes.
func (e *estimator) mayDownload(ctx context.Context) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: e.namespace, Verb: "create", Group: velerov1.SchemeGroupVersion.Group, Resource: "downloadrequests",
		},
	}}
	answer, err := e.reviews.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err == nil && !answer.Status.Allowed {
		return fmt.Errorf("%w: you may not create downloadrequests.velero.io in namespace %s", artifact.ErrForbidden, e.namespace)
	}
	return nil
}

// explain makes an error fit for the screen, and logs it.
func (r *backupReader) explain(j *job.Job, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.Canceled) {
		r.log.Info("reading what is in a backup", "for", j.Name, "error", err)
	}
	return errors.New(sanitize.String(err.Error()))
}
