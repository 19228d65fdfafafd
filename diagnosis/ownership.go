package diagnosis

import (
	"time"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// ClockMargin is how far the clocks may differ that tell a server's start (its node's kubelet) and a job's (the
// server, or the API server), and how far a node's clock may be set back while it boots.
const ClockMargin = 2 * time.Minute

// Ownership says whether a server that runs may still work on a job.
type Ownership int

// The answers.
const (
	// OwnershipUnknown: the evidence contradicts itself, or is missing.
	OwnershipUnknown Ownership = iota
	// Owned: a server that runs was there when the job began, or has worked on it since.
	Owned
	// Disowned: every server that runs started after the job began, and none worked on it since.
	Disowned
)

// OwnershipOf compares the starts of all servers that run with the beginning of a job, and with its movements since.
func OwnershipOf(j *job.Job, env *Environment) Ownership {
	// The server's own times are compared with each other, and the cluster's.
	began := j.Started
	moved, known := j.Moved()
	if j.Phase == velero.PhaseReadyToStart && known {
		began = moved.Add(env.ServerAhead)
	}
	switch {
	case began.IsZero() || env.Server.StartedAt.IsZero():
		return OwnershipUnknown
	case !env.Server.RestartedSince(began):
		return Owned
	case !env.restartIsSure(began) || j.Phase == velero.PhaseInProgress && env.Evidence[j.UID].Log.BeforeStart:
		return OwnershipUnknown
	case !known || !moved.After(env.serverStarted()):
		return Disowned
	case j.Phase == velero.PhaseInProgress && env.Server.LeftOver(moved.Add(env.ServerAhead), env.Now.Add(env.ServerAhead), j.Object):
		return Disowned
	}
	return Owned
}

// forgotten reports whether every server started after a job was taken up.
func forgotten(j *job.Job, env *Environment) bool { return OwnershipOf(j, env) == Disowned }

// restartedSince reports whether every server that runs started after a moment of the cluster's clock, for sure.
func (e *Environment) restartedSince(t time.Time) bool {
	t = t.Add(e.ServerAhead)
	return e.Server.RestartedSince(t) && e.restartIsSure(t)
}

// restartIsSure reports whether a start after a moment, in the clock of the server's node, is more than the clocks'
// margin, or is shown: the pod was made after it, or a container of the pod ended after it.
func (e *Environment) restartIsSure(t time.Time) bool {
	s := &e.Server
	return s.StartedAt.Sub(t) >= ClockMargin || s.LastTerminationAt.After(t) || s.Created.Add(e.ServerAhead).After(t)
}
