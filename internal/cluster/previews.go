package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// previews keeps what previews for the restore form have read.
type previews struct {
	mu          sync.Mutex
	lastInput   previewInput
	storedState preflight.VeleroState // the state of the last backup that the object store was asked about
}

// previewInput is what previews of one backup share for MaxSurveyAge: a form requests a preview after every word.
type previewInput struct {
	backup   string
	at       time.Time
	index    *collector.Index
	kinds    collector.Discovery
	existing collector.TargetNamespaces
	notes    []string
	surveyor *Surveyor
	store    *BackupStore // store reads the backup again
}

const maxChoices = 5000

// PreviewRestore works out what a draft would restore.
func (c *Cluster) PreviewRestore(ctx context.Context, d restorespec.Draft, a *assess.Assessment) Preview {
	answer := Preview{}
	if a == nil {
		answer.ItemsUnchecked = "the cluster has not answered yet"
		return answer
	}
	if answer.Backup, answer.RefusalReasons = FindSourceBackup(d, a); answer.Backup == "" {
		answer.ItemsUnchecked = "there is no backup to look into"
	} else {
		c.fillPreview(ctx, &answer, d, a)
	}
	sanitize.Object(&answer)
	return answer
}

// fillPreview fills in what is known from the backup and the target.
func (c *Cluster) fillPreview(ctx context.Context, answer *Preview, d restorespec.Draft, a *assess.Assessment) {
	g, err := c.loadPreviewInput(ctx, a.Snapshot.Namespace, answer.Backup)
	if err != nil {
		answer.ItemsUnchecked = err.Error()
		c.logFailure(ctx, "previewing a restore", answer.Backup, err)
		return
	}
	answer.Namespaces, answer.Labels = g.index.Namespaces(), g.index.LabelPairs(maxChoices)
	for _, r := range g.index.CountResources() {
		answer.Resources = append(answer.Resources, r.Resource)
	}
	slices.Sort(answer.Resources)
	question, err := g.buildSpec(ctx, d.Restore.Spec, d, a)
	switch {
	case errors.Is(err, ErrPolicyRefused):
		why := human.EndSentence(human.Capitalize(sanitize.String(err.Error())))
		answer.RefusalReasons = append(answer.RefusalReasons, why)
	case err != nil:
		answer.ItemsUnchecked = err.Error()
		return
	}
	if answer.AlsoRestored, err = describeAdditionalItems(ctx, g.index, question, g.kinds, d); err != nil {
		answer.ItemsUnchecked = err.Error()
		return
	}
	estimate, err := g.index.Estimate(ctx, question, g.kinds)
	if err != nil {
		answer.ItemsUnchecked = err.Error()
		return
	}
	answer.Estimate = estimate
	answer.RefusalReasons = append(answer.RefusalReasons, estimate.Refusals...)
	answer.Notes = slices.Concat(answer.AlsoRestored, g.notes, estimate.Assumptions, g.index.Noted)
	c.predictDuration(answer, a)
}

func (c *Cluster) predictDuration(answer *Preview, a *assess.Assessment) {
	known := c.KnownRates()
	course := forecast.NewForecaster(answer.Estimate.Steps, known, forecast.ClientLimitOf(a.Snapshot.Server))
	now := c.Clock()
	course.ObserveItems(now, 0)
	left, ok := course.EstimateLeft(now)
	if !ok {
		return
	}
	answer.Duration = left
	told := "The time is for the items; data of volumes comes on top."
	if !known.Throttle.IsValid() && len(known.Resources) == 0 {
		told += " veltui has not watched a restore of this cluster yet, so it is a guess."
	}
	answer.Notes = append(answer.Notes, told)
}

// loadPreviewInput reads the backup, the kinds that the target serves, and its namespaces.
func (c *Cluster) loadPreviewInput(ctx context.Context, namespace, backup string) (previewInput, error) {
	c.previews.mu.Lock()
	last := c.previews.lastInput
	c.previews.mu.Unlock()
	if now := c.Clock(); last.index != nil && last.backup == backup && now.Sub(last.at) < MaxSurveyAge {
		return last, nil
	}
	if c.NoArtifacts {
		return previewInput{}, errors.New("with --no-artifacts veltui does not read backups")
	}
	e, index, err := c.readIndex(ctx, namespace, backup, func(int64, int64) {})
	if err != nil {
		return previewInput{}, err
	}
	g := previewInput{backup: backup, index: index, store: e}
	if g.kinds, g.notes, err = e.FetchKinds(ctx); err != nil {
		return previewInput{}, err
	}
	if g.existing, g.notes, err = e.fetchExistingOrNote(ctx, time.Time{}, g.notes); err != nil {
		return previewInput{}, err
	}
	// The previous surveyor knows what it has already read.
	if g.surveyor = last.surveyor; g.surveyor == nil || last.backup != backup {
		if g.surveyor, err = c.NewSurveyor(); err != nil {
			return previewInput{}, err
		}
	}
	g.at = c.Clock()
	c.previews.mu.Lock()
	c.previews.lastInput = g
	c.previews.mu.Unlock()
	return g, nil
}

