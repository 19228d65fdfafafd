package velero

import "time"

// The margins for comparing times of a cluster. Every rule of veltui uses these.
const (
	// ClockMargin is how far two clocks may differ: those of the API server, of the nodes and of the object store. They
	// tell when a job was created, when a container started, and when a file was stored. A node's clock may also be set
	// back by that much while the node boots.
	ClockMargin = 2 * time.Minute
	// RestartGrace is the time within which a started server marks the jobs that it finds in progress as Failed
	// (pkg/cmd/server/server.go markInProgressCRsFailed, before its controllers run).
	RestartGrace = 2 * time.Minute
	// LifelessAfter is the silence after which nobody is assumed to work on a job any more: a server may run unrecognised,
	// from another image or namespace, and a roll-out has gaps. A server that is replaced writes no longer than that
	// after its grace period.
	LifelessAfter = 5 * time.Minute
	// MinUnusualSilence and MaxUnusualSilence limit the silence about a job after which it is unusual: Velero writes the
	// counts once a second while it processes items (pkg/backup/backup.go and pkg/restore/restore.go, the ticker of the
	// progress), so that a job that pauses longer has paused before.
	MinUnusualSilence = 10 * time.Second
	MaxUnusualSilence = time.Minute
	// MinLogInterval and MaxLogInterval limit the time between two readings of the servers' logs during a silence, which
	// is a LogReadsPerSilence-th of the silence so far: what was logged is found soon while the silence is young, and a
	// job that is silent for hours costs a request every few minutes.
	MinLogInterval     = 10 * time.Second
	MaxLogInterval     = 4 * time.Minute
	LogReadsPerSilence = 12
	// CrashLoopRestarts is how many restarts make a crash loop of a container that does not run.
	CrashLoopRestarts = 3
	// MaxRestartDelay is a kubelet's longest wait before it restarts a container, five minutes, with a margin.
	MaxRestartDelay = 6 * time.Minute
	// HungHookAfter is how long a container must have been unable to start, and a restore quiet, before its hook counts as
	// one that never runs.
	HungHookAfter = 30 * time.Minute
)
