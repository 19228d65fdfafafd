package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Environment is the evidence that a verdict needs beside the job itself.
type Environment struct {
	// Now is the present in the cluster's clock.
	Now time.Time
	// StaleSince is set while what we know may be out of date.
	StaleSince time.Time
	// Reading is set while the cluster is being read for the first time.
	Reading Reading
	Server  velero.Server
	// ServerAhead is the clock of the server's node minus the cluster's, zero if unknown.
	ServerAhead time.Duration
	NodeAgents  []velero.Agent
	// AgentsGone are the nodes that lost their node-agent while the cluster was watched, and when.
	AgentsGone map[string]time.Time
	// Locations are the backup storage locations by name.
	Locations map[string]Location
	// BackupLocations names the locations of the backups that Jobs restore from.
	BackupLocations map[string]string
	// Jobs are the jobs that have not ended, in any order.
	Jobs []*job.Job
	// Overridden are the jobs that a person ended and Velero may still count as running.
	Overridden []*job.Job
	// LastEnded is when a job last ended, zero if unknown: a queue about to move is not stalled.
	LastEnded time.Time
	// Volumes are the volumes of all jobs that have not ended, those of ended jobs too;
	// VolumesKnown is false if not all could be listed.
	Volumes      []job.Volume
	VolumesKnown bool
	// Movers are the pods that move volumes; a volume without an entry has none.
	Movers       map[velero.VolumeRef]velero.Mover
	Repositories []Repository
	Deletions    []Deletion
	// Listed says which kinds were read to the end.
	Listed Listings
	// Evidence is what a closer look found, by the uid of the job.
	Evidence map[types.UID]Evidence
	// Namespaces are the cluster's, nil if unknown; with them overlaps are certain.
	Namespaces []string
	// BackupVolumes counts those of the backups that Jobs restore from; BackupGroups names those with volume
	// group snapshots.
	BackupVolumes map[string]int
	BackupGroups  map[string]bool
	// Waits is Velero's table of waits, nil for [velero.Waits].
	Waits []velero.Wait
	// Owners is Velero's table of volumes' owners, nil for [velero.Owners].
	Owners []velero.Owner
	// Malformed are the resources of the job's namespace that Velero cannot read.
	Malformed []Malformed
	// Style is that of the durations in the verdict's sentences.
	Style human.Style
}

// Listing says whether all of a kind was read, and is live. In one that was not, as the zero value, nothing can be said
// to be absent: see [ByAbsence].
type Listing bool

// Whole is the listing of a kind that was read to the end.
const Whole Listing = true

// Listings are those of the kinds of an [Environment]; Server.Visible is that of the pods.
type Listings struct {
	// OwnVolumes are the volumes of the jobs that are judged, Jobs all jobs of the namespace.
	OwnVolumes, Jobs, Locations, Repositories, Deletions Listing
}

func (e *Environment) table() []velero.Wait {
	if e.Waits != nil {
		return e.Waits
	}
	return velero.Waits()
}

// Reading is how far the first list of a kind is read, zero for none.
type Reading struct {
	// Kind is the kind's name in the plural, such as DataUploads.
	Kind string
	// Read are the objects that were read, and Total how many there are, 0 if unknown.
	Read, Total int
	Slow        bool
}

