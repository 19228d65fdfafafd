package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/watch"
)

// firstSnapshotTimeout is how long a command waits for a cluster from which nothing
// comes, unless --request-timeout says otherwise.
const firstSnapshotTimeout = 30 * time.Second

func newGet(c *cli) *cobra.Command {
	var output string
	var follow bool
	cmd := &cobra.Command{
		Use:   "get [backups|restores] [NAME...]",
		Short: "Print backups and restores with stage, progress, ETA and verdict",
		Long: `Print backups and restores with stage, progress, ETA and verdict.

Leave out the kind to print both, or write it before each name as KIND/NAME. The
usual short names work too (bak, rst, backups.velero.io).

With -w, veltui prints every change until you interrupt it: one line per change in
a table, one JSON document per line with -o json. A change is a change of the
job's own resources. Passing time and the end of Velero's server do not count.`,
		Example: `  # All jobs
  veltui get

  # Follow one restore until interrupted
  veltui get restore/shop-restore-2 -w

  # Names of the stuck and orphaned jobs
  veltui get -o jsonpath='{.items[?(@.stuck==true)].name}'

  # Every change as JSON lines
  veltui get -w -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			selected, err := parseSelection(args)
			if err != nil {
				return err
			}
			p, err := newPrinter(output, follow, c.streams.Out)
			if err != nil {
				return err
			}
			if follow {
				return c.follow(cmd.Context(), selected, p)
			}
			return c.get(cmd.Context(), selected, p)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table, wide, json, yaml, name or jsonpath=TEMPLATE")
	cmd.Flags().BoolVarP(&follow, "watch", "w", false, "Print every change until interrupted")
	return cmd
}

// get prints the selected jobs of all contexts as they are now. The contexts are
// asked at once, and one that fails costs its own jobs only.
func (c *cli) get(ctx context.Context, selected selection, p printer) error {
	contexts, err := c.contexts()
	if err != nil {
		return err
	}
	several := c.allContexts || len(contexts) > 1
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := selected.query()
	q.Volumes = p.showsVolumes()
	log, counts := c.logging(ctx, cancel), c.startCounts()
	q.Progress = counts.add
	found := make([]clusterJobs, len(contexts))
	failed := make([]error, len(contexts))
	var all sync.WaitGroup
	for i, name := range contexts {
		all.Go(func() { found[i], failed[i] = c.forContext(name, "").jobs(ctx, selected, q, log) })
	}
	all.Wait()
	counts.stop()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if !several && failed[0] != nil {
		return failed[0]
	}
	answered := slices.DeleteFunc(found, func(f clusterJobs) bool { return f.assessed == nil })
	if err := p.list(answered, several); err != nil {
		return printError{err}
	}
	for _, f := range answered {
		c.remarks(f, selected, several)
	}
	for i, err := range failed {
		if err != nil {
			printErrorLines(c.streams.ErrOut, fmt.Errorf("context %s: %w", contexts[i], err))
		}
	}
	if err := missingEverywhere(answered, selected); err != nil {
		return err
	}
	if err := errors.Join(failed...); err != nil {
		return exitError{ExitError, nil}
	}
	return nil
}

// jobs reads and judges the selected jobs of one context.
func (c *cli) jobs(ctx context.Context, selected selection, q watch.Query, log *slog.Logger) (clusterJobs, error) {
	snap, err := c.read(ctx, q, log)
	if err != nil {
		return clusterJobs{}, err
	}
	assessed, err := c.assess(ctx, snap, selected)
	if err != nil {
		return clusterJobs{}, err
	}
	return clusterJobs{*c.flags.Context, pick(assessed.Snapshot.Jobs, selected), assessed}, nil
}

// remarks says what a list leaves out.
func (c *cli) remarks(f clusterJobs, selected selection, several bool) {
	var warn malformedWarnings
	where := ""
	if several {
		where, warn.where = " of context "+f.context, "context "+f.context+": "
	}
	warn.print(c, f.assessed.Snapshot)
	if len(f.jobs) == 0 && len(selected.names) == 0 {
		fmt.Fprintf(c.streams.ErrOut, "No %s found in namespace %s%s.\n", selected.what(), f.assessed.Snapshot.Namespace, where)
	}
}

// missingEverywhere names what was asked for by name and is in none of the clusters
// that answered.
func missingEverywhere(clusters []clusterJobs, selected selection) error {
	var jobs []*job.Job
	var namespaces []string
	for _, f := range clusters {
		jobs = append(jobs, f.jobs...)
		if ns := f.assessed.Snapshot.Namespace; !slices.Contains(namespaces, ns) {
			namespaces = append(namespaces, ns)
		}
	}
	if len(clusters) == 0 {
		return nil
	}
	return selected.missing(jobs, strings.Join(namespaces, ", "))
}

func pick(jobs []*job.Job, selected selection) []*job.Job {
	var picked []*job.Job
	for _, j := range jobs {
		if selected.matches(j) {
			picked = append(picked, j)
		}
	}
	return picked
}
