package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/dryrun"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

type preflightCommand struct {
	askedRestore
	compare, dryRun, secrets bool
	qps                      int
	standIn                  string
	output                   string
}

func newPreflight(c *cli) *cobra.Command {
	f := preflightCommand{askedRestore: askedRestore{cli: c}}
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
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	f.askedRestore.addTo(cmd)
	flags.BoolVar(
		&f.compare,
		"compare",
		false,
		"Compare what exists with the backup, and say what Velero does with each object",
	)
	flags.BoolVar(&f.dryRun, "dry-run", false, "Ask the API server about each object with dryRun=All")
	flags.IntVar(&f.qps, "dry-run-qps", dryrun.DefaultQPS, "Requests a second of the dry run")
	flags.BoolVar(
		&f.secrets,
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
	addOutput(cmd, &f.output, "text", "json", "yaml")
	cmd.ValidArgsFunction = c.completeNames(false, jobKinds...)
	return cmd
}

func (f *preflightCommand) run(ctx context.Context, args []string) error {
	switch {
	case f.qps < 1:
		return usagef("--dry-run-qps %d: expected at least 1", f.qps)
	case !f.dryRun && (f.secrets || f.standIn != ""):
		return usagef("--dry-run-secrets and --dry-run-namespace are about a dry run; add --dry-run")
	case f.dryRun && f.isReadOnly():
		return exitError{ExitUsage, dryrun.ErrReadOnly}
	}
	spec, snap, err := f.restore(ctx, args)
	if err != nil {
		return err
	}
	result, err := f.find(ctx, spec, snap)
	if err != nil {
		return err
	}
	text := func(l *lines) { l.preflight(spec.Restore, result) }
	switch err := f.print(f.output, document.NewPreflight(spec.Restore, result), text); {
	case err != nil:
		return err
	case carriedOutError(result) != nil:
		return carriedOutError(result)
	case result.Count(preflight.Obstacle) > 0:
		return exitError{ExitRefused, nil}
	case len(result.NotLooked) > 0 || result.MatchesNothing():
		return exitError{ExitError, nil}
	}
	return nil
}

// carriedOutError says that a dry run stored something, nil if it did not.
func carriedOutError(r *preflight.Result) error {
	if r.DryRun == nil || len(r.DryRun.CarriedOut) == 0 {
		return nil
	}
	o := &r.DryRun.CarriedOut[0]
	return exitError{ExitError, errors.New(o.Sentence() + " " + o.Remedy())}
}

// find looks for what stands in the way.
func (f *preflightCommand) find(
	ctx context.Context,
	spec collector.RestoreSpec,
	snap *watch.Snapshot,
) (*preflight.Result, error) {
	inspected, store, err := f.openStore(snap.Namespace)
	if err != nil {
		return nil, err
	}
	question := cluster.SurveyQuestion{Velero: cluster.VeleroState(snap, spec.Restore.BackupName), Spec: spec}
	question.Index, question.Unread, err = f.index(ctx, store, spec.Restore.BackupName)
	if err != nil {
		return nil, err
	}
	if err := store.ReadPolicy(
		ctx,
		&question.Spec,
	); err != nil && !errors.Is(err, cluster.ErrRefused) &&
		question.Index != nil {
		question.Index, question.Unread = nil, []preflight.NotLooked{{What: "what would be restored", Why: err.Error()}}
	}
	cluster.AddStored(ctx, &question.Velero, store, question.Index)
	s, err := inspected.Surveyor()
	if err != nil {
		return nil, err
	}
	say, done := f.startSteps("looking at the cluster")
	if f.compare {
		name := spec.Restore.BackupName
		question.Bodies = store.Bodies(name, func(done, total int64) {
			say(
				fmt.Sprintf(
					"reading what %s holds of the objects that exist: %s",
					sanitize.String(name),
					human.BytesOf(done, total),
				),
			)
		})
	}
	if f.dryRun {
		question.DryRun = &cluster.DryRun{
			Bodies:   store.Bodies(spec.Restore.BackupName, func(int64, int64) {}),
			QPS:      f.qps,
			Secrets:  f.secrets,
			StandIn:  f.standIn,
			Progress: func(sent, total int) { say(fmt.Sprintf("dry run: %d of %s sent", sent, human.Count(total, "object"))) },
		}
	}
	result, err := s.Check(ctx, question, func(p live.Progress) { say(lookedFor(p)) })
	done()
	return result, err
}

func (f *preflightCommand) restore(
	ctx context.Context,
	args []string,
) (spec collector.RestoreSpec, snap *watch.Snapshot, err error) {
	if spec.Restore, err = f.spec(); err != nil {
		return spec, nil, err
	}
	spec.Policy = (&restorespec.Draft{Only: f.only}).Policy()
	selected, err := f.subject(ctx, args, spec.Restore)
	if err != nil {
		return spec, nil, err
	}
	if selected.names[0].kind == job.Restore {
		_, like, err := f.readJob(ctx, selected, watch.Query{NoVerdict: true})
		if err != nil {
			return spec, nil, err
		}
		if spec.Restore, err = cluster.RestoreSpec(like); err != nil {
			return spec, nil, err
		}
	} else {
		spec.Restore.BackupName, spec.Restore.ScheduleName = selected.names[0].name, ""
	}
	snap, err = f.read(ctx, watch.Query{
		Kinds: []string{
			watch.Restores,
		},
		Names:     []watch.JobName{{Resource: watch.Backups, Name: spec.Restore.BackupName}},
		Also:      []string{watch.Pods, watch.Locations, watch.Deletions},
		NoVerdict: true,
	}, f.logging(ctx))
	if err == nil {
		spec.Server = cluster.ServerOf(snap.Server)
	}
	return spec, snap, err
}

// index reads what the backup holds. Failing that is no error: the rest is checked all the same.
func (f *preflightCommand) index(
	ctx context.Context,
	e *cluster.Store,
	name string,
) (*collector.Index, []preflight.NotLooked, error) {
	unread := func(err error) []preflight.NotLooked {
		return []preflight.NotLooked{{What: "what is in the backup, and all that depends on it", Why: err.Error()}}
	}
	index, err := f.contents(ctx, e, name)
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil && !usable(ctx, index):
		return nil, unread(err), nil
	case err != nil:
		return index, []preflight.NotLooked{{What: "all of the backup", Why: err.Error()}}, nil
	}
	return index, nil, nil
}

