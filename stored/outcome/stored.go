package outcome

import (
	"errors"
	"fmt"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/velero"
)

// WithoutResults says what is known of a job's messages before its results are
// read. An empty note means that they have to be read; complete means that there
// are no messages. Velero stores the results when it has done all items, before
// the phase moves on (pkg/controller/backup_controller.go and
// restore_controller.go, 1.18.3), so they may be there while it is InProgress. They
// may even be there before its counts say so if it is troubled: where Velero could
// not write the phase, it could not write the last counts either.
func WithoutResults(j *job.Job, troubled bool) (note string, complete bool) {
	itemsDone := j.Items.Known && j.Items.Done >= j.Items.Total
	switch {
	case j.Phase == velero.PhaseFailedValidation:
		return "Velero did not start it, so there are no results.", true
	case j.Phase == velero.PhaseCompleted && j.Errors == 0 && j.Warnings == 0:
		return "No errors and no warnings.", true
	case !j.Terminal() && j.Stage == job.StageQueued:
		return "It has not started.", false
	case !j.Terminal() && j.Stage == job.StageItems && !itemsDone && !troubled:
		return "Velero counts and stores errors and warnings when all items are done.", false
	}
	return "", false
}

// NotStored makes a note of an error that says that a job has no results in the
// object store; other errors are returned as they are.
func NotStored(j *job.Job, err error) (note string, _ error) {
	switch {
	case !errors.Is(err, artifact.ErrAbsent):
		return "", err
	case j.Terminal():
		return "Velero stored no results of it.", nil
	}
	return "Velero has not stored the results yet.", nil
}

// Counts is how many errors and warnings there are.
func Counts(sections []Section) (errs, warnings int) {
	for _, s := range sections {
		if s.Severity == Error {
			errs += s.Count
		} else {
			warnings += s.Count
		}
	}
	return errs, warnings
}

// Caveat says that the results of a job that goes on may not be all, as a restore's
// finalizer adds some, or that the status of one that has ended counts others than
// its results hold; else it is empty.
func Caveat(j *job.Job, sections []Section) string {
	if !j.Terminal() {
		return "Velero may add more until it ends."
	}
	errs, warnings := Counts(sections)
	if errs == j.Errors && warnings == j.Warnings {
		return ""
	}
	return fmt.Sprintf("The status counts %s and %s.", human.Count(j.Errors, "error"), human.Count(j.Warnings, "warning"))
}
