package action

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Prober checks the object store for a file, by its kind of DownloadRequest. An error means an unknown presence.
type Prober interface {
	ProbeFile(ctx context.Context, kind job.Kind, name, target string) (job.Presence, error)
}

// CountReader reads the counts of a job from its stored results and item operations.
type CountReader interface {
	FetchCounts(ctx context.Context, kind job.Kind, name string) (job.StoredCounts, error)
	// FetchErrorCount reads only the number of errors, not the operations.
	FetchErrorCount(ctx context.Context, kind job.Kind, name string) (int, error)
}

const (
	// artifactTimeout limits all questions together. Velero may see a DownloadRequest a minute after an outage.
	artifactTimeout = 2 * time.Minute
	// maxStoredAge is when to ask again about an unchanged job: its files may have been removed.
	maxStoredAge = 5 * time.Minute
)

// GatherStored adds what the object store holds for a job, through the server. [Engine.GatherEvidence] calls it: a
// caller needs it only for evidence that an engine without a Prober gathered. It does not ask again for what earlier
// (nil for none) found within maxStoredAge for the same version of the job.
func (f *Engine) GatherStored(ctx context.Context, e, earlier *Evidence) {
	if earlier != nil && isSameVersion(earlier.Object, e.Object) && e.Now.Sub(earlier.storeReadAt) < maxStoredAge {
		e.copyStored(earlier)
		return
	}
	e.storeReadAt = e.Now
	if f.options.Prober == nil || !shouldProbe(e, f.options.ReadOnly) {
		return
	}
	targets := ArtifactTargets(e.Job.Kind)
	if e.operationsUnchecked = f.options.SkipOperations; e.operationsUnchecked {
		targets = slices.DeleteFunc(targets, isOperationList)
	}
	if e.Server.Visible && len(e.Server.Pods) == 0 {
		for _, target := range targets {
			e.Artifacts = append(e.Artifacts, Artifact{target, job.Presence{Unchecked: "no Velero server is running to ask"}})
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, artifactTimeout)
	defer cancel()
	defer f.options.OnWaiting("")
	for _, target := range targets {
		f.options.OnWaiting("whether " + target + " is stored")
		p, err := f.options.Prober.ProbeFile(ctx, e.Job.Kind, e.Job.Name, target)
		if err != nil {
			p = job.Presence{Unchecked: sanitize.String(err.Error())}
		}
		e.Artifacts = append(e.Artifacts, Artifact{target, p})
		if p.State == job.PresenceUnknown || p.State == job.Absent && len(e.Artifacts) == 1 {
			return // the server does not answer, or nothing is stored yet
		}
	}
	if f.options.CountReader == nil || f.options.SkipOperations && e.allStoredAt().IsZero() ||
		!f.options.SkipOperations && checkAllFilesStored(e).refusal != "" {
		return
	}
	f.options.OnWaiting("the stored results")
	if f.options.SkipOperations {
		if n, err := f.options.CountReader.FetchErrorCount(ctx, e.Job.Kind, e.Job.Name); err == nil {
			e.StoredErrors = n
		}
		return
	}
	counts, err := f.options.CountReader.FetchCounts(ctx, e.Job.Kind, e.Job.Name)
	if err != nil {
		e.CountsUnchecked = sanitize.String(err.Error())
		return
	}
	e.StoredCounts = &counts
}

// copyStored copies what earlier evidence found in the object store.
func (e *Evidence) copyStored(earlier *Evidence) {
	e.Artifacts, e.storeReadAt = earlier.Artifacts, earlier.storeReadAt
	e.StoredCounts, e.CountsUnchecked = earlier.StoredCounts, earlier.CountsUnchecked
	e.operationsUnchecked, e.StoredErrors = earlier.operationsUnchecked, earlier.StoredErrors
}

// allStoredAt returns when the last file was stored, zero unless all requested files are stored since the job's
// start.
func (e *Evidence) allStoredAt() (newest time.Time) {
	v, known := e.serverVersion()
	for _, target := range ArtifactTargets(e.Job.Kind) {
		if e.operationsUnchecked && isOperationList(target) ||
			target == "RestoreVolumeInfo" && known && v.Before(velero.Version{1, 14, 0}) {
			continue // not requested, or not yet written by that version
		}
		i := slices.IndexFunc(e.Artifacts, func(a Artifact) bool { return a.Target == target })
		if i < 0 {
			return time.Time{}
		}
		a := e.Artifacts[i]
		if a.State != job.Present || !a.LastModified.After(e.startTime()) {
			return time.Time{}
		}
		newest = job.LatestTime(newest, a.LastModified)
	}
	return newest
}

// shouldProbe reports whether files may be stored that the user can use.
func shouldProbe(e *Evidence, readOnly bool) bool {
	switch e.Job.Phase {
	case velero.PhaseInProgress,
		velero.PhaseWaitingForPluginOperations,
		velero.PhaseWaitingForPluginOperationsPartiallyFailed,
		velero.PhaseFinalizing,
		velero.PhaseFinalizingPartiallyFailed:
		return !e.Job.Deleting && (e.MayPatch == Yes || readOnly)
	}
	return false
}

var locationGVK = veleroapi.GroupVersion.WithKind("BackupStorageLocation")

func (g *gatherer) fetchLocation() {
	name := g.evidence.Job.StorageLocation
	if g.evidence.Job.Kind == job.Restore && g.evidence.Job.BackupName != "" {
		var b veleroapi.Backup
		if !g.checkAnswer(
			"reading the backup",
			g.readTyped(jobGVK(job.Backup), g.evidence.Job.BackupName, &b),
			&g.evidence.LocationUnchecked,
		) {
			return
		}
		g.backup, name = &b, b.Spec.StorageLocation
	}
	g.fetchNamedLocation(name)
}

func (g *gatherer) fetchNamedLocation(name string) {
	if name == "" {
		return
	}
	var l veleroapi.BackupStorageLocation
	err := g.readTyped(locationGVK, name, &l)
	g.evidence.LocationMissing = isServerNotFound(err)
	if !g.checkAnswer("reading the storage location", err, &g.evidence.LocationUnchecked) {
		return
	}
	g.evidence.Location = &diagnosis.LocationStatus{
		Name:          l.Name,
		Phase:         string(l.Status.Phase),
		Message:       l.Status.Message,
		AccessMode:    string(l.Spec.AccessMode),
		LastValidated: job.TimeOrZero(l.Status.LastValidationTime),
	}
}

// fetchLocations finds out when a server last wrote to any storage location: a server validates and syncs each
// location, by default once a minute (backup_storage_location_controller.go, backup_sync_controller.go).
func (g *gatherer) fetchLocations() {
	locations, err := g.listObjects(locationGVK, g.options.Namespace)
	if !g.checkAnswer("listing storage locations", err, &g.evidence.LocationsUnchecked) {
		return
	}
	g.evidence.LocationsListed = Yes
	for i := range locations {
		o := &locations[i]
		g.evidence.LastLocationWrite = job.LatestTime(g.evidence.LastLocationWrite, lastVeleroWrite(o))
		for _, field := range []string{"lastValidationTime", "lastSyncedTime"} {
			text, _, _ := unstructured.NestedString(o.Object, "status", field)
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				g.evidence.LastLocationWrite = job.LatestTime(g.evidence.LastLocationWrite, at)
			}
		}
	}
}

