package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/identity"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

var errNoArtifactsVerify = errors.New("with --no-artifacts veltui does not read what was to come back")

// VerifyRestore reads what a restore was to bring back, and looks for it in the cluster. With an error that is not
// about the cluster, the result still says what is known. If far is not nil, VerifyRestore also compares the content
// of the existing objects with the backup, and calls far with its progress.
func (c *Cluster) VerifyRestore(
	ctx context.Context,
	j *job.Job,
	in *assess.Assessment,
	progress func(live.Progress),
	far func(string),
) (result verify.Result, err error) {
	defer func() {
		c.logFailure(ctx, "verifying a restore", j.Name, err)
		err = sanitize.Error(err)
	}()
	if j.Phase == velero.PhaseFailedValidation || j.Stage == job.StageQueued && !j.IsTerminal() {
		return result, verify.ErrNotStarted
	}
	if c.NoArtifacts {
		return result, errNoArtifactsVerify
	}
	reader, served, err := c.newLiveReader(ctx)
	if err != nil {
		return result, err
	}
	input := verify.Input{
		RestoreName: j.Name,
		Server:      in.Snapshot.Server.Version,
		Started:     j.Started,
		InProgress:  !j.IsTerminal(),
	}
	if j.IsTerminal() {
		input.Ended = j.Completed
	}
	spec, _ := FindRestoreSpec(j) // fetchExpectedItems reports an error
	input.BackupName, input.MapsNamespaces = spec.BackupName, len(spec.NamespaceMapping) > 0
	var notes []string
	if input.Items, input.Unlisted, notes, err = c.fetchExpectedItems(
		ctx, j, in.Snapshot.Server, reader, served,
	); err != nil {
		result = verify.Result{
			CountByState: map[verify.State]int{},
			CheckedAt:    c.Clock(),
			InProgress:   !j.IsTerminal(),
			Notes:        []string{"What was to come back is not known: " + sanitize.String(err.Error())},
		}
		result.AddTransfers(j.Volumes)
		return result, fmt.Errorf("what was to come back is not known: %w", err)
	}
	if input.Target, err = reader.FetchState(ctx, served, verify.BuildQuery(input.Items), progress); err != nil {
		return result, err
	}
	result = verify.Judge(input)
	store, err := c.NewBackupStore(j.Namespace)
	if err != nil {
		return result, err
	}
	state, noBackup := store.fetchVeleroState(ctx, in.Snapshot, spec.BackupName)
	if noBackup == nil {
		why, err := c.NotFinalizedReason(ctx, j.Namespace, state.Backup)
		if err != nil {
			why = "Whether Velero stored its contents after its operations is not known: " + err.Error()
		}
		if why != "" {
			notes = append(notes, "Backup "+spec.BackupName+": "+why)
		}
	}
	// Velero itself adds the kinds that it never restores (restore_controller.go, validateAndComplete).
	words := slices.DeleteFunc(
		slices.Concat(spec.IncludedResources, spec.ExcludedResources),
		func(word string) bool { return slices.Contains(collector.NonRestorable(), word) },
	)
	for _, word := range served.UnexplainedWords(words) {
		notes = append(
			notes,
			fmt.Sprintf(
				"What the restore means by %s is not known: its API group may be one that does not answer (%s)",
				sanitize.String(word),
				served.SilentGroups(),
			),
		)
	}
	if far != nil {
		err := noBackup
		if err == nil {
			question := SurveyQuery{
				Velero: state,
				Spec: collector.RestoreInput{
					Restore: spec,
					Policy:  SelectionPolicy(j),
					Server:  BuildCollectorServer(in.Snapshot.Server),
				},
			}
			if err = store.ReadPolicy(ctx, &question.Spec); err == nil {
				err = c.compareContents(ctx, j, question, input, &result, reader, served, far)
			}
		}
		switch {
		case ctx.Err() != nil:
			return verify.Result{}, context.Cause(ctx)
		case err != nil:
			notes = append(notes, "Contents were not compared: "+err.Error())
		}
	}
	result.Notes = append(notes, result.Notes...)
	result.Incomplete = result.Incomplete || len(notes) > 0
	addClaimObstacles(ctx, reader, served, &result)
	result.AddTransfers(j.Volumes)
	unseen := map[velero.VolumeKind]bool{}
	for _, s := range in.Snapshot.Sources {
		switch s.State {
		case watch.SourceForbidden:
			result.AddUncheckedTransfers(s.Resource, "you may not list it")
		case watch.SourceSyncing:
			result.AddUncheckedTransfers(s.Resource, "veltui is still reading it")
		default:
			continue
		}
		for _, kind := range velero.VolumeKinds {
			unseen[kind] = unseen[kind] || s.Resource == strings.ToLower(string(kind))+"s.velero.io"
		}
	}
	if result.HasVolumes() {
		evidence := c.fetchVolumeEvidence(ctx, j)
		evidence.UncheckedKinds = unseen
		result.AddVolumes(input, evidence)
	}
	result.Cost = reader.RequestCost()
	if ctx.Err() != nil {
		return verify.Result{}, context.Cause(ctx)
	}
	return result, nil
}

