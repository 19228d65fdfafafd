package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
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
	known := c.LoadRates()
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
