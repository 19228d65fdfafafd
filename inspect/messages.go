package inspect

import (
	"context"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/stored/logs"
	"github.com/veltui/veltui/stored/outcome"
)

// Messages are the errors and warnings of a job as its status and its stored results tell them.
type Messages struct {
	Sections []outcome.Section
	// Complete reports whether Sections are all there are. Note says why not, or why none are.
	Complete bool
	Note     string
	Stored   bool // Stored reports whether Sections are the results that Velero stored
}

// StatusMessages returns what a job's status tells. Without a note, the results have to be read.
func StatusMessages(j assess.Judged) Messages {
	note, complete := outcome.WithoutResults(j.Job, j.MayBeStored())
	return Messages{Note: note, Complete: complete}
}

// ReadMessages returns the messages of a job. It calls read only if the status does not
// tell them, and returns the error of read unless that says that nothing is stored.
func ReadMessages(ctx context.Context, j assess.Judged, read func(context.Context, *job.Job) (artifact.Results, error)) (Messages, error) {
	m := StatusMessages(j)
	if m.Note != "" {
		return m, nil
	}
	results, err := read(ctx, j.Job)
	m.Sections = outcome.Group(results)
	switch m.Note, err = outcome.NotStored(j.Job, err); {
	case err != nil:
		m.Note = "The results cannot be read."
	case m.Note == "":
		m.Stored, m.Complete, m.Note = true, j.Terminal(), outcome.Caveat(j.Job, m.Sections)
	}
	return m, err
}

// NeedsLog reports whether the server's log has to be read for what the job says so far.
func (m Messages) NeedsLog(j *job.Job) bool {
	return !m.Stored && !j.Terminal() && j.Stage != job.StageQueued
}

// Logged are the errors and warnings that the server has logged so far of a job.
type Logged struct {
	logs.Problems
	Sections []outcome.Section
}

// NewLogged groups what was read of a log.
func NewLogged(p logs.Problems) Logged { return Logged{p, outcome.Group(p.Results())} }

// AllMessages are the messages of a job, from wherever they can be had.
type AllMessages struct {
	Messages
	Err error // why the results cannot be read
	// Log is nil if the server's log was not needed, and LogErr why it cannot be read.
	Log    *Logged
	LogErr error
}

// Messages returns the messages of a job. It calls read as [ReadMessages] does, and reads
// the server's log where that brings none. Once ctx has ended, the answer is void.
func (c *Cluster) Messages(ctx context.Context, j assess.Judged, read func(context.Context, *job.Job) (artifact.Results, error)) AllMessages {
	var all AllMessages
	all.Messages, all.Err = ReadMessages(ctx, j, read)
	if all.NeedsLog(j.Job) && ctx.Err() == nil {
		reader := &Logs{Cluster: c, NotStored: ErrReadOnlyLog} // only pods are read
		found, err := reader.Problems(ctx, j.Job)
		logged := NewLogged(found)
		all.Log, all.LogErr = &logged, err
	}
	return all
}

// reasons returns what a job's results say of its items, if they say anything.
func (r *Artifacts) reasons(ctx context.Context, j *job.Job) ([]outcome.Section, error) {
	if note, _ := outcome.WithoutResults(j, false); note != "" {
		return nil, nil
	}
	results, err := r.Results(ctx, j)
	return outcome.Group(results), err
}
