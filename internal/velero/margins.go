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
	// CrashLoopRestarts is how many restarts make a crash loop of a container that does not run.
	CrashLoopRestarts = 3
	// MaxRestartDelay is a kubelet's longest wait before it restarts a container, five minutes, with a margin.
	MaxRestartDelay = 6 * time.Minute
	// HungHookAfter is how long a container must have been unable to start, and a restore quiet, before its hook counts as
	// one that never runs.
	HungHookAfter = 30 * time.Minute
)
