package velero

import "time"

// The margins by which times of a cluster are compared. Every rule of veltui takes them from here.
const (
	// ClockMargin is how far two clocks may differ: those of the API server, of the nodes and of the object store. They
	// tell when a job was made, when a container started, and when a file was stored. A node's clock may also be set
	// back by that much while the node boots.
	ClockMargin = 2 * time.Minute
	// RestartGrace is within what time a server that started marks what it finds in progress Failed
	// (pkg/cmd/server/server.go markInProgressCRsFailed, before its controllers run).
	RestartGrace = 2 * time.Minute
	// Lifeless is the silence after which nobody is taken to be at work on a job any more: a server may run
	// unrecognised, from another image or namespace, and a roll-out has gaps. One that is replaced writes no longer than
	// that after its grace period.
	Lifeless = 5 * time.Minute
	// CrashLoop is how many restarts make a crash loop of a container that does not run.
	CrashLoop = 3
	// RestartDelay is a kubelet's longest wait before it starts a container again, five minutes, with a margin.
	RestartDelay = 6 * time.Minute
	// HookHangs is how long a container must have been unable to start, and a restore quiet, before its hook counts as
	// one that never runs.
	HookHangs = 30 * time.Minute
)
