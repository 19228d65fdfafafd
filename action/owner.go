package action

import (
	"slices"
	"time"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// owner says whether anything may still work on a job.
type owner int

const (
	ownerUnknown    owner = iota
	ownerAlive            // a server that was there when the job began
	ownerRestarted        // all servers began after the job did
	ownerRestarting       // the same, but so lately that they may still be at it
	ownerDown             // no pod was recognised as a running server
)

const (
	// restartGrace is what a server gets after its start: it marks what was in
	// progress as Failed itself, but only after it has looked at plugins and
	// storage locations.
	restartGrace = 2 * time.Minute
	// clockMargin is how far the clock of a server's node may be from the API
	// server's: a start is in the one, a job's times are in the other.
	clockMargin = 2 * time.Minute
	// crashLoop is how many restarts make a crash loop of a server that does
	// not run.
	crashLoop = 3
)

// began is when the job began, or was made if it has not.
func (e *Evidence) began() time.Time {
	if e.Job.Started.IsZero() {
		return e.Job.Created
	}
	return e.Job.Started
}

// owner compares the servers' starts with the job's. There is no leader
// election, so during a roll-out the old server still works.
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
			// The second: an older one worked on, or this one did.
			return ownerAlive
		case !c.Created.After(began) && c.StartedAt.Sub(began) < clockMargin:
			sure = false // by the clocks it may have been there before
		}
		if c.StartedAt.After(newest) {
			newest = c.StartedAt
		}
	}
	switch {
	case e.At.Sub(newest) < restartGrace:
		return ownerRestarting
	case !sure:
		return ownerUnknown
	}
	return ownerRestarted
}

// isLeftOver reports whether a write after a server's start is no sign of work on a
// job in progress.
func (e *Evidence) isLeftOver(c velero.ServerPod, wrote time.Time) bool {
	s := velero.Server{Others: len(e.Server.Running) - 1, ServerPod: c}
	return e.Job.Phase == velero.PhaseInProgress && s.LeftOver(wrote, e.At)
}

// lastWork is when a server last wrote to the job or stored a file of it.
func (e *Evidence) lastWork() time.Time {
	newest := e.VeleroWrote
	for _, a := range e.filesOfWork() {
		newest = job.Latest(newest, a.LastModified)
	}
	return newest
}

// live reports whether a server runs that can finalize the job.
func (o owner) live() bool { return o == ownerAlive || o == ownerRestarted || o == ownerRestarting }

// crashLoops reports whether a server was recognised that dies at each start.
func (e *Evidence) crashLoops() bool {
	return e.Server.Visible && len(e.Server.Running) == 0 && e.Server.Down != "" && e.Server.Restarts >= crashLoop
}

// moving are the job's volumes that have not ended.
func (e *Evidence) moving(kinds ...velero.VolumeKind) []job.Volume {
	var found []job.Volume
	for _, v := range e.Job.Volumes {
		wanted := len(kinds) == 0
		for _, k := range kinds {
			wanted = wanted || v.Kind == k
		}
		if wanted && !v.Ended() {
			found = append(found, v)
		}
	}
	return found
}

// uploads is how many of the job's volumes a data mover moves or has moved.
func (e *Evidence) uploads() int {
	n := 0
	for _, v := range e.Job.Volumes {
		if v.Kind == velero.DataUpload || v.Kind == velero.DataDownload {
			n++
		}
	}
	return n
}

// dataMover reports whether the job may have volumes that a data mover moves:
// their data are found only through what Velero's finalizer writes.
func (e *Evidence) dataMover() bool {
	return e.Volumes != Yes || e.Job.Operations.Attempted > 0 || e.uploads() > 0 ||
		e.Counts != nil && e.Counts.Operations.Attempted > 0
}

// volumeContext is what is known of all volumes.
func (e *Evidence) volumeContext() *diagnosis.VolumeContext {
	c := &diagnosis.VolumeContext{Now: e.At, Volumes: e.Moving, Complete: e.Volumes == Yes && e.MovingKnown == Yes, PodsSeen: e.Server.Visible,
		Blinding: e.BlindingVolumes, Movers: e.Movers, Version: e.Server.Version}
	c.AddAgents(e.Agents)
	return c
}

// hasAgent reports whether a node-agent on a node is ready.
func (e *Evidence) hasAgent(node string) bool {
	return slices.ContainsFunc(e.Agents, func(a velero.Agent) bool { return a.Ready && a.Node == node })
}

// quiet is how long nothing has changed.
func (e *Evidence) quiet() time.Duration { return max(0, e.At.Sub(e.Job.QuietSince())) }

// version is the server's, if its image's tag tells it.
func (e *Evidence) version() (velero.Version, bool) { return velero.ParseVersion(e.Server.Version) }
