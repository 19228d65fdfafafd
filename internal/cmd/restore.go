package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/dryrun"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// The modes of the preflight.
const (
	preflightAuto   = "auto"
	preflightDryRun = "dry-run"
	preflightLook   = "look"
	preflightNone   = "none"
)

type createRestoreCommand struct {
	requestedRestore
	write                   writeCommand
	preflightMode           string
	acceptObstacles         bool
	acceptUnchecked         bool
	onlyArgs                []string
	onlyFile, failedRestore string
	namespaceFromFile       bool // nobody but the file names the namespace
}

func newRestoreCommand(c *cli) *cobra.Command {
	cmd := newCommandGroup("restore", "Start and delete restores", "veltui restore create --from-backup nightly")
	f := createRestoreCommand{requestedRestore: requestedRestore{cli: c}, write: writeCommand{cli: c}}
	create := &cobra.Command{
		Use:   "create [NAME] [-f RESTORE.yaml] [flags of velero restore create]",
		Short: "Start a restore, after a look at what stands in its way",
		Long: `Start a restore, after a look at what stands in its way: the plan begins with what
'veltui preflight' finds. Without NAME the restore is called after the backup or
schedule and the time.

--preflight says how close that look is. dry-run also sends each object to the API
server with dryRun=All: choosing it is your agreement to that. look does not. none
starts the restore unseen. auto looks, sends nothing, and says what a dry run would
cost. With auto the API server was not asked about the objects, so --yes needs
--preflight dry-run or --preflight look.

Where something could not be looked at, such as objects of a namespace that is new,
--yes starts nothing without --accept-unchecked. Where obstacles are found, --yes starts
nothing without --accept-obstacles, which accepts what could not be looked at, too.` + confirmationHelp + `

Exit codes: those of 'veltui finalize', 5 also if Velero has not begun it, 6 also if
something stands in its way; with --wait those of 'veltui wait'.`,
		Example: `  # Look, show the plan, then ask
  veltui restore create shop-back --from-backup nightly --include-namespaces shop

  # Two objects, and what Velero's plugins add to them
  veltui restore create --from-backup nightly --only deployments.apps/shop/web --only secrets/shop/db

  # Again what a restore lost
  veltui restore create --failed-of shop-back

  # Print the Restore, and create nothing
  veltui restore create --from-backup nightly --dry-run=client

  # In a script: only if nothing stands in the way, with a bar until it has ended
  veltui restore create shop-back --from-backup nightly --preflight dry-run --yes --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkItemFlags(cmd); err != nil {
				return err
			}
			return f.runCreate(cmd.Context(), args)
		},
	}
	f.requestedRestore.addRestoreFlags(create)
	f.write.addWriteFlags(
		create,
		"none; client: print the Restore; or server: look, and have the API server check it; both create nothing",
		"none",
		"client",
		"server",
	)
	addChoiceFlag(
		create,
		&f.preflightMode,
		"preflight",
		"",
		"How close to look before: auto, dry-run, look, or none",
		preflightAuto,
		preflightDryRun,
		preflightLook,
		preflightNone,
	)
	create.Flags().
		BoolVar(&f.acceptObstacles, "accept-obstacles", false, "With --yes, start it although something stands in its "+
			"way or could not be looked at")
	create.Flags().
		BoolVar(&f.acceptUnchecked, "accept-unchecked", false, "With --yes, start it although something could not be "+
			"looked at; obstacles still stop it")
	f.write.addWaitFlag(create)
	f.addItemFlags(create)
	cmd.AddCommand(
		create,
		newDeleteCommand(c, job.Restore, `Delete restores, as 'velero restore delete' does: the Restore, its log and its
results. What it restored stays. A restore that runs is not deleted: that would not
stop it.`, `  # Show evidence and plan, then ask
  veltui restore delete crm-old

  # Several, in a script
  veltui restore delete crm-old crm-older --yes --reason "INC-4711"`),
	)
	return cmd
}

// buildNamedDraft returns the requested restore, with its name.
func (f *createRestoreCommand) buildNamedDraft(args []string) (restorespec.Draft, error) {
	d, err := f.buildDraft()
	if err != nil {
		return d, err
	}
	restore := &d.Restore
	source := cmp.Or(restore.Spec.BackupName, restore.Spec.ScheduleName)
	if source == "" {
		return d, usageErrorf("nothing to restore from: give --from-backup, --from-schedule or -f FILE")
	}
	asked := &f.cli.connector.flags.Context.Namespace
	f.namespaceFromFile = *asked == "" && restore.Namespace != "" && f.file != ""
	if *asked = cmp.Or(*asked, restore.Namespace); restore.Namespace != "" && restore.Namespace != *asked {
		return d, usageErrorf(
			"%s is for namespace %s, not %s: leave out -n, or change the file",
			f.file,
			restore.Namespace,
			*asked,
		)
	}
	f.write.request.NameGenerated = len(args) == 0 && restore.Name == ""
	name := restorespec.DefaultName(source, f.cli.process.clock())
	restore.Name, err = chosenName(args, cmp.Or(restore.Name, name))
	return d, err
}

func (f *createRestoreCommand) runCreate(ctx context.Context, args []string) error {
	if err := f.resolveItems(ctx); err != nil {
		return err
	}
	d, err := f.buildNamedDraft(args)
	if err != nil {
		return err
	}
	c := f.cli
	// A Restore cannot express --allow-partially-failed: the velero command looks for the backup instead
	// (pkg/cmd/cli/restore/create.go Run).
	if allow := f.requestedRestore.flags.Draft().AllowPartiallyFailed; allow != nil && *allow &&
		d.Restore.Spec.ScheduleName != "" {
		if d.Restore.Spec.BackupName, err = f.findNewestBackup(ctx, d.Restore.Spec); err != nil {
			return err
		}
		d.Restore.Spec.ScheduleName = ""
	}
	if f.write.dryRun == "client" {
		data, err := d.YAML(cmp.Or(c.connector.flags.Context.Namespace, c.process.getenv("VELERO_NAMESPACE")))
		if err == nil {
			_, err = c.stdio.streams.Out.Write(data)
		}
		return err
	}
	if err := f.write.checkCanConfirm(); err != nil {
		return err
	}
	if err := f.checkNamespaceFromFile(ctx); err != nil {
		return err
	}
	found, namespace, err := f.checkDraft(ctx, d)
	if err != nil {
		return err
	}
	f.write.request.PolicyConfigMap = d.ConfigMap(namespace)
	if words, unsaid := d.CommandWords(); len(unsaid) == 0 {
		f.write.request.VeleroCommand = words
	}
	if found != nil {
		if err := f.handleObstacles(&d, found); err != nil {
			return err
		}
	}
	err = f.write.proposeAndApply(ctx, action.Create, d.RestoreObject(namespace), namespace)
	if found != nil {
		err = cmp.Or(dryRunStoredError(found), err)
	}
	return err
}

// handleObstacles shows the obstacles. With --yes it refuses to start the restore because of them, unless
// --accept-obstacles is given, and because of what could not be looked at, unless --accept-unchecked is.
func (f *createRestoreCommand) handleObstacles(d *restorespec.Draft, found *preflight.Result) error {
	spec := d.Restore.Spec
	announced, err := d.DescribeSelection(found.Fates)
	if err != nil {
		return err
	}
	f.write.preflightDocument = new(document.NewPreflight(spec, found))
	f.write.request.Consequences = append(
		announced,
		view.PreflightConsequences(found.Items, found.Findings, found.DryRun != nil, len(found.Unchecked) == 0)...)
	if w := f.cli.stdio.planWriter(f.write.output, f.write.needsConfirmation()); w != nil {
		l := newLinePrinter(w)
		if l.addPreflight(spec, found); l.Err() != nil {
			return l.Err()
		}
		l.Line("")
	}
	var unseen []string
	for _, n := range found.Unchecked {
		if n.What != preflight.UncheckedAdmission || f.preflightMode != preflightLook {
			unseen = append(unseen, n.What)
		}
	}
	f.write.request.Advice = "--accept-obstacles starts the restore all the same."
	switch n := found.CountSeverity(preflight.Obstacle); {
	case dryRunStoredError(found) != nil:
		f.write.request.Refusal, f.write.request.Advice = "a dry run was carried out", found.DryRun.StoredObjects[0].Remedy()
	case !f.write.yes || f.acceptObstacles:
	case n > 0:
		f.write.request.Refusal = human.CountForms(n, "obstacle stands", "obstacles stand") + " in the way"
	case found.MatchesNothing():
		f.write.request.Refusal = view.NothingMatches
	case len(unseen) > 0 && !f.acceptUnchecked:
		f.write.request.Advice = "--accept-unchecked starts the restore all the same."
		f.write.request.Refusal = "veltui could not look at " + human.JoinNames(unseen, 3)
		if slices.Contains(unseen, preflight.UncheckedAdmission) {
			f.write.request.Advice = "--preflight dry-run asks the API server, --preflight look goes without. " +
				f.write.request.Advice
		}
	}
	return nil
}

// checkUnseen refuses what Velero is sure to refuse, as far as the draft alone tells. It returns the namespace of its
// Velero.
func (f *createRestoreCommand) checkUnseen(ctx context.Context, d restorespec.Draft) (string, error) {
	if why := preflight.SpecRefusals(d.Restore.Spec); len(why) > 0 && !f.acceptObstacles {
		return "", exitError{ExitRefused, errors.New(preflight.RefusalLead + strings.Join(why, " "))}
	}
	return f.write.findVeleroNamespace(ctx)
}

// checkNamespaceFromFile looks for the cluster's Velero if the file alone names its namespace: where no Velero is,
// every other message would be about what is missing there.
func (f *createRestoreCommand) checkNamespaceFromFile(ctx context.Context) error {
	if !f.namespaceFromFile {
		return nil
	}
	asked := &f.cli.connector.flags.Context.Namespace
	named := *asked
	*asked = ""
	snap, err := f.cli.readSnapshot(
		ctx,
		watch.Query{Kinds: []string{watch.Schedules}, SkipVerdicts: true},
		f.cli.openLogger(ctx),
	)
	*asked = named
	if err != nil {
		return context.Cause(ctx) // without the right to look elsewhere, the file's word stands
	}
	return f.checkFileNamespace(snap)
}

// checkDraft runs the preflight that --preflight chooses, nil for none, and returns the namespace of its Velero.
func (f *createRestoreCommand) checkDraft(
	ctx context.Context,
	d restorespec.Draft,
) (found *preflight.Result, namespace string, err error) {
	if f.preflightMode == preflightNone {
		namespace, err = f.checkUnseen(ctx, d)
		return nil, namespace, err
	}
	p := preflightCommand{
		requestedRestore: f.requestedRestore,
		qps:              dryrun.DefaultQPS,
		dryRun:           f.preflightMode == preflightDryRun,
	}
	asked, snap, err := p.readRestoreInput(ctx, nil)
	if err != nil {
		return nil, "", err
	}
	if found, err = p.checkRestore(ctx, asked, snap); err != nil {
		return nil, "", err
	}
	if f.preflightMode == preflightAuto && found.Items != nil && !found.MatchesNothing() {
		resources := map[string]bool{}
		if err := found.Fates.EachItem(
			func(i collector.Item) { resources[i.Resource] = resources[i.Resource] || i.Fate == collector.ToRestore },
		); err != nil {
			return nil, "", err
		}
		maps.DeleteFunc(resources, func(_ string, restored bool) bool { return !restored })
		fmt.Fprintf(
			f.cli.stdio.streams.ErrOut,
			"The API server was not asked about the objects. %s: --preflight dry-run runs it.\n",
			cluster.DryRunCostText(*found.Items, slices.Collect(maps.Keys(resources))),
		)
	}
	return found, snap.Namespace, nil
}
