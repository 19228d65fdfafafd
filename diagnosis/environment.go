package diagnosis

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Environment is the evidence that a verdict needs beside the job itself.
type Environment struct {
	// Now is the present in the cluster's clock.
	Now time.Time
	// StaleSince is set while what we know may be out of date.
	StaleSince time.Time
	// Reading is set while the cluster is being read for the first time, and is what
	// that has come to: there is nothing out of date, but something is missing.
	Reading Reading
	// Server is the Velero server as its pods show it.
	Server velero.Server
	// ServerAhead is the clock of the server's node minus the cluster's, as far as
	// it is known; zero where they agree.
	ServerAhead time.Duration
	// NodeAgents are the node-agent pods.
	NodeAgents []velero.Agent
	// Locations are the backup storage locations by name.
	Locations map[string]Location
	// BackupLocations are the names of the locations in which the backups lie
	// that Jobs restore from, by the backup's name.
	BackupLocations map[string]string
	// Jobs are the jobs that have not ended, in any order.
	Jobs []*job.Job
	// Overridden are the jobs that a person ended while Velero may still count them as
	// running.
	Overridden []*job.Job
	// LastEnded is when a job last ended, zero if that is not known. It keeps
	// a queue that is about to move from being called stalled.
	LastEnded time.Time
	// Volumes are the volumes of every job that have not ended, those of jobs
	// that have ended too; VolumesKnown is false if not all could be listed.
	Volumes      []job.Volume
	VolumesKnown bool
	// Movers are the pods that move volumes; a volume without an entry has none.
	Movers map[velero.VolumeRef]velero.Mover
	// Repositories and Deletions are the BackupRepositories and the
	// DeleteBackupRequests.
	Repositories []Repository
	Deletions    []Deletion
	// Evidence is what a closer look found, by the uid of the job.
	Evidence map[types.UID]Evidence
	// Namespaces are the cluster's namespaces, nil if they are not known; with
	// them it is certain which backups overlap.
	Namespaces []string
	// BackupVolumes is how many volumes the backups have that Jobs restore from, as
	// far as their status and their volumes' resources tell; BackupGroups names those
	// with snapshots of volume groups.
	BackupVolumes map[string]int
	BackupGroups  map[string]bool
	// Waits is Velero's table of waits, nil for [velero.Waits].
	Waits []velero.Wait
	// Malformed are the resources of the job's namespace with fields that
	// Velero's types cannot hold.
	Malformed []Malformed
}

// table is the table of waits.
func (e *Environment) table() []velero.Wait {
	if e.Waits != nil {
		return e.Waits
	}
	return velero.Waits()
}

// Reading is how far the first list of a kind is read. The zero value stands for
// none.
type Reading struct {
	// Kind is the kind's name in the plural, such as DataUploads.
	Kind string
	// Read are the objects that were read, and Total is how many there are, as far
	// as the API server said, else 0.
	Read, Total int
	// Slow is true once that takes longer than one would think.
	Slow bool
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

// Location is a BackupStorageLocation's state.
type Location struct {
	Name    string
	Phase   string
	Message string
	// AccessMode is ReadWrite or ReadOnly; empty stands for ReadWrite.
	AccessMode    string
	LastValidated time.Time
	LastSynced    time.Time
}
