package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
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
	if input.Items, input.Unlisted, notes, err = c.fetchExpectedItems(ctx, j, in.Snapshot.Server, served); err != nil {
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
	items, noBackup := c.compareItems(
		ctx,
		j,
		server,
		list,
		sections,
		func(context.Context, *BackupStore) (collector.Discovery, error) {
			return collector.LiveDiscovery(served.ResourceLists), nil
		},
	)
	switch {
	case ctx.Err() != nil:
		return items, false, nil, context.Cause(ctx)
	case noBackup != nil && noList != nil:
		return items, true, nil, noBackup
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

// addClaimObstacles reads the restored claims, and what keeps them from being bound.
func addClaimObstacles(ctx context.Context, reader *live.Reader, served *live.ServedKinds, result *verify.Result) {
	var claims []verify.Claim
	open, named := false, false // whether a claim is not bound, and whether it names its volume
	unknown := func(what string, err error) {
		if err != nil {
			result.Incomplete = true
			result.Notes = append(result.Notes, what+" is not known: "+err.Error())
		}
	}
	unseen, err := reader.FetchObjects(
		ctx,
		served,
		result.BuildClaimQuery(),
		func(string) string { return "" },
		func(_ string, from *unstructured.Unstructured) {
			sanitize.Object(&from.Object)
			var o corev1.PersistentVolumeClaim
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, &o); err != nil {
				return // AddClaims leaves the claim out, and AddVolumes says so
			}
			c := verify.Claim{
				Namespace: o.Namespace,
				Name:      o.Name,
				UID:       o.UID,
				Phase:     string(o.Status.Phase),
				Volume:    o.Spec.VolumeName,
			}
			if class := o.Spec.StorageClassName; class != nil {
				c.Class = *class
			}
			if source := o.Spec.DataSource; source != nil && source.Kind == "VolumeSnapshot" {
				c.Snapshot = source.Name
			}
			claims = append(claims, c)
			isOpen := o.Status.Phase != corev1.ClaimBound
			open, named = open || isOpen, named || isOpen && c.Volume != ""
		},
		nil,
	)
	unknown("Which claims are bound", err)
	for _, n := range unseen {
		unknown("Which claims are bound"+human.Prefixed(" in namespace ", n.Namespace), errors.New(n.Why))
	}
	var classes verify.BindingModes
	if open {
		modes := verify.BindingModes{}
		err := live.VisitObjects(ctx, reader, served, live.StorageClasses, "", "", func(c *storagev1.StorageClass) {
			if modes[c.Name] = ""; c.VolumeBindingMode != nil {
				modes[c.Name] = string(*c.VolumeBindingMode)
			}
		})
		if classes = modes; err != nil {
			classes = nil
		}
		unknown("Whether the cluster has the storage classes of claims that are not bound", err)
	}
	if named {
		refs := map[string]*corev1.ObjectReference{}
		err := live.VisitObjects(
			ctx,
			reader,
			served,
			live.PersistentVolumes,
			"",
			"",
			func(v *live.PersistentVolume) { refs[v.Name] = v.Spec.ClaimRef },
		)
		unknown("Whether the volumes of claims that are not bound can be bound to them", err)
		for i := range claims {
			c := &claims[i]
			ref, there := refs[c.Volume]
			switch {
			case err != nil || c.Volume == "" || c.Phase == string(corev1.ClaimBound):
			case there:
				c.UnbindableReason = velero.BindingObstacle(ref, c.Namespace, c.Name, c.UID)
			case !result.InProgress: // nothing creates a volume for a claim that names one
				c.UnbindableReason = "it is not there"
			}
		}
	}
	result.AddClaims(claims, classes)
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
