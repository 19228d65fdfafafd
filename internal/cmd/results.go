package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/view/document"
)

type resultsFlags struct {
	output string
	all    bool
}

func newResults(c *cli) *cobra.Command {
	var f resultsFlags
	cmd := &cobra.Command{
		Use:   "results KIND/NAME",
		Short: "Print the errors and warnings of a backup or restore",
		Long: `Print the errors and warnings of a backup or restore: for Velero itself, for the
cluster and for each namespace. Messages that differ only in the resource that
they name are printed once, with a count and the names.

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
	addOutput(cmd, &f.output, "text", "json", "yaml")
	cmd.Flags().BoolVar(&f.all, "all", false, "Name all resources of each message, not only the first")
	c.addCAFile(cmd, cmd.Flags())
	return c.forJob(cmd, func(ctx context.Context, selected selection) error { return c.results(ctx, selected, f) })
}

func (c *cli) results(ctx context.Context, selected selection, f resultsFlags) error {
	assessed, judged, err := c.judgedJob(ctx, selected)
	if err != nil {
		return err
	}
	j := judged.Job
	cluster := c.inspected() // read has sent it to the log file
	r := resultsRead{
		judged,
		cluster.Messages(ctx, judged, func(ctx context.Context, j *job.Job) (artifact.Results, error) {
			waiting := c.tellSlow(waitingForStored)
			waiting(fmt.Sprintf("the results of %s %s", j.Kind.Word(), j.Name))
			defer waiting("")
			return cluster.Results(ctx, j)
		}),
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := c.openSession(); r.LogErr != nil && err != nil {
		return err // another cluster's credentials are why
	}
	switch err := c.print(f.output, r.document(assessed.Volumes(j)), func(l *lines) { r.print(l, f.all) }); {
	case err != nil:
		return err
	case r.Err != nil:
		return fmt.Errorf("reading the results of %s %s: %w", j.Kind.Word(), j.Name, r.Err)
	}
	return exitFor(j, judged.Verdict)
}

type resultsRead struct {
	assess.Judged
	cluster.AllMessages
}

func (r resultsRead) document(volumes []assess.Volume) document.Results {
	d := document.Results{
		Header:   document.NewHeader("Results"),
		Job:      document.NewJob(r.Judged, volumes),
		Complete: r.Complete,
		Note:     r.Note,
		Messages: document.NewMessages(r.Sections),
	}
	if r.Log != nil {
		d.ServerLog = &document.ServerLog{Errors: r.Log.Errors, Warnings: r.Log.Warnings,
			Messages: document.NewMessages(r.Log.Sections), Gaps: append([]string{}, r.Log.Gaps...)}
		if r.LogErr != nil {
			d.ServerLog.Error = r.LogErr.Error()
		}
	}
	return d
}

const namesShown = 5 // of the resources of a message, without --all

func (r resultsRead) print(l *lines, all bool) {
	title := fmt.Sprintf("%s %s/%s, phase %s", r.Kind.Word(), r.Namespace, r.Name, dash(r.Phase))
	errs, warnings := results.Counts(r.Sections)
	if !r.Complete && len(r.Sections) == 0 {
		errs, warnings = r.Errors, r.Warnings
	}
	if errs+warnings > 0 {
		title += fmt.Sprintf(": %s, %s", human.Count(errs, "error"), human.Count(warnings, "warning"))
	}
	l.add("%s", title)
	l.clause("", r.Note)
	l.clause("failure reason: ", r.FailureReason)
	l.list("validation errors:", r.ValidationErrors)
	most := namesShown
	if all {
		most = -1
	}
	printSections(l, r.Sections, most)
	switch {
	case r.Log == nil:
	case r.LogErr != nil:
		l.add("The server's log cannot be read: %s", r.LogErr)
	default:
		l.add("%s", r.Log.Summary())
		l.list("Not all of the log could be read:", r.Log.Gaps)
		printSections(l, r.Log.Sections, most)
	}
}

func printSections(l *lines, sections []results.Section, most int) {
	for _, s := range sections {
		l.add("\n%ss, %s (%d)", s.Severity, s.Title(), s.Count)
		for _, m := range s.Messages {
			if m.Count > 1 {
				l.add("  %dx %s", m.Count, m.Words())
			} else {
				l.add("  %s", m.Words())
			}
			if len(m.Resources) == 0 {
				continue
			}
			names, left := m.Names(most)
			if left > 0 {
				names += fmt.Sprintf(" and %d more", left)
			}
			l.add("      %s", names)
		}
	}
}
