package diagnosis

import (
	"slices"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Ownership says whether a running server may still work on a job.
type Ownership int

// These are the possible answers.
const (
	// OwnershipUnknown means that the evidence contradicts itself, or is missing.
	OwnershipUnknown Ownership = iota
	// Owned means that a running server was there when the job began, or has worked on it since.
	Owned
	// DisownedByOneClock is like Disowned, but every server started so shortly after the job that only the end of its
	// previous container tells, by the clock of one node. That clock may have been set back in between, which is good
	// enough for a verdict, but not for a write.
	DisownedByOneClock
	// Disowned means that every running server started after the job began, and none has worked on it since.
	Disowned
)

// OwnershipOf compares the starts of all running servers with the beginning of a job, and with the work on it since.
// Without leader election the old server continues to work during a rollout. OwnershipOf alone decides who works on a
// job, for verdicts and for plans.
func OwnershipOf(j *job.Job, env *World) Ownership {
	running, began, worked := env.Server.RunningServers(), env.pickUpTime(j), env.lastWorkTime(j)
	if began.IsZero() || len(running) == 0 || slices.ContainsFunc(running, isStartUnknown) {
		return OwnershipUnknown
	}
	log := env.Evidence[j.UID].ServerLog
	found := Disowned
	for i := range running {
		s := &running[i]
		if !s.StartedAt.After(began) || worked.After(s.StartedAt) && !env.isLeftoverWrite(s, worked, j) {
			// Second condition: a server older than this one has worked on the job, or this one has.
			return Owned
		}
		switch {
		case env.hasCertainlyStartedAfter(s, began), log.ByPredecessor:
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

func isStartUnknown(s velero.ServerPod) bool { return s.StartedAt.IsZero() }

// pickUpTime returns when a server picked the job up, by the servers' clock: the server writes the start itself
// (prepareBackupRequest, runValidatedRestore). A job that is ready to start was picked up when the queue wrote that
// phase. Zero if unknown.
func (e *World) pickUpTime(j *job.Job) time.Time {
	switch {
	case j.Phase == velero.PhaseReadyToStart:
		return e.lastWorkTime(j)
	case j.Started.IsZero() && !j.Created.IsZero():
		return j.Created.Add(e.ServerClockOffset)
	}
	return j.Started
}

// lastWorkTime returns when a server last worked on the job, by the servers' clock, zero if nothing tells.
func (e *World) lastWorkTime(j *job.Job) time.Time {
	worked := e.Evidence[j.UID].LastServerWork
	if moved, known := j.MovedAt(); known {
		worked = job.LatestTime(worked, moved)
	}
	if worked.IsZero() {
		return worked
	}
	return worked.Add(e.ServerClockOffset)
}

// isLeftoverWrite reports whether a write after a server's start is no proof of work on the job.
func (e *World) isLeftoverWrite(s *velero.ServerPod, worked time.Time, j *job.Job) bool {
	server := velero.Server{ServerPod: *s, Pods: e.Server.RunningServers()}
	return j.Phase == velero.PhaseInProgress && server.IsLeftoverWrite(worked, e.Now.Add(e.ServerClockOffset), j.Object)
}

// isDisowned reports whether every server started after a job was picked up.
func isDisowned(j *job.Job, env *World) bool { return OwnershipOf(j, env) >= DisownedByOneClock }

// haveServersRestartedSince reports whether every running server certainly started after a time of the cluster's clock.
func (e *World) haveServersRestartedSince(t time.Time) bool {
	t = t.Add(e.ServerClockOffset)
	return e.Server.HasRestartedSince(t) && !slices.ContainsFunc(e.Server.RunningServers(), func(s velero.ServerPod) bool {
		return !e.hasCertainlyStartedAfter(&s, t) && !s.LastTerminationAt.After(t)
	})
}

// hasCertainlyStartedAfter reports whether a server started after a time, by its node's clock, by more than the clocks'
// margin, or whether its pod, created after that time, proves it.
func (e *World) hasCertainlyStartedAfter(s *velero.ServerPod, t time.Time) bool {
	return s.StartedAt.Sub(t) >= velero.ClockMargin || s.Created.Add(e.ServerClockOffset).After(t)
}

// HasServerJustStarted reports whether a server may still be marking the jobs Failed that it found in progress at its
// start.
func (e *World) HasServerJustStarted() bool {
	return slices.ContainsFunc(e.Server.RunningServers(), func(s velero.ServerPod) bool {
		return e.Now.Add(e.ServerClockOffset).Sub(s.StartedAt) < velero.RestartGrace
	})
}
