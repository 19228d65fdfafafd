package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/restore/verify"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/stored/outcome"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// Verifier compares what restores were to bring back with the cluster.
type Verifier struct {
	*Cluster
	Items *Items // nil with --no-artifacts
}

var errNoArtifactsVerify = errors.New("with --no-artifacts veltui does not read what was to come back")

// Verify reads what a restore was to bring back, and looks for it in the cluster. With
// an error that is not about the cluster, the result says what is known all the same.
func (v *Verifier) Verify(ctx context.Context, j *job.Job, in *assess.Assessment, progress func(target.Progress)) (result verify.Result, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			v.Log.Info("verifying a restore", "for", j.Name, "error", err)
			err = sanitize.Error(err)
		}
	}()
	if j.Phase == velero.PhaseFailedValidation || j.Stage == job.StageQueued && !j.Terminal() {
		return result, verify.ErrNotStarted
	}
	if v.Items == nil {
		return result, errNoArtifactsVerify
	}
	config, err := v.Config()
	if err != nil {
		return result, err
	}
	reader, err := target.New(target.Options{Config: config, Silence: cmp.Or(config.Timeout, patience), Clock: v.Clock, Log: v.Log})
	if err != nil {
		return result, err
	}
	served, err := reader.Served(ctx)
	if err != nil {
		return result, err
	}
	input := verify.Input{Restore: j.Name, Server: in.Snapshot.Server.Version, Started: j.Started, SoFar: !j.Terminal()}
	if j.Terminal() {
		input.Ended = j.Completed
	}
	var notes []string
	if input.Items, input.Unlisted, notes, err = v.expected(ctx, j, in.Snapshot.Server, served); err != nil {
		result = verify.Result{Count: map[verify.State]int{}, At: v.Clock(), SoFar: !j.Terminal(), Notes: []string{"What was to come back is not known: " + sanitize.String(err.Error())}}
		result.AddData(j.Volumes)
		return result, fmt.Errorf("what was to come back is not known: %w", err)
	}
	if input.Target, err = reader.Look(ctx, served, verify.Question(input.Items), progress); err != nil {
		return result, err
	}
	result = verify.Judge(input)
	if spec, err := RestoreSpec(j); err == nil {
		if b := VeleroState(in.Snapshot, spec.BackupName).Backup; b != nil {
			why, err := v.Items.Stored.WhyNotFinalized(ctx, j.Namespace, b)
			if err != nil {
				why = "Whether Velero stored its contents after its operations is not known: " + err.Error()
			}
			if why != "" {
				notes = append(notes, "Backup "+b.Name+": "+why)
			}
		}
		for _, word := range served.Untold(slices.Concat(spec.IncludedResources, spec.ExcludedResources)) {
			notes = append(notes, fmt.Sprintf("What the restore means by %s is not known: its API group may be one that does not answer (%s)", sanitize.String(word), served.SilentGroups()))
		}
	}
	result.Notes = append(notes, result.Notes...)
	result.Unknown = result.Unknown || len(notes) > 0
	addClaims(ctx, reader, served, &result)
	result.AddData(j.Volumes)
	unseen := map[velero.VolumeKind]bool{}
	for _, s := range in.Snapshot.Sources {
		switch s.State {
		case watch.SourceForbidden:
			result.AddUnseenData(s.Resource, "you may not list it")
		case watch.SourceSyncing:
			result.AddUnseenData(s.Resource, "veltui is still reading it")
		default:
			continue
		}
		for _, kind := range velero.VolumeKinds {
			unseen[kind] = unseen[kind] || s.Resource == strings.ToLower(string(kind))+"s.velero.io"
		}
	}
	if result.HasVolumes() {
		evidence := v.evidence(ctx, j)
		evidence.Unseen = unseen
		result.AddVolumes(input, evidence)
	}
	result.Cost = reader.Cost()
	if ctx.Err() != nil {
		return verify.Result{}, context.Cause(ctx)
	}
	return result, nil
}