// fetchExpectedItems returns what Velero lists and what the backup holds. Either is enough for an answer.
func (c *Cluster) fetchExpectedItems(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	reader *live.Reader,
	served *live.ServedKinds,
) (items results.Items, unlisted bool, notes []string, err error) {
	var list []artifact.KindItems
	var sections []results.MessageSection
	var noReasons error
	noList := errors.New("the restore has not ended, so Velero has not stored its list")
	if j.IsTerminal() {
		list, noList = c.FetchResources(ctx, j)
		sections, noReasons = c.fetchItemMessages(ctx, j)
	}
	unreadModifier := ""
	items, noBackup := c.compareItems(
		ctx,
		j,
		server,
		list,
		sections,
		func(context.Context, *BackupStore) (collector.Discovery, error) {
			return collector.LiveDiscovery(served.ResourceLists), nil
		},
		func(ctx context.Context, fates *collector.Fates) (names results.Naming, err error) {
			names, unreadModifier, err = findNames(ctx, j, server, reader, served, fates)
			return names, err
		},
	)
	switch {
	case ctx.Err() != nil:
		return items, false, nil, context.Cause(ctx)
	case noBackup != nil && noList != nil:
		return items, true, nil, noBackup
	case noBackup == nil:
		items.UnreadModifier = unreadModifier
	case noBackup != nil:
		items = results.ListItems(list, sections)
		items.CompareUnavailable = sanitize.String(noBackup.Error())
	}
	if noReasons != nil && !errors.Is(noReasons, artifact.ErrAbsent) {
		items.ReasonsUnavailable = noReasons.Error()
	}
	if noList != nil && j.IsTerminal() && !errors.Is(noList, artifact.ErrAbsent) {
		notes = append(notes, "Velero's list of what it restored cannot be read: "+noList.Error())
	}
	return items, noList != nil, notes, nil
}

// findNames returns the names under which a restore with a resource modifier made its items, and the name of a
// modifier that could not be read, empty for none.
func findNames(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	reader *live.Reader,
	served *live.ServedKinds,
	fates *collector.Fates,
) (names results.Naming, unread string, err error) {
	spec, err := FindRestoreSpec(j)
	configMaps := preflight.ConfigMapNames(spec, server.Flags.DefaultResourceModifier)
	if err != nil || len(configMaps) == 0 {
		return nil, "", err
	}
	around, err := reader.FetchEnvironment(
		ctx, served, live.EnvironmentQuery{VeleroNamespace: j.Namespace, ConfigMapNames: configMaps},
	)
	if err != nil {
		return nil, "", err
	}
	applied := preflight.FindModifier(spec, server.Flags.DefaultResourceModifier, around)
	if applied.Rules == nil {
		return nil, applied.Name, nil
	}
	type place struct{ resource, namespace, name string }
	renamed := map[place]identity.Object{} // with an empty name where it is unknown
	resolver := identity.Resolver{Modifier: applied.Rules}
	err = fates.EachLabelledItem(func(i collector.Item, labels func() (map[string]string, bool)) {
		if i.Fate != collector.ToRestore {
			return
		}
		at := place{sanitize.String(i.Resource), sanitize.String(i.Namespace), sanitize.String(i.Name)}
		if o, known := resolver.Identify(i, labels); !known {
			renamed[at] = identity.Object{}
		} else if o.Name != i.Name {
			renamed[at] = o
		}
	})
	return func(resource, namespace, name string) (string, bool) {
		if o, changed := renamed[place{resource, namespace, name}]; changed {
			return o.Name, o.Name != ""
		}
		return name, true
	}, "", err
}

// fetchVolumeEvidence reads what Velero stored about the volumes of a restore and of its backup.
func (c *Cluster) fetchVolumeEvidence(ctx context.Context, j *job.Job) verify.DataEvidence {
	e := verify.DataEvidence{Transfers: j.Volumes, Completed: j.Phase == velero.PhaseCompleted}
	spec, err := FindRestoreSpec(j)
	if err == nil {
		e.VolumesLeftOut = spec.RestorePVs != nil && !*spec.RestorePVs
		e.BackupVolumes, err = readArtifact(
			ctx,
			c,
			j,
			func(f *artifact.Fetcher, ctx context.Context, _ job.Kind, _ string) ([]artifact.VolumeInfo, error) {
				return f.FetchVolumes(ctx, job.Backup, spec.BackupName)
			},
		)
	}
	switch {
	case errors.Is(err, artifact.ErrAbsent):
		e.BackupVolumesUnchecked = "Velero stored nothing of the backup's volumes, as it does since 1.13"
	case err != nil:
		e.BackupVolumesUnchecked = err.Error()
	}
	switch e.RestoredVolumes, err = c.FetchStoredVolumes(ctx, j); {
	case errors.Is(err, artifact.ErrAbsent):
		e.RestoredVolumesUnchecked = "Velero stored nothing of the restore's volumes, as it does since 1.14"
	case err != nil:
		e.RestoredVolumesUnchecked = err.Error()
	}
	return e
}

// newLiveReader returns a reader of the live cluster, and the kinds that the cluster serves.
func (c *Cluster) newLiveReader(ctx context.Context) (*live.Reader, *live.ServedKinds, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, nil, err
	}
	reader, err := live.New(
		live.Options{Config: config, IdleTimeout: cmp.Or(config.Timeout, firstAnswerTimeout), Clock: c.Clock, Log: c.Log},
	)
	if err != nil {
		return nil, nil, err
	}
	served, err := reader.FetchServedKinds(ctx)
	return reader, served, err
}
