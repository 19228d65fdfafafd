package velero

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is a part of a job's way in which the same waits are possible. It is finer
// than a phase.
type Step string

// The steps.
const (
	StepQueued     Step = "queued"     // New, Queued or ReadyToStart
	StepCollecting Step = "collecting" // InProgress, without a count
	StepItems      Step = "items"      // InProgress, some items left
	StepVolumes    Step = "volumes"    // InProgress, all items done, pod volumes left
	StepStoring    Step = "storing"    // InProgress, all items and pod volumes done
	StepOperations Step = "operations" // WaitingForPluginOperations
	StepFinalizing Step = "finalizing" // Finalizing
	StepDeleting   Step = "deleting"   // Deleting
)

// Subject is what waits: a kind of job, or a volume in one of its phases.
type Subject string

// The subjects.
const (
	SubjectBackup  Subject = "Backup"
	SubjectRestore Subject = "Restore"
)

// Worker is who owns a job while it waits.
type Worker string

// The workers.
const (
	WorkerServer    Worker = "server"     // the controller of the kind, in the server
	WorkerQueue     Worker = "queue"      // the server's queue of backups
	WorkerFinalizer Worker = "finalizer"  // the server's finalizer of the kind
	WorkerAgent     Worker = "node-agent" // the node-agent of the volume's node
	WorkerPlugin    Worker = "plugin"     // a plugin, or a controller behind it
	WorkerDeleter   Worker = "deletion"   // the server's deletion controller
)

// Restarted is what a restart of the server does to a job that waits.
type Restarted string

// The effects.
const (
	RestartFails   Restarted = "marks it Failed"
	RestartResumes Restarted = "goes on"
	RestartForgets Restarted = "forgets it"
)

// Moment is what a limit is counted from.
type Moment string

// The moments. Where a moment cannot be seen, the newest movement of the job stands
// in for it: nothing that the job waits for now began before.
const (
	FromStart    Moment = "status.startTimestamp"
	FromMovement Moment = "the last movement"
	FromPhase    Moment = "the beginning of the phase"
	FromEvidence Moment = "its own beginning"
	// FromFirstVolume is the creation of the job's first volume: a restore counts
	// from when its backup is downloaded.
	FromFirstVolume Moment = "the creation of the first volume"
	// FromStored is when the last of the job's files was stored.
	FromStored Moment = "the last stored file"
)

// Bound is a limit of Velero's. The zero value is that of a wait without one.
type Bound struct {
	// Setting names the flag, the field or the constant.
	Setting string
	// Of is the limit's length; nil if it is the evidence's own, as a hook's.
	Of func(o metav1.Object, f ServerFlags) time.Duration
	// After is how much longer Velero takes at most until it acts on it.
	After time.Duration
}

// WaitName names a row of the table of waits.
type WaitName string

// Wait is one thing that a job can wait for in silence.
type Wait struct {
	Name WaitName
	// For says in words what is waited for.
	For     string
	Subject Subject
	Steps   []Step
	// Since and Before are the versions in which it is so; zero for all.
	Since, Before Version
	Worker        Worker
	// Workers is how many of them there are, in words.
	Workers string
	Limit   Bound
	From    Moment
	// Writes is what Velero writes meanwhile, and how often; empty for nothing.
	Writes string
	// Shows is the evidence that shows it, empty if nothing does: then the wait is
	// always possible.
	Shows string
	// Restart is what a restart of the server does to it.
	Restart Restarted
	// Source is file and function.
	Source string
}

// In reports whether the row holds for a subject, a step and a version.
func (w *Wait) In(s Subject, step Step, v Version) bool {
	return w.Subject == s && slices.Contains(w.Steps, step) && !v.Before(w.Since) && (w.Before == Version{} || v.Before(w.Before))
}

// WaitsIn are the rows for a subject, a step and a version, in the table's order.
func WaitsIn(table []Wait, s Subject, step Step, v Version) []Wait {
	var rows []Wait
	for i := range table {
		if table[i].In(s, step, v) {
			rows = append(rows, table[i])
		}
	}
	return rows
}
