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

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

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
)

// previews is what the form of a restore has been told.
type previews struct {
	mu     sync.Mutex
	last   ground
	stored preflight.Velero // the state of the last backup that the object store was asked about
}

// ground is what previews of one backup share for SurveyAge: a form asks after every word.
type ground struct {
	backup   string
	at       time.Time
	index    *collector.Index
	kinds    collector.Discovery
	existing collector.Namespaces
	notes    []string
	surveyor *Surveyor
	store    *Store // store reads the backup once more
}

const mostChoices = 5000

// Preview works out what a draft would restore.
func (c *Cluster) Preview(ctx context.Context, d restorespec.Draft, a *assess.Assessment) Preview {
	answer := Preview{}
	if a == nil {
		answer.Unknown = "the cluster has not answered yet"
		return answer
	}
	if answer.Backup, answer.Refused = Source(d, a); answer.Backup == "" {
		answer.Unknown = "there is no backup to look into"
	} else {
		c.look(ctx, &answer, d, a)
	}
	sanitize.Object(&answer)
	return answer
}

// look fills in what is known from the backup and the target.
func (c *Cluster) look(ctx context.Context, answer *Preview, d restorespec.Draft, a *assess.Assessment) {
	g, err := c.ground(ctx, a.Snapshot.Namespace, answer.Backup)
	if err != nil {
		answer.Unknown = err.Error()
		c.logFailure(ctx, "previewing a restore", answer.Backup, err)
		return
	}
	answer.Namespaces, answer.Labels = g.index.Namespaces(), g.index.Labels(mostChoices)
	for _, r := range g.index.Contents() {
		answer.Resources = append(answer.Resources, r.Resource)
	}
	slices.Sort(answer.Resources)
	question, err := g.question(ctx, d.Restore.Spec, d, a)
	switch {
	case errors.Is(err, ErrRefused):
		answer.Refused = append(answer.Refused, human.Capital(sanitize.String(err.Error()))+".")
	case err != nil:
		answer.Unknown = err.Error()
		return
	}
	if answer.Announced, err = announce(ctx, g.index, question, g.kinds, d); err != nil {
		answer.Unknown = err.Error()
		return
	}
	estimate, err := g.index.Estimate(ctx, question, g.kinds)
	if err != nil {
		answer.Unknown = err.Error()
		return
	}
	answer.Estimate = estimate
	answer.Refused = append(answer.Refused, estimate.Refused...)
	answer.Notes = slices.Concat(answer.Announced, g.notes, estimate.Assumptions, g.index.Noted)
	c.foresee(answer, a)
}

func (c *Cluster) foresee(answer *Preview, a *assess.Assessment) {
	known := c.KnownRates()
	course := forecast.NewCourse(answer.Estimate.Steps, known, forecast.LimitOf(a.Snapshot.Server))
	now := c.Clock()
	course.Observe(now, 0)
	left, ok := course.Left(now)
	if !ok {
		return
	}
	answer.Takes, answer.Low, answer.High = left.Likely, left.Low, left.High
	answer.Learned = known.Throttle.Valid() || len(known.Resources) > 0
	told := "The time is for the items; data of volumes comes on top."
	if !answer.Learned {
		told += " veltui has not watched a restore of this cluster yet, so it is a guess."
	}
	answer.Notes = append(answer.Notes, told)
}

// ground reads the backup, and what the target serves and has.
func (c *Cluster) ground(ctx context.Context, namespace, backup string) (ground, error) {
	c.preview.mu.Lock()
	last := c.preview.last
	c.preview.mu.Unlock()
	if now := c.Clock(); last.index != nil && last.backup == backup && now.Sub(last.at) < SurveyAge {
		return last, nil
	}
	if c.NoArtifacts {
		return ground{}, errors.New("with --no-artifacts veltui does not read backups")
	}
	e, index, err := c.readIndex(ctx, namespace, backup, func(int64, int64) {})
	if err != nil {
		return ground{}, err
	}
	g := ground{backup: backup, index: index, store: e}
	if g.kinds, g.notes, err = e.Kinds(ctx); err != nil {
		return ground{}, err
	}
	if g.existing, g.notes, err = e.existing(ctx, time.Time{}, g.notes); err != nil {
		return ground{}, err
	}
	// The one that there was knows what it has looked at.
	if g.surveyor = last.surveyor; g.surveyor == nil || last.backup != backup {
		if g.surveyor, err = c.Surveyor(); err != nil {
			return ground{}, err
		}
	}
	g.at = c.Clock()
	c.preview.mu.Lock()
	c.preview.last = g
	c.preview.mu.Unlock()
	return g, nil
}

