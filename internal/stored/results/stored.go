package results

import (
	"errors"
	"fmt"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// WithoutResults says what is known of a job's messages before its results are read; an empty note means that
// they have to be read. Velero stores the results when all items are done, before the phase moves on
// (pkg/controller/backup_controller.go and restore_controller.go, 1.18.3). If it is troubled, even its last counts
// may not have been written.
func WithoutResults(j *job.Job, troubled bool) (note string, complete bool) {
	itemsDone := j.Items.Known && j.Items.Done >= j.Items.Total
	switch {
	case j.Phase == velero.PhaseFailedValidation:
		return "Velero did not start it, so there are no results.", true
	case j.Phase == velero.PhaseCompleted && j.Errors == 0 && j.Warnings == 0:
		return "No errors and no warnings.", true
	case !j.Terminal() && j.Stage == job.StageQueued:
		return "Not started yet: no results.", false
	case !j.Terminal() && j.Stage == job.StageItems && !itemsDone && !troubled:
		return "Velero counts and stores errors and warnings when all items are done.", false
	}
	return "", false
}

// NotStored turns the error that a job has no stored results into a note; it returns others unchanged.
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

// Caveat says that more results may come, as a restore's finalizer adds some, or that the status of an ended job
// counts others than its results; else it is empty.
func Caveat(j *job.Job, sections []Section) string {
	if !j.Terminal() {
		return "Velero may add more until it ends."
	}
	errs, warnings := Counts(sections)
	if errs == j.Errors && warnings == j.Warnings {
		return ""
	}
	return fmt.Sprintf(
		"The status counts %s and %s.",
		human.Count(j.Errors, "error"),
		human.Count(j.Warnings, "warning"),
	)
}
