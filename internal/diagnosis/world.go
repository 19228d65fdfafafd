package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero"
)

// World is the evidence that a verdict needs besides the job itself.
type World struct {
	// Now is the present by the cluster's clock.
	Now time.Time
	// StaleSince is set while the evidence may be out of date.
	StaleSince time.Time
	// ReadProgress is set while the cluster is being read for the first time.
	ReadProgress ReadProgress
	Server       velero.Server
	// ServerClockOffset is the clock of the server's node minus the cluster's, zero if unknown.
	ServerClockOffset time.Duration
	NodeAgents        []velero.NodeAgent
	// LostAgents are the nodes that lost their node-agent while the cluster was watched, with the times.
	LostAgents map[string]time.Time
	// Locations are the backup storage locations by name.
	Locations map[string]LocationStatus
	// LocationByBackup names the locations of the backups that Jobs restore from.
	LocationByBackup map[string]string
	// Jobs are the jobs that have not ended, in any order.
	Jobs []*job.Job
	// OverriddenJobs are the jobs that a person ended and Velero may still count as running.
	OverriddenJobs []*job.Job
	// LastJobEndedAt is when a job last ended, zero if unknown: a queue about to move is not stalled.
	LastJobEndedAt time.Time
	// Volumes are the volumes that have not ended, of running and of ended jobs; VolumesKnown is false if not all could
	// be listed.
	Volumes      []job.Volume
	VolumesKnown bool
	// JobEnds says when the jobs of these volumes ended, or a later time at which they had. Volumes of jobs that have not
	// ended, that Velero may still work on, or that are unknown have no entry.
	JobEnds map[velero.VolumeRef]time.Time
	// MoverPods are the pods that move volumes; a volume without an entry has none.
	MoverPods        map[velero.VolumeRef]velero.Mover
	Repositories     []RepositoryStatus
	DeletionRequests []DeletionRequest
	// Listed says which kinds were read completely.
	Listed Listings
	// Evidence is the result of closer looks, by the uid of the job.
	Evidence map[types.UID]JobEvidence
	// Namespaces are the cluster's namespaces, nil if unknown; with them overlaps are certain.
	Namespaces []string
	// BackupVolumeCounts counts the volumes of the backups that Jobs restore from; GroupSnapshotBackups names the backups
	// with volume group snapshots.
	BackupVolumeCounts   map[string]int
	GroupSnapshotBackups map[string]bool
	// WaitTable is Velero's table of waits, nil for [velero.WaitTable].
	WaitTable []velero.PossibleWait
	// OwnerTable is Velero's table of volumes' owners, nil for [velero.OwnerTable].
	OwnerTable []velero.PossibleOwner
	// MalformedResources are the resources of the job's namespace that Velero cannot read.
	MalformedResources []MalformedResource
	// Style is the style of the durations in the verdict's sentences.
	Style human.DurationStyle
	// Access is how the commands of a next step reach the cluster.
	Access kubectl.ClusterAccess
}

// ServerNames returns the names that commands need, of the server and of the cluster.
func (e *World) ServerNames() Names {
	n := Names{Access: e.Access, IsOADP: e.Server.IsOADP}
	n.ServerPod = human.Prefixed("pod/", e.Server.Name)
	switch s := e.Server; {
	case s.Deployment != "":
		n.Deployment = "deployment/" + s.Deployment
		n.Server = n.Deployment
	default:
		n.Server = n.ServerPod
	}
	return n
}

// nameVolume adds the names of a volume's node, its node-agent and its pod.
func (e *World) nameVolume(n *Names, v *job.Volume) {
	n.Node, n.Pod, n.Agent = v.Node, e.MoverPods[v.Ref()].Pod, ""
	for _, agent := range e.NodeAgents {
		if agent.Node == v.Node && agent.Node != "" {
			n.Agent = "pod/" + agent.Pod
		}
	}
}

// ListCompleteness says whether all objects of a kind were read, and the list is live. With an incomplete list, as the
// zero value, nothing can be said to be absent: see [ProveAbsence].
type ListCompleteness bool

// FullyListed is the listing of a kind that was read completely.
const FullyListed ListCompleteness = true

// Listings are the listings of the kinds in a [World]; Server.Visible is that of the pods.
type Listings struct {
	// OwnVolumes are the volumes of the judged jobs, Jobs all jobs of the namespace.
	OwnVolumes, Jobs, Locations, Repositories, Deletions ListCompleteness
}

func (e *World) effectiveWaitTable() []velero.PossibleWait {
	if e.WaitTable != nil {
		return e.WaitTable
	}
	return velero.WaitTable()
}

// ReadProgress is how far the first list of a kind has been read, zero for none.
type ReadProgress struct {
	// Kind is the kind's name in the plural, such as DataUploads.
	Kind string
	// Read is how many objects were read, and Total how many there are, 0 if unknown.
	Read, Total int
	Slow        bool
}

// String returns the kind and the numbers: reading DataUploads, 12000 of 50000.
func (r ReadProgress) String() string {
	text := "reading " + r.Kind
	if r.Slow {
		text = "slow: " + text
	}
	switch {
	case r.Total > r.Read:
		return text + fmt.Sprintf(", %d of %d", r.Read, r.Total)
	case r.Read > 0:
		return text + fmt.Sprintf(", %d so far", r.Read)
	}
	return text
}

type LocationStatus struct {
	Name    string
	Phase   string
	Message string
	// AccessMode is ReadWrite or ReadOnly; empty means ReadWrite.
	AccessMode    string
	LastValidated time.Time
	LastSynced    time.Time
}

