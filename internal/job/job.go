package job

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

type Kind string

const (
	Backup  Kind = "Backup"
	Restore Kind = "Restore"
)

// Noun returns the kind as a word in a sentence: backup or restore.
func (k Kind) Noun() string { return strings.ToLower(string(k)) }

// Resource returns the kind's plural for the API server and kubectl: backups or restores.
func (k Kind) Resource() string { return k.Noun() + "s" }

// Job is one Backup or Restore as a person sees it, as of its last event. It is immutable; [Fold] makes a new Job for
// each event.
type Job struct {
	Kind      Kind
	Namespace string
	Name      string
	UID       types.UID

	// Phase is Velero's own word for the state, known or not.
	Phase string
	// Stage is the part of its life that the job is in. It never goes back while the job lives.
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
	// Volumes are all volumes except those that are only summed up; see [Job.SummedVolumeCount].
	Volumes    []Volume
	Operations Operations

	// Fraction is the filled part of the stage's bar, 0 to 1. It never goes back in a stage, and is below 1 until the
	// end.
	Fraction float64
	// FractionKnown is false while the fraction is unknown (no total yet).
	FractionKnown bool

	Warnings         int
	Errors           int
	FailureReason    string
	ValidationErrors []string

	// BackupName is the backup that a restore reads from; empty for backups.
	BackupName string
	// ScheduleName is the schedule that made the backup, or that the restore restores from.
	ScheduleName string
	// StorageLocation is the BackupStorageLocation's name (backups only).
	StorageLocation string
	// QueuePosition is Velero's own position; 0 unless the backup is Queued.
	QueuePosition int

	// LastChanged is when the resource or a volume last changed, by field managers and observation, in the cluster's
	// clock.
	LastChanged time.Time

	// SeenChanges are the newest changes that this process saw, oldest first.
	SeenChanges []SeenChange

	// MalformedFields are the fields with values that Velero's types cannot hold; they count as not set.
	MalformedFields []decode.MalformedField

	// Object is the Backup or Restore itself, shared and read-only.
	Object Object

	// forecastLeft is the forecast of the time left; see WithTimeLeft.
	forecastLeft *TimeLeft

	track track
}

// Object is a custom resource as the cluster holds it.
type Object interface {
	metav1.Object
	runtime.Object
}

// Observation is everything that the cluster says about one job at one time: a Backup or a Restore.
type Observation struct {
	Backup  *veleroapi.Backup
	Restore *veleroapi.Restore
	// MalformedFields is what could not be read of the resource.
	MalformedFields []decode.MalformedField
	// Volumes are the job's volume resources, sorted by kind and name.
	Volumes []Volume
	// Completed sums up those volumes of the job that are not in Volumes.
	Completed *CompletedVolumes
	// ObservedAt is when the job was observed, in the cluster's clock; VolumesObservedAt is when the volumes were, zero
	// for the same time.
	ObservedAt, VolumesObservedAt time.Time
}

// Items are how many items of a job are done.
type Items struct {
	Done      int  `json:"done"`
	Total     int  `json:"total"`
	Estimated bool `json:"estimated"`
	// VeleroTotal is Velero's own total where Total is an estimate beside it.
	VeleroTotal int `json:"published,omitempty"`
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
	// LastModified is when the file was written, by the store's clock; zero if absent or not stated.
	LastModified time.Time
	// Unchecked is the reason for PresenceUnknown in one line.
	Unchecked string
}

type PresenceState int

// The states. A store that hides missing files (403) makes the state unknown.
const (
	PresenceUnknown PresenceState = iota
	Present
	Absent
)

// StoredCounts are a job's counts by its stored results, which a lost status patch would have contained.
type StoredCounts struct {
	Warnings   int
	Errors     int
	Operations Operations
	// Items is how many items the stored resource list names; ItemsKnown is false where it was not read.
	Items      int
	ItemsKnown bool
}