// String names the kind and the numbers: reading DataUploads, 12000 of 50000.
func (r Reading) String() string {
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

type Location struct {
	Name    string
	Phase   string
	Message string
	// AccessMode is ReadWrite or ReadOnly; empty stands for ReadWrite.
	AccessMode    string
	LastValidated time.Time
	LastSynced    time.Time
}

// Evidence is what a closer look at one job found; the zero value means that it was not looked up.
type Evidence struct {
	// NamespacesSeen is true if they could be listed, else NamespacesWhy says why not. Terminating are
	// those that a restore may write into: Velero waits up to 10 minutes for each.
	NamespacesSeen bool
	NamespacesWhy  string
	Terminating    []string
	// Hooks are those of the pods that a restore made; HooksSeen is true if the pods could be listed.
	Hooks     []velero.RestoreHook
	HooksSeen bool
	// LogSeen is true if the server's log could be read, else LogWhy says why not.
	LogSeen bool
	LogWhy  string
	Log     velero.JobLog
	// LastWork is when the job itself or one of its stored files was last written by what may be a server, zero if
	// nobody looked. A [job.Job] knows only of what is a server for sure.
	LastWork time.Time
	// Slots is how many volumes may be moved at once, where a volume waits for that.
	Slots velero.Slots
	// Snapshots are awaited CSI snapshots; SnapshotsWhy says why not all could be seen.
	Snapshots    []Snapshot
	SnapshotsWhy string
	// Phases are those that the CRD of the job's kind allows, nil if unknown.
	Phases []string
	// Refused are the actions that package action would refuse, and why.
	Refused map[Action]string
	// StatusSubresource is true if the CRD splits the status off: the API server drops what Velero writes.
	StatusSubresource bool
	// Stored is when the last of the job's files was stored, if all are there and newer
	// than its start. NextPhase is then the phase that Velero's last patch carried.
	Stored       time.Time
	NextPhase    string
	StoredErrors int
	// NotFinalized says that what a backup's operations made is not stored.
	NotFinalized string
	// Schema are the versions of Velero that the CRD belongs to, zero if unknown.
	Schema velero.SchemaVersions
}

// Snapshot is a VolumeSnapshot that its driver has not made yet.
type Snapshot struct {
	// Name is NAMESPACE/NAME.
	Name string
	// Created is when it was asked for, in the API server's clock.
	Created time.Time
	Error   string
}

type Repository struct {
	Name string
	// Namespace is the one whose volumes it holds.
	Namespace string
	Ready     bool
	// Changed is when it last changed, in the cluster's clock.
	Changed time.Time
}

// Deletion is a DeleteBackupRequest.
type Deletion struct {
	Name   string
	Backup string
	// Phase is New, InProgress or Processed; empty stands for New.
	Phase   string
	Errors  []string
	Created time.Time
	// Changed is when it last changed, in the cluster's clock.
	Changed time.Time
}

func (a *assessment) evidence() Evidence { return a.env.Evidence[a.j.UID] }

// refusedPhases are phases still to come that the CRD does not allow: Velero's patch is refused (Velero issue 6170).
func (a *assessment) refusedPhases() []string {
	allowed := a.evidence().Phases
	return slices.DeleteFunc([]string{velero.PhaseWaiting, velero.PhaseFinalizing, velero.PhaseFinalizingPartly},
		func(phase string) bool { return allowed == nil || slices.Contains(allowed, phase) })
}

// preparedRepository is a repository of the job's namespaces that is not ready.
func (a *assessment) preparedRepository() (Repository, bool) {
	takes := a.namespaces()
	for _, r := range a.env.Repositories {
		if !r.Ready && takes(r.Namespace) {
			return r, true
		}
	}
	return Repository{}, false
}

// awaitedSnapshot is the newest CSI snapshot that Velero still waits for. It gives each up after
// the backup's csiSnapshotTimeout (pkg/util/csi/volume_snapshot.go WaitUntilVSCHandleIsReady).
func (a *assessment) awaitedSnapshot() (Snapshot, bool) {
	if why := a.evidence().SnapshotsWhy; why != "" {
		a.Doubts(SourceSnapshots, a.Now, "whether it waits for a CSI snapshot could not be seen: %s", why)
	}
	var newest Snapshot
	for _, s := range a.evidence().Snapshots {
		if newest.Name == "" || s.Created.After(newest.Created) {
			newest = s
		}
	}
	limit := velero.SnapshotTimeout(a.j.Object, a.env.Server.Flags)
	return newest, newest.Name != "" && limit > 0 && a.Now.Sub(newest.Created) < limit+waitMargin
}

// lockingDeletion may hold a repository's lock: it asks for it alone, waits for those who read, and keeps
// out all who come later (pkg/repository/locker.go, without a limit).
func (a *assessment) lockingDeletion() (Deletion, bool) {
	i := slices.IndexFunc(a.env.Deletions, func(d Deletion) bool { return d.Phase == velero.DeletionInProgress })
	if len(a.env.Repositories) == 0 || i < 0 {
		return Deletion{}, false
	}
	return a.env.Deletions[i], true
}
