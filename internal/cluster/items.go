package cluster

import (
	"context"
	"errors"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
)

// FetchItems returns what became of a job's items, once they are processed. Whatever is read beside its list may be
// missing, with a note.
func (c *Cluster) FetchItems(ctx context.Context, j *job.Job, server velero.Server) (results.Items, error) {
	list, err := c.FetchResources(ctx, j)
	if errors.Is(err, artifact.ErrAbsent) {
		err = errors.New("none is stored")
	}
	if err != nil || j.Kind == job.Backup {
		return results.ListItems(list, nil), err
	}
	sections, noReasons := c.fetchItemMessages(ctx, j)
	items, err := c.compareItems(
		ctx,
		j,
		server,
		list,
		sections,
		func(ctx context.Context, e *BackupStore) (collector.Discovery, error) {
			kinds, _, err := e.FetchKinds(ctx)
			return kinds, err
		},
		nil,
	)
	if err != nil {
		if ctx.Err() != nil {
			return results.Items{}, context.Cause(ctx)
		}
		items = results.ListItems(list, sections)
		items.CompareUnavailable = sanitize.String(err.Error())
	}
	if noReasons != nil {
		items.ReasonsUnavailable = noReasons.Error()
	}
	return items, nil
}

// compareItems joins a restore's list with the contents of its backup. naming, if not nil, returns what
// the restore renames.
func (c *Cluster) compareItems(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	list []artifact.KindItems,
	sections []results.MessageSection,
	served func(context.Context, *BackupStore) (collector.Discovery, error),
	naming func(context.Context, *collector.Fates) (results.Naming, error),
) (results.Items, error) {
	restore, err := FindRestoreSpec(j)
	if err != nil {
		return results.Items{}, err
	}
	e, index, err := c.readIndex(ctx, j.Namespace, restore.BackupName, func(int64, int64) {})
	if err != nil {
		return results.Items{}, err
	}
	spec := collector.RestoreInput{Restore: restore, Policy: SelectionPolicy(j), Server: BuildCollectorServer(server)}
	spec.ExistingNamespaces, err = e.FetchExistingNamespaces(ctx, j.Started)
	if err != nil { // the former namespaces only change a reason
		spec.ExistingNamespaces = collector.TargetNamespaces{}
	}
	kinds, err := served(ctx, e)
	if err != nil {
		return results.Items{}, err
	}
	if err := e.ReadPolicy(ctx, &spec); err != nil {
		return results.Items{}, err
	}
	fates, err := index.DetermineFates(ctx, spec, kinds)
	if err != nil {
		return results.Items{}, err
	}
	var names results.Naming
	if naming != nil {
		if names, err = naming(ctx, fates); err != nil {
			return results.Items{}, err
		}
	}
	return results.CompareItems(list, sections, fates, names)
}
