package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/dryrun"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

type preflightCommand struct {
	requestedRestore
	compare, dryRun, sendSecrets bool
	qps                          int
	standIn                      string
	output                       string
}

func newPreflightCommand(c *cli) *cobra.Command {
	f := preflightCommand{requestedRestore: requestedRestore{cli: c}}
	cmd := &cobra.Command{
		Use:   "preflight [backup/NAME | restore/NAME] [-f RESTORE.yaml] [flags of velero restore create]",
		Short: "Print what stands in the way of a restore, before you start it",
		Long: `Print what a restore would meet in this cluster: objects that exist already and what
Velero does with them, kinds and API versions that the cluster does not serve, missing
storage classes and drivers, quotas and limit ranges that are too small, namespaces
that are being deleted, node ports that are taken, webhooks that nobody answers, and
the state of the backup, its storage location and Velero.

Say what to restore as for 'veltui estimate': backup/NAME with the flags of 'velero
restore create', a Restore in a file (-f), or restore/NAME for a restore like that one.
veltui changes nothing but for the DownloadRequests with which it reads the backup.
It reads the metadata of objects only, so it does not know whether one that exists
differs from the backup. With --compare it reads the backup once more and those objects
as a whole, and says of each what Velero will do: leave it, leave it with a warning,
patch it, merge it or skip it, and which fields differ, without their values.

With --dry-run it sends each object that Velero would create or patch with dryRun=All,
as Velero's service account if you may impersonate it: webhooks, policies and schemas
answer. One object goes first, and each answer must prove that nothing was stored. If
one shows that something was, veltui stops, and names the object and how to remove it.

An obstacle makes something of the restore fail. A doubt may go wrong, or do what you
do not want. What veltui could not look at is named, and never counts as fine.

Exit codes: 0 if there is no obstacle, 6 if there is one, 1 if veltui found none but
could not look at everything, if nothing would be restored, or if the dry run stored
something.`,
		Example: `  # Everything in a backup, into this cluster
  veltui preflight backup/nightly

  # One namespace under a new name
  veltui preflight backup/nightly --include-namespaces shop --namespace-mappings shop:shop-2

  # What the policy 'update' does with what exists
  veltui preflight backup/nightly --existing-resource-policy update

  # The same object by object, with the fields that differ
  veltui preflight backup/nightly --existing-resource-policy update --compare -o json | jq '.existing[]'

  # What the API server says to each object, also to those of a namespace that is new
  veltui preflight backup/nightly --dry-run --dry-run-namespace scratch

  # In a script: restore only if nothing stands in the way
  veltui preflight -f restore.yaml --dry-run --dry-run-secrets && kubectl create -f restore.yaml

  # The obstacles alone
  veltui preflight backup/nightly -o json | jq '.findings[] | select(.severity == "obstacle")'`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.runPreflight(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	f.requestedRestore.addRestoreFlags(cmd)
	flags.BoolVar(
		&f.compare,
		"compare",
		false,
		"Compare what exists with the backup, and say what Velero does with each object",
	)
	flags.BoolVar(&f.dryRun, "dry-run", false, "Ask the API server about each object with dryRun=All")
	flags.IntVar(&f.qps, "dry-run-qps", dryrun.DefaultQPS, "Requests a second of the dry run")
	flags.BoolVar(
		&f.sendSecrets,
		"dry-run-secrets",
		false,
		"Send Secrets in the dry run, too: webhooks may see and log their data",
	)
	flags.StringVar(
		&f.standIn,
		"dry-run-namespace",
		"",
		"Existing namespace that stands in for new ones in the dry run",
	)
	addOutputFlag(cmd, &f.output, "text", "json", "yaml")
	cmd.ValidArgsFunction = c.completeKindAndName(false, jobKinds...)
	return cmd
}

func (f *preflightCommand) runPreflight(ctx context.Context, args []string) error {
	switch {
	case f.qps < 1:
		return usageErrorf("--dry-run-qps %d: expected at least 1", f.qps)
	case !f.dryRun && (f.sendSecrets || f.standIn != ""):
		return usageErrorf("--dry-run-secrets and --dry-run-namespace are about a dry run; add --dry-run")
	case f.dryRun && f.cli.settings.isReadOnly():
		return exitError{ExitUsage, dryrun.ErrReadOnly}
	}
	spec, snap, err := f.readRestoreInput(ctx, args)
	if err != nil {
		return err
	}
	result, err := f.checkRestore(ctx, spec, snap)
	if err != nil {
		return err
	}
	text := func(l *linePrinter) { l.addPreflight(spec.Restore, result) }
	switch err := f.cli.stdio.printOutput(f.output, document.NewPreflight(spec.Restore, result), text); {
	case err != nil:
		return err
	case dryRunStoredError(result) != nil:
		return dryRunStoredError(result)
	case result.CountSeverity(preflight.Obstacle) > 0:
		return exitError{ExitRefused, nil}
	case len(result.Unchecked) > 0 || result.MatchesNothing():
		return exitError{ExitError, nil}
	}
	return nil
}

// dryRunStoredError returns an error if a dry run has stored something, else nil.
func dryRunStoredError(r *preflight.Result) error {
	if r.DryRun == nil || len(r.DryRun.StoredObjects) == 0 {
		return nil
	}
	o := &r.DryRun.StoredObjects[0]
	return exitError{ExitError, errors.New(o.Sentence() + " " + o.Remedy())}
}

// checkRestore looks for obstacles to a restore.
func (f *preflightCommand) checkRestore(
	ctx context.Context,
	spec collector.RestoreInput,
	snap *watch.Snapshot,
) (*preflight.Result, error) {
	inspected, store, err := f.openStore(snap.Namespace)
	if err != nil {
		return nil, err
	}
	question := cluster.SurveyQuery{Velero: cluster.BuildVeleroState(snap, spec.Restore.BackupName), Spec: spec}
	question.Index, question.Unchecked, err = f.tryReadIndex(ctx, store, spec.Restore.BackupName)
	if err != nil {
		return nil, err
	}
	if err := store.ReadPolicy(
		ctx,
		&question.Spec,
	); err != nil && !errors.Is(err, cluster.ErrPolicyRefused) &&
		question.Index != nil {
		question.Index, question.Unchecked = nil, []preflight.Unchecked{{What: "what would be restored", Why: err.Error()}}
	}
	cluster.AddStoredState(ctx, &question.Velero, store, question.Index)
	s, err := inspected.NewSurveyor()
	if err != nil {
		return nil, err
	}
	say, done := f.cli.stdio.startStepMeter("looking at the cluster")
	if f.compare {
		name := spec.Restore.BackupName
		question.Bodies = store.NewBodyReader(name, func(done, total int64) {
			say(
				fmt.Sprintf(
					"reading what %s holds of the objects that exist: %s",
					sanitize.String(name),
					human.BytesProgress(done, total),
				),
			)
		})
	}
	if f.dryRun {
		question.DryRun = &cluster.DryRunOptions{
			Bodies:           store.NewBodyReader(spec.Restore.BackupName, func(int64, int64) {}),
			QPS:              f.qps,
			SendSecrets:      f.sendSecrets,
			StandInNamespace: f.standIn,
			Progress: func(sent, total int) {
				say(fmt.Sprintf("dry run: %d of %s sent", sent, human.Count(total, "object")))
			},
		}
	}
	result, err := s.CheckRestore(ctx, question, func(p live.Progress) { say(view.SearchProgressText(p)) })
	done()
	return result, err
}

func (f *preflightCommand) readRestoreInput(
	ctx context.Context,
	args []string,
) (spec collector.RestoreInput, snap *watch.Snapshot, err error) {
	if spec.Restore, err = f.buildSpec(); err != nil {
		return spec, nil, err
	}
	spec.Policy = (&restorespec.Draft{Selected: f.onlyItems}).BuildPolicy()
	selected, err := f.resolveJob(ctx, args, spec.Restore)
	if err != nil {
		return spec, nil, err
	}
	if selected.names[0].kind == job.Restore {
		_, like, err := f.cli.readJob(ctx, selected, watch.Query{SkipVerdicts: true})
		if err != nil {
			return spec, nil, err
		}
		if spec.Restore, err = cluster.FindRestoreSpec(like); err != nil {
			return spec, nil, err
		}
		// A restore like that one gets a ConfigMap of its own for what it selects.
		if policy := cluster.SelectionPolicy(like); policy != nil {
			spec.Restore.ResourcePolicy, spec.Policy = nil, policy
		}
	} else {
		spec.Restore.BackupName, spec.Restore.ScheduleName = selected.names[0].name, ""
	}
	snap, err = f.cli.readSnapshot(ctx, watch.Query{
		Kinds: []string{
			watch.Restores,
		},
		JobNames:     []watch.JobName{{Resource: watch.Backups, Name: spec.Restore.BackupName}},
		ExtraKinds:   []string{watch.Pods, watch.StorageLocations, watch.DeleteRequests},
		SkipVerdicts: true,
	}, f.cli.openLogger(ctx))
	if err != nil {
		return spec, nil, err
	}
	spec.Server = cluster.BuildCollectorServer(snap.Server)
	return spec, snap, f.checkFileIsFor(snap)
}

// tryReadIndex reads the contents of the backup. A failure is not an error: the other checks still run.
func (f *preflightCommand) tryReadIndex(
	ctx context.Context,
	e *cluster.BackupStore,
	name string,
) (*collector.Index, []preflight.Unchecked, error) {
	unread := func(err error) []preflight.Unchecked {
		return []preflight.Unchecked{{What: "what is in the backup, and all that depends on it", Why: err.Error()}}
	}
	index, err := f.readBackupIndex(ctx, e, name)
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil && !isUsableIndex(ctx, index):
		return nil, unread(err), nil
	case err != nil:
		return index, []preflight.Unchecked{{What: "all of the backup", Why: err.Error()}}, nil
	}
	return index, nil, nil
}

func (l *linePrinter) addPreflight(restore veleroapi.RestoreSpec, r *preflight.Result) {
	p := view.NewPreflight(r)
	l.Line("A restore of backup %s: %s, %s", restore.BackupName, p.Items, p.Counts)
	l.PrefixedLine("", p.DryRun)
	for _, f := range p.Findings {
		l.Line("\n%s  %s%s", strings.ToUpper(f.Severity.Text), f.Reason, human.Prefixed("  ", f.Subject))
		l.Line("  %s", f.Sentence)
		for _, kind := range f.Kinds {
			l.Line("    %s", kind)
		}
		l.PrefixedLine("  > ", f.Remedy)
	}
	l.List("Unchecked:", p.Unchecked)
	l.List("Not sent:", p.NotSent)
	l.List("No dry run can tell:", p.Unknowable)
	if r.DryRun == nil && r.Items != nil && *r.Items > 0 {
		l.Line("\nAdd --dry-run to ask the API server about each object with dryRun=All.")
	}
}
