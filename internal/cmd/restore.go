package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/dryrun"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/view/document"
)

// How thorough the preflight is.
const (
	preflightAuto   = "auto"
	preflightDryRun = "dry-run"
	preflightLook   = "look"
	preflightNone   = "none"
)

type createRestore struct {
	askedRestore
	writing
	preflight          string
	acceptObstacles    bool
	only               []string
	onlyFrom, failedOf string
}

func newRestore(c *cli) *cobra.Command {
	cmd := group("restore", "Start and delete restores", "veltui restore create --from-backup nightly")
	f := createRestore{askedRestore: askedRestore{cli: c}, writing: writing{c: c}}
	create := &cobra.Command{
		Use:   "create [NAME] [-f RESTORE.yaml] [flags of velero restore create]",
		Short: "Start a restore, after a look at what stands in its way",
		Long: `Start a restore, after a look at what stands in its way: the plan begins with what
'veltui preflight' finds. Without NAME the restore is called after the backup or
schedule and the time.

--preflight says how close that look is. dry-run also sends each object to the API
server with dryRun=All: choosing it is your agreement to that. look does not. none
starts the restore unseen. auto looks, sends nothing, and says what a dry run would
cost. Where obstacles are found, or something could not be looked at, --yes starts
nothing unless --accept-obstacles is given, too. With auto the API server was not
asked about the objects, so --yes needs --preflight dry-run or --preflight look.` + writes + `

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
			if err := f.checkSelection(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), args)
		},
	}
	f.askedRestore.addTo(create)
	f.writing.addTo(
		create,
		"none; client: print the Restore; or server: look, and have the API server check it; both create nothing",
		"none",
		"client",
		"server",
	)
	addChoice(
		create,
		&f.preflight,
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
	f.addWait(create)
	f.addSelection(create)
	cmd.AddCommand(
		create,
		newDelete(c, job.Restore, `Delete restores, as 'velero restore delete' does: the Restore, its log and its
results. What it restored stays. A restore that runs is not deleted: that would not
stop it.`, `  # Show evidence and plan, then ask
  veltui restore delete crm-old

  # Several, in a script
  veltui restore delete crm-old crm-older --yes --reason "INC-4711"`),
	)
	return cmd
}

// named is the restore that was asked for, with its name.
func (f *createRestore) named(args []string) (restorespec.Draft, error) {
	d, err := f.draft()
	if err != nil {
		return d, err
	}
	restore := &d.Restore
	source := cmp.Or(restore.Spec.BackupName, restore.Spec.ScheduleName)
	if source == "" {
		return d, usagef("nothing to restore from: give --from-backup, --from-schedule or -f FILE")
	}
	asked := &f.c.flags.Context.Namespace
	if *asked = cmp.Or(*asked, restore.Namespace); restore.Namespace != "" && restore.Namespace != *asked {
		return d, usagef(
			"%s is for namespace %s, not %s: leave out -n, or change the file",
			f.file,
			restore.Namespace,
			*asked,
		)
	}
	f.request.Unnamed = len(args) == 0 && restore.Name == ""
	restore.Name, err = chosenName(args, cmp.Or(restore.Name, restorespec.Name(source, f.c.clock())))
	return d, err
}

func (f *createRestore) run(ctx context.Context, args []string) error {
	if err := f.readSelection(ctx); err != nil {
		return err
	}
	d, err := f.named(args)
	if err != nil {
		return err
	}
	c := f.c
	// A Restore cannot say --allow-partially-failed: the command looks for the backup (pkg/cmd/cli/restore/create.go Run).
	if allow := f.askedRestore.flags.Draft().AllowPartiallyFailed; allow != nil && *allow &&
		d.Restore.Spec.ScheduleName != "" {
		if d.Restore.Spec.BackupName, err = f.newestOf(ctx, d.Restore.Spec); err != nil {
			return err
		}
		d.Restore.Spec.ScheduleName = ""
	}
	if f.dryRun == "client" {
		data, err := d.YAML(cmp.Or(c.flags.Context.Namespace, c.env("VELERO_NAMESPACE")))
		if err == nil {
			_, err = c.streams.Out.Write(data)
		}
		return err
	}
	if err := f.mayAskFor(); err != nil {
		return err
	}
	found, namespace, err := f.look(ctx, d)
	if err != nil {
		return err
	}
	f.request.Policy = d.ConfigMap(namespace)
	if words, unsaid := d.Words(); len(unsaid) == 0 {
		f.request.Words = words
	}
	if found != nil {
		if err := f.weigh(&d, found); err != nil {
			return err
		}
	}
	err = f.propose(ctx, action.Create, d.Object(namespace), namespace)
	if found != nil {
		err = cmp.Or(carriedOutError(found), err)
	}
	return err
}

// weigh shows what stands in the way, and lets --yes start nothing for it unless --accept-obstacles does.
func (f *createRestore) weigh(d *restorespec.Draft, found *preflight.Result) error {
	spec := d.Restore.Spec
	announced, err := d.Announce(found.Fates)
	if err != nil {
		return err
	}
	f.found = new(document.NewPreflight(spec, found))
	f.request.Consequences = append(
		announced,
		preflight.Consequences(found.Items, found.Findings, found.DryRun != nil, len(found.NotLooked) == 0)...)
	if w := f.c.shown(f.output, f.asks()); w != nil {
		l := lines{w: w}
		if l.preflight(spec, found); l.err != nil {
			return l.err
		}
		l.add("")
	}
	var unseen []string
	for _, n := range found.NotLooked {
		if n.What != preflight.Admission || f.preflight != preflightLook {
			unseen = append(unseen, n.What)
		}
	}
	f.request.Advice = "--accept-obstacles starts the restore all the same."
	switch n := found.Count(preflight.Obstacle); {
	case carriedOutError(found) != nil:
		f.request.Refusal, f.request.Advice = "a dry run was carried out", found.DryRun.CarriedOut[0].Remedy()
	case !f.yes || f.acceptObstacles:
	case n > 0:
		f.request.Refusal = human.Plural(n, "obstacle stands", "obstacles stand") + " in the way"
	case found.MatchesNothing():
		f.request.Refusal = "no item matches, so nothing would be restored"
	case len(unseen) > 0:
		f.request.Refusal = "veltui could not look at " + human.List(unseen, 3)
		if slices.Contains(unseen, preflight.Admission) {
			f.request.Advice = "--preflight dry-run asks the API server, --preflight look goes without. " + f.request.Advice
		}
	}
	return nil
}

// look is a preflight as --preflight says, nil for none, and the namespace of the Velero that it is about.
func (f *createRestore) look(
	ctx context.Context,
	d restorespec.Draft,
) (found *preflight.Result, namespace string, err error) {
	if f.preflight == preflightNone {
		namespace, err = f.veleroNamespace(ctx)
		return nil, namespace, err
	}
	p := preflightCommand{askedRestore: f.askedRestore, qps: dryrun.DefaultQPS, dryRun: f.preflight == preflightDryRun}
	asked, snap, err := p.restore(ctx, nil)
	if err != nil {
		return nil, "", err
	}
	if found, err = p.find(ctx, asked, snap); err != nil {
		return nil, "", err
	}
	if f.preflight == preflightAuto && found.Items != nil && !found.MatchesNothing() {
		resources := map[string]bool{}
		if err := found.Fates.Each(
			func(i collector.Item) { resources[i.Resource] = resources[i.Resource] || i.Fate == collector.ToRestore },
		); err != nil {
			return nil, "", err
		}
		maps.DeleteFunc(resources, func(_ string, restored bool) bool { return !restored })
		fmt.Fprintf(
			f.c.streams.ErrOut,
			"The API server was not asked about the objects. %s: --preflight dry-run runs it.\n",
			cluster.DryRunCost(*found.Items, slices.Collect(maps.Keys(resources))),
		)
	}
	return found, snap.Namespace, nil
}
