package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/results"
)

// endEvidenceTimeout limits the reading of what says why one job ended: it is read unasked.
const endEvidenceTimeout = 30 * time.Second

// GatherEndEvidence reads what may say why a job ended badly where nothing at hand does, and no more than that. The
// evidence says what could not be read.
func (c *Cluster) GatherEndEvidence(ctx context.Context, a *assess.Assessment, j *job.Job) diagnosis.EndEvidence {
	ctx, cancel := context.WithTimeoutCause(ctx, endEvidenceTimeout,
		fmt.Errorf("no answer within %s", endEvidenceTimeout))
	defer cancel()
	var found diagnosis.EndEvidence
	if diagnosis.NeedsResults(j, a.AssessJob(j).Verdict) {
		found.ResultErrors, found.ResultsUnread = c.readResultErrors(ctx, j)
	}
	return found
}

// readResultErrors reads the errors of a job's results; unread says why it could not.
func (c *Cluster) readResultErrors(ctx context.Context, j *job.Job) (errs []diagnosis.ResultError, unread string) {
	if note, _ := results.NoteBeforeResults(j, false); note != "" {
		return nil, ""
	}
	if c.NoArtifacts {
		return nil, errNoArtifactsResults.Error()
	}
	if c.OnWaiting != nil {
		c.OnWaiting("the results of " + j.Kind.Noun() + " " + j.Name)
		defer c.OnWaiting("")
	}
	stored, err := c.FetchResults(ctx, j)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx).Error()
	case errors.Is(err, artifact.ErrAbsent):
		return nil, "Velero stored none"
	case err != nil:
		return nil, err.Error()
	}
	return ResultErrors(results.ListMessages(stored)), ""
}

var errNoArtifactsResults = errors.New("with --no-artifacts, veltui does not read the results")

// ResultErrors returns the errors among the messages of a job's results, without those of operations: the verdict knows
// the volumes that they are about.
func ResultErrors(sections []results.MessageSection) (errs []diagnosis.ResultError) {
	for _, section := range sections {
		for i := range section.Messages {
			m := &section.Messages[i]
			if section.Severity == results.Error && m.Scope != results.ScopeOperation {
				errs = append(errs, diagnosis.ResultError{Text: cmp.Or(m.Example, m.Text), Count: max(1, m.Count)})
			}
		}
	}
	return errs
}