// ObjectStore is the object store as Velero's DownloadRequests show it: a [Prober] and a [CountReader].
type ObjectStore struct{ Fetcher *artifact.Fetcher }

func (s ObjectStore) ProbeFile(ctx context.Context, _ job.Kind, name, target string) (job.Presence, error) {
	return s.Fetcher.Probe(ctx, artifact.Target{Kind: veleroapi.DownloadTargetKind(target), Name: name})
}

func (s ObjectStore) FetchErrorCount(ctx context.Context, kind job.Kind, name string) (int, error) {
	results, err := s.Fetcher.FetchResults(ctx, kind, name)
	if err != nil {
		return 0, fmt.Errorf("reading the stored results: %w", err)
	}
	return len(results.Errors.AllMessages()), nil
}

// FetchCounts fails without a list of operations, which Velero always stores. For a backup it also counts the items.
func (s ObjectStore) FetchCounts(ctx context.Context, kind job.Kind, name string) (job.StoredCounts, error) {
	results, err := s.Fetcher.FetchResults(ctx, kind, name)
	if err != nil {
		return job.StoredCounts{}, fmt.Errorf("reading the stored results: %w", err)
	}
	operations, err := s.Fetcher.FetchItemOperations(ctx, kind, name)
	if err != nil {
		return job.StoredCounts{}, fmt.Errorf("reading the stored operations: %w", err)
	}
	resources, err := s.Fetcher.FetchResourceList(ctx, kind, name)
	if err != nil {
		return job.StoredCounts{}, fmt.Errorf("reading the stored resource list: %w", err)
	}
	counts := countStored(results, operations)
	counts.ItemsKnown = true
	for _, r := range resources {
		counts.Items += len(r.Items)
	}
	return counts, nil
}

func countStored(r artifact.Results, operations []artifact.Operation) job.StoredCounts {
	c := job.StoredCounts{Warnings: len(r.Warnings.AllMessages()), Errors: len(r.Errors.AllMessages())}
	for _, o := range operations {
		c.Operations.Attempted++
		switch o.Phase {
		case velero.OperationCompleted:
			c.Operations.Completed++
		case velero.OperationFailed:
			c.Operations.Failed++
		}
	}
	return c
}
