package watch

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Snapshot is all that is known of one Velero at one moment. It is immutable and shares unchanged parts with other
// snapshots.
type Snapshot struct {
	Seq uint64    // grows by at least one with each snapshot of a Watcher
	At  time.Time // when it was taken, in the cluster's clock
	// ClockOffset is the cluster's clock minus ours; zero if they agree within two seconds or nothing is known.
	ClockOffset time.Duration

	Namespace       string // the watched namespace
	NamespaceOrigin NamespaceOrigin
	OtherNamespaces []string // other namespaces with a Velero
	NamespaceNotice string   // what is wrong with the choice of the namespace and what to do, else empty

	Health  Health
	Sources []Source

	Jobs   []*job.Job // all backups and restores, newest first (creation, then name)
	Active []*job.Job // the jobs that have not ended, in the same order

	Schedules         []*veleroapi.Schedule
	StorageLocations  []*veleroapi.BackupStorageLocation
	SnapshotLocations []*veleroapi.VolumeSnapshotLocation // only if requested
	Repositories      []*veleroapi.BackupRepository
	DeleteRequests    []*veleroapi.DeleteBackupRequest

	// MaintenancePods are the ended pods that maintained repositories ([velero.MaintenancePodsOf]).
	MaintenancePods map[string][]velero.MaintenancePod

	Malformed []MalformedObject // the resources with fields that Velero's types cannot hold, sorted by resource and name
	Etcd      *etcd.Cluster     // OpenShift's own backups of etcd, nil where there are none or they are not read yet

	Server     velero.Server
	NodeAgents []velero.NodeAgent
	// LostAgents maps the nodes that lost their node-agent while the cluster was watched to the time of the loss, in our
	// own clock.
	LostAgents map[string]time.Time
	Events     []ClusterEvent // the newest changes around the jobs that this process saw, oldest first
	// AgedOutBackups and AgedOutRestores count the jobs that ended too long ago (see [Options.EndedWithin]).
	AgedOutBackups, AgedOutRestores int
	// AgedOutBySchedule and AgedOutByLocation count these backups by schedule and by location. EndedWithin is how long
	// ago a job may have ended; 0 leaves none out.
	AgedOutBySchedule, AgedOutByLocation map[string]int
	EndedWithin                          time.Duration
	// isPartial is true where only some jobs are watched, with their own volumes.
	isPartial bool
	// agedOutLocations are the storage locations of left out backups that active restores read, by the backup's name.
	agedOutLocations map[string]string
	agedOutVolumes   []job.Volume                      // the running volumes of left out jobs
	movers           map[velero.VolumeRef]velero.Mover // the pods that move volumes

	// Changes are the jobs after each change since the last snapshot, oldest first; only with [Options.JournalLimit].
	Changes        []Change
	DroppedChanges int // counts changes that did not fit into the journal
}

// Change is the state of a job after one change.
type Change struct {
	Job     *job.Job
	Deleted bool
}

// NamespaceOrigin says how the namespace was chosen.
type NamespaceOrigin string

const (
	OriginFlag     NamespaceOrigin = "flag"
	OriginEnv      NamespaceOrigin = "VELERO_NAMESPACE"
	OriginContext  NamespaceOrigin = "context"
	OriginSearch   NamespaceOrigin = "found"
	OriginFallback NamespaceOrigin = "default"
)

// HealthState is the state of the connection to the API server.
type HealthState string

const (
	Connecting HealthState = "connecting" // not everything was read yet; Health.Err is the reason, if any
	// Live means that every source that can be watched is watched, and that a quorum read was answered within ten
	// seconds.
	Live         HealthState = "live"
	Stale        HealthState = "stale"        // the data may be out of date since Health.Since
	Unauthorized HealthState = "unauthorized" // the API server no longer takes our credentials
)

// Health tells how far the snapshot can be trusted.
type Health struct {
	State HealthState
	Since time.Time // the start of the state in the cluster's clock; for Stale, when the data was last known to be right
	Err   string    // the last error in one line, empty when Live
	// NeedsLogin is true if the credential plugin must ask the user and cannot, while this program has the terminal.
	NeedsLogin bool
	RetryAt    time.Time // when the next attempt is made, zero when Live
	// Misdirected is true if, while Connecting, Err means an unknown host, an untrusted certificate, or no TLS.
	Misdirected bool
}

// SourceState is the state of one watched kind.
type SourceState string

const (
	SourceSyncing   SourceState = "syncing"
	SourceLive      SourceState = "live"
	SourceStale     SourceState = "stale"
	SourceForbidden SourceState = "forbidden"
	SourceMissing   SourceState = "missing"
)

// Source is one watched kind.
type Source struct {
	Resource    string // the plural with its group, such as backups.velero.io
	State       SourceState
	Since       time.Time
	Err         string
	ObjectCount int // how many objects are held
	// ObjectsRead is the number of objects read so far of a list that is being read, and Total the length that the API
	// server gave for it, else 0. Both are 0 while no list is being read.
	ObjectsRead, ObjectsTotal int
}