// question is what is asked about a spec of a draft, with the resource policy.
func (g *ground) question(
	ctx context.Context,
	spec velerov1.RestoreSpec,
	d restorespec.Draft,
	a *assess.Assessment,
) (collector.RestoreSpec, error) {
	q := collector.RestoreSpec{
		Restore:  spec,
		Policy:   d.Policy(),
		Existing: g.existing,
		Server:   ServerOf(a.Snapshot.Server),
	}
	return q, g.store.ReadPolicy(ctx, &q)
}

// announce says what a restore of selected items does besides.
func announce(
	ctx context.Context,
	index *collector.Index,
	q collector.RestoreSpec,
	kinds collector.Discovery,
	d restorespec.Draft,
) ([]string, error) {
	if len(d.Only) == 0 || collector.Refusals(q.Restore) != nil {
		return nil, nil
	}
	fates, err := index.Fates(ctx, q, kinds)
	if err != nil {
		return nil, err
	}
	return d.Announce(fates)
}

// Check does what veltui preflight does, also where the items are not known.
func (c *Cluster) Check(ctx context.Context, d restorespec.Draft, preview Preview, a *assess.Assessment) Check {
	check, err := c.check(ctx, d, preview, a, closer{})
	if err != nil {
		check.Unseen = []string{"the cluster: " + err.Error()}
		sanitize.Object(&check)
	}
	return check
}

// Compare does what veltui preflight --compare does.
func (c *Cluster) Compare(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
	far func(string),
) (Check, error) {
	return c.checkCloser(ctx, d, preview, a, closer{compare: true, far: far})
}

// DryRun does what veltui preflight --dry-run does, with --dry-run-secrets if secrets is true.
func (c *Cluster) DryRun(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
	secrets bool,
	far func(string),
) (Check, error) {
	return c.checkCloser(
		ctx,
		d,
		preview,
		a,
		closer{far: far, dryRun: &DryRun{Secrets: secrets, Progress: func(sent, total int) {
			far(fmt.Sprintf("%d of %d", sent, total))
		}}},
	)
}

func (c *Cluster) checkCloser(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
	how closer,
) (Check, error) {
	check, err := c.check(ctx, d, preview, a, how)
	if err != nil {
		return check, sanitize.Error(err)
	}
	return check, nil
}

// closer is what a check does besides; far is told how far it is.
type closer struct {
	compare bool
	dryRun  *DryRun
	far     func(string)
}

// check looks what stands in the way.
func (c *Cluster) check(
	ctx context.Context,
	d restorespec.Draft,
	preview Preview,
	a *assess.Assessment,
	how closer,
) (check Check, err error) {
	spec, state := d.Restore.Spec, VeleroState(a.Snapshot, preview.Backup)
	spec.BackupName, spec.ScheduleName = preview.Backup, ""
	var result *preflight.Result
	var unseen []string
	switch {
	case preview.Unknown != "":
		unseen = []string{"the cluster, because the items are not known"}
		result, err = preflight.Check(preflight.Input{Restore: spec, Velero: state, Now: c.Clock()})
	default:
		result, err = c.survey(ctx, spec, d, state, a, how)
	}
	if err != nil {
		return check, err
	}
	check.Unseen, check.Findings, check.DryRun = unseen, result.Findings, result.DryRun
	if c.ReadOnly {
		check.WhyNotCompare = ErrNoDownload.Error()
	}
	for _, f := range result.Findings {
		if slices.Contains(
			[]preflight.Reason{preflight.ObjectsExist, preflight.ObjectsPatched, preflight.ServiceAccountsMerged},
			f.Reason,
		) {
			check.Existing += f.Count
		}
	}
	for _, n := range result.NotLooked {
		check.Unseen = append(check.Unseen, n.What+": "+n.Why)
	}
	sanitize.Object(&check)
	return check, nil
}

