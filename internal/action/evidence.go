package action

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
)

// TriState is a yes, a no, or unknown.
type TriState int

const (
	Unknown TriState = iota
	Yes
	No
)

// Evidence is everything that a plan rests on. The part that verdicts need too is in package diagnosis.
type Evidence struct {
	diagnosis.JobEvidence
	PhasesUnchecked string                     // why the CRD's phases could not be read
	Now             time.Time                  // the present time by the earliest clock
	clockSkew       clockSkew                  // how far the clocks differ
	Cluster         session.Identity           // where it was gathered
	Username        string                     // our user name there, empty if the API server did not say
	Job             *job.Job                   // made of fresh reads of the job and its volumes
	Object          *unstructured.Unstructured // the resource as the API server sent it
	LastVeleroWrite time.Time                  // when Velero itself last changed the resource, zero if not noted

	Server           velero.Server
	PodsUnchecked    string   // why the pods could not be listed
	VolumesListed    TriState // Yes if all of the job's volumes could be listed
	VolumesUnchecked string
	// AllOpenVolumes are the volumes of every job that have not ended: they share the slots of the nodes. They are listed
	// only if a volume of this job has not ended; AllOpenVolumesListed is Yes if all of them could be listed.
	AllOpenVolumes       []job.Volume
	AllOpenVolumesListed TriState
	// Location is the backup's storage location, nil with LocationUnchecked if it could not be read.
	Location          *diagnosis.LocationStatus
	LocationUnchecked string
	LocationMissing   bool // the location does not exist

	LocationsListed    TriState // Yes if all locations of the namespace could be read
	LocationsUnchecked string
	// LastLocationWrite is when a server last wrote to any location: it validates each once a minute by default.
	LastLocationWrite time.Time
	// MalformedJobs are the backups and restores that a server cannot decode. One of them hides all objects of its kind
	// from the server.
	MalformedJobs []diagnosis.MalformedResource
	// MalformedVolumes are the volumes that Velero cannot read: node-agents see no changes of the kind, nor
	// cancellations.
	MalformedVolumes []diagnosis.MalformedResource

	MayPatch       TriState // whether we may patch the job
	MayPatchReason string
	// MayCancel says whether we may cancel, for each kind among the volumes that have not ended.
	MayCancel map[velero.VolumeKind]TriState

	Artifacts       []Artifact        // the files that prove that Velero did all its work
	StoredCounts    *job.StoredCounts // from the stored results, nil with CountsUnchecked if unknown
	CountsUnchecked string

	QueuedBackups      []string   // the backups in Velero's queue, next one first
	OtherJobs          []OtherJob // the other jobs of this Velero that have not ended, backups first
	OtherJobsUnchecked string     // set if not all could be listed

	// Agents are the node-agents, and MoverPods the pods that move volumes; both are known if Server.Visible is set.
	Agents    []velero.NodeAgent
	MoverPods map[velero.VolumeRef]velero.Mover
	Style     human.DurationStyle // how refusals format durations
	// volumeObjects are the resources of Job.Volumes as the API server sent them.
	volumeObjects map[velero.VolumeRef]*unstructured.Unstructured

	// storeReadAt is when the object store was read, perhaps without the list of operations.
	storeReadAt         time.Time
	operationsUnchecked bool
	engine              *Engine   // the engine that gathered the evidence
	proposal            *proposal // nil for a job
}

// VerdictEvidence returns the part of the evidence that a verdict needs.
func (e Evidence) VerdictEvidence() diagnosis.JobEvidence {
	seen := e.JobEvidence
	seen.LastServerWork = e.lastServerWork()
	seen.RefusedActions = e.refusedActions()
	if seen.StoredAt = e.allStoredAt(); !seen.StoredAt.IsZero() {
		if e.StoredCounts != nil {
			seen.StoredErrors = e.StoredCounts.Errors
		}
		if phase, _, missing := findNextPhase(&e); missing.refusal == "" {
			seen.NextPhase = phase
		}
	}
	return seen
}

// refusedActions returns why actions would be refused on this evidence. Unknown facts refuse nothing here.
func (e Evidence) refusedActions() map[diagnosis.Action]string {
	refused := map[diagnosis.Action]string{}
	for _, name := range []Kind{Finalize, Wake, Restart, RestartNodeAgent, FixField} {
		p, ok := PlanFor(name, e, Request{})
		switch {
		case !ok:
			refused[diagnosis.Action(name)] = "nothing that was seen calls for it"
		case !p.IsPossible() && len(p.Commands) == 0 && !p.InDoubt:
			refused[diagnosis.Action(name)] = p.Refusal
		}
	}
	return refused
}

// OtherJob is a job besides the examined one.
type OtherJob struct {
	Kind  job.Kind
	Name  string
	Phase string
	// IsRunning is true if a person wrote the final phase while Velero continues: the job's slot and worker are still
	// taken.
	IsRunning bool
}

// Artifact is one file of a job in the object store.
type Artifact struct {
	Target string // the DownloadRequest's kind
	job.Presence
}

// ArtifactTargets returns the kinds of files that together prove that Velero stored all of a job. Each file is always
// uploaded, even an empty list: a backup's files after the contents, in any order (pkg/persistence/object_store.go
// PutBackup); a restore's volume information last (pkg/controller/restore_controller.go runValidatedRestore).
func ArtifactTargets(kind job.Kind) []string {
	if kind == job.Backup {
		return []string{
			"BackupResults",
			"BackupContents",
			"BackupItemOperations",
			"BackupResourceList",
			"BackupVolumeSnapshots",
			"BackupVolumeInfos",
		}
	}
	return []string{"RestoreResults", "RestoreItemOperations", "RestoreResourceList", "RestoreVolumeInfo"}
}

// Engine returns the engine that gathered the evidence and applies its plans; may be nil.
func (e Evidence) Engine() *Engine { return e.engine }
