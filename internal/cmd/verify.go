package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/text"
	"github.com/veltui/veltui/watch"
)

type verifyCommand struct {
	cli          *cli
	output       string
	all, compare bool
}

func newVerifyCommand(c *cli) *cobra.Command {
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

With --compare it also reads the backup once more and what is there as a whole, and
names the objects that are not as the restore was to make them: emptied, made again
with other content, changed or scaled, with the fields that differ, never their values.
What Kubernetes, controllers and Velero write by themselves does not count. Without it,
Services, claims and others that existed and that Velero finds different, whatever they
hold, are named as not compared.

Exit codes: 0 if everything came back, 6 if something did not or --compare finds other
content, 1 if veltui did not look at everything or compare it, or data may still come.`,
		Example: `  veltui verify restore/shop-restore-2

  # With the names of all items that did not come back
  veltui verify restore/shop-restore-2 --all

  # Also whether what came back still holds what the backup does
  veltui verify restore/shop-restore-2 --compare

  # The Secrets that did not come back
  veltui verify restore/shop-restore-2 -o json |
    jq -r '.resources[] | select(.resource == "secrets") | .items[] | select(.lost) | .name'

  # In a script, once the restore has ended
  veltui verify restore/shop-restore-2 > verify.txt || mail -s 'restore incomplete' on-call < verify.txt`,
	}
	addOutputFlag(cmd, &f.output, "text", "json", "yaml")
	cmd.Flags().
		BoolVar(&f.all, "all", false, "Name all items that did not come back, and those that are there in another way")
	cmd.Flags().
		BoolVar(&f.compare, "compare", false, "Compare the content of what came back with the backup, and name the "+
			"fields that differ")
	c.addStoreCAFlag(cmd, cmd.Flags())
	return c.requireOneJob(cmd, f.runVerify, restoreKind)
}

func (f *verifyCommand) runVerify(ctx context.Context, selected selection) error {
	if selected.names[0].kind != job.Restore {
		return usageErrorf("%s: only a restore can be verified: give restore/NAME", selected.names[0])
	}
	assessed, judged, err := f.cli.readJudgedJob(ctx, selected, watch.Pods)
	if err != nil {
		return err
	}
	conn, err := f.cli.connector.openConnection()
	if err != nil {
		return err
	}
	cluster := f.cli.newCluster()
	cluster.Indexes = f.cli.files.openIndexCache(conn)
	say, done := f.cli.stdio.startStepMeter(view.VerificationProgressText(nil))
	var far func(string)
	if f.compare {
		far = func(progress string) { say(view.ComparisonProgressText(progress)) }
	}
	result, verifyErr := cluster.VerifyRestore(ctx, judged.Job, assessed, func(p live.Progress) {
		say(view.VerificationProgressText(&p))
	}, far)
	done()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(verifyErr, verify.ErrNotStarted):
		return exitError{
			ExitRefused,
			fmt.Errorf("restore %s, phase %s: %w", judged.Name, orDash(judged.Phase), verifyErr),
		}
	case verifyErr != nil && result.CountByState == nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	}
	whole := document.NewVerification(judged, assessed.JudgeVolumes(judged.Job), &result)
	err = f.cli.stdio.printOutput(f.output, whole, func(l *linePrinter) { l.addVerification(judged, &result, f.all) })
	switch {
	case err != nil:
		return err
	case verifyErr != nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	case result.CountLost()+result.CountChanged() > 0:
		return exitError{ExitRefused, nil}
	case !result.IsSettled():
		return exitError{ExitError, nil}
	}
	return nil
}

// The limits without --all: of items per group and state, and of unchecked things.
const (
	maxNamedItems     = 5
	maxNamedUnchecked = 20
)

const allFlagHint = " (--all)"

// addVerification prints what came back of a restore; all includes items that came back by other means.
func (l *linePrinter) addVerification(j assess.JudgedJob, r *verify.Result, all bool) {
	v := view.NewVerification(r)
	l.Line("%s: %s", view.JobTitle(j.Job), v.Summary.Text)
	if r.InProgress {
		l.Line("The restore has not ended. These are the results so far.")
	}
	most := maxNamedItems
	if all {
		most = -1
	}
	inVolumes := func(o view.VerifiedOutcome) bool { return all || o < view.OutcomeExpected }
	l.ListByState(v.Volumes.Name, namedItemsOf(v.Volumes, "", inVolumes), most, allFlagHint)
	inResource := func(o view.VerifiedOutcome) bool {
		return o == view.OutcomeLost || all && (o == view.OutcomeUncertain || o == view.OutcomeOther)
	}
	var changed []text.TextWithState
	var rows [][]view.Cell
	for _, g := range v.Resources {
		l.ListByState(g.Name, namedItemsOf(g, "", inResource), most, allFlagHint)
		isChanged := func(o view.VerifiedOutcome) bool { return o == view.OutcomeChanged }
		changed = append(changed, namedItemsOf(g, g.Name+" ", isChanged)...)
		if g.WantedCount > 0 {
			rows = append(rows, g.Cells)
		}
	}
	l.ListByState("other content", changed, most, allFlagHint)
	l.Table(view.VerificationColumns, rows)
	l.PrefixedLine("", v.LeftOutText)
	l.PrefixedLine("\n", v.BoundText)
	if n := len(v.Unchecked) - maxNamedUnchecked; n > 0 && !all {
		v.Unchecked = append(v.Unchecked[:maxNamedUnchecked], "and "+human.More(n)+allFlagHint)
	}
	l.List("Unchecked:", v.Unchecked)
	l.List("Notes:", v.Notes)
}

// namedItemsOf returns the items of a group whose outcome must be named, each after a lead.
func namedItemsOf(
	g view.VerifiedGroup,
	lead string,
	named func(view.VerifiedOutcome) bool,
) (items []text.TextWithState) {
	for _, i := range g.Items {
		if named(i.Outcome) {
			items = append(items, text.TextWithState{State: i.State.Text, Text: lead + i.Name + i.OriginAndReason()})
		}
	}
	return items
}
