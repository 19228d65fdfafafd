package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/restore/verify"
	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/watch"
)

type verifyCommand struct {
	*cli
	output string
	all    bool
	caFile string
}

func newVerify(c *cli) *cobra.Command {
	f := verifyCommand{cli: c}
	cmd := &cobra.Command{
		Use:   "verify restore/NAME",
		Short: "Print what of a restore is in the cluster, and what is not",
		Long: `Print what a restore was to bring back, and whether it is in the cluster now: what
failed, what Velero does not list, what was deleted since, and what existed before
and differs from the backup. Of each volume it says whether its data came back, or
why it is empty. What did not come back is printed first.

veltui reads what Velero stored of the restore and of its backup; for this you need
the right to create downloadrequests.velero.io. Then it lists the metadata of the
kinds and namespaces that the restore concerns. What you may not list is named, and
never counts as lost. 'veltui rbac artifacts --with checks' prints the right to list all
kinds.

Exit codes: 0 if everything came back, 6 if something did not, 1 if veltui could not
look at everything or if data may still come.`,
		Example: `  veltui verify restore/shop-restore-2

  # With the names of all items that did not come back
  veltui verify restore/shop-restore-2 --all

  # The Secrets that did not come back
  veltui verify restore/shop-restore-2 -o json |
    jq -r '.resources[] | select(.resource == "secrets") | .items[] | select(.lost) | .name'

  # In a script, once the restore has ended
  veltui verify restore/shop-restore-2 > verify.txt || mail -s 'restore incomplete' on-call < verify.txt`,
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	cmd.Flags().BoolVar(&f.all, "all", false, "Name all items that did not come back, and those that are there in another way")
	addCAFile(cmd.Flags(), &f.caFile)
	return c.forJob(cmd, f.run, job.Restore)
}

func (f *verifyCommand) run(ctx context.Context, selected selection) error {
	if selected.kinds[0] != job.Restore {
		return usagef("%s/%s: only a restore can be verified: give restore/NAME", selected.kinds[0].Word(), selected.names[0])
	}
	assessed, judged, err := f.judgedJob(ctx, selected, watch.Pods)
	if err != nil {
		return err
	}
	conn, err := f.connect()
	if err != nil {
		return err
	}
	log := slog.Default() // readJob has sent it to the log file
	cluster := f.inspected(f.caFile, log)
	cluster.Indexes = f.openIndexes(conn.Config, log)
	v := &inspect.Verifier{Cluster: cluster, Items: &inspect.Items{Stored: &inspect.Artifacts{Cluster: cluster}, Backups: &inspect.Backups{Cluster: cluster}}}
	say, done := f.startSteps("reading what was to come back")
	result, verifyErr := v.Verify(ctx, judged.Job, assessed, func(p target.Progress) {
		say(lookedFor(p))
		if p.Done == p.Total {
			say("looking at claims and volumes")
		}
	})
	done()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(verifyErr, verify.ErrNotStarted):
		return exitError{ExitRefused, fmt.Errorf("restore %s, phase %s: %w", judged.Name, dash(judged.Phase), verifyErr)}
	case verifyErr != nil && result.Count == nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	}
	r := verified{Judged: judged, Result: result}
	switch err := f.print(f.output, document.NewVerification(judged, assessed.Volumes(judged.Job), &result), func(l *lines) { r.print(l, f.all) }); {
	case err != nil:
		return err
	case verifyErr != nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	case result.Lost() > 0:
		return exitError{ExitRefused, nil}
	case !result.Settled():
		return exitError{ExitError, nil}
	}
	return nil
}
