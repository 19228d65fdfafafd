package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// CheckRestore does what `veltui preflight` does, also if the items are unknown.
func (c *Cluster) CheckRestore(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
) CheckResult {
	check, err := c.checkDraft(ctx, d, preview, a, checkOptions{})
	if err != nil {
		check.Unchecked = []string{"the cluster: " + err.Error()}
		sanitize.Object(&check)
	}
	return check
}

// CompareRestore does what `veltui preflight --compare` does.
func (c *Cluster) CompareRestore(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
	far func(string),
) (CheckResult, error) {
	return c.checkWithOptions(ctx, d, preview, a, checkOptions{compareContents: true, onProgress: far})
}

// DryRunRestore does what `veltui preflight --dry-run` does, with --dry-run-secrets if secrets is true.
func (c *Cluster) DryRunRestore(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
	secrets bool,
	far func(string),
) (CheckResult, error) {
	return c.checkWithOptions(
		ctx,
		d,
		preview,
		a,
		checkOptions{onProgress: far, dryRun: &DryRunOptions{SendSecrets: secrets, Progress: func(sent, total int) {
			far(fmt.Sprintf("%d of %d", sent, total))
		}}},
	)
}

func (c *Cluster) checkWithOptions(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
	how checkOptions,
) (CheckResult, error) {
	check, err := c.checkDraft(ctx, d, preview, a, how)
	if err != nil {
		return check, sanitize.Error(err)
	}
	return check, nil
}

// checkOptions are the additional parts of a check; onProgress is called with its progress.
type checkOptions struct {
	compareContents bool
	dryRun          *DryRunOptions
	onProgress      func(string)
}

// checkDraft finds what stands in the way of a draft.
func (c *Cluster) checkDraft(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
	how checkOptions,
) (check CheckResult, err error) {
	spec, state := d.Restore.Spec, BuildVeleroState(a.Snapshot, preview.Backup)
	spec.BackupName, spec.ScheduleName = preview.Backup, ""
	var result *preflight.Result
	var unseen []string
	switch {
	case preview.ItemsUnchecked != "":
		unseen = []string{"the cluster, because the items are not known"}
		result, err = preflight.Check(preflight.Input{Restore: spec, Velero: state, Now: c.Clock()})
	default:
		result, err = c.surveyDraft(ctx, spec, d, state, a, how)
	}
	if err != nil {
		return check, err
	}
	check.Unchecked, check.Findings, check.DryRun = unseen, result.Findings, result.DryRun
	if c.ReadOnly {
		check.CompareUnavailable = ErrNoDownload.Error()
	}
	for _, f := range result.Findings {
		if slices.Contains(
			[]preflight.Reason{preflight.ObjectsExist, preflight.ObjectsPatched, preflight.ServiceAccountsMerged},
			f.Reason,
		) {
			check.ComparableObjects += f.Count
		}
	}
	for _, n := range result.Unchecked {
		check.Unchecked = append(check.Unchecked, n.What+": "+n.Why)
	}
	sanitize.Object(&check)
	return check, nil
}

// surveyDraft reads the live cluster.
func (c *Cluster) surveyDraft(
	ctx context.Context,
	spec veleroapi.RestoreSpec,
	d restorespec.Draft,
	state preflight.VeleroState,
	a *assess.Assessment,
	how checkOptions,
) (*preflight.Result, error) {
	g, err := c.loadPreviewInput(ctx, a.Snapshot.Namespace, spec.BackupName)
	if err != nil {
		return nil, err
	}
	c.addStored(ctx, &state, g)
	question := SurveyQuery{Velero: state, Index: g.index, ReuseSurvey: true}
	if question.Spec, err = g.buildSpec(ctx, spec, d, a); err != nil && !errors.Is(err, ErrPolicyRefused) {
		return nil, err
	}
	progress := func(live.Progress) {}
	if how.compareContents {
		question.Bodies = g.store.NewBodyReader(
			spec.BackupName,
			func(done, total int64) { how.onProgress(human.BytesProgress(done, total)) },
		)
		progress = func(p live.Progress) { how.onProgress(fmt.Sprintf("%d of %d lists", p.Done, p.Total)) }
	}
	if question.DryRun = how.dryRun; question.DryRun != nil {
		question.DryRun.Bodies = g.store.NewBodyReader(spec.BackupName, func(int64, int64) {})
	}
	return g.surveyor.CheckRestore(ctx, question, progress)
}

// addStored reads the object store once for each backup that has ended.
func (c *Cluster) addStored(ctx context.Context, state *preflight.VeleroState, g previewInput) {
	c.previews.mu.Lock()
	known := c.previews.storedState
	c.previews.mu.Unlock()
	if b := state.Backup; known.Backup != nil && b != nil && known.Backup.UID == b.UID {
		state.NotFinalized, state.Volumes = known.NotFinalized, known.Volumes
		return
	}
	AddStoredState(ctx, state, g.store, g.index)
	if state.Backup != nil && state.Backup.Status.CompletionTimestamp != nil &&
		state.FinalizedUnchecked+state.VolumesUnchecked == "" {
		c.previews.mu.Lock()
		c.previews.storedState = *state
		c.previews.mu.Unlock()
	}
}

// CheckResult is what a check of the live cluster found. Unchecked never means no.
type CheckResult struct {
	Findings  []preflight.Finding
	Unchecked []string
	// ComparableObjects is how many objects can be compared, CompareUnavailable why they may not be.
	ComparableObjects  int
	CompareUnavailable string
	DryRun             *preflight.DryRun // what the API server answered, nil if it was not asked
}