// expected is what Velero lists and what the backup holds. Either is enough for an answer.
func (v *Verifier) expected(ctx context.Context, j *job.Job, server velero.Server, served *target.Served) (items outcome.Items, unlisted bool, notes []string, err error) {
	var list []artifact.Resources
	var sections []outcome.Section
	var noReasons error
	noList := errors.New("the restore has not ended, so Velero has not stored its list")
	if j.Terminal() {
		list, noList = v.Items.Stored.Resources(ctx, j)
		sections, noReasons = v.Items.Stored.reasons(ctx, j)
	}
	items, noBackup := v.Items.compare(ctx, j, server, list, sections, func(context.Context, *Store) (collector.Discovery, error) {
		return collector.LiveDiscovery(served.Lists), nil
	})
	switch {
	case ctx.Err() != nil:
		return items, false, nil, context.Cause(ctx)
	case noBackup != nil && noList != nil:
		return items, true, nil, noBackup
	case noBackup != nil:
		items = outcome.Listed(list, sections)
		items.NotCompared = sanitize.String(noBackup.Error())
	}
	if noReasons != nil && !errors.Is(noReasons, artifact.ErrAbsent) {
		items.NoReasons = noReasons.Error()
	}
	if noList != nil && j.Terminal() && !errors.Is(noList, artifact.ErrAbsent) {
		notes = append(notes, "Velero's list of what it restored cannot be read: "+noList.Error())
	}
	return items, noList != nil, notes, nil
}

// evidence reads what Velero stored of the volumes of a restore and of its backup.
func (v *Verifier) evidence(ctx context.Context, j *job.Job) verify.Evidence {
	e := verify.Evidence{Moved: j.Volumes, Completed: j.Phase == velero.PhaseCompleted}
	spec, err := RestoreSpec(j)
	if err == nil {
		e.NoVolumes = spec.RestorePVs != nil && !*spec.RestorePVs
		e.Saved, err = readArtifact(ctx, v.Items.Stored, j, func(f *artifact.Fetcher, ctx context.Context, _ job.Kind, _ string) ([]artifact.Volume, error) {
			return f.Volumes(ctx, job.Backup, spec.BackupName)
		})
	}
	switch {
	case errors.Is(err, artifact.ErrAbsent):
		e.NoSaved = "Velero stored nothing of the backup's volumes, as it does since 1.13"
	case err != nil:
		e.NoSaved = err.Error()
	}
	switch e.Made, err = v.Items.Stored.Volumes(ctx, j); {
	case errors.Is(err, artifact.ErrAbsent):
		e.NoMade = "Velero stored nothing of the restore's volumes, as it does since 1.14"
	case err != nil:
		e.NoMade = err.Error()
	}
	return e
}

// Claims of more than manyNamespaces are listed in the whole cluster, or in mostNamespaces at most.
const (
	manyNamespaces = 8
	mostNamespaces = 100
)

func addClaims(ctx context.Context, reader *target.Reader, served *target.Served, result *verify.Result) {
	var claims []verify.Claim
	open := false
	list := func(namespace string) error {
		return reader.Whole(ctx, served, "persistentvolumeclaims", namespace, func(o *unstructured.Unstructured) {
			c := verify.Claim{Namespace: o.GetNamespace(), Name: o.GetName()}
			c.Phase, _, _ = unstructured.NestedString(o.Object, "status", "phase")
			c.Class, _, _ = unstructured.NestedString(o.Object, "spec", "storageClassName")
			c.Volume, _, _ = unstructured.NestedString(o.Object, "spec", "volumeName")
			if kind, _, _ := unstructured.NestedString(o.Object, "spec", "dataSource", "kind"); kind == "VolumeSnapshot" {
				c.Snapshot, _, _ = unstructured.NestedString(o.Object, "spec", "dataSource", "name")
			}
			open = open || c.Phase != string(corev1.ClaimBound)
			claims = append(claims, c)
		})
	}
	unknown := func(what string, err error) {
		result.Unknown = true
		result.Notes = append(result.Notes, what+" is not known: "+err.Error())
	}
	namespaces := result.ClaimNamespaces()
	if len(namespaces) > manyNamespaces {
		err := list("")
		switch {
		case err == nil:
			namespaces = nil
		case !apierrors.IsForbidden(err) || len(namespaces) > mostNamespaces:
			unknown("Which claims are bound", err)
			namespaces = nil
		}
	}
	for _, namespace := range namespaces {
		if err := list(namespace); err != nil {
			unknown("Which claims are bound in namespace "+namespace, err)
		}
	}
	var classes verify.Classes
	if open {
		modes := verify.Classes{}
		err := reader.Whole(ctx, served, "storageclasses.storage.k8s.io", "", func(o *unstructured.Unstructured) {
			modes[o.GetName()], _, _ = unstructured.NestedString(o.Object, "volumeBindingMode")
		})
		if classes = modes; err != nil {
			classes = nil
			unknown("Whether the cluster has the storage classes of claims that are not bound", err)
		}
	}
	result.AddClaims(claims, classes)
}
