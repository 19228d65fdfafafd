package finalize

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Answer is a yes, a no, or that it could not be found out.
type Answer int

// The answers.
const (
	Unknown Answer = iota
	Yes
	No
)

// Evidence is all that a plan stands on, as it was at one moment.
type Evidence struct {
	// At is that moment, in the cluster's clock.
	At time.Time
	// Job is the job as a fresh read of it and its volumes tells it.
	Job *job.Job
	// Object is the resource as the API server sent it.
	Object *unstructured.Unstructured
	// VeleroWrote is when Velero itself last changed the resource, zero if the
	// API server did not note that.
	VeleroWrote time.Time

	Server Server
	// Volumes is No with VolumesWhy if not all volumes could be listed.
	Volumes    Answer
	VolumesWhy string
	// Location is the backup's storage location, nil with LocationWhy if it
	// could not be read.
	Location    *diagnosis.Location
	LocationWhy string
	// Namespaces says for a restore whether the cluster's namespaces could be
	// listed; Terminating are those that it may restore into and that are
	// being deleted: Velero waits up to 10 minutes for each item in them.
	Namespaces    Answer
	NamespacesWhy string
	Terminating   []string

	// MayPatch is the API server's answer to whether we may.
	MayPatch    Answer
	MayPatchWhy string
	// Phases are those that the CRD allows, nil if that could not be read.
	Phases    []string
	PhasesWhy string
	// StatusSubresource is Yes on a cluster whose CRD splits the status off.
	StatusSubresource Answer

	// Artifacts are the files that prove that Velero did all its work.
	Artifacts []Artifact
	// Counts are from the stored results, nil with CountsWhy if not known.
	Counts    *job.StoredCounts
	CountsWhy string

	// Queued are the backups that wait in Velero's queue, next one first.
	Queued []string
	// Others are the other jobs of this Velero that have not ended, backups
	// first. OthersWhy is set if not all could be listed.
	Others    []Other
	OthersWhy string

	// MayCancel is, for each kind among the volumes that have not ended, the
	// API server's answer to whether we may patch it.
	MayCancel map[velero.VolumeKind]Answer
	// NodeAgents are the nodes with a node-agent that is ready; they are known
	// if Server.Visible is.
	NodeAgents []string
	// volumes are the resources of Job.Volumes as the API server sent them.
	volumes map[volumeKey]*unstructured.Unstructured

	// By is who we are to the API server, empty if it did not say.
	By string
}

// Server is what the pods tell about Velero's servers.
type Server struct {
	// Visible is false with Why if the pods could not be listed.
	Visible bool
	Why     string
	// Running are the containers that run: more than one during a roll-out.
	Running []Container
	// Down says why none runs, such as CrashLoopBackOff.
	Down string
	// Restarts is how often the containers were started again, all together.
	Restarts int
	// LastTermination is the reason of the newest end of a container.
	LastTermination   string
	LastTerminationAt time.Time
	// Version is the tag of the newest server's image, empty if it has none.
	Version string
	// Deployment is the name of the servers' Deployment, empty if the pods do
	// not tell it.
	Deployment string
}

// Other is a job beside the one that is looked at.
type Other struct {
	Kind  job.Kind
	Name  string
	Phase string
}

type volumeKey struct {
	kind velero.VolumeKind
	name string
}

// Container is a running server.
type Container struct {
	Pod       string
	StartedAt time.Time
}

// Artifact is one file of a job in the object store.
type Artifact struct {
	// Target is the kind of DownloadRequest that asks for it.
	Target string
	job.Presence
}

// Targets are the files that together prove that Velero stored all that a job
// yields. A backup's other files are uploaded with these or not at all, in any
// order; a restore's volume information is uploaded last.
func Targets(kind job.Kind) []string {
	if kind == job.Backup {
		return []string{"BackupContents", "BackupResults", "BackupResourceList", "BackupVolumeInfos"}
	}
	return []string{"RestoreResults", "RestoreResourceList", "RestoreVolumeInfo"}
}

// owner says whether anybody may still work on a job.
type owner int

const (
	ownerUnknown    owner = iota
	ownerAlive            // a server that was there when the job began
	ownerRestarted        // all servers began after the job did
	ownerRestarting       // the same, but so lately that they may still be at it
	ownerDown             // no server runs
)

// restartGrace is what a server gets after its start: it marks what was in
// progress as Failed itself, but only after it has looked at plugins and
// storage locations.
const restartGrace = 2 * time.Minute

func (e *Evidence) began() time.Time {
	if e.Job.Started.IsZero() {
		return e.Job.Created
	}
	return e.Job.Started
}

func (e *Evidence) owner() owner {
	switch {
	case !e.Server.Visible:
		return ownerUnknown
	case len(e.Server.Running) == 0:
		return ownerDown
	}
	began, newest := e.began(), time.Time{}
	for _, c := range e.Server.Running {
		switch {
		case c.StartedAt.IsZero() || began.IsZero():
			return ownerUnknown
		case !c.StartedAt.After(began), e.VeleroWrote.After(c.StartedAt):
			// The second: somebody older than this one worked on, or it did.
			return ownerAlive
		}
		if c.StartedAt.After(newest) {
			newest = c.StartedAt
		}
	}
	if e.At.Sub(newest) < restartGrace {
		return ownerRestarting
	}
	return ownerRestarted
}

// live reports whether a server runs that can finalize the job.
func (o owner) live() bool { return o == ownerAlive || o == ownerRestarted || o == ownerRestarting }

// moving are the volumes that have not ended.
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

// dataMover reports whether the job may have volumes that a data mover moves:
// their data are found only through what Velero's finalizer writes.
func (e *Evidence) dataMover() bool {
	if e.Volumes != Yes || e.Job.Operations.Attempted > 0 {
		return true
	}
	if e.Counts != nil && e.Counts.Operations.Attempted > 0 {
		return true
	}
	for _, v := range e.Job.Volumes {
		if v.Kind == velero.DataUpload || v.Kind == velero.DataDownload {
			return true
		}
	}
	return false
}

// quiet is how long nothing has changed.
func (e *Evidence) quiet() time.Duration { return max(0, e.At.Sub(e.Job.QuietSince())) }
