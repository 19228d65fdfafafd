package inspect

import (
	"context"
	"errors"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/stored/outcome"
	"github.com/veltui/veltui/velero"
)

// Items is what the Resources page asks about a job whose items are done.
type Items struct {
	Stored  *Artifacts
	Backups *Backups
}

// Items are what became of a job's items. What is read beside its list may be missing, with a note.
func (r *Items) Items(ctx context.Context, j *job.Job, server velero.Server) (outcome.Items, error) {
	list, err := r.Stored.Resources(ctx, j)
	if errors.Is(err, artifact.ErrAbsent) {
		err = errors.New("none is stored")
	}
	if err != nil || j.Kind == job.Backup {
		return outcome.Listed(list, nil), err
	}
	sections, noReasons := r.Stored.reasons(ctx, j)
	items, err := r.compare(ctx, j, server, list, sections, servedKinds)
	if err != nil {
		if ctx.Err() != nil {
			return outcome.Items{}, context.Cause(ctx)
		}
		items = outcome.Listed(list, sections)
		items.NotCompared = sanitize.String(err.Error())
	}
	if noReasons != nil {
		items.NoReasons = noReasons.Error()
	}
	return items, nil
}

func servedKinds(ctx context.Context, e *Store) (collector.Discovery, error) {
	kinds, _, err := e.Kinds(ctx)
	return kinds, err
}

// compare joins a restore's list with what its backup holds.
func (r *Items) compare(ctx context.Context, j *job.Job, server velero.Server, list []artifact.Resources, sections []outcome.Section, served func(context.Context, *Store) (collector.Discovery, error)) (outcome.Items, error) {
	restore, err := RestoreSpec(j)
	if err != nil {
		return outcome.Items{}, err
	}
	e, index, err := r.Backups.read(ctx, j.Namespace, restore.BackupName, func(int64, int64) {})
	if err != nil {
		return outcome.Items{}, err
	}
	spec := collector.RestoreSpec{Restore: restore, Server: ServerOf(server)}
	spec.Existing, err = e.Existing(ctx, j.Started)
	if err != nil { // which namespaces were there only changes a reason
		spec.Existing = collector.Namespaces{}
	}
	kinds, err := served(ctx, e)
	if err != nil {
		return outcome.Items{}, err
	}
	fates, err := index.Fates(ctx, spec, kinds)
	if err != nil {
		return outcome.Items{}, err
	}
	return outcome.Compare(list, sections, fates)
}