// buildSpec returns the spec to estimate for a draft, with the resource policy.
func (g *previewInput) buildSpec(
	ctx context.Context,
	spec veleroapi.RestoreSpec,
	d restorespec.Draft,
	a *assess.Assessment,
) (collector.RestoreInput, error) {
	q := collector.RestoreInput{
		Restore:            spec,
		Policy:             d.BuildPolicy(),
		ExistingNamespaces: g.existing,
		Server:             BuildCollectorServer(a.Snapshot.Server),
	}
	return q, g.store.ReadPolicy(ctx, &q)
}

// describeAdditionalItems says what a restore of selected items restores besides them.
func describeAdditionalItems(
	ctx context.Context,
	index *collector.Index,
	q collector.RestoreInput,
	kinds collector.Discovery,
	d restorespec.Draft,
) ([]string, error) {
	if len(d.Selected) == 0 || collector.RefusalReasons(q.Restore) != nil {
		return nil, nil
	}
	fates, err := index.DetermineFates(ctx, q, kinds)
	if err != nil {
		return nil, err
	}
	return d.DescribeSelection(fates)
}

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

// FindSourceBackup returns the backup that Velero would restore, and why it would refuse
// (pkg/controller/restore_controller.go, validateAndComplete; pkg/cmd/cli/restore/create.go, Run).
func FindSourceBackup(d restorespec.Draft, a *assess.Assessment) (backup string, refused []string) {
	spec := d.Restore.Spec
	if (spec.BackupName == "") == (spec.ScheduleName == "") {
		return "", nil // the form reports it
	}
	partial := d.AllowPartiallyFailed != nil && *d.AllowPartiallyFailed
	var found *job.Job
	seen := 0
	for _, j := range a.Snapshot.Jobs {
		if j.Kind != job.Backup {
			continue
		}
		switch {
		case spec.BackupName != "" && j.Name == spec.BackupName:
			found = j
		case spec.ScheduleName != "" && j.ScheduleName == spec.ScheduleName:
			seen++
			completed := j.Phase == velero.PhaseCompleted || partial && j.Phase == velero.PhasePartiallyFailed
			if completed && (found == nil || j.Started.After(found.Started)) {
				found = j
			}
		}
	}
	switch {
	case found == nil && a.Snapshot.AgedOutBackups > 0:
		return spec.BackupName, nil // the backup may have been left out of the snapshot
	case found == nil && spec.BackupName != "":
		return "", []string{fmt.Sprintf("There is no backup %s.", spec.BackupName)}
	case found == nil && seen > 0:
		return "", []string{
			fmt.Sprintf("None of the %s of schedule %s is Completed.", human.Count(seen, "backup"), spec.ScheduleName),
		}
	case found == nil:
		return "", []string{fmt.Sprintf("There is no backup of a schedule %s.", spec.ScheduleName)}
	}
	version, known := velero.ParseVersion(a.Snapshot.Server.Version)
	refuses := !known || version.RefusesUnavailableLocation()
	for _, l := range a.Snapshot.StorageLocations {
		if refuses && l.Name == found.StorageLocation &&
			l.Status.Phase != veleroapi.BackupStorageLocationPhaseAvailable {
			refused = append(
				refused,
				fmt.Sprintf("The storage location %s of backup %s is not Available.", l.Name, found.Name),
			)
		}
	}
	if found.Deleting || found.Phase == velero.PhaseDeleting {
		refused = append(refused, fmt.Sprintf("The backup %s is being deleted.", found.Name))
	}
	return found.Name, refused
}

// SaveFile writes a new private file, unless a file with exactly this text exists.
func (c *Cluster) SaveFile(path string, data []byte) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	switch err := safefile.WriteNew(path, data); {
	case errors.Is(err, os.ErrExist):
		if hasContent(path, data) {
			return sanitize.FullLine(path), nil
		}
		return "", fmt.Errorf("%s %w", sanitize.String(path), ErrFileExists)
	case err != nil:
		return "", sanitize.Error(err)
	}
	return sanitize.FullLine(path), nil
}

// hasContent reports whether a file has exactly this content.
func hasContent(path string, data []byte) bool {
	file, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, int64(len(data))+1))
	return err == nil && bytes.Equal(content, data)
}

// Progress is called with how many bytes of a backup have arrived, and of how many; total is 0 while it is unknown.
// It may be called from any goroutine, and never blocks. It is not called while nothing is downloaded.
type Progress func(done, total int64)

// ErrFileExists is the reason why a file is not saved; it follows the path.
var ErrFileExists = errors.New("exists already, and veltui does not replace it")

// Preview is what a restore would do, as far as known.
type Preview struct {
	Backup         string                // the backup that would be restored: with a schedule, its newest
	RefusalReasons []string              // why Velero would refuse it, in sentences
	ItemsUnchecked string                // why the items are not known, empty if they are
	Estimate       collector.Estimate    // what would be restored
	Duration       forecast.TimeEstimate // how long the items take, zero if unknown
	// Namespaces, Resources and Labels (key=value) are what the backup contains.
	Namespaces, Resources, Labels []string
	AlsoRestored                  []string // what is restored besides selected items
	Notes                         []string // what was assumed or could not be checked
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
