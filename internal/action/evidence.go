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

// Answer is a yes, a no, or unknown.
type Answer int

const (
	Unknown Answer = iota
	Yes
	No
)

// Evidence is all that a plan stands on. What verdicts need too is in the Evidence of package diagnosis.
type Evidence struct {
	diagnosis.Evidence
	PhasesWhy   string                     // why the CRD's phases could not be read
	At          time.Time                  // by the earliest clock
	skew        skew                       // how far the clocks differ
	Cluster     session.Identity           // where it was gathered
	By          string                     // who we are there, empty if the API server did not say
	Job         *job.Job                   // made of fresh reads of the job and its volumes
	Object      *unstructured.Unstructured // the resource as the API server sent it
	VeleroWrote time.Time                  // when Velero itself last changed the resource, zero if not noted

	Server     velero.Server
	PodsWhy    string // why the pods could not be listed
	Volumes    Answer // Yes if all of the job's volumes could be listed
	VolumesWhy string
	// Moving are the volumes of every job that have not ended: they share the slots of the nodes. They are only
	// listed where a volume of this job has not ended; MovingKnown is Yes if all could be.
	Moving       []job.Volume
	MovingKnown  Answer
	Location     *diagnosis.Location // the backup's storage location, nil with LocationWhy if it could not be read
	LocationWhy  string
	LocationGone bool // it does not exist

	Locations      Answer // Yes if all locations of the namespace could be read
	LocationsWhy   string
	LocationsWrote time.Time // when a server last wrote to any: it validates each once a minute by default
	// Malformed are the backups and restores that a server cannot decode. One blinds it to all of that kind.
	Malformed []diagnosis.Malformed
	// MalformedVolumes are those that Velero cannot read: node-agents see no change of the kind, nor cancels.
	MalformedVolumes []diagnosis.Malformed

	MayPatch    Answer // whether we may patch the job
	MayPatchWhy string
	MayCancel   map[velero.VolumeKind]Answer // the same for each kind among the volumes that have not ended

	Artifacts []Artifact        // the files that prove that Velero did all its work
	Counts    *job.StoredCounts // from the stored results, nil with CountsWhy if not known
	CountsWhy string

	Queued    []string // the backups in Velero's queue, next one first
	Others    []Other  // the other jobs of this Velero that have not ended, backups first
	OthersWhy string   // set if not all could be listed

	// Agents are the node-agents, and Movers the pods that move volumes; both are known if Server.Visible is.
	Agents  []velero.Agent
	Movers  map[velero.VolumeRef]velero.Mover
	Style   human.Style                                     // of the durations in refusals
	volumes map[velero.VolumeRef]*unstructured.Unstructured // the resources of Job.Volumes as the API server sent them

	// storedAt is when the object store was asked, perhaps without the list of operations.
	storedAt         time.Time
	operationsUnread bool
	engine           *Engine   // gathered it
	proposal         *proposal // nil for a job
}

// ForVerdict returns what a verdict needs of the evidence.
func (e Evidence) ForVerdict() diagnosis.Evidence {
	seen := e.Evidence
	seen.LastWork = e.lastWork()
	seen.Refused = e.refused()
	if seen.Stored = e.allStored(); !seen.Stored.IsZero() {
		if e.Counts != nil {
			seen.StoredErrors = e.Counts.Errors
		}
		if phase, _, missing := nextPhase(&e); missing.refusal == "" {
			seen.NextPhase = phase
		}
	}
	return seen
}

// refused returns why actions would be refused on this evidence. An unknown refuses nothing here.
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

// Other is a job beside the one that is looked at.
type Other struct {
	Kind    job.Kind
	Name    string
	Phase   string
	Running bool // a person wrote the final phase while Velero continues: its slot and worker are still taken
}

// Artifact is one file of a job in the object store.
type Artifact struct {
	Target string // the DownloadRequest's kind
	job.Presence
}

// Targets returns the kinds of files that together prove that Velero stored all of a job. Each is always uploaded, an
// empty list too: of a backup in any order after the contents (pkg/persistence/object_store.go PutBackup); a
// restore's volume information is the last (pkg/controller/restore_controller.go runValidatedRestore).
func Targets(kind job.Kind) []string {
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