// BuildWorld returns what verdicts need to know. now is the time in our own clock.
func (s *Snapshot) BuildWorld(now time.Time) diagnosis.World {
	a := diagnosis.World{
		Now: now.Add(s.ClockOffset), Server: s.Server, NodeAgents: s.NodeAgents,
		Locations: make(map[string]diagnosis.LocationStatus, len(s.StorageLocations)),
		Jobs:      s.Active, LastJobEndedAt: s.lastEndTime(),
		Volumes: s.activeVolumes(), VolumesKnown: s.areVolumesListed(), MoverPods: s.movers, Listed: s.completeListings(),
	}
	for node, gone := range s.LostAgents {
		if a.LostAgents == nil {
			a.LostAgents = map[string]time.Time{}
		}
		a.LostAgents[node] = gone.Add(s.ClockOffset)
	}
	for _, m := range s.Malformed {
		a.MalformedResources = append(a.MalformedResources, diagnosis.MalformedResource{Ref: m.Ref(), Field: m.Fields[0]})
	}
	if s.Health.State == Live {
		// While the watch is live, the pods are as seen.
		a.Server.SeenAt = a.Now
	} else {
		a.StaleSince = s.Health.Since
	}
	if s.Health.State == Connecting && s.Health.Err == "" {
		a.ReadProgress = s.currentReading()
	}
	for _, j := range s.Jobs {
		if j.IsStillRunning(a.Now) || j.HasLostSlot(a.Server.StartedAt) {
			a.OverriddenJobs = append(a.OverriddenJobs, j)
		}
	}
	a.JobEnds = s.jobEnds(a.Now)
	s.addRestoredBackups(&a)
	a.ServerClockOffset = s.serverClockAhead()
	for _, r := range s.Repositories {
		a.Repositories = append(a.Repositories, diagnosis.RepositoryStatus{Name: r.Name, Namespace: r.Spec.VolumeNamespace,
			Ready: r.Status.Phase == veleroapi.BackupRepositoryPhaseReady, LastChanged: job.LastWritten(r)})
	}
	for _, d := range s.DeleteRequests {
		a.DeletionRequests = append(a.DeletionRequests, diagnosis.DeletionRequest{
			Name:   d.Name,
			Backup: d.Spec.BackupName,
			Phase: string(
				d.Status.Phase,
			),
			Errors:      d.Status.Errors,
			Created:     d.CreationTimestamp.Time,
			LastChanged: job.LastWritten(d),
		})
	}
	for _, l := range s.StorageLocations {
		a.Locations[l.Name] = diagnosis.LocationStatus{
			Name:          l.Name,
			Phase:         string(l.Status.Phase),
			Message:       l.Status.Message,
			AccessMode:    string(l.Spec.AccessMode),
			LastValidated: job.TimeOrZero(l.Status.LastValidationTime),
			LastSynced:    job.TimeOrZero(l.Status.LastSyncedTime),
		}
	}
	return a
}

const slowListAfter = 10 * time.Second // how long the first list of a kind may take before it counts as slow

// currentReading returns the first kind that is being read for the first time, once there is anything to show.
func (s *Snapshot) currentReading() diagnosis.ReadProgress {
	for _, source := range s.Sources {
		k, known := kindByResource(source.Resource)
		if source.State == SourceSyncing && (source.ObjectsRead > 0 || len(s.Jobs) > 0) && known {
			return diagnosis.ReadProgress{
				Kind:  k.gvk.Kind + "s",
				Read:  source.ObjectsRead,
				Total: source.ObjectsTotal,
				Slow:  s.At.Sub(source.Since) > slowListAfter,
			}
		}
	}
	return diagnosis.ReadProgress{}
}

// activeVolumes returns all volumes that have not ended, also those of ended jobs: they share the nodes' slots.
func (s *Snapshot) activeVolumes() []job.Volume {
	found := slices.Clip(s.agedOutVolumes)
	for _, j := range s.Jobs {
		if j.ActiveVolumeCount() > 0 {
			found = append(found, withoutEndedVolumes(j.Volumes)...)
		}
	}
	return found
}

// jobEnds returns the ends of the ended jobs with volumes that have not ended. Velero may still work on a job that a
// person ended. Jobs that are left out ended longer ago than EndedWithin.
func (s *Snapshot) jobEnds(now time.Time) map[velero.VolumeRef]time.Time {
	ends := map[velero.VolumeRef]time.Time{}
	add := func(volumes []job.Volume, ended time.Time) {
		for i := range volumes {
			if !volumes[i].HasEnded() {
				ends[volumes[i].Ref()] = ended
			}
		}
	}
	for _, j := range s.Jobs {
		if j.IsTerminal() && j.ActiveVolumeCount() > 0 && !j.IsStillRunning(now) {
			add(j.Volumes, cmp.Or(j.Completed, j.LastChanged))
		}
	}
	add(s.agedOutVolumes, now.Add(-s.EndedWithin))
	return ends
}

