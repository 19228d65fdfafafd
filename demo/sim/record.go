package sim

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Results are warnings or errors by where they belong (pkg/util/results).
type Results struct {
	Velero     []string            `json:"velero,omitempty"`
	Cluster    []string            `json:"cluster,omitempty"`
	Namespaces map[string][]string `json:"namespaces,omitempty"`
}

func (r *Results) add(namespace, message string) {
	if namespace == "" {
		r.Cluster = append(r.Cluster, message)
		return
	}
	if r.Namespaces == nil {
		r.Namespaces = map[string][]string{}
	}
	r.Namespaces[namespace] = append(r.Namespaces[namespace], message)
}

func (r *Results) count() int {
	n := len(r.Velero) + len(r.Cluster)
	for _, messages := range r.Namespaces {
		n += len(messages)
	}
	return n
}

// MovedVolume is a volume whose data a backup holds.
type MovedVolume struct {
	Volume
	// Method is PodVolumeBackup or CSISnapshot, as volume infos name it.
	Method     string
	SnapshotID string
	Operation  string
	Failed     bool
	Started    time.Time
	Completed  time.Time
}

// Methods of moving a volume's data.
const (
	byPodVolume = "PodVolumeBackup"
	bySnapshot  = "CSISnapshot"
)

// BackupRecord is all that the store knows of one backup: what its artifacts
// are made of.
type BackupRecord struct {
	Namespace, Name    string
	UID                types.UID
	Started, Completed time.Time
	Items              []*Item
	Volumes            []MovedVolume
	Warnings, Errors   Results
	operations         []*operation
	// meta is the Backup as it was uploaded.
	meta []byte
}

// Outcome is what became of one object in a restore.
type Outcome struct {
	*Item
	// Namespace is the target namespace, which a mapping may have changed.
	Namespace string
	// Action is created, updated, failed or skipped.
	Action string
}

// RestoreRecord is what the artifacts of one restore are made of.
type RestoreRecord struct {
	Namespace, Name, Backup string
	UID                     types.UID
	Started, Completed      time.Time
	Outcomes                []Outcome
	Volumes                 []MovedVolume
	Warnings, Errors        Results
	operations              []*operation
}

// resourceIdentifier has capitalised keys because Velero's has no JSON tags.
type resourceIdentifier struct {
	Group, Resource, Namespace, Name string
}

// operation is one asynchronous item operation, which moves a volume's data
// with a DataUpload or a DataDownload (pkg/itemoperation).
type operation struct {
	ID     string
	Plugin string
	On     resourceIdentifier
	// Mover is the name of the DataUpload or DataDownload.
	Mover string

	Phase       string
	Error       string
	Done, Total int64
	Description string
	Created     time.Time
	Began       time.Time
	Updated     time.Time
}

func (o *operation) ended() bool { return o.Phase == "Completed" || o.Phase == "Failed" }

// frozen are copies that no later change of the record touches: artifacts are
// made by other goroutines than the simulation's own.
func (r *BackupRecord) frozen() *BackupRecord {
	frozen := *r
	frozen.Items, frozen.Volumes = slices.Clone(r.Items), slices.Clone(r.Volumes)
	frozen.operations = cloneOperations(r.operations)
	return &frozen
}

func (r *RestoreRecord) frozen() *RestoreRecord {
	frozen := *r
	frozen.Outcomes, frozen.Volumes = slices.Clone(r.Outcomes), slices.Clone(r.Volumes)
	frozen.operations = cloneOperations(r.operations)
	return &frozen
}

func cloneOperations(operations []*operation) []*operation {
	clones := make([]*operation, len(operations))
	for n, o := range operations {
		clone := *o
		clones[n] = &clone
	}
	return clones
}
