package action

import (
	"context"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// Prober asks the object store for a file, by its kind of DownloadRequest. An error means an unknown presence.
type Prober interface {
	Probe(ctx context.Context, kind job.Kind, name, target string) (job.Presence, error)
}

// Counter reads the numbers of a job from its stored results and item operations.
type Counter interface {
	Counts(ctx context.Context, kind job.Kind, name string) (job.StoredCounts, error)
	// Errors reads the number of errors alone, and leaves the operations unread.
	Errors(ctx context.Context, kind job.Kind, name string) (int, error)
}

const (
	// artifactTimeout bounds all questions together. Velero may see a DownloadRequest a minute after an outage.
	artifactTimeout = 2 * time.Minute
	storedAgain     = 5 * time.Minute // when to ask again about a job that did not change: its files may be removed
)

// GatherStored adds what the object store holds for a job, through the server. It asks nothing again that earlier, nil
// for none, found within storedAgain for the same version of the job.
func (f *Engine) GatherStored(ctx context.Context, e, earlier *Evidence) {
	if earlier != nil && sameVersion(earlier.Object, e.Object) && e.At.Sub(earlier.storedAt) < storedAgain {
		e.takeStored(earlier)
		return
	}
	e.storedAt = e.At
	if f.o.Prober == nil || !worthProbing(e, f.o.ReadOnly) {
		return
	}
	targets := Targets(e.Job.Kind)
	if e.operationsUnread = f.o.LeaveOperations; e.operationsUnread {
		targets = slices.DeleteFunc(targets, isOperations)
	}
	if e.Server.Visible && len(e.Server.Pods) == 0 {
		for _, target := range targets {
			e.Artifacts = append(e.Artifacts, Artifact{target, job.Presence{Why: "no Velero server is running to ask"}})
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, artifactTimeout)
	defer cancel()
	defer f.o.Waiting("")
	for _, target := range targets {
		f.o.Waiting("whether " + target + " is stored")
		p, err := f.o.Prober.Probe(ctx, e.Job.Kind, e.Job.Name, target)
		if err != nil {
			p = job.Presence{Why: sanitize.String(err.Error())}
		}
		e.Artifacts = append(e.Artifacts, Artifact{target, p})
		if p.State == job.PresenceUnknown || p.State == job.Absent && len(e.Artifacts) == 1 {
			return // nobody answers, or nothing is stored yet
		}
	}
	if f.o.Counter == nil || f.o.LeaveOperations && e.allStored().IsZero() ||
		!f.o.LeaveOperations && proof(e).refusal != "" {
		return
	}
	f.o.Waiting("the stored results")
	if f.o.LeaveOperations {
		if n, err := f.o.Counter.Errors(ctx, e.Job.Kind, e.Job.Name); err == nil {
			e.StoredErrors = n
		}
		return
	}
	counts, err := f.o.Counter.Counts(ctx, e.Job.Kind, e.Job.Name)
	if err != nil {
		e.CountsWhy = sanitize.String(err.Error())
		return
	}
	e.Counts = &counts
}

// takeStored takes over what an earlier look found in the object store.
func (e *Evidence) takeStored(earlier *Evidence) {
	e.Artifacts, e.Counts, e.CountsWhy, e.storedAt = earlier.Artifacts, earlier.Counts, earlier.CountsWhy, earlier.storedAt
	e.operationsUnread, e.StoredErrors = earlier.operationsUnread, earlier.StoredErrors
}

// allStored is when the last file was stored, zero unless all that were asked for are there since the job's start.
func (e *Evidence) allStored() (newest time.Time) {
	v, known := e.version()
	for _, target := range Targets(e.Job.Kind) {
		if e.operationsUnread && isOperations(target) ||
			target == "RestoreVolumeInfo" && known && v.Before(velero.Version{1, 14, 0}) {
			continue // not asked for, or not yet made by that version
		}
		i := slices.IndexFunc(e.Artifacts, func(a Artifact) bool { return a.Target == target })
		if i < 0 {
			return time.Time{}
		}
		a := e.Artifacts[i]
		if a.State != job.Present || !a.LastModified.After(e.began()) {
			return time.Time{}
		}
		newest = job.Latest(newest, a.LastModified)
	}
	return newest
}

// worthProbing reports whether files may be stored, and the user may use that.
func worthProbing(e *Evidence, readOnly bool) bool {
	switch e.Job.Phase {
	case velero.PhaseInProgress,
		velero.PhaseWaiting,
		velero.PhaseWaitingPartly,
		velero.PhaseFinalizing,
		velero.PhaseFinalizingPartly:
		return !e.Job.Deleting && (e.MayPatch == Yes || readOnly)
	}
	return false
}

var locationKind = velerov1.SchemeGroupVersion.WithKind("BackupStorageLocation")

func (g *gathering) location() {
	name := g.e.Job.StorageLocation
	if g.e.Job.Kind == job.Restore && g.e.Job.BackupName != "" {
		var b velerov1.Backup
		if !g.seen("reading the backup", g.get(jobKind(job.Backup), g.e.Job.BackupName, &b), &g.e.LocationWhy) {
			return
		}
		g.backup, name = &b, b.Spec.StorageLocation
	}
	g.locationNamed(name)
}

func (g *gathering) locationNamed(name string) {
	if name == "" {
		return
	}
	var l velerov1.BackupStorageLocation
	err := g.get(locationKind, name, &l)
	g.e.LocationGone = isGone(err)
	if !g.seen("reading the storage location", err, &g.e.LocationWhy) {
		return
	}
	g.e.Location = &diagnosis.Location{
		Name:          l.Name,
		Phase:         string(l.Status.Phase),
		Message:       l.Status.Message,
		AccessMode:    string(l.Spec.AccessMode),
		LastValidated: job.TimeOf(l.Status.LastValidationTime),
	}
}

// locations finds out when a server last wrote to any storage location: it validates and syncs each, by default once
// a minute (backup_storage_location_controller.go, backup_sync_controller.go).
func (g *gathering) locations() {
	locations, err := g.list(locationKind, g.o.Namespace)
	if !g.seen("listing storage locations", err, &g.e.LocationsWhy) {
		return
	}
	g.e.Locations = Yes
	for i := range locations {
		o := &locations[i]
		g.e.LocationsWrote = job.Latest(g.e.LocationsWrote, veleroWrote(o))
		for _, field := range []string{"lastValidationTime", "lastSyncedTime"} {
			text, _, _ := unstructured.NestedString(o.Object, "status", field)
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				g.e.LocationsWrote = job.Latest(g.e.LocationsWrote, at)
			}
		}
	}
}

// Storage is the object store as Velero's DownloadRequests show it: a [Prober] and a [Counter].
type Storage struct{ Artifacts *artifact.Fetcher }

func (s Storage) Probe(ctx context.Context, _ job.Kind, name, target string) (job.Presence, error) {
	return s.Artifacts.Probe(ctx, artifact.Target{Kind: velerov1.DownloadTargetKind(target), Name: name})
}

func (s Storage) Errors(ctx context.Context, kind job.Kind, name string) (int, error) {
	results, err := s.Artifacts.Results(ctx, kind, name)
	if err != nil {
		return 0, fmt.Errorf("reading the stored results: %w", err)
	}
	return len(results.Errors.All()), nil
}

// Counts fails without a list of operations, which Velero always stores. Of a backup it also counts the items.
func (s Storage) Counts(ctx context.Context, kind job.Kind, name string) (job.StoredCounts, error) {
	results, err := s.Artifacts.Results(ctx, kind, name)
	if err != nil {
		return job.StoredCounts{}, fmt.Errorf("reading the stored results: %w", err)
	}
	operations, err := s.Artifacts.ItemOperations(ctx, kind, name)
	if err != nil {
		return job.StoredCounts{}, fmt.Errorf("reading the stored operations: %w", err)
	}
	resources, err := s.Artifacts.ResourceList(ctx, kind, name)
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
	c := job.StoredCounts{Warnings: len(r.Warnings.All()), Errors: len(r.Errors.All())}
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