// survey looks at the live cluster.
func (c *Cluster) survey(
	ctx context.Context,
	spec velerov1.RestoreSpec,
	d restorespec.Draft,
	state preflight.Velero,
	a *assess.Assessment,
	how closer,
) (*preflight.Result, error) {
	g, err := c.ground(ctx, a.Snapshot.Namespace, spec.BackupName)
	if err != nil {
		return nil, err
	}
	c.addStored(ctx, &state, g)
	question := SurveyQuestion{Velero: state, Index: g.index, Keep: true}
	if question.Spec, err = g.question(ctx, spec, d, a); err != nil && !errors.Is(err, ErrRefused) {
		return nil, err
	}
	progress := func(live.Progress) {}
	if how.compare {
		question.Bodies = g.store.Bodies(
			spec.BackupName,
			func(done, total int64) { how.far(human.BytesOf(done, total)) },
		)
		progress = func(p live.Progress) { how.far(fmt.Sprintf("%d of %d lists", p.Done, p.Total)) }
	}
	if question.DryRun = how.dryRun; question.DryRun != nil {
		question.DryRun.Bodies = g.store.Bodies(spec.BackupName, func(int64, int64) {})
	}
	return g.surveyor.Check(ctx, question, progress)
}

// addStored asks the object store once for each backup that has ended.
func (c *Cluster) addStored(ctx context.Context, state *preflight.Velero, g ground) {
	c.preview.mu.Lock()
	known := c.preview.stored
	c.preview.mu.Unlock()
	if b := state.Backup; known.Backup != nil && b != nil && known.Backup.UID == b.UID {
		state.NotFinalized, state.Volumes = known.NotFinalized, known.Volumes
		return
	}
	AddStored(ctx, state, g.store, g.index)
	if state.Backup != nil && state.Backup.Status.CompletionTimestamp != nil &&
		state.FinalizedUnseen+state.VolumesUnseen == "" {
		c.preview.mu.Lock()
		c.preview.stored = *state
		c.preview.mu.Unlock()
	}
}

// Source is the backup that Velero would take, and why it would take none
// (pkg/controller/restore_controller.go, validateAndComplete; pkg/cmd/cli/restore/create.go, Run).
func Source(d restorespec.Draft, a *assess.Assessment) (backup string, refused []string) {
	spec := d.Restore.Spec
	if (spec.BackupName == "") == (spec.ScheduleName == "") {
		return "", nil // the form says it
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
	case found == nil && a.Snapshot.LeftBackups > 0:
		return spec.BackupName, nil // it may be one that was left out
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
	for _, l := range a.Snapshot.Locations {
		if refuses && l.Name == found.StorageLocation &&
			l.Status.Phase != velerov1.BackupStorageLocationPhaseAvailable {
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

// Save writes a new private file, unless there is one with this very text.
func (c *Cluster) Save(path string, data []byte) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	switch err := safefile.WriteNew(path, data); {
	case errors.Is(err, os.ErrExist):
		if holds(path, data) {
			return sanitize.Whole(path), nil
		}
		return "", fmt.Errorf("%s %w", sanitize.String(path), ErrExists)
	case err != nil:
		return "", sanitize.Error(err)
	}
	return sanitize.Whole(path), nil
}

// holds reports whether a file has exactly this content.
func holds(path string, data []byte) bool {
	file, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, int64(len(data))+1))
	return err == nil && bytes.Equal(content, data)
}

// Progress takes how many bytes of a backup have come, of how many; total is 0 while that is not known. It may
// be called from any goroutine, and never blocks. While nothing is downloaded it is not called.
type Progress func(done, total int64)

// ErrExists is why a file is not saved; the path goes before it.
var ErrExists = errors.New("exists already, and veltui does not replace it")

// Preview is what a restore would do, as far as that is known.
type Preview struct {
	Backup   string             // the one that would be restored: with a schedule, its newest
	Refused  []string           // why Velero would not do it, in sentences
	Unknown  string             // why the items are not known, empty if they are
	Estimate collector.Estimate // what would be restored
	// Takes is between Low and High, 0 if unknown; Learned is true if earlier restores told.
	Takes, Low, High time.Duration
	Learned          bool
	// Namespaces, Resources and Labels (key=value) are those in the backup.
	Namespaces, Resources, Labels []string
	Announced                     []string // what comes beside selected items
	Notes                         []string // what was taken for granted or could not be looked at
}

// Check is what a look at the live cluster found. Unseen is never a no.
type Check struct {
	Findings []preflight.Finding
	Unseen   []string
	// Existing is how many objects can be compared, WhyNotCompare why they must not be.
	Existing      int
	WhyNotCompare string
	DryRun        *preflight.DryRun // what the API server answered, if it was asked
}
