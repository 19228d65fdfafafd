package action

import (
	"slices"
	"time"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// owner says whether a server may still work on a job.
type owner int

const (
	ownerUnknown    owner = iota
	ownerAlive            // a server that was there when the job began
	ownerRestarted        // all servers began after the job did
	ownerRestarting       // the same, but so recently that they may still be at it
	ownerDown             // no pod was recognised as a running server
)

const (
	// restartGrace is what a server gets after its start: it marks what was in progress as
	// Failed itself, after it has looked at plugins and storage locations.
	restartGrace = 2 * time.Minute
	// clockMargin is how far the clock of a server's node, which tells its start, may be
	// from the API server's, which tells a job's times.
	clockMargin = 2 * time.Minute
	crashLoop   = 3 // how many restarts make a crash loop of a server that does not run
)

// began returns when the job began, or was created if it has not.
func (e *Evidence) began() time.Time {
	if e.Job.Started.IsZero() {
		return e.Job.Created
	}
	return e.Job.Started
}

// owner compares the servers' starts with the job's. There is no leader election, so
// during a roll-out the old server still works.
func (e *Evidence) owner() owner {
	switch {
	case !e.Server.Visible:
		return ownerUnknown
	case len(e.Server.Running) == 0:
		return ownerDown
	}
	began, newest, sure := e.began(), time.Time{}, true
	wrote := e.lastWork()
	for _, c := range e.Server.Running {
		switch {
		case c.StartedAt.IsZero() || began.IsZero():
			return ownerUnknown
		case !c.StartedAt.After(began), wrote.After(c.StartedAt) && !e.isLeftOver(c, wrote):
			// The second: somebody older than this one worked on, or it did.
			return ownerAlive
		case !c.Created.After(began) && c.StartedAt.Sub(began) < clockMargin:
			sure = false // by the clocks it may have been there before
		}
		newest = job.Latest(newest, c.StartedAt)
	}
	switch {
	case e.At.Sub(newest) < restartGrace:
		return ownerRestarting
	case !sure:
		return ownerUnknown
	}
	return ownerRestarted
}

// isLeftOver reports whether a write after a server's start proves no work on a job in
// progress.
func (e *Evidence) isLeftOver(c velero.ServerPod, wrote time.Time) bool {
	s := velero.Server{Others: len(e.Server.Running) - 1, ServerPod: c}
	return e.Job.Phase == velero.PhaseInProgress && s.LeftOver(wrote, e.At)
}

// lastWork returns when a server last wrote to the job or stored a file of it.
func (e *Evidence) lastWork() time.Time {
	newest := e.VeleroWrote
	for _, a := range e.filesOfWork() {
		newest = job.Latest(newest, a.LastModified)
	}
	return newest
}

func (o owner) live() bool { return o == ownerAlive || o == ownerRestarted || o == ownerRestarting }

// crashLoops reports whether a recognised server dies at each start.
func (e *Evidence) crashLoops() bool {
	return e.Server.Visible && len(e.Server.Running) == 0 && e.Server.Down != "" && e.Server.Restarts >= crashLoop
}

func (e *Evidence) moving(kinds ...velero.VolumeKind) (found []job.Volume) {
	for _, v := range e.Job.Volumes {
		if (len(kinds) == 0 || slices.Contains(kinds, v.Kind)) && !v.Ended() {
			found = append(found, v)
		}
	}
	return found
}

// uploads counts the job's volumes that a data mover moves or has moved.
func (e *Evidence) uploads() int {
	n := 0
	for _, v := range e.Job.Volumes {
		if v.Kind == velero.DataUpload || v.Kind == velero.DataDownload {
			n++
		}
	}
	return n
}

// dataMover reports whether a data mover may move volumes of the job: their data are found
// only through what Velero's finalizer writes.
func (e *Evidence) dataMover() bool {
	return e.Volumes != Yes || e.Job.Operations.Attempted > 0 || e.uploads() > 0 ||
		e.Counts != nil && e.Counts.Operations.Attempted > 0
}

func (e *Evidence) volumeContext() *diagnosis.VolumeContext {
	c := &diagnosis.VolumeContext{Now: e.At, Volumes: e.Moving, Complete: e.Volumes == Yes && e.MovingKnown == Yes, PodsSeen: e.Server.Visible,
		Blinding: e.BlindingVolumes, Movers: e.Movers, Version: e.Server.Version}
	c.AddAgents(e.Agents)
	return c
}

func (e *Evidence) hasAgent(node string) bool {
	return slices.ContainsFunc(e.Agents, func(a velero.Agent) bool { return a.Ready && a.Node == node })
}

func (e *Evidence) quiet() time.Duration { return max(0, e.At.Sub(e.Job.QuietSince())) }

// version returns the server's, if its image's tag tells it.
func (e *Evidence) version() (velero.Version, bool) { return velero.ParseVersion(e.Server.Version) }
