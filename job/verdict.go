package job

import "time"

// State is the short word of a verdict.
type State string

// The states. A finished job has none.
const (
	Progressing State = "progressing"
	Waiting     State = "waiting"
	Quiet       State = "quiet"
	Stuck       State = "stuck"
	Orphaned    State = "orphaned"
	Unknown     State = "unknown"
)

// Verdict says how a job fares, and why veltui thinks so.
type Verdict struct {
	// State is empty for a job that has ended.
	State State
	// Summary is one sentence for the line under the table. It is set for
	// every job, ended ones included.
	Summary string
	Facts   []Fact
	// Advice is what would help, empty if nothing needs to be done.
	Advice string
}

// Fact is one observation behind a verdict.
type Fact struct {
	// Holds tells a fact that speaks for the verdict from one that could not
	// be looked at or speaks against it.
	Holds bool
	Text  string
	// Source is where it was seen: watch, pod, schema, storage.
	Source string
	// At is when it was seen or last changed, in the cluster's clock.
	At time.Time
}

// Surroundings is what a verdict needs to know beside the job itself.
type Surroundings struct {
	// Now is the present in the cluster's clock.
	Now time.Time
	// StaleSince is set while what we know may be out of date.
	StaleSince time.Time
	// Server is the Velero server as its pods show it.
	Server Server
	// NodeAgents are the node-agent pods.
	NodeAgents []Agent
	// Locations are the backup storage locations by name.
	Locations map[string]Location
	// Jobs are the jobs that have not ended, in any order.
	Jobs []*Job
	// LastEnded is when a job last ended, zero if that is not known. It keeps
	// a queue that is about to move from being called stalled.
	LastEnded time.Time
	// Volumes are the volumes of every job that have not ended, those of jobs
	// that have ended too; VolumesKnown is false if not all could be listed.
	Volumes      []Volume
	VolumesKnown bool
	// Movers are the pods that move volumes, and PrepareTimeout is the
	// node-agents' limit for Accepted, zero for the default.
	Movers         map[VolumeRef]MoverPhase
	PrepareTimeout time.Duration
	// Namespaces are the cluster's namespaces, nil if they are not known; with
	// them it is certain which backups overlap.
	Namespaces []string
}

// Server is the Velero server as its pods show it.
type Server struct {
	// Visible is false if the pods could not be listed (RBAC), so that
	// nothing can be said about the server.
	Visible bool
	// Running is true if a velero container runs.
	Running bool
	// Ready is true if that container is ready.
	Ready bool
	Pod   string
	// Version is the image's tag, empty if it has none.
	Version string
	// StartedAt is when the running container started; of several, the newest.
	StartedAt time.Time
	Restarts  int
	// LastTermination is the reason why the container ended before, such as
	// OOMKilled, empty if it never did; LastTerminationAt is when.
	LastTermination   string
	LastTerminationAt time.Time
	// Waiting is the reason why the container does not run, such as
	// CrashLoopBackOff.
	Waiting string
	// ConcurrentBackups is the server's --concurrent-backups, 1 if not given.
	ConcurrentBackups int
	// SeenAt is when the pods were last known to be so.
	SeenAt time.Time
}

// Agent is one node-agent pod.
type Agent struct {
	Pod       string
	Node      string
	Ready     bool
	StartedAt time.Time
	Restarts  int
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
