package watch

import (
	"cmp"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Snapshot is all that is known of one Velero at one moment. It is immutable and shares what did not change.
type Snapshot struct {
	Seq uint64    // grows by at least one with each snapshot of a Watcher
	At  time.Time // when it was taken, in the cluster's clock
	// ClockOffset is the cluster's clock minus ours; zero if they agree within two seconds or nothing is known.
	ClockOffset time.Duration

	Namespace       string // the one that is watched
	NamespaceFrom   NamespaceFrom
	OtherNamespaces []string // further ones that hold a Velero
	Notice          string   // what is wrong with the choice of the namespace and what to do, else empty

	Health  Health
	Sources []Source

	Jobs   []*job.Job // all backups and restores, newest first (creation, then name)
	Active []*job.Job // those of Jobs that have not ended, in the same order

	Schedules         []*velerov1.Schedule
	Locations         []*velerov1.BackupStorageLocation
	SnapshotLocations []*velerov1.VolumeSnapshotLocation // where they were asked for
	Repositories      []*velerov1.BackupRepository
	Deletions         []*velerov1.DeleteBackupRequest

	Malformed []Malformed   // the resources with fields that Velero's types cannot hold, by resource and name
	Etcd      *etcd.Cluster // OpenShift's own backups of etcd, nil where there are none or it is not known yet

	Server     velero.Server
	NodeAgents []velero.Agent
	// AgentsGone are the nodes that lost their node-agent while the cluster was watched, and when, in our own clock.
	AgentsGone map[string]time.Time
	Seen       []Seen // the newest changes around the jobs that this process saw, oldest first
	// LeftBackups and LeftRestores count the jobs that ended too long ago (see [Options.EndedWithin]).
	LeftBackups, LeftRestores int
	// LeftOf and LeftIn are how many of these backups each schedule made and each location
	// holds, by name. EndedWithin is how long ago a job may have ended; 0 leaves none out.
	LeftOf, LeftIn map[string]int
	EndedWithin    time.Duration
	narrow         bool                              // true where only some jobs are watched, with their own volumes
	leftLocations  map[string]string                 // those of backups among them that active restores read
	leftVolumes    []job.Volume                      // those of jobs among them that still run
	movers         map[velero.VolumeRef]velero.Mover // the pods that move volumes

	// Changes are the jobs after each change since the last snapshot, oldest first; only with [Options.Journal].
	Changes []Change
	Dropped int // counts changes that did not fit into the journal
}

// Change is one state that a job was in.
type Change struct {
	Job     *job.Job
	Deleted bool
}

// NamespaceFrom says how the namespace was chosen.
type NamespaceFrom string

const (
	FromFlag     NamespaceFrom = "flag"
	FromEnv      NamespaceFrom = "VELERO_NAMESPACE"
	FromContext  NamespaceFrom = "context"
	FromSearch   NamespaceFrom = "found"
	FromFallback NamespaceFrom = "default"
)

// HealthState is the state of the connection to the API server.
type HealthState string

const (
	Connecting HealthState = "connecting" // not all was read yet; Health.Err says why if there is a reason
	// every source that can be watched is, and a quorum read came within ten seconds
	Live         HealthState = "live"
	Stale        HealthState = "stale"        // what is shown may be out of date since Health.Since
	Unauthorized HealthState = "unauthorized" // the API server no longer takes our credentials
)

// Health is how much the snapshot can be trusted.
type Health struct {
	State HealthState
	Since time.Time // the state's begin by the cluster's clock; for Stale, when the data was last known to be right
	Err   string    // the last error in one line, empty when Live
	// AsksLogin: the credential plugin must ask the user and cannot, while this program has the terminal.
	AsksLogin bool
	RetryAt   time.Time // when the next attempt is made, zero when Live
	// Misdirected: while Connecting, Err means an unknown host, a certificate that is not trusted, or no TLS.
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
	Resource string // the plural with its group, such as backups.velero.io
	State    SourceState
	Since    time.Time
	Err      string
	Objects  int // how many are held
	// Read is how many objects were read of a list that is being read, and Total how many it has
	// as far as the API server said, else 0. Both are 0 while no list is being read.
	Read, Total int
}

// Environment is what verdicts need to know, at the given moment of our own clock.
func (s *Snapshot) Environment(now time.Time) diagnosis.Environment {
	a := diagnosis.Environment{
		Now: now.Add(s.ClockOffset), Server: s.Server, NodeAgents: s.NodeAgents,
		Locations: make(map[string]diagnosis.Location, len(s.Locations)),
		Jobs:      s.Active, LastEnded: s.lastEnded(),
		Volumes: s.volumes(), VolumesKnown: s.volumesKnown(), Movers: s.movers, Listed: s.listings(),
	}
	for node, gone := range s.AgentsGone {
		if a.AgentsGone == nil {
			a.AgentsGone = map[string]time.Time{}
		}
		a.AgentsGone[node] = gone.Add(s.ClockOffset)
	}
	for _, m := range s.Malformed {
		a.Malformed = append(a.Malformed, diagnosis.Malformed{Ref: m.Ref(), Field: m.Fields[0]})
	}
	if s.Health.State == Live {
		// A live watch says at every moment that the pods are still so.
		a.Server.SeenAt = a.Now
	} else {
		a.StaleSince = s.Health.Since
	}
	if s.Health.State == Connecting && s.Health.Err == "" {
		a.Reading = s.reading()
	}
	for _, j := range s.Jobs {
		if j.RunsOn(a.Now) || j.LostSlot(a.Server.StartedAt) {
			a.Overridden = append(a.Overridden, j)
		}
	}
	s.addBackups(&a)
	a.ServerAhead = s.serverAhead()
	for _, r := range s.Repositories {
		a.Repositories = append(a.Repositories, diagnosis.Repository{Name: r.Name, Namespace: r.Spec.VolumeNamespace,
			Ready: r.Status.Phase == velerov1.BackupRepositoryPhaseReady, Changed: job.LastWritten(r)})
	}
	for _, d := range s.Deletions {
		a.Deletions = append(a.Deletions, diagnosis.Deletion{
			Name:   d.Name,
			Backup: d.Spec.BackupName,
			Phase: string(
				d.Status.Phase,
			),
			Errors:  d.Status.Errors,
			Created: d.CreationTimestamp.Time,
			Changed: job.LastWritten(d),
		})
	}
	for _, l := range s.Locations {
		a.Locations[l.Name] = diagnosis.Location{
			Name:          l.Name,
			Phase:         string(l.Status.Phase),
			Message:       l.Status.Message,
			AccessMode:    string(l.Spec.AccessMode),
			LastValidated: job.TimeOf(l.Status.LastValidationTime),
			LastSynced:    job.TimeOf(l.Status.LastSyncedTime),
		}
	}
	return a
}

const slowAfter = 10 * time.Second // how long the first list of a kind may take before it is called slow

// reading is the first of the kinds that is being read for the first time, once there is anything to show.
func (s *Snapshot) reading() diagnosis.Reading {
	for _, source := range s.Sources {
		k, known := kindNamed(source.Resource)
		if source.State == SourceSyncing && (source.Read > 0 || len(s.Jobs) > 0) && known {
			return diagnosis.Reading{
				Kind:  k.gvk.Kind + "s",
				Read:  source.Read,
				Total: source.Total,
				Slow:  s.At.Sub(source.Since) > slowAfter,
			}
		}
	}
	return diagnosis.Reading{}
}

// volumes are those of all jobs that have not ended, also of ended jobs: they share the slots of the nodes.
func (s *Snapshot) volumes() []job.Volume {
	found := slices.Clip(s.leftVolumes)
	for _, j := range s.Jobs {
		if j.ActiveVolumes() > 0 {
			found = append(found, notEnded(j.Volumes)...)
		}
	}
	return found
}

func notEnded(volumes []job.Volume) []job.Volume {
	return slices.DeleteFunc(slices.Clone(volumes), func(v job.Volume) bool { return v.Ended() })
}

// listings says which kinds were read to the end, and are live. Of volumes those of the jobs themselves are enough,
// which are read without being noted as a source: one that is noted and not live was refused.
func (s *Snapshot) listings() diagnosis.Listings {
	state := map[string]SourceState{}
	for _, source := range s.Sources {
		state[source.Resource] = source.State
	}
	whole := func(resource string) diagnosis.Listing {
		return diagnosis.Listing(state[resource] == SourceLive || state[resource] == SourceMissing)
	}
	refused := func(k *kind) bool {
		_, noted := state[k.resource]
		return k.volume != nil && noted && !bool(whole(k.resource))
	}
	return diagnosis.Listings{
		OwnVolumes: diagnosis.Listing(!slices.ContainsFunc(kinds, refused)),
		Jobs:       diagnosis.Listing(!s.narrow) && whole(Backups) && whole(Restores),
		Locations:  whole(Locations), Repositories: whole(Repositories), Deletions: whole(Deletions),
	}
}

// volumesKnown reports whether all volumes could be listed. A Velero that does not have a kind has none of it.
func (s *Snapshot) volumesKnown() bool {
	known := map[string]bool{}
	for _, source := range s.Sources {
		known[source.Resource] = source.State == SourceLive || source.State == SourceMissing
	}
	return !s.narrow && !slices.ContainsFunc(kinds, func(k *kind) bool { return k.volume != nil && !known[k.resource] })
}

// leastAhead is the smallest difference that counts: a location may be written for other reasons than validation.
const leastAhead = 5 * time.Minute

// serverAhead is the clock of the server's node minus the API server's. The server writes the
// time of its look into a location, and managedFields tell when that was written
// (pkg/controller/backup_storage_location_controller.go, Reconcile).
func (s *Snapshot) serverAhead() time.Duration {
	var written, said time.Time
	for _, l := range s.Locations {
		now := job.WrittenBy(l, func(m *metav1.ManagedFieldsEntry) bool { return m.Manager == "velero-server" })
		if now.After(written) {
			written, said = now, job.Latest(
				job.TimeOf(l.Status.LastValidationTime),
				job.TimeOf(l.Status.LastSyncedTime),
			)
		}
	}
	if ahead := said.Sub(written); !said.IsZero() && ahead.Abs() >= leastAhead {
		return ahead
	}
	return 0
}

func (s *Snapshot) lastEnded() time.Time {
	var last time.Time
	for _, j := range s.Jobs {
		if j.Completed.After(last) {
			last = j.Completed
		}
	}
	return last
}

// addBackups describes the backups that active restores read: their locations, how many volumes they have, and which
// have snapshots of volume groups, as far as their status and the volumes' resources tell
// (pkg/controller/restore_finalizer_controller.go patchDynamicPVWithVolumeInfo: CSI snapshots and pod volumes).
func (s *Snapshot) addBackups(a *diagnosis.Environment) {
	a.BackupLocations, a.BackupVolumes, a.BackupGroups = map[string]string{}, map[string]int{}, map[string]bool{}
	for _, j := range s.Active {
		if j.Kind == job.Restore {
			a.BackupLocations[j.BackupName] = s.leftLocations[j.BackupName]
		}
	}
	if len(a.BackupLocations) == 0 {
		return
	}
	for _, j := range s.Jobs {
		if j.Kind != job.Backup {
			continue
		}
		location, read := a.BackupLocations[j.Name]
		if !read {
			continue
		}
		a.BackupLocations[j.Name] = cmp.Or(j.StorageLocation, location)
		if b, ok := j.Object.(*velerov1.Backup); ok {
			a.BackupVolumes[j.Name] = b.Status.CSIVolumeSnapshotsAttempted + j.PodVolumes().Count
			a.BackupGroups[j.Name] = b.Spec.VolumeGroupSnapshotLabelKey != "" &&
				b.Status.CSIVolumeSnapshotsAttempted > 0
		}
	}
}
