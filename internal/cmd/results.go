package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
)

type resultsFlags struct {
	output    string
	all       bool
	ungrouped bool
}

func newResultsCommand(c *cli) *cobra.Command {
	var f resultsFlags
	cmd := &cobra.Command{
		Use:   "results KIND/NAME",
		Short: "Print the errors and warnings of a backup or restore",
		Long: `Print the errors and warnings of a backup or restore: for Velero itself, for the
cluster and for each namespace. Messages of the same cause are printed once, whatever
namespace or object they are about: with a count, * for what varies, and what stands
there. With --ungrouped, each message is printed on its own.

Velero counts the errors of item operations in the job's status and does not store
them with the results. veltui reads them from the operations and their volumes.

Velero stores the results when a job has processed its items. veltui downloads them
through Velero; for this you need the right to create downloadrequests.velero.io.
Without stored results, veltui prints what the job's status says, and for a job
that is still running the errors and warnings that the server has logged so far;
for this you need list on pods and get on pods/log. Logs are rotated, so some may
be missing.

Exit codes: 0, or 3 if it ended PartiallyFailed, 4 if it ended Failed or
FailedValidation, 6 if it is stuck or orphaned, 1 if the results cannot be read.`,
		Example: `  veltui results restore/shop-restore-2

  # With the names of all resources
  veltui results restore/shop-restore-2 --all

  # The resources that were not restored because of a quota
  veltui results restore/shop-restore-2 -o json |
    jq -r '.messages[] | select(.text | contains("exceeded quota")) | .resources[].name'`,
	}
	addOutputFlag(cmd, &f.output, "text", "json", "yaml")
	cmd.Flags().BoolVar(&f.all, "all", false, "Name all resources of each message, not only the first")
	cmd.Flags().BoolVar(&f.ungrouped, "ungrouped", false, "Print each message on its own, with its resource")
	c.addStoreCAFlag(cmd, cmd.Flags())
	return c.requireOneJob(
		cmd,
		func(ctx context.Context, selected selection) error { return c.runResults(ctx, selected, f) },
	)
}

func (c *cli) runResults(ctx context.Context, selected selection, f resultsFlags) error {
	assessed, judged, err := c.readJudgedJob(ctx, selected)
	if err != nil {
		return err
	}
	j := judged.Job
	reader := c.newCluster() // logs to the file because of the earlier read
	r := jobResults{
		judged,
		reader.FetchMessages(ctx, judged, c.newMessageSources(reader, f.ungrouped)),
	}
	assessed, r.JudgedJob = assessed.WithEndEvidence(j, cluster.ResultEvidence(r.Messages, r.Err))
	assessed, r.JudgedJob = assessed.WithEndEvidence(j, reader.GatherEndEvidence(ctx, assessed, j))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := c.connector.openSession(); r.LogErr != nil && err != nil {
		return err // caused by the credentials of another cluster
	}
	data := r.newDocument(assessed.JudgeVolumes(j))
	switch err := c.stdio.printOutput(f.output, data, func(l *linePrinter) { r.renderLines(l, f.all) }); {
	case err != nil:
		return err
	case r.Err != nil:
		return fmt.Errorf("reading the results of %s %s: %w", j.Kind.Noun(), j.Name, r.Err)
	}
	return jobExitError(j, judged.Verdict)
}

// newMessageSources returns what reads a job's messages, and warns if that is slow.
func (c *cli) newMessageSources(from *cluster.Cluster, ungrouped bool) cluster.MessageSources {
	warnSlow := func(what string, j *job.Job) (done func()) {
		waiting := c.stdio.warnSlow(waitingForStoredText)
		waiting(fmt.Sprintf("the %s of %s %s", what, j.Kind.Noun(), j.Name))
		return func() { waiting("") }
	}
	return cluster.MessageSources{
		FetchResults: func(ctx context.Context, j *job.Job) (artifact.Results, error) {
			defer warnSlow("results", j)()
			return from.FetchResults(ctx, j)
		},
		FetchOperations: func(ctx context.Context, j *job.Job) ([]artifact.Operation, error) {
			defer warnSlow("item operations", j)()
			return from.FetchOperations(ctx, j)
		},
		Ungrouped: ungrouped,
	}
}

type jobResults struct {
	assess.JudgedJob
	cluster.AllMessages
}

func (r jobResults) newDocument(volumes []assess.JudgedVolume) document.Results {
	d := document.Results{
		Header:   document.NewHeader("Results"),
		Job:      document.NewJob(r.JudgedJob, volumes),
		Complete: r.IsComplete,
		Note:     r.Note,
		Messages: document.NewMessages(r.Sections),
	}
	d.Cause, d.Next = document.NewCause(r.Verdict.Cause), document.NewNext(r.nextStep())
	if r.Log != nil {
		d.ServerLog = &document.ServerLog{Errors: r.Log.Errors, Warnings: r.Log.Warnings,
			Messages: document.NewMessages(r.Log.Sections), Gaps: append([]string{}, r.Log.Gaps...)}
		if r.LogErr != nil {
			d.ServerLog.Error = r.LogErr.Error()
		}
	}
	return d
}

const maxResourcesPerMessage = 3 // of a message's resources, without --all

// nextStep returns what to do about a job that ended badly, without what results itself shows.
func (r jobResults) nextStep() diagnosis.Next {
	if !r.IsTerminal() {
		return diagnosis.Next{}
	}
	next := r.Verdict.Next().WithoutCommand("veltui results")
	if len(next.Commands) == 0 && r.Verdict.Cause.IsZero() {
		return diagnosis.Next{}
	}
	return next
}

func (r jobResults) renderLines(l *linePrinter, all bool) {
	shown := view.NewResults(view.ResultsInput{ // without r.Err, with which the command ends
		Job:         r.Job,
		Sections:    r.Sections,
		FromResults: r.IsFromResults,
		Note:        r.Note,
	})
	counts := human.Prefixed(": ", shown.Counts.Text)
	l.Line("%s%s", view.JobTitle(r.Job), counts)
	for _, note := range shown.Notes {
		l.Line("%s", note.Text)
	}
	for _, failure := range shown.Failures {
		l.Line("%s: %s", failure.Label, failure.Text.Text)
	}
	most := maxResourcesPerMessage
	if all {
		most = -1
	}
	for _, group := range shown.Groups {
		l.Section(group.Section(most), time.Time{})
	}
	switch {
	case r.Log == nil:
	case r.LogErr != nil:
		l.Line("%s", view.ServerLogUnread(r.LogErr).Text)
	default:
		l.Line("%s", r.Log.Summary())
		l.List("Not all of the log could be read:", r.Log.Gaps)
		for _, group := range view.NewResultGroups(r.Log.Sections) {
			l.Section(group.Section(most), time.Time{})
		}
	}
	if cause := view.CauseSentence(r.Verdict.Cause); cause != "" && r.IsTerminal() {
		l.Line("\ncause: %s", cause)
	}
	for _, step := range view.NextSteps(r.nextStep()) {
		l.Step(step)
	}
}
