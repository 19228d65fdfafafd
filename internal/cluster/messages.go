package cluster

import (
	"context"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
)

// Messages are the errors and warnings of a job from its status and its stored results.
type Messages struct {
	Sections []results.MessageSection
	// IsComplete reports whether Sections are all messages. Note says why not, or why there are none.
	IsComplete    bool
	Note          string
	IsFromResults bool // whether Sections are the results that Velero stored
}

// StatusMessages returns the messages in a job's status. Without a note, the results have to be read.
func StatusMessages(j assess.JudgedJob) Messages {
	note, complete := results.NoteBeforeResults(j.Job, j.MayHaveResults())
	return Messages{Note: note, IsComplete: complete}
}

// MessageSources reads what ReadMessages needs.
type MessageSources struct {
	FetchResults func(context.Context, *job.Job) (artifact.Results, error)
	// FetchOperations is called only if the status counts errors that the results do not have, and operations failed.
	FetchOperations func(context.Context, *job.Job) ([]artifact.Operation, error)
	Ungrouped       bool // each message is on its own
}

// ReadMessages returns the messages of a job. It reads the results only if the status does not contain them, and
// returns the error of that unless it says that nothing is stored.
func ReadMessages(ctx context.Context, j assess.JudgedJob, from MessageSources) (Messages, error) {
	m := StatusMessages(j)
	if m.Note != "" {
		return m, nil
	}
	stored, err := from.FetchResults(ctx, j.Job)
	if from.Ungrouped {
		m.Sections = results.ListMessages(stored)
	} else {
		m.Sections = results.GroupMessages(stored, results.ObjectNames(j.Job)...)
	}
	var operations []artifact.Operation
	var noOperations error
	m.Note, err = results.NotStoredNote(j.Job, err)
	if err == nil && results.HasOperationErrors(j.Job, m.Sections) && j.HasStoredLists() {
		operations, noOperations = from.FetchOperations(ctx, j.Job)
	}
	m.Sections = results.AddOperationErrors(j.Job, m.Sections, operations)
	switch caveat := results.CountCaveat(j.Job, m.Sections); {
	case err != nil:
		m.Note = results.NotRead + "."
	case m.Note == "":
		m.IsFromResults, m.IsComplete, m.Note = true, j.IsTerminal(), caveat
	case j.IsTerminal() && j.Errors > 0:
		m.Note += " " + caveat
	}
	if noOperations != nil {
		m.Note += " The list of item operations cannot be read: " + noOperations.Error()
	}
	return m, err
}

// NeedsLog reports whether the server's log has to be read for the messages of the job so far.
func (m Messages) NeedsLog(j *job.Job) bool {
	return !m.IsFromResults && !j.IsTerminal() && j.Stage != job.StageQueued
}

// LoggedMessages are the errors and warnings of a job that the server has logged so far.
type LoggedMessages struct {
	logs.Problems
	Sections []results.MessageSection
}

// NewLoggedMessages groups the messages read from a log.
func NewLoggedMessages(p logs.Problems) LoggedMessages {
	return LoggedMessages{p, results.GroupMessages(p.ToResults())}
}

// AllMessages are the messages of a job, from every available source.
type AllMessages struct {
	Messages
	Err error // why the results cannot be read
	// Log is nil if the server's log was not needed, and LogErr why it cannot be read.
	Log    *LoggedMessages
	LogErr error
}

// FetchMessages returns the messages of a job as [ReadMessages] does, and reads the server's log if that brings none.
// Once ctx has ended, the answer is void.
func (c *Cluster) FetchMessages(ctx context.Context, j assess.JudgedJob, from MessageSources) AllMessages {
	var all AllMessages
	all.Messages, all.Err = ReadMessages(ctx, j, from)
	if all.NeedsLog(j.Job) && ctx.Err() == nil {
		found, err := c.FetchProblems(ctx, j.Job)
		logged := NewLoggedMessages(found)
		all.Log, all.LogErr = &logged, err
	}
	return all
}

// fetchItemMessages returns what a job's results say about its items, if anything.
func (c *Cluster) fetchItemMessages(ctx context.Context, j *job.Job) ([]results.MessageSection, error) {
	if note, _ := results.NoteBeforeResults(j, false); note != "" {
		return nil, nil
	}
	stored, err := c.FetchResults(ctx, j)
	return results.ListMessages(stored), err
}