func withoutEndedVolumes(volumes []job.Volume) []job.Volume {
	return slices.DeleteFunc(slices.Clone(volumes), func(v job.Volume) bool { return v.HasEnded() })
}

// completeListings returns which kinds were read in full and are live. For volumes, the jobs' own volumes are enough.
// They are read without being recorded as a source, so a volume kind with a source that is not live was refused.
func (s *Snapshot) completeListings() diagnosis.Listings {
	state := map[string]SourceState{}
	for _, source := range s.Sources {
		state[source.Resource] = source.State
	}
	whole := func(resource string) diagnosis.ListCompleteness {
		return diagnosis.ListCompleteness(state[resource] == SourceLive || state[resource] == SourceMissing)
	}
	refused := func(k *kind) bool {
		_, noted := state[k.resource]
		return k.toVolume != nil && noted && !bool(whole(k.resource))
	}
	return diagnosis.Listings{
		OwnVolumes: diagnosis.ListCompleteness(!slices.ContainsFunc(kinds, refused)),
		Jobs:       diagnosis.ListCompleteness(!s.isPartial) && whole(Backups) && whole(Restores),
		Locations:  whole(StorageLocations), Repositories: whole(Repositories), Deletions: whole(DeleteRequests),
	}
}

// areVolumesListed reports whether all volumes could be listed. A kind that this Velero does not have counts as listed.
func (s *Snapshot) areVolumesListed() bool {
	known := map[string]bool{}
	for _, source := range s.Sources {
		known[source.Resource] = source.State == SourceLive || source.State == SourceMissing
	}
	return !s.isPartial &&
		!slices.ContainsFunc(kinds, func(k *kind) bool { return k.toVolume != nil && !known[k.resource] })
}

// minClockSkew is the smallest difference that counts: a location may be written for reasons other than validation.
const minClockSkew = 5 * time.Minute

// serverClockAhead returns the clock of the server's node minus the API server's. The server writes the time of its
// validation into a location, and managedFields tell when it was written
// (pkg/controller/backup_storage_location_controller.go, Reconcile).
func (s *Snapshot) serverClockAhead() time.Duration {
	var written, said time.Time
	for _, l := range s.StorageLocations {
		now := job.LastWrittenBy(l, func(m *metav1.ManagedFieldsEntry) bool { return m.Manager == "velero-server" })
		if now.After(written) {
			written, said = now, job.LatestTime(
				job.TimeOrZero(l.Status.LastValidationTime),
				job.TimeOrZero(l.Status.LastSyncedTime),
			)
		}
	}
	if ahead := said.Sub(written); !said.IsZero() && ahead.Abs() >= minClockSkew {
		return ahead
	}
	return 0
}

func (s *Snapshot) lastEndTime() time.Time {
	var last time.Time
	for _, j := range s.Jobs {
		if j.Completed.After(last) {
			last = j.Completed
		}
	}
	return last
}

// addRestoredBackups adds the backups that active restores read, and those of refused restores: their locations, how
// many volumes they have, and which have snapshots of volume groups, as far as their status and the volumes' resources
// tell (pkg/controller/restore_finalizer_controller.go patchDynamicPVWithVolumeInfo: CSI snapshots and pod volumes).
func (s *Snapshot) addRestoredBackups(a *diagnosis.World) {
	a.LocationByBackup = map[string]string{}
	a.BackupVolumeCounts = map[string]int{}
	a.GroupSnapshotBackups = map[string]bool{}
	for _, j := range s.Active {
		if j.Kind == job.Restore {
			a.LocationByBackup[j.BackupName] = s.agedOutLocations[j.BackupName]
		}
	}
	for _, j := range s.Jobs {
		if j.Kind == job.Restore && j.Phase == velero.PhaseFailedValidation {
			a.LocationByBackup[j.BackupName] = s.agedOutLocations[j.BackupName]
		}
	}
	if len(a.LocationByBackup) == 0 {
		return
	}
	for _, j := range s.Jobs {
		if j.Kind != job.Backup {
			continue
		}
		location, read := a.LocationByBackup[j.Name]
		if !read {
			continue
		}
		a.LocationByBackup[j.Name] = cmp.Or(j.StorageLocation, location)
		if b, ok := j.Object.(*veleroapi.Backup); ok {
			a.BackupVolumeCounts[j.Name] = b.Status.CSIVolumeSnapshotsAttempted + j.PodVolumes().Count
			a.GroupSnapshotBackups[j.Name] = b.Spec.VolumeGroupSnapshotLabelKey != "" &&
				b.Status.CSIVolumeSnapshotsAttempted > 0
		}
	}
}