// JobEvidence is the result of a closer look at one job; the zero value means that there was none.
type JobEvidence struct {
	// NamespacesChecked is true if the namespaces could be listed, else NamespacesUnchecked says why not. Terminating
	// are those that a restore may write into: Velero waits up to 10 minutes for each.
	NamespacesChecked     bool
	NamespacesUnchecked   string
	TerminatingNamespaces []string
	// RestoreHooks are the hooks of the pods that a restore made; HooksChecked is true if the pods could be listed.
	RestoreHooks []velero.RestoreHook
	HooksChecked bool
	// LogChecked is true if the server's log could be read, else LogUnchecked says why not.
	LogChecked   bool
	LogUnchecked string
	ServerLog    velero.JobLog
	// LastServerWork is when a possible server last wrote the job itself or one of its stored files, zero if nobody
	// checked. A [job.Job] only records writes that are certainly a server's.
	LastServerWork time.Time
	// Slots is how many volumes may move at once, read if a volume waits for a slot.
	Slots velero.Slots
	// PendingSnapshots are the awaited CSI snapshots; SnapshotsUnchecked says why not all could be read.
	PendingSnapshots   []PendingSnapshot
	SnapshotsUnchecked string
	// AllowedPhases are the phases that the CRD of the job's kind allows, nil if unknown.
	AllowedPhases []string
	// RefusedActions are the actions that package action would refuse, with the reasons.
	RefusedActions map[Action]string
	// HasStatusSubresource is true if the CRD has a status subresource: the API server drops what Velero writes.
	HasStatusSubresource bool
	// StoredAt is when the last of the job's files was stored, if all are stored and newer than its start. NextPhase is
	// then the phase that Velero's last patch carried.
	StoredAt     time.Time
	NextPhase    string
	StoredErrors int
	EndEvidence
	// NotFinalizedReason says that the results of a backup's operations are not stored.
	NotFinalizedReason string
	// SchemaVersions are the versions of Velero that the CRD belongs to, zero if unknown.
	SchemaVersions velero.SchemaVersions
}

// PendingSnapshot is a VolumeSnapshot that its driver has not taken yet.
type PendingSnapshot struct {
	// Name is NAMESPACE/NAME.
	Name string
	// Created is when it was requested, by the API server's clock.
	Created time.Time
	Error   string
}

type RepositoryStatus struct {
	Name string
	// Namespace is the namespace whose volumes the repository holds.
	Namespace string
	Ready     bool
	// LastChanged is when it last changed, by the cluster's clock.
	LastChanged time.Time
}

// DeletionRequest is a DeleteBackupRequest.
type DeletionRequest struct {
	Name   string
	Backup string
	// Phase is New, InProgress or Processed; empty means New.
	Phase   string
	Errors  []string
	Created time.Time
	// LastChanged is when it last changed, by the cluster's clock.
	LastChanged time.Time
}

func (a *jobJudge) jobEvidence() JobEvidence { return a.world.Evidence[a.j.UID] }

// phasesNotInSchema returns the later phases that the CRD does not allow: Velero's patch is refused (Velero issue
// 6170).
func (a *jobJudge) phasesNotInSchema() []string {
	allowed := a.jobEvidence().AllowedPhases
	return slices.DeleteFunc(
		[]string{velero.PhaseWaitingForPluginOperations, velero.PhaseFinalizing, velero.PhaseFinalizingPartiallyFailed},
		func(phase string) bool { return allowed == nil || slices.Contains(allowed, phase) },
	)
}

// findPendingRepository returns a repository of the job's namespaces that is not ready.
func (a *jobJudge) findPendingRepository() (RepositoryStatus, bool) {
	takes := a.namespaceMatcher()
	for _, r := range a.world.Repositories {
		if !r.Ready && takes(r.Namespace) {
			return r, true
		}
	}
	return RepositoryStatus{}, false
}

// findAwaitedSnapshot returns the newest CSI snapshot that Velero still waits for. Velero gives up on each after the
// backup's csiSnapshotTimeout (pkg/util/csi/volume_snapshot.go WaitUntilVSCHandleIsReady).
func (a *jobJudge) findAwaitedSnapshot() (PendingSnapshot, bool) {
	if why := a.jobEvidence().SnapshotsUnchecked; why != "" {
		a.AddDoubt(SourceSnapshots, a.Now, "whether it waits for a CSI snapshot could not be seen: %s", why)
	}
	var newest PendingSnapshot
	for _, s := range a.jobEvidence().PendingSnapshots {
		if newest.Name == "" || s.Created.After(newest.Created) {
			newest = s
		}
	}
	limit := velero.SnapshotTimeout(a.j.Object, a.world.Server.Flags)
	return newest, newest.Name != "" && limit > 0 && a.Now.Sub(newest.Created) < limit+waitLimitMargin
}

// findLockingDeletion returns a deletion that may hold a repository's lock: it requests exclusive access, waits for
// readers, and keeps out all later ones (pkg/repository/locker.go, without a limit).
func (a *jobJudge) findLockingDeletion() (DeletionRequest, bool) {
	i := slices.IndexFunc(
		a.world.DeletionRequests,
		func(d DeletionRequest) bool { return d.Phase == velero.DeletionInProgress },
	)
	if len(a.world.Repositories) == 0 || i < 0 {
		return DeletionRequest{}, false
	}
	return a.world.DeletionRequests[i], true
}
