package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// Sentences about results; NotRead is to be followed by the reason or a full stop.
const (
	NoMessages = "No errors and no warnings."
	NotRead    = "The results cannot be read"

	noItems          = "Velero counts no items, so it worked on nothing."
	operationsStored = "Velero counts the errors of item operations and stores them with the operations, " +
		"not with the results."
)

// NoteBeforeResults says what is known about a job's messages before its results are read; an empty note means that
// they have to be read. Velero stores the results when all items are done, before the phase changes
// (pkg/controller/backup_controller.go and restore_controller.go, 1.18.3). troubled means that even the job's last
// counts may not have been written.
func NoteBeforeResults(j *job.Job, troubled bool) (note string, complete bool) {
	itemsDone := j.Items.Known && j.Items.Done >= j.Items.Total
	switch {
	case j.Phase == velero.PhaseFailedValidation:
		return "Velero did not start it, so there are no results.", true
	case j.Phase == velero.PhaseCompleted && j.Errors == 0 && j.Warnings == 0:
		if j.Items.Known && j.Items.Total == 0 {
			return NoMessages + " " + noItems, true
		}
		return NoMessages, true
	case !j.IsTerminal() && j.Stage == job.StageQueued:
		return "Not started yet: no results.", false
	case !j.IsTerminal() && j.Stage == job.StageItems && !itemsDone && !troubled:
		return "Velero counts and stores errors and warnings when all items are done.", false
	}
	return "", false
}

// NotStoredNote turns the error for missing stored results into a note; it returns other errors unchanged.
func NotStoredNote(j *job.Job, err error) (note string, _ error) {
	switch {
	case !errors.Is(err, artifact.ErrAbsent):
		return "", err
	case j.IsTerminal():
		return "Velero stored no results of it.", nil
	}
	return "Velero has not stored the results yet.", nil
}

// CountMessages returns the number of errors and warnings.
func CountMessages(sections []MessageSection) (errs, warnings int) {
	for _, s := range sections {
		if s.Severity == Error {
			errs += s.Count
		} else {
			warnings += s.Count
		}
	}
	return errs, warnings
}

// CountCaveat says that more results may come, because a restore's finalizer adds some, or that the status of an
// ended job counts other numbers than its results; otherwise it is empty.
func CountCaveat(j *job.Job, sections []MessageSection) string {
	if !j.IsTerminal() {
		return "Velero may add more until it ends."
	}
	errs, warnings := CountMessages(sections)
	hasOperations := slices.ContainsFunc(sections, func(s MessageSection) bool { return s.Place == operationsPlace })
	var notes []string
	if errs != j.Errors || warnings != j.Warnings {
		notes = append(notes, fmt.Sprintf(
			"The status counts %s and %s.",
			human.Count(j.Errors, "error"),
			human.Count(j.Warnings, "warning"),
		))
	}
	switch o := j.Operations; {
	case hasOperations:
		notes = append(notes, operationsStored)
	case errs < j.Errors && o.Failed > 0:
		notes = append(notes, fmt.Sprintf("%d of %s failed. ", o.Failed, human.Count(o.Attempted, "item operation"))+
			operationsStored)
	}
	if errs < j.Errors {
		notes = append(notes, "What the results do not have is in Velero's log: "+LogCommand(j)+".")
	}
	return strings.Join(notes, " ")
}

// LogCommand returns the command that prints the errors of a job's log.
func LogCommand(j *job.Job) string {
	return fmt.Sprintf("veltui logs %s/%s --level error", j.Kind.Noun(), j.Name)
}