func (l *lines) preflight(restore velerov1.RestoreSpec, r *preflight.Result) {
	items := "veltui cannot tell what it would restore"
	switch {
	case r.MatchesNothing():
		items = "no item matches, so nothing would be restored"
	case r.Items != nil:
		items = human.Count(*r.Items, "item")
	}
	l.add("A restore of backup %s: %s, %s, %s", restore.BackupName, items,
		human.Count(r.Count(preflight.Obstacle), "obstacle"), human.Count(r.Count(preflight.Doubt), "doubt"))
	if d := r.DryRun; d != nil {
		l.add("%s", d.Summary())
	}
	for _, f := range r.Findings {
		l.add("\n%s  %s%s", strings.ToUpper(string(f.Severity)), f.Reason, itemsOf(f))
		l.add("  %s", f.Sentence)
		l.clause("  > ", f.Remedy)
	}
	l.list("Not checked", mapSlice(r.NotLooked, func(n preflight.NotLooked) string { return n.What + ": " + n.Why }))
	if d := r.DryRun; d != nil {
		l.list("Not sent", mapSlice(d.NotSent, func(u preflight.Untold) string { return u.What() + ": " + u.Why }))
		l.list("No dry run can tell", d.CannotKnow)
	} else if r.Items != nil && *r.Items > 0 {
		l.add("\nAdd --dry-run to ask the API server about each object with dryRun=All.")
	}
}

func itemsOf(f preflight.Finding) string {
	names := mapSlice(f.Names, func(name string) string { return human.Shorten(name, 80) })
	text := strings.Join(names, ", ")
	if more := f.Count - len(names); more > 0 && len(names) > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case text == "":
		return ""
	case f.Namespace != "" && f.Namespace != text:
		return "  in " + f.Namespace + ": " + text
	}
	return "  " + text
}
