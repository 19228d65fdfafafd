package job

import (
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero/decode"
)

type Kind string

const (
	Backup  Kind = "Backup"
	Restore Kind = "Restore"
)

// Word is the kind as a word in a sentence: backup or restore.
func (k Kind) Word() string { return strings.ToLower(string(k)) }

// Resource is the kind's plural for the API server and kubectl: backups or restores.
func (k Kind) Resource() string { return k.Word() + "s" }

// Job is one Backup or Restore as a person sees it, at its last event. It is immutable; [Next] makes a new
// one for each.
type Job struct {
	Kind      Kind
	Namespace string
	Name      string
	UID       types.UID

	// Phase is Velero's word for the state, never translated, known or not.
	Phase string
	// Stage is where the job stands in its life. It never goes back while the job lives.
	Stage Stage
	// Stages are all stages that this kind of job passes, in their order.
	Stages []StageRecord

	// Created, Started and Completed are the cluster's own time stamps; zero if missing.
	Created   time.Time
	Started   time.Time
	Completed time.Time
	// Deleting is true once the resource has a deletion time stamp.
	Deleting bool

	Items Items
	// Volumes are all but those that were left out; see [Job.LeftOut].
	Volumes    []Volume
	Operations Operations

	// Fraction is what a bar shows of the stage, 0 to 1. It never goes back in a stage, and is below 1 until the end.
	Fraction float64
	// FractionKnown is false while nothing can be said (no total yet).
	FractionKnown bool

	Warnings         int
	Errors           int
	FailureReason    string
	ValidationErrors []string

	// BackupName is the backup that a restore reads from; empty for backups.
	BackupName string
	// ScheduleName is the schedule that made the backup, or that is restored from.
	ScheduleName string
	// StorageLocation is the BackupStorageLocation's name (backups only).
	StorageLocation string
	// QueuePosition is Velero's own; 0 unless the backup is Queued.
	QueuePosition int

	// Changed is when the resource or a volume last changed, by field managers and what was seen, in the cluster's clock.
	Changed time.Time

	// Seen are the newest changes that this process saw, oldest first.
	Seen []Seen

	// Malformed are the fields whose values Velero's types cannot hold, which count as not set.
	Malformed []decode.Malformed

	// Object is the Backup or Restore itself, shared and read-only.
	Object Object

	// foreseen is what was said about the time left; see WithTimeLeft.
	foreseen *TimeLeft

	track track
}

// Object is a custom resource as the cluster holds it.
type Object interface {
	metav1.Object
	runtime.Object
}

// Input is all that the cluster says about one job at one moment: a Backup or a Restore.
type Input struct {
	Backup  *velerov1.Backup
	Restore *velerov1.Restore
	// Malformed is what could not be read of it.
	Malformed []decode.Malformed
	// Volumes are the job's volume resources, sorted by kind and name.
	Volumes []Volume
	// Completed are those of them that are only summed up, not in Volumes.
	Completed *Completed
	// At is when this was seen, in the cluster's clock; VolumesAt when the volumes were, zero for the same time.
	At, VolumesAt time.Time
}

// Items are how many items of a job are done.
type Items struct {
	Done      int  `json:"done"`
	Total     int  `json:"total"`
	Estimated bool `json:"estimated"`
	// Published is Velero's own total where Total is an estimate beside it.
	Published int `json:"published,omitempty"`
	// Known is false until Velero has written a progress at all.
	Known bool `json:"-"`
	// RevisedFrom is the total before it last changed while the job ran, 0 if it never did.
	RevisedFrom int `json:"-"`
}

// Operations are the counters of asynchronous item operations.
type Operations struct {
	Attempted int `json:"attempted"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// Presence says whether a file of a job is in the object store; unknown if zero.
type Presence struct {
	State PresenceState
	// LastModified is when the file was written, by the store; zero if absent or not said.
	LastModified time.Time
	// Why is the reason for Unknown in one line.
	Why string
}

type PresenceState int

// The answers. A store that hides what is missing (403) makes it unknown.
const (
	PresenceUnknown PresenceState = iota
	Present
	Absent
)

// StoredCounts are a job's numbers by its stored results, which a lost status patch would have carried.
type StoredCounts struct {
	Warnings   int
	Errors     int
	Operations Operations
	// Items is how many items the stored resource list names; ItemsKnown is false where it was not read.
	Items      int
	ItemsKnown bool
}
