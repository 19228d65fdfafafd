package action

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/session"
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

// Evidence is all that a plan stands on, as it was at one moment. What verdicts rest
// on too is declared once, in the Evidence of package diagnosis.
type Evidence struct {
	diagnosis.Evidence
	// PhasesWhy is why the CRD's phases could not be read.
	PhasesWhy string
	// At is that moment, by the clock that shows the earliest.
	At time.Time
	// skew is how far the clocks are apart.
	skew skew
	// Cluster is where it was found.
	Cluster session.Identity
	// Job is the job as a fresh read of it and its volumes tells it.
	Job *job.Job
	// Object is the resource as the API server sent it.
	Object *unstructured.Unstructured
	// VeleroWrote is when Velero itself last changed the resource, zero if the
	// API server did not note that.
	VeleroWrote time.Time

	Server Server
	// Volumes is Yes if all of the job's volumes could be listed, else
	// VolumesWhy is why not.
	Volumes    Answer
	VolumesWhy string
	// Moving are the volumes of every job that have not ended: they share the
	// slots of the nodes. MovingKnown is Yes if all could be listed; they are
	// only asked for where a volume of this job has not ended.
	Moving      []job.Volume
	MovingKnown Answer
	// Location is the backup's storage location, nil with LocationWhy if it
	// could not be read.
	Location    *diagnosis.Location
	LocationWhy string
	// LocationGone: the location that it names does not exist.
	LocationGone bool
	// Locations is Yes if all locations of the namespace could be read, and
	// LocationsWrote then when a server last wrote to any: it looks at each
	// once a minute by default.
	Locations      Answer
	LocationsWhy   string
	LocationsWrote time.Time
	// Hooks are the pods that a restore waits for to run their hooks; HooksSeen
	// is Yes if they could be listed.
	Hooks     []Hook
	HooksSeen Answer
	// Malformed are the objects that a server's client cannot decode, as
	// KIND/NAME: FIELD. A single one blinds the server to all of that kind.
	Malformed []string
	// BlindingVolumes names, by kind, a volume of any job that Velero cannot read.
	// The node-agents then see no change of that kind, a cancel neither.
	BlindingVolumes map[velero.VolumeKind]string

	// MayPatch is the API server's answer to whether we may.
	MayPatch    Answer
	MayPatchWhy string

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
	// Agents are the node-agents, and Movers the pods that move volumes; both are
	// known if Server.Visible is.
	Agents []velero.Agent
	Movers map[velero.VolumeRef]velero.Mover
	// volumes are the resources of Job.Volumes as the API server sent them.
	volumes map[velero.VolumeRef]*unstructured.Unstructured

	// storedAt is when the object store was asked. operationsUnread is true if it was
	// not asked for the list of operations.
	storedAt         time.Time
	operationsUnread bool

	// engine gathered it.
	engine *Engine

	// By is who we are to the API server, empty if it did not say.
	By string
}

// ForVerdict is what a verdict needs of all this: what was gathered, and what follows
// from it.
func (e Evidence) ForVerdict() diagnosis.Evidence {
	seen := e.Evidence
	seen.Refused = e.refused()
	if seen.Stored = e.allStored(); !seen.Stored.IsZero() {
		if e.Counts != nil {
			seen.StoredErrors = e.Counts.Errors
		}
		if phase, _, missing := nextPhase(&e); missing.refusal == "" {
			seen.NextPhase = phase
		}
	}
	if h := e.hungHook(); h != nil {
		seen.HungHook, seen.HungHookWhy = h.Pod, h.Blocked
	}
	return seen
}

// refused are the actions that a verdict may point to and that would be refused on
// this evidence, each with why. What could not be found out refuses nothing here.
func (e Evidence) refused() map[diagnosis.Action]string {
	refused := map[diagnosis.Action]string{}
	for _, name := range []Name{Finalize, Wake, Restart, RestartNodeAgent, FixField} {
		p, ok := For(name, e, Request{})
		switch {
		case !ok:
			refused[diagnosis.Action(name)] = "nothing that was seen calls for it"
		case !p.Possible() && len(p.Commands) == 0 && !p.InDoubt:
			refused[diagnosis.Action(name)] = p.Refusal
		}
	}
	return refused
}

// Server is what the pods tell about Velero's servers.
type Server struct {
	// Visible is false with Why if the pods could not be listed.
	Visible bool
	Why     string
	// Running are those that run: more than one during a roll-out.
	Running []velero.ServerPod
	// Down says why none runs, such as CrashLoopBackOff.
	Down string
	// Restarts is how often the containers were started again, all together.
	Restarts int
	// LastTermination is the reason of the newest end of a container.
	LastTermination   string
	LastTerminationAt time.Time
	// Version is the tag of the newest server's image, empty if it has none.
	Version string
	// Flags are those of the newest server.
	Flags velero.ServerFlags
	// Deployment is the name of the servers' Deployment, empty if the pods do
	// not tell it.
	Deployment string
}

// Other is a job beside the one that is looked at.
type Other struct {
	Kind  job.Kind
	Name  string
	Phase string
	// Running is true for a job with a final phase that a person wrote while
	// Velero goes on with it: its slot and its worker are still taken.
	Running bool
}

// Artifact is one file of a job in the object store.
type Artifact struct {
	// Target is the kind of DownloadRequest that asks for it.
	Target string
	job.Presence
}

// Targets are the files that together prove that Velero stored all that a job
// yields. Of a backup the results and the others but the contents are uploaded
// in any order, after the contents, and each of them always, an empty list too
// (pkg/persistence/object_store.go PutBackup); a restore's volume information is
// uploaded last (pkg/controller/restore_controller.go runValidatedRestore).
func Targets(kind job.Kind) []string {
	if kind == job.Backup {
		return []string{"BackupResults", "BackupContents", "BackupItemOperations", "BackupResourceList", "BackupVolumeSnapshots", "BackupVolumeInfos"}
	}
	return []string{"RestoreResults", "RestoreItemOperations", "RestoreResourceList", "RestoreVolumeInfo"}
}

// Engine returns the engine that gathered the evidence, and is to apply what is planned
// on it; nil if none did.
func (e Evidence) Engine() *Engine { return e.engine }
