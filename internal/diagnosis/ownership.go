package diagnosis

import (
	"slices"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Ownership says whether a server that runs may still work on a job.
type Ownership int

// The answers.
const (
	// OwnershipUnknown: the evidence contradicts itself, or is missing.
	OwnershipUnknown Ownership = iota
	// Owned: a server that runs was there when the job began, or has worked on it since.
	Owned
	// DisownedByOneClock is like Disowned, but every server started so shortly after the job that only the end of its
	// container before tells, in the clock of one node. That clock may have been set back in between, which is enough
	// for a verdict, and not for a write.
	DisownedByOneClock
	// Disowned: every server that runs started after the job began, and none worked on it since.
	Disowned
)

// OwnershipOf compares the starts of all servers that run with the beginning of a job, and with the work on it since.
// Without leader election the old server works on during a roll-out. It is the only judge of who works on a job, for
// verdicts and for plans.
func OwnershipOf(j *job.Job, env *Environment) Ownership {
	running, began, worked := env.Server.AtWork(), env.takenUp(j), env.lastWork(j)
	if began.IsZero() || len(running) == 0 || slices.ContainsFunc(running, startUnknown) {
		return OwnershipUnknown
	}
	log := env.Evidence[j.UID].Log
	found := Disowned
	for i := range running {
		s := &running[i]
		if !s.StartedAt.After(began) || worked.After(s.StartedAt) && !env.leftOver(s, worked, j) {
			// The second: a server that is older than this one worked on, or this one did.
			return Owned
		}
		switch {
		case env.startedSurely(s, began), log.ByPredecessor:
		case s.LastTerminationAt.After(began):
			found = min(found, DisownedByOneClock)
		default:
			found = OwnershipUnknown
		}
	}
	if j.Phase == velero.PhaseInProgress && log.BeforeStart {
		return OwnershipUnknown
	}
	return found
}

func startUnknown(s velero.ServerPod) bool { return s.StartedAt.IsZero() }

// takenUp is when a server took the job up, in the servers' clock: it writes the start itself (prepareBackupRequest,
// runValidatedRestore). What is ready to start was taken up when the queue wrote that. Zero if it is not known.
func (e *Environment) takenUp(j *job.Job) time.Time {
	switch {
	case j.Phase == velero.PhaseReadyToStart:
		return e.lastWork(j)
	case j.Started.IsZero() && !j.Created.IsZero():
		return j.Created.Add(e.ServerAhead)
	}
	return j.Started
}

// lastWork is when a server last worked on the job, in the servers' clock, zero if nothing tells.
func (e *Environment) lastWork(j *job.Job) time.Time {
	worked := e.Evidence[j.UID].LastWork
	if moved, known := j.Moved(); known {
		worked = job.Latest(worked, moved)
	}
	if worked.IsZero() {
		return worked
	}
	return worked.Add(e.ServerAhead)
}

// leftOver reports whether a write after a server's start proves no work on the job.
func (e *Environment) leftOver(s *velero.ServerPod, worked time.Time, j *job.Job) bool {
	server := velero.Server{ServerPod: *s, Pods: e.Server.AtWork()}
	return j.Phase == velero.PhaseInProgress && server.LeftOver(worked, e.Now.Add(e.ServerAhead), j.Object)
}

// forgotten reports whether every server started after a job was taken up.
func forgotten(j *job.Job, env *Environment) bool { return OwnershipOf(j, env) >= DisownedByOneClock }

// restartedSince reports whether every server that runs started after a moment of the cluster's clock, for sure.
func (e *Environment) restartedSince(t time.Time) bool {
	t = t.Add(e.ServerAhead)
	return e.Server.RestartedSince(t) && !slices.ContainsFunc(e.Server.AtWork(), func(s velero.ServerPod) bool {
		return !e.startedSurely(&s, t) && !s.LastTerminationAt.After(t)
	})
}

// startedSurely reports whether a start after a moment, in the clock of the server's node, is more than the clocks'
// margin, or is shown by the pod, which was made after it.
func (e *Environment) startedSurely(s *velero.ServerPod, t time.Time) bool {
	return s.StartedAt.Sub(t) >= velero.ClockMargin || s.Created.Add(e.ServerAhead).After(t)
}

// JustStarted reports whether a server may still be marking Failed what it found in progress at its start.
func (e *Environment) JustStarted() bool {
	return slices.ContainsFunc(e.Server.AtWork(), func(s velero.ServerPod) bool {
		return e.Now.Add(e.ServerAhead).Sub(s.StartedAt) < velero.RestartGrace
	})
}
